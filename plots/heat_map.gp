# A value for every pair. `figure` names the file
# (`gnuplot -e "figure='smt_pairs'" common.gp heat_map.gp`).
#
# <figure>.dat: block 0: title, subtitle, footnote, lines, values at the lower and the upper end of
# the colours, lines and columns of the matrix that stand for one (a picture of few lines blurs in
# an enlarged SVG), label of the colours, of the horizontal and of the vertical axis, columns. Block 1,
# ticks: 1 place, 2 text below that column, 3 text beside that line. Block 2, numbers in the cells,
# none where lines are many: 1 column, 2 line, 3 value, 4 value as text. Block 3, the matrix; NaN = no
# value.

data = data_of(figure)
stats data index 0 using (title_text = strcol(1), subtitle_text = strcol(2), footnote_text = strcol(3), lines = int($4), low = $5, high = $6, repeats = int($7), colour_label = strcol(8), x_label = strcol(9), y_label = strcol(10), columns = int($11), 0) nooutput

# Viridis (S. van der Walt and N. Smith, CC0): equal steps look equal, also in grey and to the
# colour-blind.
set palette defined (0 '#440154', 1 '#48186A', 2 '#472D7B', 3 '#424086', 4 '#3B528B', 5 '#33638D', \
    6 '#2C728E', 7 '#26828E', 8 '#21918C', 9 '#1FA088', 10 '#28AE80', 11 '#3FBC73', 12 '#5EC962', \
    13 '#84D44B', 14 '#ADDC30', 15 '#D8E219', 16 '#FDE725')

foot = footnote_text eq "" ? 0 : 22
side = columns <= 8 ? 480.0 : 620.0
width = 900.0
# Cells are square, unless the picture would be too flat or too high for that.
tall = side * (lines < 0.4 * columns ? 0.4 : lines > columns ? 1.0 : 1.0 * lines / columns)
height = int(70 + tall + 72 + foot)
left_edge = 90.0
unset key
set cbrange [low:high]

# A scale of one colour for all but the largest shows nothing of the others.
far = low > 0 && high / low > 20
if (far) {
    set logscale cb
    ticks = ""
    do for [power = int(floor(log10(low))):int(ceil(log10(high)))] {
        do for [digit in "1 2 5"] {
            value = real(digit) * 10.0 ** power
            if (value > low * 0.999 && value < high * 1.001) {
                ticks = ticks . (ticks eq "" ? "" : ", ") . sprintf("'%g' %g", value, value)
            }
        }
    }
    eval "set cbtics (" . ticks . ")"
}
label_end = strlen(colour_label)
colour_text = !far ? colour_label : colour_label[label_end:label_end] eq ")" ? \
    colour_label[1:label_end - 1] . ", log scale)" : colour_label . " (log scale)"
is_dark(value) = far ? log(value / low) < 0.6 * log(high / low) : value < low + 0.6 * (high - low)

do for [kind in kinds] {
    eval open_figure(kind, figure, width, height)
    eval heading
    set lmargin at screen from_left(left_edge)
    set rmargin at screen from_left(left_edge + side)
    set tmargin at screen from_top(68)
    set bmargin at screen from_top(68 + tall)
    set border 15 lc rgb grey lw 1
    set colorbox user origin screen from_left(left_edge + side + 34), screen from_top(68 + tall) \
        size screen 22 / width, screen tall / height
    set cblabel colour_text offset 1, 0
    set object 1 rectangle from graph 0, graph 0 to graph 1, graph 1 behind \
        fs solid 1.0 noborder fc rgb faint
    set xrange [-0.5:columns - 0.5]
    set yrange [lines - 0.5:-0.5]
    set xlabel x_label offset 0, 0.3
    set ylabel y_label
    set xtics ()
    set ytics ()
    plot data index 3 matrix using (($1 + 0.5) / repeats - 0.5):(($2 + 0.5) / repeats - 0.5):3 \
             with image, \
         "" index 1 using 1:(NaN):xtic(2) with points, \
         "" index 1 using (NaN):1:ytic(3) with points, \
         "" index 2 using 1:(is_dark($3) ? $2 : NaN):4 with labels \
             textcolor rgb "white", \
         "" index 2 using 1:(is_dark($3) ? NaN : $2):4 with labels \
             textcolor rgb black
    unset output
}
