# Lines, in one panel or several. `figure` names the file
# (`gnuplot -e "figure='latency_curve'" common.gp line_chart.gp`).
#
# <figure>.dat: block 0: title, subtitle, footnote, texts of the x and the y axis, number of panels,
# of names, of lines, 1 = the x axis is logarithmic, 1 = and of bytes, 1 = the y axis is logarithmic,
# ends of the x and of the y axis, where another axis crosses the linear y axis (0 = its own end),
# what the log y axis counts (0 = numbers, 1 = GB/s, 2 = us).
# Block 1: 1 panel, 2 its name. Block 2: 1 number of the name, 2 name. Block 3: 1 line, 2 its panel,
# 3 its name. Block 4, marks on the x axis: 1 x, 2 1 = solid, 0 = dotted, 3 row of the text (0 the
# lowest), 4 1 where the text goes to the left, 5 text. Block 5, crosses: 1 x, 2 y, 3 text. Blocks 6
# and on, one a line: 1 x, 2 y, 3 ci_low, 4 ci_high.

data = data_of(figure)
stats data index 0 using (title_text = strcol(1), subtitle_text = strcol(2), footnote_text = strcol(3), x_text = strcol(4), y_text = strcol(5), panels = int($6), names = int($7), lines = int($8), x_log = int($9), x_bytes = int($10), y_log = int($11), x_low = $12, x_high = $13, y_low = $14, y_high = $15, y_from = $16, y_counts = int($17), 0) nooutput
array panel_name[panels]
array name[names]
array panel_of[lines]
array name_of[lines]
longest = 0
stats data index 1 using ($1 >= 0 ? panel_name[int($1) + 1] = strcol(2) : 0, 0) nooutput
stats data index 2 using ($1 >= 0 ? name[int($1) + 1] = strcol(2) : 0, strlen(strcol(2)) > longest ? longest = strlen(strcol(2)) : 0) nooutput
stats data index 3 using ($1 >= 0 ? panel_of[int($1) + 1] = int($2) : 0, $1 >= 0 ? name_of[int($1) + 1] = int($3) : 0, 0) nooutput
mark_rows = 0
stats data index 4 using ($3 + 1 > mark_rows && $1 == $1 ? mark_rows = $3 + 1 : 0, 0) nooutput

columns = panels < 3 ? panels : 3
rows = (panels + columns - 1) / columns
width = panels == 1 ? 1000.0 : 1200.0
foot = footnote_text eq "" ? 0 : 22
left_edge = y_counts || (y_log && y_low < 1e-4) ? 126.0 : 96.0
right_edge = 30.0
between = 24.0
panel_width = (width - left_edge - right_edge - between * (columns - 1)) / columns
key_width = 64 + 7.2 * longest
key_columns = int((width - left_edge) / key_width)
key_columns = key_columns < 1 ? 1 : key_columns > 4 ? 4 : key_columns
top = 76 + 24 * ((names + key_columns - 1) / key_columns)
title_room = strlen(panel_name[1]) ? 30 : 0
below = rows > 1 ? 26 : 16
plain = panels == 1 ? 390.0 : 280.0
# The marks' texts are above the lines, inside the axes, or gnuplot would leave them out.
body = plain + 22 * mark_rows
height = int(top + rows * (body + title_room + below) + 48 + foot)

# The value at a share of the axis's height as it is without marks.
y_at(share) = y_log ? y_low * (y_high / y_low) ** share : y_low + (y_high - y_low) * share
row_y(row) = y_at((plain + 10.0 + 22 * row) / plain)

# Lines that lie on each other are all to be seen: those above are thinner.
line_width(i) = names > 1 ? 3.8 - 2.0 * i / (names - 1) : 2.5

# Of bandwidths and times "10 kB/s", "1 us".
y_text_of(value) = y_counts == 1 ? gprintf("%.0s %cB/s", value * 1.000001e9) : \
    y_counts == 2 ? gprintf("%.0s %cs", value * 1.000001e-6) : plain_text(value)

# A label every so many octaves, as many as have room.
x_ticks = ""
if (x_log) {
    x_first = int(ceil(log(x_low) / log(2) - 0.01))
    x_last = int(floor(log(x_high) / log(2) + 0.01))
    every = (x_last - x_first) / ((x_bytes || x_high >= 1e4 ? 11 : 24) / columns) + 1
    do for [k = x_first:x_last] {
        text = x_bytes ? bytes_text(2.0 ** k) : sprintf(k < 0 ? "%g" : "%.0f", 2.0 ** k)
        x_ticks = x_ticks . (x_ticks eq "" ? "" : ", ") . \
            ((k - x_first) % every ? sprintf("'' %.0f 1", 2.0 ** k) : sprintf("'%s' %.0f", text, 2.0 ** k))
    }
}
y_ticks = ""
no_ticks = ""
if (y_log) {
    do for [power = int(floor(log10(y_low) + 1e-9)):int(ceil(log10(y_high) - 1e-9))] {
        do for [digit = 1:9] {
            value = digit * 10.0 ** power
            if (value > y_low * 0.999 && value < y_high * 1.001) {
                shown = strstrt(y_high / y_low > 2000 ? "1" : "125", sprintf("%d", digit))
                y_ticks = y_ticks . (y_ticks eq "" ? "" : ", ") . (shown ? \
                    sprintf("'%s' %g", y_text_of(value), value) : sprintf("'' %g 1", value))
                no_ticks = no_ticks . (no_ticks eq "" ? "" : ", ") . \
                    sprintf(shown ? "'' %g" : "'' %g 1", value)
            }
        }
    }
}

do for [kind in kinds] {
    eval open_figure(kind, figure, width, height)
    set multiplot
    eval heading
    do for [i = 0:names - 1] {
        eval key_series(11 + i, left_edge + (width - left_edge) / key_columns * (i % key_columns), 74 + 24 * (i / key_columns), i, sprintf("name[%d]", i + 1))
    }
    unset key
    set style textbox opaque noborder margins 0.5, 0.5 # a curve may run below a cross's text
    if (x_log) {
        set logscale x 2
        set xrange [x_low / 1.15:x_high * 1.15]
        eval "set xtics (" . x_ticks . ")"
    } else {
        set xrange [x_low:x_high]
        set grid xtics lc rgb faint lt 1 lw 1
    }
    if (y_log) { set logscale y 10 }
    set yrange [y_low:y_at(body / plain)]
    set border 3 lc rgb grey lw 1
    set grid ytics lc rgb faint lt 1 lw 1
    do for [panel = 0:panels - 1] {
        x = left_edge + (panel % columns) * (panel_width + between)
        y = top + (panel / columns) * (body + title_room + below) + title_room
        set lmargin at screen x / width
        set rmargin at screen (x + panel_width) / width
        set tmargin at screen 1 - real(y) / height
        set bmargin at screen 1 - (y + body) / height
        set label 3 panel_name[panel + 1] at graph 0, graph 1 offset 0, 0.75 left front
        if (y_from != 0) {
            set arrow 1 from graph 0, first y_from to graph 1, first y_from nohead lc rgb black lw 1.5 dt 2 back
        }
        if (panel + columns >= panels) {
            set xlabel x_text offset 0, 0.3
        } else { unset xlabel }
        if (panel % columns == 0) {
            set ylabel y_text
            set ytics format tick_format(y_high)
        } else {
            unset ylabel
            set ytics format ""
        }
        if (y_log) { eval "set ytics (" . (panel % columns ? no_ticks : y_ticks) . ")" }
        plot data index 4 using 1:(y_low):(0):(($2 == 1 ? row_y($3) : NaN) - y_low) with vectors \
                 nohead lc rgb black lw 1.5, \
             "" index 4 using 1:(y_low):(0):(($2 == 0 ? row_y($3) : NaN) - y_low) with vectors \
                 nohead lc rgb grey lw 1.5 dt 3, \
             "" index 5 using 1:(y_low):(0):($2 - y_low) with vectors nohead lc rgb grey lw 1.5 dt 3, \
             for [i = 0:lines - 1] "" index (i + 6) using \
                 (panel_of[i + 1] == panel ? $1 : NaN):3:(0):($4 - $3) @interval \
                 lc rgb line_colour(name_of[i + 1]), \
             for [i = 0:lines - 1] "" index (i + 6) using \
                 (panel_of[i + 1] == panel ? $1 : NaN):2 with linespoints \
                 ls line(name_of[i + 1]) lw line_width(name_of[i + 1]) \
                 ps 0.32 * line_width(name_of[i + 1]) * point, \
             "" index 4 using ($4 == 0 ? $1 : NaN):(row_y($3)):5 with labels left \
                 offset 0.4, 0 font small, \
             "" index 4 using ($4 == 1 ? $1 : NaN):(row_y($3)):5 with labels right \
                 offset -0.4, 0 font small, \
             "" index 5 using 1:2 with points pt 2 ps 1.6 * point lw 2.5 lc rgb black, \
             "" index 5 using 1:2:3 with labels right boxed offset -1.2, 0.9, \
             NaN with points
        # Heading and key are drawn once, with the first panel.
        unset label 1
        unset label 2
        unset label 4
        unset for [i = 11:40] label i
        unset for [i = 111:140] label i
        unset for [i = 11:40] arrow i
    }
    unset multiplot
    unset label 3
    unset output
}
