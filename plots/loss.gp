# Where the time of a step goes, a bar an arm; y is -1 of the first. wait_known 0: the wait in the run queue is
# not told apart from other waiting. Parts and steps are in s; what is left of a step it was blocked.

eval read_heading("wait_known quota", "lines x_end", "")

width = narrow ? 400.0 : 1000.0
top = narrow ? 90 + 24 * (1 + wait_known + quota) : 92
height = top + 78 + (narrow ? 72 : 44) * lines + foot + head
tick_low = 0
tick_high = x_end > 0 ? x_end : 1
tick_text(value) = si_text(value, " ", "s")
eval linear_ticks

do for [kind in kinds] {
    eval begin
    eval frame(row_left, row_right(740), top, (62.0 + foot) / height)
    eval key_box(11, key_x(200), 74, blue, "on CPU")
    if (wait_known) {
        eval key_box(12, key_x(300), key_y(1), orange, "waiting in the run queue")
        eval key_box(13, key_x(510), key_y(2), faint, "blocked (asleep)")
    } else {
        eval key_box(13, key_x(300), key_y(1), faint, "wait in the run queue and blocked together")
    }
    if (quota) {
        eval key_box(15, key_x(670), key_y(2 + wait_known), purple, "stopped by a quota")
    }
    set xrange [0:tick_high]
    set yrange [-lines - 0.55:-0.45]
    set xlabel "time" offset 0, 0.3
    unset ytics
    eval "set xtics (" . ticks . ")"
    set grid xtics lc rgb faint lt 1 lw 1
    # From one part's end to that of the next.
    waited(x) = num("oncpu") + num("wait")
    stopped(x) = waited(0) + num("quota")
    bar_low(x) = num("y") - (narrow ? 0.15 : 0.36)
    bar_high(x) = num("y") + (narrow ? 0.15 : 0.36)
    plot data index "values" using (0):"y":(0):"oncpu":(bar_low(0)):(bar_high(0)) with boxxyerror \
             fs solid 1.0 border lc rgb black lc rgb blue, \
         "" index "values" using (wait_known ? 0 : NaN):"y":"oncpu":(waited(0)):(bar_low(0)):(bar_high(0)) \
             with boxxyerror fs solid 1.0 border lc rgb black lc rgb orange, \
         "" index "values" using (quota ? 0 : NaN):"y":(waited(0)):(stopped(0)):(bar_low(0)):(bar_high(0)) \
             with boxxyerror fs solid 1.0 border lc rgb black lc rgb purple, \
         "" index "values" using (0):"y":(stopped(0)):"step":(bar_low(0)):(bar_high(0)) with boxxyerror \
             fs solid 1.0 border lc rgb black lc rgb faint, \
         "" index "values" using (tick_high):(num("y") + (narrow ? 0.32 : 0.2)):"text" with labels @row_text, \
         "" index "values" using (narrow ? 0 : tick_high):(num("y") - (narrow ? 0.32 : 0.2)):"shares" with labels left \
             offset narrow ? 0 : 1.5, 0 font small textcolor rgb grey, \
         "" index "missing" using (0):"y":(row_why(0)) with labels left offset 1, 0 font small textcolor rgb grey, \
         "" index "values" using (0):(num("y") + row_up):"label" with labels @row_label, \
         "" index "missing" using (0):(num("y") + row_up):"label" with labels @row_label
    unset output
}
