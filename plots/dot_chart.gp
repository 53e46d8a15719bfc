# Dots on lines, in one panel or several. `figure` names the file
# (`gnuplot -e "figure='gpu_matmul'" common.gp dot_chart.gp`).
#
# `log` 1: the axis is logarithmic; `mark` of a panel: where a dashed line stands, 0 = nowhere. y 0 is the
# first line, -1 the second. `text` is at the right of a line, text_2 below it, and `right` and right_2 above them; `absent` 1: the first one says
# why there are no dots. `colour` -1: white. `mark` of a dot: 0 circle, 1 diamond, 2 a single round, 3 a median.

eval read_heading("panels colours keys has_two", "name_length text_length", "")
array label_of[panels]
array right_of[panels]
array right_2_of[panels]
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
at(name) = whole(name) + 1
stats data index "panels" using (label_of[at("panel")] = strcol("label"), right_of[at("panel")] = strcol("right"), right_2_of[at("panel")] = strcol("right_2"), lines_of[at("panel")] = whole("lines"), low_of[at("panel")] = num("low"), high_of[at("panel")] = num("high"), log_of[at("panel")] = whole("log"), line_at[at("panel")] = num("mark"), 0) nooutput
label_breaks = 0
do for [i = 1:panels] {
    label_of[i] = wrap(label_of[i], narrow ? 44 : 200)
    label_breaks = breaks(label_of[i]) > label_breaks ? breaks(label_of[i]) : label_breaks
}
stats data index "keys" using (key_colour[at("number")] = whole("colour"), key_mark[at("number")] = whole("mark"), key_name[at("number")] = strcol("text"), strlen(strcol("text")) > longest ? longest = strlen(strcol("text")) : 0, 0) nooutput

colour_of(i) = i < 0 ? "#FFFFFF" : ladder_colour(ladder_step(i, colours), colours)
filled(shape) = shape == 1 ? 13 : 7
outline(shape) = shape == 1 ? 12 : 6

columns = panels > 1 && !narrow ? 2 : 1
rows = (panels + columns - 1) / columns
width = narrow ? 400.0 : columns > 1 ? 1300.0 : 1000.0
name_room = narrow ? 24 : 30 + 8.2 * name_length
text_room = narrow ? 24 : 26 + 8.2 * text_length
# On a phone a line's name and text stand above its dots, and text_2 below them.
dot_y(y) = narrow ? floor(y + 0.5) - (has_two ? 0.02 : 0.14) + 0.5 * (y - floor(y + 0.5)) : y
median_half = narrow ? 0.16 : 0.22
right_side = narrow ? "right" : "left"
text_y(up) = num("y") + (narrow ? 1.5 * up : has_two ? up : 0)
panel_width = width / columns - name_room - text_room
key_width = 50 + 7.6 * longest
key_columns = int((width - 40) / key_width)
key_columns = key_columns < 1 ? 1 : key_columns
key_rows = (keys + key_columns - 1) / key_columns
line_height = (colours > 4 ? 50.0 : 40.0) + (has_two ? 36 : 24) * narrow
# Panels stand side by side, and are as high as they have lines.
headed = strlen(right_of[1]) ? 36 : 0
height = 78 + 24 * key_rows + headed
do for [row = 0:rows - 1] {
    first = row * columns + 1
    last = first + columns - 1 > panels ? panels : first + columns - 1
    tallest = lines_of[first] > lines_of[last] ? lines_of[first] : lines_of[last]
    do for [i = first:last] { top_of[i] = height }
    height = height + line_height * tallest + (row < rows - 1 && headed ? 92 : 72) + 18 * label_breaks
}
height = int(height + foot + head - 10)
tick_text(value) = counted_text(0, value)

do for [kind in kinds] {
    eval begin
    set multiplot
    text_font = has_two ? small : ""
    do for [i = 0:keys - 1] {
        x = 20 + key_width * (i % key_columns)
        y = 74 + 24 * (i / key_columns)
        set label (11 + i) key_name[i + 1] at screen from_left(x + 20), screen from_top(y) left front font small
        if (key_mark[i + 1] == 3) {
            set arrow (11 + i) from screen from_left(x + 8), screen from_top(y - 8) to screen from_left(x + 8), screen from_top(y + 8) nohead lw 3.5 lc rgb black front
        } else {
            shape = key_mark[i + 1]
            size = shape == 2 ? 0.9 : 1.5
            set label (51 + i) "" at screen from_left(x + 8), screen from_top(y) point pt filled(shape) ps size * point lc rgb colour_of(key_colour[i + 1]) front
            set label (91 + i) "" at screen from_left(x + 8), screen from_top(y) point pt outline(shape) ps size * point lc rgb black front
        }
    }
    unset ytics
    set grid xtics lc rgb faint lt 1 lw 1
    do for [panel = 0:panels - 1] {
        x = (panel % columns) * width / columns + name_room
        y = top_of[panel + 1]
        body = line_height * lines_of[panel + 1]
        eval frame(x, x + panel_width, y, from_top(y + body))
        low = low_of[panel + 1]
        high = high_of[panel + 1]
        unset logscale
        set xrange [low:high]
        set yrange [0.5 - lines_of[panel + 1]:0.5]
        set xlabel label_of[panel + 1] offset 0, 0.3
        right_x = narrow ? x + panel_width : x + panel_width + 8
        set label 3 right_of[panel + 1] at screen from_left(right_x), screen from_top(y - 26) @right_side front font small textcolor rgb grey
        set label 5 right_2_of[panel + 1] at screen from_left(right_x), screen from_top(y - 9) @right_side front font small textcolor rgb grey
        tick_low = low
        tick_high = high
        if (log_of[panel + 1]) {
            set logscale x
            tick_digits = high / low > 300 ? "1" : "125"
            eval log_ticks
        } else { eval linear_ticks }
        eval "set xtics (" . ticks . ")"
        unset arrow 1
        if (line_at[panel + 1] != 0) {
            set arrow 1 from line_at[panel + 1], graph 0 to line_at[panel + 1], graph 1 nohead lc rgb black lw 1.5 dt 2 back
        }
        dots = sprintf("dots_%d", panel)
        lines = sprintf("lines_%d", panel)
        mark(i, name) = num("mark") == i ? num(name) : NaN
        colour(i, name) = num("colour") == i ? num(name) : NaN
        dot(i, name) = num("mark") < 2 ? colour(i, name) : NaN
        line(absent, name) = text_if(whole("absent") == absent, name)
        plot data index dots using (mark(3, "low")):(dot_y(num("y"))):(num("high") - num("low")):(0) @interval lc rgb black, \
             "" index dots using (mark(3, "x")):(dot_y(num("y")) - median_half):(0):(2 * median_half) with vectors nohead lw 3.5 lc rgb black, \
             for [i = 0:colours - 1] "" index dots using (num("mark") == 2 ? colour(i, "x") : NaN):(dot_y(num("y"))) with points pt 7 ps 0.9 * point lc rgb colour_of(i), \
             "" index dots using (mark(2, "x")):(dot_y(num("y"))) with points pt 6 ps 0.9 * point lw 0.7 lc rgb black, \
             for [i = 0:colours - 1] "" index dots using (dot(i, "low")):(dot_y(num("y"))):(num("high") - num("low")):(0) @interval lc rgb grey, \
             for [m = 0:1] for [i = 0:colours - 1] "" index dots using \
                 (num("mark") == m ? colour(i, "x") : NaN):(dot_y(num("y"))) with points pt filled(m) ps 1.4 * point lc rgb colour_of(i), \
             for [m = 0:1] "" index dots using (mark(m, "x")):(dot_y(num("y"))) with points pt outline(m) ps 1.4 * point lc rgb black, \
             "" index lines using (low):(num("y") + row_up):"name" with labels @row_label, \
             "" index lines using (high):(text_y(0.21)):(line(0, "text")) with labels @row_text font text_font, \
             "" index lines using (high):(text_y(-0.21)):(line(0, "text_2")) with labels @row_text font text_font, \
             "" index lines using (low):(dot_y(num("y"))):(line(1, "text")) with labels left offset 1, 0 textcolor rgb grey, \
             NaN with points
        eval begin_next
    }
    unset multiplot
    unset label 3
    unset label 5
    unset output
}
