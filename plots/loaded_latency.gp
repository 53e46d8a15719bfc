# loaded_latency.dat: block 0: title, subtitle, footnote, number of lines, right end (GB/s) and
# upper end (ns) of the axes.
# Block 1: 1 number of the line, 2 its name. Block 2, knees: 1 number of the line, 2 GB/s, 3 ns
# (1.5 times idle), 4 text. Blocks 3 and on, one a line: 1 GB/s, 2 ns a load, 3 ci_low, 4 ci_high.

data = data_of("loaded_latency")
stats data index 0 using (title_text = strcol(1), subtitle_text = strcol(2), footnote_text = strcol(3), lines = int($4), x_end = $5, y_end = $6, 0) nooutput
array name[lines]
stats data index 1 using ($1 >= 0 ? name[int($1) + 1] = strcol(2) : 0, 0) nooutput

width = 1000.0
foot = footnote_text eq "" ? 0 : 22
key_lines = (lines + 2) / 3
top = 76 + 24 * key_lines
height = top + 380 + 62 + foot

do for [kind in kinds] {
    eval open_figure(kind, "loaded_latency", width, height)
    eval heading
    do for [i = 0:lines - 1] {
        eval key_series(11 + i, 86 + 300 * (i % 3), 74 + 24 * (i / 3), i, sprintf("name[%d]", i + 1))
    }
    set lmargin at screen from_left(86)
    set rmargin at screen from_left(width - 24)
    set tmargin at screen from_top(top)
    set bmargin at screen from_top(top + 380)
    unset key
    set xrange [0:x_end]
    set yrange [0:y_end]
    set xlabel "bandwidth that the other CPUs use (GB/s)" offset 0, 0.3
    set ylabel "latency of a load (ns)"
    set grid xtics ytics lc rgb faint lt 1 lw 1
    plot data index 2 using 2:(0):(0):3 with vectors nohead lc rgb grey lw 1.5 dt 3, \
         for [i = 0:lines - 1] "" index (i + 3) using 1:3:(0):($4 - $3) @interval \
             lc rgb line_colour(i), \
         for [i = 0:lines - 1] "" index (i + 3) using 1:2 with linespoints ls line(i) \
             ps 0.8 * point, \
         "" index 2 using 2:3 with points pt 2 ps 1.6 * point lw 2.5 lc rgb black, \
         "" index 2 using 2:3:4 with labels right offset -1.2, 0.9
    unset output
}
