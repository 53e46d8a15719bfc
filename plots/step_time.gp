# The time of a step, a line an arm; y is -1 of the first, with jitter of a step. "cut_off" are steps that did not
# end until then.

eval read_heading("cut_off", "lines x_low x_high", "")

width = 1000.0
height = 170 + 44 * lines + foot

# Named ticks at powers of ten; on a short axis also at 2 and 5 times these. Small ones between.
tick_low = x_low
tick_high = x_high
tick_digits = log10(x_high / x_low) > 2.2 ? "1" : "1 2 5"
tick_text(value) = gprintf("%.0s %cs", value)
eval log_ticks

do for [kind in kinds] {
    eval begin
    eval frame(200, 800, 92, (62.0 + foot) / height)
    eval key_box(11, 200, 74, faint, "middle half of the steps")
    eval key_line(12, 400, 74, "nohead lw 3.5 lc rgb black", "median")
    eval key_point(13, 500, 74, sprintf("pt 7 ps %f lc rgb blue", 0.5 * point), "one step")
    eval key_point(14, 610, 74, sprintf("pt 12 ps %f lw 1.5 lc rgb black", 1.5 * point), "worker alone")
    if (cut_off) {
        eval key_line(15, 740, 74, "filled head size screen 0.006, 20 lw 2 lc rgb vermilion", "cut off: took longer")
    }
    set logscale x
    set xrange [x_low / 1.0001:x_high * 1.0001] # both ends, whatever their logarithms round to
    set yrange [-lines - 0.55:-0.45]
    set xlabel "time of one step (unit at each tick, log scale)" offset 0, 0.3
    unset ytics
    eval "set xtics (" . ticks . ")"
    set grid xtics lc rgb faint lt 1 lw 1
    plot data index "values" using "low":"y":"low":"high":(num("y") - 0.36):(num("y") + 0.36) with boxxyerror \
             fs solid 1.0 border lc rgb black lc rgb faint, \
         "" index "steps" using "time":"y" with points pt 7 ps 0.28 lc rgb blue, \
         "" index "values" using "median":(num("y") - 0.36):(0):(0.72) with vectors nohead lw 3.5 lc rgb black, \
         "" index "alone" using "time":"y" with points pt 13 ps 1.5 * point lc rgb orange, \
         "" index "alone" using "time":"y" with points pt 12 ps 1.5 * point lw 1.5 lc rgb black, \
         "" index "cut_off" using "time":"y":(0.13 * num("time")):(0) with vectors filled head size screen 0.006, 20 lw 2 \
             lc rgb vermilion, \
         "" index "values" using (x_high):"y":"text" with labels left offset 1.5, 0, \
         "" index "missing" using (x_low):"y":"why" with labels left offset 1, 0 textcolor rgb grey, \
         "" index "values" using (x_low):"y":"label" with labels right offset -1, 0, \
         "" index "missing" using (x_low):"y":"label" with labels right offset -1, 0
    unset output
}
