# The time of a step, a line an arm; y is -1 of the first, with jitter of a step. "cut_off" are steps that did not
# end until then.

eval read_heading("cut_off", "lines x_low x_high", "")

width = narrow ? 400.0 : 1000.0
top = narrow ? 90 + 24 * (3 + cut_off) : 92
height = top + 78 + (narrow ? 64 : 44) * lines + foot + head
bar = narrow ? 0.22 : 0.36
row_y(x) = floor(num("y") + 0.5) - (narrow ? 0.15 : 0) + (num("y") - floor(num("y") + 0.5)) * bar / 0.36

# Named ticks at powers of ten; on a short axis also at 2 and 5 times these. Small ones between.
tick_low = x_low
tick_high = x_high
tick_digits = log10(x_high / x_low) > (narrow ? 1.1 : 2.2) ? "1" : "1 2 5"
tick_text(value) = gprintf("%.0s %cs", value)
eval log_ticks

do for [kind in kinds] {
    eval begin
    eval frame(row_left, row_right(800), top, (62.0 + foot) / height)
    eval key_box(11, key_x(200), 74, faint, "middle half")
    eval key_line(12, key_x(400), key_y(1), "nohead lw 3.5 lc rgb black", "median")
    eval key_point(13, key_x(500), key_y(2), sprintf("pt 7 ps %f lc rgb blue", 0.5 * point), "a single one")
    eval key_point(14, key_x(610), key_y(3), sprintf("pt 12 ps %f lw 1.5 lc rgb black", 1.5 * point), "solo run")
    if (cut_off) {
        eval key_line(15, key_x(740), key_y(4), "filled head size screen 0.006, 20 lw 2 lc rgb vermilion", "cut off: took longer")
    }
    set logscale x
    set xrange [x_low / 1.0001:x_high * 1.0001] # both ends, whatever their logarithms round to
    set yrange [-lines - 0.55:-0.45]
    set xlabel "time (unit at each tick, log scale)" offset 0, 0.3
    unset ytics
    eval "set xtics (" . ticks . ")"
    set grid xtics lc rgb faint lt 1 lw 1
    plot data index "values" using "low":(row_y(0)):"low":"high":(row_y(0) - bar):(row_y(0) + bar) with boxxyerror \
             fs solid 1.0 border lc rgb black lc rgb faint, \
         "" index "steps" using "time":(row_y(0)) with points pt 7 ps 0.28 lc rgb blue, \
         "" index "values" using "median":(row_y(0) - bar):(0):(2 * bar) with vectors nohead lw 3.5 lc rgb black, \
         "" index "alone" using "time":(row_y(0)) with points pt 13 ps 1.5 * point lc rgb orange, \
         "" index "alone" using "time":(row_y(0)) with points pt 12 ps 1.5 * point lw 1.5 lc rgb black, \
         "" index "cut_off" using "time":(row_y(0)):(0.13 * num("time")):(0) with vectors filled head size screen 0.006, 20 lw 2 \
             lc rgb vermilion, \
         "" index "values" using (x_high):(num("y") + row_up):"text" with labels @row_text, \
         "" index "missing" using (x_low):(row_y(0)):(row_why(0)) with labels left offset 1, 0 font small textcolor rgb grey, \
         "" index "values" using (x_low):(num("y") + row_up):"label" with labels @row_label, \
         "" index "missing" using (x_low):(num("y") + row_up):"label" with labels @row_label
    unset output
}
