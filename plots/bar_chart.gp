# Bars, some at each place. `figure` names the file
# (`gnuplot -e "figure='bandwidth'" common.gp bar_chart.gp`).
#
# Where y_from is not 0, the y axis is logarithmic from there.

eval read_heading("places bars", "y_end y_from", "x_text y_text")
array name[bars]
stats data index "names" using (name[whole("number") + 1] = strcol("name"), 0) nooutput
longest = 0
stats data index "bars" using (strlen(strcol("text")) > longest ? longest = strlen(strcol("text")) : 0, 0) nooutput

# From light to dark, at least 15 of CIE L* apart.
shade(i) = word("#F0E442 #56B4E9 #0072B2 #12355B #CC79A7 #D55E00", i % 6 + 1)

width = narrow ? 400.0 : 1000.0
key_columns = narrow ? 1 : 4
top = 80 + 24 * ((bars + key_columns - 1) / key_columns) + 24 * narrow
left_edge = narrow ? 62 : 100
height = top + 20 + 340 + 62 + foot + head
bar = 0.84 / bars

# Values stand at the left of their bars' ends, and intervals at the right, so that no value is taken for one of
# an interval. Wider ones stand upright, for which the axis has room above the bars.
text_length = 7.6 * longest
upright = text_length > 0.5 / bars * (width - left_edge - 10) / places
room = upright ? 1 + text_length / 340 : 1.04
y_top = y_from > 0 ? y_from * (y_end / y_from) ** room : y_end * room
tick_low = y_from
tick_high = y_end
tick_digits = y_from > 0 && y_end / y_from > 2000 ? "1" : "125"
tick_text(value) = y_from > 0 ? plain_text(value) : number_text(value)
if (y_from > 0) { eval log_ticks } else { eval linear_ticks }

do for [kind in kinds] {
    eval begin
    eval frame(left_edge, width - 24, top, (62.0 + foot) / height)
    do for [i = 0:bars - 1] {
        eval key_box(11 + i, key_x(100) + 225 * (i % key_columns), 74 + 24 * (i / key_columns), shade(i), "")
        set label (11 + i) name[i + 1]
    }
    set xrange [-0.5:places - 0.5]
    eval "set ytics (" . ticks . ")"
    if (y_from > 0) { set logscale y 10 }
    set yrange [y_from:y_top]
    set xlabel x_text offset 0, 0.3
    if (narrow) {
        set label 3 y_text at screen from_left(16), screen from_top(top - 20) left front font small
    } else { set ylabel y_text }
    set xtics ()
    set grid ytics lc rgb faint lt 1 lw 1
    left(place, i) = place - 0.42 + i * bar
    at(share) = left(num("place"), num("number")) + bar * share
    end(x) = num("value") > y_from ? num("value") : y_from
    plot data index "places" using "number":(NaN):xtic(strcol("name")) with points, \
         for [i = 0:bars - 1] "" index "bars" using (num("number") == i ? at(0.5) : NaN):(y_from):(at(0)):(at(0.94)):\
             (y_from):"value" with boxxyerror fs solid 1.0 border lc rgb black lc rgb shade(i), \
         "" index "bars" using (at(0.8)):"low":(0):(num("high") - num("low")) @interval lc rgb grey, \
         "" index "bars" using (at(0.36)):(end(0)):(text_if(!upright, "text")) \
             with labels offset 0, 0.6 font small, \
         "" index "bars" using (at(0.36)):(end(0)):(text_if(upright, "text")) \
             with labels left rotate by 90 offset 0, 0.4 font small, \
         NaN with points
    unset output
}
