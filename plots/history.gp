# The runs of one machine in time, a panel a figure: what each run measured, the levels between changes,
# and the changes.
#
# history.dat: block 0: title, subtitle, footnote, number of panels, of runs.
# Block 1, a panel: 1 its number, 2 what it shows, 3 lower and 4 upper end of its y axis. Block 2, a run:
# 1 panel, 2 run from 1, 3 value. Block 3, a level: 1 panel, 2 first and 3 last run, 4 value. Block 4, a
# change: 1 panel, 2 first run of the new level, 3 is it for the worse, 4 its size as text.

data = data_of("history")
stats data index 0 using (title_text = strcol(1), subtitle_text = strcol(2), footnote_text = strcol(3), panels = int($4), runs = int($5), 0) nooutput
array name[panels]
array low[panels]
array high[panels]
stats data index 1 using ($1 >= 0 ? (name[int($1) + 1] = strcol(2), low[int($1) + 1] = $3, high[int($1) + 1] = $4) : 0, 0) nooutput

# Some three to six tics: the largest 1, 2 or 5 times a power of ten of which three fit.
tic_power(range) = 10 ** floor(log10(range / 3))
tic_step(range) = (range / 3 >= 5 * tic_power(range) ? 5 : range / 3 >= 2 * tic_power(range) ? 2 : 1) * tic_power(range)

width = 1000.0
panel_height = 130
foot = footnote_text eq "" ? 0 : 22
height = 66 + panels * (panel_height + 34) + 36 + foot

do for [kind in kinds] {
    eval open_figure(kind, "history", width, height)
    eval heading
    unset key
    set multiplot
    set lmargin at screen from_left(86)
    set rmargin at screen from_left(width - 40)
    set xrange [0.5:runs + 0.5]
    do for [panel = 0:panels - 1] {
        top = 88 + panel * (panel_height + 34)
        set tmargin at screen from_top(top)
        set bmargin at screen from_top(top + panel_height)
        # A prefix belongs to seconds and to large numbers: 500m ns is nobody's unit.
        prefixed = strstrt(name[panel + 1], ", s:") > 0 || high[panel + 1] >= 10000
        set format y (prefixed ? "%.2s%c" : "%g")
        set yrange [low[panel + 1]:high[panel + 1]]
        set ytics tic_step(high[panel + 1] - low[panel + 1]) nomirror
        set grid ytics lc rgb faint lt 1 lw 1
        set format x (panel == panels - 1 ? "%g" : "")
        set xlabel (panel == panels - 1 ? "run, in the order of time" : "") offset 0, 0.3
        set label 5 name[panel + 1] at screen from_left(86), screen from_top(top - 11) left front font small
        plot data index 4 using ($1 == panel ? $2 - 0.5 : NaN):(low[panel + 1]):(0):(high[panel + 1] - low[panel + 1]):\
                 ($3 == 1 ? 0xD55E00 : 0x0072B2) with vectors nohead lw 2 dt 2 lc rgb variable, \
             data index 3 using ($1 == panel ? $2 - 0.5 : NaN):4:($3 - $2 + 1):(0) with vectors nohead lw 2 lc rgb black, \
             data index 2 using ($1 == panel ? $2 : NaN):3 with points pt 7 ps 0.8 * point lc rgb blue, \
             data index 4 using ($1 == panel ? $2 - 0.5 : NaN):(high[panel + 1]):4 with labels left offset 0.5, -0.7 font small, \
             NaN with points
        unset label 1
        unset label 2
        unset label 4
    }
    unset label 5
    unset multiplot
    unset output
}
