# Parallel efficiency, a bar an arm; y is -1 of the first. `style` is 0, 1, 2 by number of workers.

eval read_heading("", "lines x_end", "")

width = narrow ? 400.0 : 1000.0
height = 145 + (narrow ? 56 : 34) * lines + foot + head + 18 * narrow
x_label = wrap("parallel efficiency (ratio; 1 = as fast as alone on a slice of the machine)", narrow ? 44 : 200)
do for [kind in kinds] {
    eval begin
    eval frame(row_left, row_right(720), 68, (62.0 + foot + 18 * narrow) / height)
    set xrange [0:x_end]
    set yrange [-lines - 0.55:-0.45]
    set xlabel x_label offset 0, 0.3
    unset ytics
    set grid xtics lc rgb faint lt 1 lw 1
    set arrow 1 from 1, graph 0 to 1, graph 1 nohead lc rgb black lw 2 dt 2 back
    of(style) = style == 0 || num("style") == style ? 0 : NaN
    bar_y = narrow ? -0.15 : 0
    bar_low(x) = num("y") + bar_y - (narrow ? 0.2 : 0.34)
    bar_high(x) = num("y") + bar_y + (narrow ? 0.2 : 0.34)
    plot data index "values" using (0):"y":(0):"value":(bar_low(0)):(bar_high(0)) with boxxyerror \
             fs solid 1.0 border lc rgb black lc rgb sky, \
         "" index "values" using (of(1)):"y":(0):"value":(bar_low(0)):(bar_high(0)) with boxxyerror \
             fs solid 1.0 border lc rgb black lc rgb orange, \
         "" index "values" using (of(2)):"y":(0):"value":(bar_low(0)):(bar_high(0)) with boxxyerror \
             fs solid 1.0 border lc rgb black lc rgb faint, \
         "" index "values" using (num("low") == num("low") ? num("value") : NaN):(num("y") + bar_y):"low":"high" \
             with xerrorbars pt 7 ps 0.5 lw 2 lc rgb black, \
         "" index "values" using (x_end):(num("y") + row_up):"text" with labels @row_text, \
         "" index "missing" using (0):(num("y") + bar_y):(row_why(0)) with labels left offset 1, 0 font small textcolor rgb grey, \
         "" index "values" using (0):(num("y") + row_up):"label" with labels @row_label, \
         "" index "missing" using (0):(num("y") + row_up):"label" with labels @row_label
    unset output
}
