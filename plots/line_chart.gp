# Lines, in one panel or several. `figure` names the file
# (`gnuplot -e "figure='latency_curve'" common.gp line_chart.gp`).
#
# y_from: where another axis crosses the linear y axis, 0 = its own end. y_counts and x_counts, of log axes: as
# counted_text. `steps` 1: a histogram, whose values reach from the point before to their own. `solid` 0: the mark
# is dotted; `row` 0: its text is the lowest; `left` 1: it goes to the left.

eval read_heading("panels names lines x_log x_bytes y_log y_counts x_counts steps", "x_low x_high y_low y_high y_from", "x_text y_text")
array panel_name[panels]
array name[names]
array panel_of[lines]
array name_of[lines]
longest = 0
at(name) = whole(name) + 1
stats data index "panels" using (panel_name[at("number")] = wrap(strcol("name"), narrow ? 44 : 200), 0) nooutput
name_breaks = 0
do for [i = 1:panels] { name_breaks = breaks(panel_name[i]) > name_breaks ? breaks(panel_name[i]) : name_breaks }
stats data index "names" using (name[at("number")] = strcol("name"), strlen(strcol("name")) > longest ? longest = strlen(strcol("name")) : 0) nooutput
stats data index "lines" using (panel_of[at("number")] = whole("panel"), name_of[at("number")] = whole("name"), 0) nooutput
# On a phone each mark has a row. Texts from the left half go to the right above the other lines, the rest below them.
marks = 0
rightward = 0
mark_rows = 0
share_of(x) = x_log ? log(x / x_low) / log(x_high / x_low) : (x - x_low) / (x_high - x_low)
at_left(x) = narrow ? share_of(num("x")) > 0.5 : whole("left")
mark_row(x) = !narrow ? num("row") : at_left(0) ? column(0) - rightward : marks - 1 - column(0)
stats data index "marks" using (marks = marks + 1, rightward = rightward + !at_left(0), 0) nooutput
stats data index "marks" using (mark_row(0) + 1 > mark_rows ? mark_rows = mark_row(0) + 1 : 0, 0) nooutput
x_text = wrap(x_text, narrow ? 44 : 200)
y_text = wrap(y_text, narrow ? 50 : 200)

columns = narrow ? 1 : panels < 3 ? panels : 3
rows = (panels + columns - 1) / columns
width = narrow ? 400.0 : panels == 1 ? 1000.0 : 1200.0
left_edge = (narrow ? 62.0 : 96.0) + 30 * (y_counts || (y_log && y_low < 1e-4))
right_edge = narrow ? 20.0 : 30.0
between = x_counts ? 60.0 : 24.0
panel_width = (width - left_edge - right_edge - between * (columns - 1)) / columns
key_width = 64 + 7.2 * longest
key_left = narrow ? 16 : left_edge
key_columns = int((width - key_left) / key_width)
key_columns = key_columns < 1 ? 1 : key_columns > 4 ? 4 : key_columns
key_end = 76 + 24 * ((names + key_columns - 1) / key_columns)
top = key_end + (narrow ? 22 + 18 * breaks(y_text) : 0)
title_room = strlen(panel_name[1]) ? 30 + 18 * name_breaks : 0
below = rows > 1 ? 26 + 8 * narrow : 16
plain = panels == 1 ? 390.0 : 280.0
# The marks' texts are above the lines, inside the axes, or gnuplot would leave them out.
body = plain + 22 * mark_rows
height = int(top + rows * (body + title_room + below) + 48 + 18 * breaks(x_text) + foot + head)

# The value at a share of the axis's height as it is without marks.
y_at(share) = y_log ? y_low * (y_high / y_low) ** share : y_low + (y_high - y_low) * share
row_y(row) = y_at((plain + 10.0 + 22 * row) / plain)

# Lines that lie on each other are all to be seen: those above are thinner.
line_width(i) = names > 1 ? 3.8 - 2.0 * i / (names - 1) : 2.5

# Bytes have a label every so many octaves, as many as have room.
decades(low, high) = high / low > 2000 ? "1" : "125"
is_decade(x) = x > 0 && abs(log10(x) - floor(log10(x) + 0.5)) < 1e-6
if (x_log && (x_bytes || x_high < 1e4 && !x_counts && !(is_decade(x_low) && is_decade(x_high) && x_high > x_low))) {
    ticks = ""
    x_first = int(ceil(log(x_low) / log(2) - 0.01))
    x_last = int(floor(log(x_high) / log(2) + 0.01))
    every = (x_last - x_first) / ((narrow ? 5 : x_bytes ? 11 : 24) / columns) + 1
    do for [k = x_first:x_last] {
        text = x_bytes ? bytes_text(2.0 ** k) : sprintf(k < 0 ? "%g" : "%.0f", 2.0 ** k)
        ticks = ticks . (ticks eq "" ? "" : ", ") . \
            ((k - x_first) % every ? sprintf("'' %.0f 1", 2.0 ** k) : sprintf("'%s' %.0f", text, 2.0 ** k))
    }
} else {
    tick_low = x_low
    tick_high = x_high
    tick_digits = x_log ? decades(x_low, x_high) : ""
    tick_text(value) = counted_text(x_counts, value)
    if (x_log) { eval log_ticks } else { eval linear_ticks }
}
x_ticks = ticks
tick_low = y_low
tick_high = y_high
tick_digits = y_log ? decades(y_low, y_high) : ""
labelled = 1
tick_text(value) = !labelled ? "" : counted_text(y_counts, value)
if (y_log) { eval log_ticks } else { eval linear_ticks }
y_ticks = ticks
labelled = 0
if (y_log) { eval log_ticks } else { eval linear_ticks }

do for [kind in kinds] {
    eval begin
    set multiplot
    do for [i = 0:names - 1] {
        eval key_series(11 + i, key_left + (width - key_left) / key_columns * (i % key_columns), 74 + 24 * (i / key_columns), i, sprintf("name[%d]", i + 1))
    }
    if (x_log) {
        set logscale x 2
        set xrange [x_low / 1.15:x_high * 1.15]
    } else {
        set xrange [x_low:x_high]
        set grid xtics lc rgb faint lt 1 lw 1
    }
    eval "set xtics (" . x_ticks . ")"
    if (y_log) { set logscale y 10 }
    set yrange [y_low:y_at(body / plain)]
    set grid ytics lc rgb faint lt 1 lw 1
    do for [panel = 0:panels - 1] {
        x = left_edge + (panel % columns) * (panel_width + between)
        y = top + (panel / columns) * (body + title_room + below) + title_room
        eval frame(x, x + panel_width, y, from_top(y + body))
        set label 3 panel_name[panel + 1] at screen from_left(narrow ? 16 : x), screen from_top(y - 13 - 18 * name_breaks) left front
        if (y_from != 0) {
            set arrow 1 from graph 0, first y_from to graph 1, first y_from nohead lc rgb black lw 1.5 dt 2 back
        }
        if (panel + columns >= panels) {
            set xlabel x_text offset 0, 0.3
        } else { unset xlabel }
        unset label 5
        if (narrow) {
            if (panel == 0) { set label 5 y_text at screen from_left(16), screen from_top(key_end + 6) left front font small }
        } else { if (panel % columns == 0) {
            set ylabel y_text
        } else { unset ylabel } }
        eval "set ytics (" . (panel % columns ? ticks : y_ticks) . ")"
        block(i) = sprintf("line_%d", i)
        of(i) = panel_of[i + 1] == panel ? num("x") : NaN
        up(solid) = num("solid") == solid ? row_y(mark_row(0)) - y_low : NaN
        plot data index "marks" using "x":(y_low):(0):(up(1)) with vectors nohead lc rgb black lw 1.5, \
             "" index "marks" using "x":(y_low):(0):(up(0)) with vectors nohead lc rgb grey lw 1.5 dt 3, \
             for [i = 0:lines - 1] "" index block(i) using (of(i)):"low":(0):(num("high") - num("low")) \
                 @interval lc rgb line_colour(name_of[i + 1]), \
             for [i = 0:lines - 1] "" index block(i) using (steps ? NaN : of(i)):"y" with linespoints \
                 ls line(name_of[i + 1]) lw line_width(name_of[i + 1]) \
                 ps 0.32 * line_width(name_of[i + 1]) * point, \
             for [i = 0:lines - 1] "" index block(i) using (steps ? of(i) : NaN):"y" with fsteps \
                 ls line(name_of[i + 1]), \
             "" index "marks" using "x":(row_y(mark_row(0))):(text_if(!at_left(0), "text")) with labels left \
                 offset 0.4, 0 font small, \
             "" index "marks" using "x":(row_y(mark_row(0))):(text_if(at_left(0), "text")) with labels right \
                 offset -0.4, 0 font small, \
             "" index "crosses" using "x":"y" with points pt 2 ps 1.6 * point lw 2.5 lc rgb black, \
             NaN with points
        eval begin_next
    }
    unset multiplot
    unset label 3
    unset label 5
    unset output
}
