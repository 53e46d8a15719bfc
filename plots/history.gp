# The runs of one machine in time, a panel a figure: what each run measured, the levels between changes,
# and the changes.
#
# A level lasts from its first to its last run; `text` is the size of a change, whose run is the first behind it.

eval read_heading("panels runs", "", "")
array name[panels]
array low[panels]
array high[panels]
at(name) = whole(name) + 1
stats data index "panels" using (name[at("number")] = strcol("name"), low[at("number")] = num("low"), high[at("number")] = num("high"), 0) nooutput
name_breaks = 0
do for [i = 1:panels] {
    name[i] = wrap(name[i], narrow ? 52 : 200)
    name_breaks = breaks(name[i]) > name_breaks ? breaks(name[i]) : name_breaks
}

width = narrow ? 400.0 : 1000.0
left_edge = narrow ? 72 : 86
panel_height = 130
above = 34 + 18 * name_breaks
height = 66 + panels * (panel_height + above) + 48 + foot + head

do for [kind in kinds] {
    eval begin
    set multiplot
    set xrange [0.5:runs + 0.5]
    do for [panel = 0:panels - 1] {
        top = 54 + above + panel * (panel_height + above)
        eval frame(left_edge, width - (narrow ? 20 : 40), top, from_top(top + panel_height))
        in_seconds = strstrt(name[panel + 1], ", s:") > 0
        tick_text(value) = in_seconds ? si_text(value, " ", "s") : number_text(value)
        tick_low = low[panel + 1]
        tick_high = high[panel + 1]
        eval linear_ticks
        set yrange [low[panel + 1]:high[panel + 1]]
        eval "set ytics (" . ticks . ") nomirror"
        set grid ytics lc rgb faint lt 1 lw 1
        set format x (panel == panels - 1 ? "%g" : "")
        set xlabel (panel == panels - 1 ? "run, in the order of time" : "") offset 0, 0.3
        set label 5 name[panel + 1] at screen from_left(narrow ? 16 : 86), screen from_top(top - 11 - 18 * name_breaks) left front font small
        of(value) = num("panel") == panel ? value : NaN
        plot data index "changes" using (of(num("run") - 0.5)):(low[panel + 1]):(0):(high[panel + 1] - low[panel + 1]):\
                 (whole("worse") ? 0xD55E00 : 0x0072B2) with vectors nohead lw 2 dt 2 lc rgb variable, \
             data index "levels" using (of(num("first") - 0.5)):"value":(num("last") - num("first") + 1):(0) with vectors nohead lw 2 lc rgb black, \
             data index "runs" using (of(num("run"))):"value" with points pt 7 ps 0.8 * point lc rgb blue, \
             data index "changes" using (num("run") - 0.5):(high[panel + 1]):(text_if(whole("panel") == panel, "text")) with labels left offset 0.5, -0.7 font small, \
             NaN with points
        eval begin_next
    }
    unset label 5
    unset multiplot
    unset output
}
