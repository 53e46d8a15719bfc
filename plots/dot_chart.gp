# Dots on lines, in one panel or several. `figure` names the file
# (`gnuplot -e "figure='gpu_matmul'" common.gp dot_chart.gp`).
#
# <figure>.dat: block 0: title, subtitle, footnote, number of panels, of colours, of entries of the
# key, characters of the longest name of a line and of the longest text at the right of one. Block 1: 1 panel, 2 text of its axis, 3 its lines, 4 and 5 ends of the axis, 6 1 =
# it is logarithmic, 7 where a dashed line stands (0 = nowhere). Block 2, the key: 1 number, 2 colour
# (-1 = white), 3 mark, 4 text. Block 3, lines: 1 panel, 2 y, 3 name, 4 and 5 texts at its right, one
# below the other, 6 1 = the first one says why there are no dots. Block 4, dots: 1 panel, 2 y, 3 x, 4 and 5 the interval, 6 colour, 7
# mark: 0 circle, 1 diamond, 2 a single round, 3 a median.

data = data_of(figure)
stats data index 0 using (title_text = strcol(1), subtitle_text = strcol(2), footnote_text = strcol(3), panels = int($4), colours = int($5), keys = int($6), name_length = $7, text_length = $8, 0) nooutput
array label_of[panels]
array lines_of[panels]
array top_of[panels]
array low_of[panels]
array high_of[panels]
array log_of[panels]
array line_at[panels]
array key_colour[keys + 1]
array key_mark[keys + 1]
array key_name[keys + 1]
longest = 0
stats data index 1 using (label_of[int($1) + 1] = strcol(2), lines_of[int($1) + 1] = int($3), low_of[int($1) + 1] = $4, high_of[int($1) + 1] = $5, log_of[int($1) + 1] = int($6), line_at[int($1) + 1] = $7, 0) nooutput
stats data index 2 using ($1 >= 0 ? key_colour[int($1) + 1] = int($2) : 0, $1 >= 0 ? key_mark[int($1) + 1] = int($3) : 0, $1 >= 0 ? key_name[int($1) + 1] = strcol(4) : 0, strlen(strcol(4)) > longest ? longest = strlen(strcol(4)) : 0, 0) nooutput

colour_of(i) = i < 0 ? "#FFFFFF" : ladder_colour(ladder_step(i, colours), colours)
filled(mark) = mark == 1 ? 13 : 7
outline(mark) = mark == 1 ? 12 : 6

columns = panels > 1 ? 2 : 1
rows = (panels + columns - 1) / columns
width = columns > 1 ? 1300.0 : 1000.0
foot = footnote_text eq "" ? 0 : 22
name_room = 30 + 8.2 * name_length
text_room = 26 + 8.2 * text_length
panel_width = width / columns - name_room - text_room
key_width = 50 + 7.6 * longest
key_columns = int((width - 40) / key_width)
key_columns = key_columns < 1 ? 1 : key_columns
key_rows = (keys + key_columns - 1) / key_columns
line_height = colours > 4 ? 50.0 : 40.0
# Panels stand side by side, and are as high as they have lines.
height = 78 + 24 * key_rows
do for [row = 0:rows - 1] {
    first = row * columns + 1
    last = first + columns - 1 > panels ? panels : first + columns - 1
    tallest = lines_of[first] > lines_of[last] ? lines_of[first] : lines_of[last]
    do for [i = first:last] { top_of[i] = height }
    height = height + line_height * tallest + 72
}
height = int(height + foot - 10)
has_two = 0
stats data index 3 using (strcol(5) ne "" ? has_two = 1 : 0, 0) nooutput

do for [kind in kinds] {
    eval open_figure(kind, figure, width, height)
    set multiplot
    eval heading
    text_font = has_two ? small : ""
    do for [i = 0:keys - 1] {
        x = 20 + key_width * (i % key_columns)
        y = 74 + 24 * (i / key_columns)
        set label (11 + i) key_name[i + 1] at screen from_left(x + 20), screen from_top(y) left front font small
        if (key_mark[i + 1] == 3) {
            set arrow (11 + i) from screen from_left(x + 8), screen from_top(y - 8) to screen from_left(x + 8), screen from_top(y + 8) nohead lw 3.5 lc rgb black front
        } else {
            mark = key_mark[i + 1]
            size = mark == 2 ? 0.9 : 1.5
            set label (51 + i) "" at screen from_left(x + 8), screen from_top(y) point pt filled(mark) ps size * point lc rgb colour_of(key_colour[i + 1]) front
            if (mark < 2) {
                set label (91 + i) "" at screen from_left(x + 8), screen from_top(y) point pt outline(mark) ps size * point lc rgb black front
            }
        }
    }
    unset key
    set border 3 lc rgb grey lw 1
    unset ytics
    set grid xtics lc rgb faint lt 1 lw 1
    do for [panel = 0:panels - 1] {
        x = (panel % columns) * width / columns + name_room
        y = top_of[panel + 1]
        body = line_height * lines_of[panel + 1]
        set lmargin at screen x / width
        set rmargin at screen (x + panel_width) / width
        set tmargin at screen 1 - real(y) / height
        set bmargin at screen 1 - (y + body) / height
        low = low_of[panel + 1]
        high = high_of[panel + 1]
        unset logscale
        set xrange [low:high]
        set yrange [0.5 - lines_of[panel + 1]:0.5]
        set xlabel label_of[panel + 1] offset 0, 0.3
        set xtics autofreq
        if (log_of[panel + 1]) {
            set logscale x
            ticks = ""
            do for [power = int(floor(log10(low) + 1e-9)):int(ceil(log10(high) - 1e-9))] {
                do for [digit = 1:9] {
                    value = digit * 10.0 ** power
                    if (value > low * 0.999 && value < high * 1.001) {
                        shown = strstrt(high / low > 300 ? "1" : "125", sprintf("%d", digit))
                        ticks = ticks . (ticks eq "" ? "" : ", ") . (shown ? \
                            sprintf("'%s' %g", plain_text(value), value) : sprintf("'' %g 1", value))
                    }
                }
            }
            eval "set xtics (" . ticks . ")"
        }
        unset arrow 1
        if (line_at[panel + 1] != 0) {
            set arrow 1 from line_at[panel + 1], graph 0 to line_at[panel + 1], graph 1 nohead lc rgb black lw 1.5 dt 2 back
        }
        plot data index 4 using ($1 == panel && $7 == 3 ? $4 : NaN):2:($5 - $4):(0) @interval lc rgb black, \
             "" index 4 using ($1 == panel && $7 == 3 ? $3 : NaN):($2 - 0.22):(0):(0.44) with vectors nohead lw 3.5 lc rgb black, \
             for [i = 0:colours - 1] "" index 4 using ($1 == panel && $7 == 2 && $6 == i ? $3 : NaN):2 with points pt 7 ps 0.9 * point lc rgb colour_of(i), \
             for [i = 0:colours - 1] "" index 4 using ($1 == panel && $7 < 2 && $6 == i ? $4 : NaN):2:($5 - $4):(0) @interval lc rgb grey, \
             for [mark = 0:1] for [i = 0:colours - 1] "" index 4 using \
                 ($1 == panel && $7 == mark && $6 == i ? $3 : NaN):2 with points pt filled(mark) ps 1.4 * point lc rgb colour_of(i), \
             for [mark = 0:1] "" index 4 using \
                 ($1 == panel && $7 == mark ? $3 : NaN):2 with points pt outline(mark) ps 1.4 * point lc rgb black, \
             "" index 3 using ($1 == panel ? low : NaN):2:3 with labels right offset -1, 0, \
             "" index 3 using ($1 == panel && $6 == 0 ? high : NaN):($2 + (has_two ? 0.21 : 0)):4 with labels left offset 1, 0 font text_font, \
             "" index 3 using ($1 == panel && $6 == 0 ? high : NaN):($2 - 0.21):5 with labels left offset 1, 0 font text_font, \
             "" index 3 using ($1 == panel && $6 == 1 ? low : NaN):2:4 with labels left offset 1, 0 textcolor rgb grey, \
             NaN with points
        # Heading and key are drawn once, with the first panel.
        unset label 1
        unset label 2
        unset label 4
        unset for [i = 11:130] label i
        unset for [i = 11:40] arrow i
    }
    unset multiplot
    unset output
}
