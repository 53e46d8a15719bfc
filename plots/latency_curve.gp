# latency_curve.dat: block 0: title, subtitle, footnote, number of lines, ends of the axes: sizes
# (bytes), latencies (ns, 1, 2 or 5 times a power of ten).
# Block 1: 1 number of the line, 2 its name. Block 2, where caches end: 1 bytes, 2 1 where the curve
# says so, 0 where the system does, 3 row of the text (0 the lowest), 4 1 where the text goes to the
# left, 5 text. Blocks 3 and on, one a line: 1 bytes, 2 ns a load, 3 ci_low, 4 ci_high.

data = data_of("latency_curve")
stats data index 0 using (title_text = strcol(1), subtitle_text = strcol(2), footnote_text = strcol(3), lines = int($4), x_low = $5, x_high = $6, y_low = $7, y_high = $8, 0) nooutput
array name[lines]
stats data index 1 using ($1 >= 0 ? name[int($1) + 1] = strcol(2) : 0, 0) nooutput
mark_rows = 0
stats data index 2 using ($3 + 1 > mark_rows && $1 == $1 ? mark_rows = $3 + 1 : 0, 0) nooutput

width = 1000.0
foot = footnote_text eq "" ? 0 : 22
key_lines = (lines + 2) / 3
top = 76 + 24 * key_lines
# The marks' texts are above the curve, inside the axes, or gnuplot would leave them out.
body = 380.0 + 22 * mark_rows
y_top = y_high * (y_high / y_low) ** (body / 380 - 1)
row_y(row) = y_high * (y_high / y_low) ** ((10.0 + 22 * row) / 380)
height = int(top + body + 62 + foot)

ticks = ""
do for [k = ceil(log(x_low) / log(2) - 0.01):floor(log(x_high) / log(2) + 0.01)] {
    ticks = ticks . (ticks eq "" ? "" : ", ") . \
        (k % 2 ? sprintf("'' %.0f 1", 2.0 ** k) : sprintf("'%s' %.0f", bytes_text(2.0 ** k), 2.0 ** k))
}
y_ticks = ""
do for [power = floor(log10(y_low) + 1e-9):ceil(log10(y_high) - 1e-9)] {
    do for [digit = 1:9] {
        value = digit * 10.0 ** power
        if (value > y_low * 0.999 && value < y_high * 1.001) {
            y_ticks = y_ticks . (y_ticks eq "" ? "" : ", ") . (strstrt("125", sprintf("%d", digit)) ? \
                sprintf("'%g' %g", value, value) : sprintf("'' %g 1", value))
        }
    }
}

do for [kind in kinds] {
    eval open_figure(kind, "latency_curve", width, height)
    eval heading
    do for [i = 0:lines - 1] {
        eval key_series(11 + i, 86 + 300 * (i % 3), 74 + 24 * (i / 3), i, sprintf("name[%d]", i + 1))
    }
    set lmargin at screen from_left(86)
    set rmargin at screen from_left(width - 24)
    set tmargin at screen from_top(top)
    set bmargin at screen from_top(top + body)
    unset key
    set logscale xy
    set xrange [x_low / 1.1:x_high * 1.1]
    set yrange [y_low:y_top]
    set xlabel "working set (bytes, log scale)" offset 0, 0.3
    set ylabel "latency of a load (ns, log scale)"
    eval "set xtics (" . ticks . ")"
    eval "set ytics (" . y_ticks . ")"
    set grid ytics lc rgb faint lt 1 lw 1
    plot data index 2 using 1:(y_low):(0):(($2 == 1 ? row_y($3) : NaN) - y_low) with vectors nohead \
             lc rgb black lw 1.5, \
         "" index 2 using 1:(y_low):(0):(($2 == 0 ? row_y($3) : NaN) - y_low) with vectors nohead \
             lc rgb grey lw 1.5 dt 3, \
         for [i = 0:lines - 1] "" index (i + 3) using 1:3:(0):($4 - $3) @interval \
             lc rgb line_colour(i), \
         for [i = 0:lines - 1] "" index (i + 3) using 1:2 with linespoints ls line(i) \
             ps 0.8 * point, \
         "" index 2 using ($4 == 0 ? $1 : NaN):(row_y($3)):5 with labels left offset 0.4, 0 font small, \
         "" index 2 using ($4 == 1 ? $1 : NaN):(row_y($3)):5 with labels right offset -0.4, 0 font small
    unset output
}
