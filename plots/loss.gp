# Where the time of a step goes, a bar an arm; y is -1 of the first. wait_known 0: the wait in the run queue is
# not told apart from other waiting. Parts and steps are in s; what is left of a step it was blocked.

eval read_heading("wait_known quota", "lines x_end", "")

width = 1000.0
height = 170 + 44 * lines + foot
tick_low = 0
tick_high = x_end > 0 ? x_end : 1
tick_text(value) = si_text(value, " ", "s")
eval linear_ticks

do for [kind in kinds] {
    eval begin
    eval frame(200, 740, 92, (62.0 + foot) / height)
    eval key_box(11, 200, 74, blue, "on CPU")
    if (wait_known) {
        eval key_box(12, 300, 74, orange, "waiting in the run queue")
        eval key_box(13, 510, 74, faint, "blocked (asleep)")
    } else {
        eval key_box(13, 300, 74, faint, "wait in the run queue and blocked together")
    }
    if (quota) {
        eval key_box(15, 670, 74, purple, "stopped by a quota")
    }
    set xrange [0:tick_high]
    set yrange [-lines - 0.55:-0.45]
    set xlabel "time of one step" offset 0, 0.3
    unset ytics
    eval "set xtics (" . ticks . ")"
    set grid xtics lc rgb faint lt 1 lw 1
    # From one part's end to that of the next.
    waited(x) = num("oncpu") + num("wait")
    stopped(x) = waited(0) + num("quota")
    bar_low(x) = num("y") - 0.36
    bar_high(x) = num("y") + 0.36
    plot data index "values" using (0):"y":(0):"oncpu":(bar_low(0)):(bar_high(0)) with boxxyerror \
             fs solid 1.0 border lc rgb black lc rgb blue, \
         "" index "values" using (wait_known ? 0 : NaN):"y":"oncpu":(waited(0)):(bar_low(0)):(bar_high(0)) \
             with boxxyerror fs solid 1.0 border lc rgb black lc rgb orange, \
         "" index "values" using (quota ? 0 : NaN):"y":(waited(0)):(stopped(0)):(bar_low(0)):(bar_high(0)) \
             with boxxyerror fs solid 1.0 border lc rgb black lc rgb purple, \
         "" index "values" using (0):"y":(stopped(0)):"step":(bar_low(0)):(bar_high(0)) with boxxyerror \
             fs solid 1.0 border lc rgb black lc rgb faint, \
         "" index "values" using (tick_high):(num("y") + 0.2):"text" with labels left offset 1.5, 0, \
         "" index "values" using (tick_high):(num("y") - 0.2):"shares" with labels left offset 1.5, 0 font small \
             textcolor rgb grey, \
         "" index "missing" using (0):"y":"why" with labels left offset 1, 0 textcolor rgb grey, \
         "" index "values" using (0):"y":"label" with labels right offset -1, 0, \
         "" index "missing" using (0):"y":"label" with labels right offset -1, 0
    unset output
}
