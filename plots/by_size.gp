# A value over bytes, both on log scales. `figure` names the file: collective_bandwidth,
# collective_latency or retention (`gnuplot -e "figure='collective_latency'" common.gp by_size.gp`).
#
# <figure>.dat: block 0: title, subtitle, footnote, text of the y axis, number of lines, ends of the
# axes: sizes (bytes), values (1, 2 or 5 times a power of ten).
# Block 1: 1 number of the line, 2 its name. Blocks 2 and on, one a line: 1 bytes, 2 value, 3 ci_low,
# 4 ci_high.

data = data_of(figure)
stats data index 0 using (title_text = strcol(1), subtitle_text = strcol(2), footnote_text = strcol(3), axis_text = strcol(4), lines = int($5), x_low = $6, x_high = $7, y_low = $8, y_high = $9, 0) nooutput
array name[lines]
stats data index 1 using ($1 >= 0 ? name[int($1) + 1] = strcol(2) : 0, 0) nooutput

width = 1000.0
foot = footnote_text eq "" ? 0 : 22
key_lines = (lines + 1) / 2
top = 76 + 24 * key_lines
body = 400.0
height = int(top + body + 62 + foot)

# A label every so many octaves, so that at most nine stand on the axis.
x_first = int(ceil(log(x_low) / log(2) - 0.01))
x_last = int(floor(log(x_high) / log(2) + 0.01))
every = (x_last - x_first) / 9 + 1
ticks = ""
do for [k = x_first:x_last] {
    ticks = ticks . (ticks eq "" ? "" : ", ") . ((k - x_first) % every ? \
        sprintf("'' %.0f 1", 2.0 ** k) : sprintf("'%s' %.0f", bytes_text(2.0 ** k), 2.0 ** k))
}
y_ticks = ""
do for [power = int(floor(log10(y_low) + 1e-9)):int(ceil(log10(y_high) - 1e-9))] {
    do for [digit = 1:9] {
        value = digit * 10.0 ** power
        if (value > y_low * 0.999 && value < y_high * 1.001) {
            shown = y_high / y_low > 2000 ? "1" : "125"
            y_ticks = y_ticks . (y_ticks eq "" ? "" : ", ") . (strstrt(shown, sprintf("%d", digit)) ? \
                sprintf("'%g' %g", value, value) : sprintf("'' %g 1", value))
        }
    }
}

do for [kind in kinds] {
    eval open_figure(kind, figure, width, height)
    eval heading
    do for [i = 0:lines - 1] {
        eval key_series(11 + i, 100 + 440 * (i % 2), 74 + 24 * (i / 2), i, sprintf("name[%d]", i + 1))
    }
    set lmargin at screen from_left(100)
    set rmargin at screen from_left(width - 36)
    set tmargin at screen from_top(top)
    set bmargin at screen from_top(top + body)
    unset key
    set logscale xy
    set xrange [x_low / 1.15:x_high * 1.15]
    set yrange [y_low:y_high]
    set xlabel "size (bytes, log scale)" offset 0, 0.3
    set ylabel axis_text
    eval "set xtics (" . ticks . ")"
    eval "set ytics (" . y_ticks . ")"
    set grid ytics lc rgb faint lt 1 lw 1
    plot for [i = 0:lines - 1] data index (i + 2) using 1:3:(0):($4 - $3) @interval \
             lc rgb line_colour(i), \
         for [i = 0:lines - 1] "" index (i + 2) using 1:2 with linespoints ls line(i) \
             ps 0.8 * point
    unset output
}
