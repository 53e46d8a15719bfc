# loss.dat: block 0: title, subtitle, footnote, number of lines, 1 where the wait in the run queue
# is known apart from other waiting (else 0, and column 4 is 0), and 1 where a quota stopped some.
# Block 1, one line an arm, from the top: 1 y, 2 label, 3 on-CPU, 4 run-queue wait, 5 blocked (% of
# the wall time of a step, together 100), 6 the length of the baseline (%), 7 absolute time and loss
# as text, 8 stopped by a quota (% too, part of the 100). Block 2, arms without a value: 1 y, 2 label, 3 why as text.

data = data_of("loss")
stats data index 0 using (title_text = strcol(1), subtitle_text = strcol(2), footnote_text = strcol(3), lines = $4, wait_known = int($5), quota = int($6), 0) nooutput

width = 1000.0
foot = footnote_text eq "" ? 0 : 22
height = 170 + 36 * lines + foot
do for [kind in kinds] {
    eval open_figure(kind, "loss", width, height)
    eval heading
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
    eval key_line(14, quota ? 20 : 670, 74, "nohead lw 3 lc rgb black", "as long as the baseline")
    set lmargin at screen 0.20
    set rmargin at screen 0.70
    set tmargin at screen from_top(92)
    set bmargin at screen (62.0 + foot) / height
    unset key
    set xrange [0:100]
    set yrange [-lines - 0.55:-0.45]
    set xlabel "share of the wall time of one step (%), mean over the threads" offset 0, 0.3
    unset ytics
    plot data index 1 using (0):1:(0):3:($1 - 0.36):($1 + 0.36) with boxxyerror \
             fs solid 1.0 border lc rgb black lc rgb blue, \
         "" index 1 using (wait_known ? 0 : NaN):1:3:($3 + $4):($1 - 0.36):($1 + 0.36) \
             with boxxyerror fs solid 1.0 border lc rgb black lc rgb orange, \
         "" index 1 using (quota ? 0 : NaN):1:($3 + $4):($3 + $4 + $8):($1 - 0.36):($1 + 0.36) \
             with boxxyerror fs solid 1.0 border lc rgb black lc rgb purple, \
         "" index 1 using (0):1:($3 + $4 + $8):(100):($1 - 0.36):($1 + 0.36) with boxxyerror \
             fs solid 1.0 border lc rgb black lc rgb faint, \
         "" index 1 using 6:($1 - 0.46):(0):(0.92) with vectors nohead lw 6 lc rgb "white", \
         "" index 1 using 6:($1 - 0.46):(0):(0.92) with vectors nohead lw 3 lc rgb black, \
         "" index 1 using (100):1:7 with labels left offset 1.5, 0, \
         "" index 2 using (0):1:3 with labels left offset 1, 0 textcolor rgb grey, \
         "" index 1 using (0):1:2 with labels right offset -1, 0, \
         "" index 2 using (0):1:2 with labels right offset -1, 0
    unset output
}
