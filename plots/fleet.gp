# Figures of many machines, a line each. `figure` names the file
# (`gnuplot -e "figure='fleet_01'" common.gp fleet.gp`).
#
# <figure>.dat: block 0: title, subtitle, footnote, number of lines, ends of the axis. Block 1, lines:
# 1 y, 2 name, 3 the usual value, 4 the machines beyond the bounds, 5 and 6 the bounds. Block 2, dots:
# 1 y, 2 x, 3 1 = beyond the bounds. What is beyond the axis stands at its end.

data = data_of(figure)
stats data index 0 using (title_text = strcol(1), subtitle_text = strcol(2), footnote_text = strcol(3), lines = int($4), low = $5, high = $6, 0) nooutput

width = 1600.0
name_room = 600.0
text_room = 520.0
foot = footnote_text eq "" ? 0 : 22
height = int(100 + 26 * lines + 52 + foot)

do for [kind in kinds] {
    eval open_figure(kind, figure, width, height)
    eval heading
    eval key_point(11, 12, 70, "pt 7 ps 0.6 lc rgb blue", "a machine")
    eval key_point(12, 132, 70, "pt 13 ps 1.3 lc rgb vermillion", "beyond the bounds, named at the right")
    eval key_line(13, 440, 70, "nohead lw 2.5 lc rgb black", "bounds")
    unset key
    set lmargin at screen from_left(name_room)
    set rmargin at screen from_left(width - text_room)
    set tmargin at screen from_top(92)
    set bmargin at screen from_top(92 + 26 * lines)
    set xrange [low:high]
    set yrange [0.5 - lines:0.5]
    set border 1 lc rgb grey lw 1
    unset ytics
    set grid xtics lc rgb faint lt 1 lw 1
    set xtics low, 0.25
    set format x "%.2f"
    set xlabel "figure / usual figure" offset 0, 0.3
    set arrow 1 from 1, graph 0 to 1, graph 1 nohead lc rgb grey lw 1 dt 2 back
    plot data index 2 using ($3 == 0 ? $2 : NaN):1 with points pt 7 ps 0.45 * point lc rgb blue, \
         "" index 1 using 5:($1 - 0.36):(0):(0.72) with vectors nohead lw 2.5 lc rgb black, \
         "" index 1 using 6:($1 - 0.36):(0):(0.72) with vectors nohead lw 2.5 lc rgb black, \
         "" index 2 using ($3 == 1 ? $2 : NaN):1 with points pt 13 ps 1.5 * point lc rgb vermillion, \
         "" index 1 using (low):1:2 with labels right offset -1, 0 font small, \
         "" index 1 using (high):1:3 with labels left offset 1, 0 font small, \
         "" index 1 using (high):1:4 with labels left offset 16, 0 font small textcolor rgb vermillion
    unset output
}
