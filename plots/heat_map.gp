# A value for every pair. `figure` names the file
# (`gnuplot -e "figure='smt_pairs'" common.gp heat_map.gp`).
#
# `repeats` lines and columns of the matrix stand for one: a picture of few lines blurs in an enlarged SVG.
# "cells" are numbers in them, none where lines are many. `counts`, of the values: as `y_counts` of lines, or 3 bytes.

eval read_heading("lines repeats columns counts", "low high", "colour_label x_label y_label")

# Viridis (S. van der Walt and N. Smith, CC0): equal steps look equal, also in grey and to the
# colour-blind.
set palette defined (0 '#440154', 1 '#48186A', 2 '#472D7B', 3 '#424086', 4 '#3B528B', 5 '#33638D', \
    6 '#2C728E', 7 '#26828E', 8 '#21918C', 9 '#1FA088', 10 '#28AE80', 11 '#3FBC73', 12 '#5EC962', \
    13 '#84D44B', 14 '#ADDC30', 15 '#D8E219', 16 '#FDE725')

width = narrow ? 400.0 : 900.0
left_edge = narrow ? 62.0 : 110.0
side = width - left_edge - (narrow ? 106 : 150)
top = narrow ? 90 : 68
# Few lines are flat, many are square unless the picture would be too high for that.
tall = lines <= 8 ? 80.0 * lines : side * (lines > columns ? 1.0 : 1.0 * lines / columns)
tall = tall > side ? side : tall
height = int(top + 2 + tall + 72 + foot + head)
set cbrange [low:high]

tick_low = low
tick_high = high
tick_text(value) = counted_text(counts, value)
# A scale of one colour for all but the largest shows nothing of the others.
far = low > 0 && high / low > 20
if (far) {
    set logscale cb
    tick_digits = high / low > 2000 ? "1" : "125"
    tick_small = 0
    eval log_ticks
} else { eval linear_ticks }
eval "set cbtics (" . ticks . ")"
label_end = strlen(colour_label)
colour_text = !far ? colour_label : colour_label[label_end:label_end] eq ")" ? \
    colour_label[1:label_end - 1] . ", log scale)" : colour_label . " (log scale)"
is_dark(value) = far ? log(value / low) < 0.6 * log(high / low) : value < low + 0.6 * (high - low)

do for [kind in kinds] {
    eval begin
    eval frame(left_edge, left_edge + side, top, from_top(top + tall))
    set border 15 lc rgb grey lw 1
    set colorbox user origin screen from_left(left_edge + side + 24), screen from_top(top + tall) \
        size screen 22 / width, screen tall / height
    if (narrow) {
        set label 3 "Colour: " . colour_text at screen from_left(16), screen from_top(top - 16) left front font small
    } else { set cblabel colour_text offset 1, 0 }
    set object 1 rectangle from graph 0, graph 0 to graph 1, graph 1 behind \
        fs solid 1.0 noborder fc rgb faint
    set xrange [-0.5:columns - 0.5]
    set yrange [lines - 0.5:-0.5]
    set xlabel x_label offset 0, 0.3
    set ylabel y_label
    set xtics ()
    set ytics ()
    plot data index "matrix" matrix using (($1 + 0.5) / repeats - 0.5):(($2 + 0.5) / repeats - 0.5):3 \
             with image, \
         "" index "ticks" using "place":(NaN):xtic(strcol("column")) with points, \
         "" index "ticks" using (NaN):"place":ytic(strcol("line")) with points, \
         "" index "cells" using "column":"line":(text_if(!narrow || columns < 5, "text")):(is_dark(num("value")) ? 0xFFFFFF : 0x010101) with labels \
             font (narrow ? small : "") textcolor rgb variable
    unset output
}
