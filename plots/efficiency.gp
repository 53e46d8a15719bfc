# efficiency.dat: block 0: title, subtitle, footnote, number of lines, right end of the axis.
# Block 1, one line an arm, from the top: 1 y, 2 label, 3 efficiency, 4 ci_low, 5 ci_high (ratios;
# no interval with one round), 6 style (0, 1, 2 by number of workers), 7 value as text. Block 2,
# arms without a value: 1 y, 2 label, 3 why as text.

data = data_of("efficiency")
stats data index 0 using (title_text = strcol(1), subtitle_text = strcol(2), footnote_text = strcol(3), lines = $4, x_end = $5, 0) nooutput

width = 1000.0
foot = footnote_text eq "" ? 0 : 22
height = 145 + 34 * lines + foot
do for [kind in kinds] {
    eval open_figure(kind, "efficiency", width, height)
    eval heading
    set lmargin at screen 0.20
    set rmargin at screen 0.72
    set tmargin at screen from_top(68)
    set bmargin at screen (62.0 + foot) / height
    unset key
    set xrange [0:x_end]
    set yrange [-lines - 0.55:-0.45]
    set xlabel "parallel efficiency (ratio; 1 = as fast as alone on a slice of the machine)" offset 0, 0.3
    unset ytics
    set grid xtics lc rgb faint lt 1 lw 1
    set arrow 1 from 1, graph 0 to 1, graph 1 nohead lc rgb black lw 2 dt 2 front
    plot data index 1 using (0):1:(0):3:($1 - 0.34):($1 + 0.34) with boxxyerror \
             fs solid 1.0 border lc rgb black lc rgb sky, \
         "" index 1 using ($6 == 1 ? 0 : NaN):1:(0):3:($1 - 0.34):($1 + 0.34) with boxxyerror \
             fs solid 1.0 border lc rgb black lc rgb orange, \
         "" index 1 using ($6 == 2 ? 0 : NaN):1:(0):3:($1 - 0.34):($1 + 0.34) with boxxyerror \
             fs solid 1.0 border lc rgb black lc rgb faint, \
         "" index 1 using ($4 == $4 ? $3 : NaN):1:4:5 with xerrorbars pt 7 ps 0.5 lw 2 \
             lc rgb black, \
         "" index 1 using (x_end):1:7 with labels left offset 1.5, 0, \
         "" index 2 using (0):1:3 with labels left offset 1, 0 textcolor rgb grey, \
         "" index 1 using (0):1:2 with labels right offset -1, 0, \
         "" index 2 using (0):1:2 with labels right offset -1, 0
    unset output
}
