# Figures of many machines, a line each. `figure` names the file
# (`gnuplot -e "figure='fleet_01'" common.gp fleet.gp`).
#
# y is 0 of the first line. What is beyond the axis stands at its end.

eval read_heading("lines", "low high", "")

width = 1600.0
name_room = 600.0
text_room = 520.0
height = int(100 + 26 * lines + 52 + foot)

do for [kind in kinds] {
    eval begin
    eval frame(name_room, width - text_room, 92, from_top(92 + 26 * lines))
    eval key_point(11, 12, 70, "pt 7 ps 0.6 lc rgb blue", "a machine")
    eval key_point(12, 132, 70, "pt 13 ps 1.3 lc rgb vermillion", "beyond the bounds, named at the right")
    eval key_line(13, 440, 70, "nohead lw 2.5 lc rgb black", "bounds")
    set xrange [low:high]
    set yrange [0.5 - lines:0.5]
    set border 1 lc rgb grey lw 1
    unset ytics
    set grid xtics lc rgb faint lt 1 lw 1
    set xtics low, 0.25
    set format x "%.2f"
    set xlabel "figure / usual figure" offset 0, 0.3
    set arrow 1 from 1, graph 0 to 1, graph 1 nohead lc rgb grey lw 1 dt 2 back
    plot data index "dots" using (whole("odd") ? NaN : num("x")):"y" with points pt 7 ps 0.45 * point lc rgb blue, \
         "" index "lines" using "lower":(num("y") - 0.36):(0):(0.72) with vectors nohead lw 2.5 lc rgb black, \
         "" index "lines" using "upper":(num("y") - 0.36):(0):(0.72) with vectors nohead lw 2.5 lc rgb black, \
         "" index "dots" using (whole("odd") ? num("x") : NaN):"y" with points pt 13 ps 1.5 * point lc rgb vermillion, \
         "" index "lines" using (low):"y":"name" with labels right offset -1, 0 font small, \
         "" index "lines" using (high):"y":"usual" with labels left offset 1, 0 font small, \
         "" index "lines" using (high):"y":"odd" with labels left offset 16, 0 font small textcolor rgb vermillion
    unset output
}
