# step_time.dat: block 0: title, subtitle, footnote, number of lines, lower and upper end of the
# axis (s, 1, 2 or 5 times a power of ten), 1 where steps were cut off.
# Block 1, one line an arm, from the top: 1 y, 2 label, 3 lower quartile, 4 median, 5 upper quartile
# (s), 6 median as text. Block 2, samples: 1 y with jitter, 2 s a step. Block 3, steps that did not
# end: 1 y, 2 s until the limit. Block 4, one worker alone: 1 y, 2 s a step. Block 5, arms without
# a value: 1 y, 2 label, 3 why as text.

data = data_of("step_time")
stats data index 0 using (title_text = strcol(1), subtitle_text = strcol(2), footnote_text = strcol(3), lines = $4, x_low = $5, x_high = $6, cut_off = int($7), 0) nooutput

width = 1000.0
foot = footnote_text eq "" ? 0 : 22
height = 170 + 44 * lines + foot

# Named ticks at powers of ten; on a short axis also at 2 and 5 times these. Small ones between.
named = log10(x_high / x_low) > 2.2 ? "1" : "1 2 5"
ticks = ""
do for [power = floor(log10(x_low)) - 1:ceil(log10(x_high)) + 1] {
    do for [digit = 1:9] {
        value = digit * 10.0 ** power
        is_named = strstrt(named, sprintf("%d", digit)) > 0
        if (value > x_low * 0.999 && value < x_high * 1.001) {
            ticks = ticks . (ticks eq "" ? "" : ", ") . (is_named ? \
                gprintf("'%.0s %cs' ", value) . sprintf("%g", value) : sprintf("'' %g 1", value))
        }
    }
}

do for [kind in kinds] {
    eval open_figure(kind, "step_time", width, height)
    eval heading
    eval key_box(11, 200, 74, faint, "middle half of the steps")
    eval key_line(12, 400, 74, "nohead lw 3.5 lc rgb black", "median")
    eval key_point(13, 500, 74, sprintf("pt 7 ps %f lc rgb blue", 0.5 * point), "one step")
    eval key_point(14, 610, 74, sprintf("pt 12 ps %f lw 1.5 lc rgb black", 1.5 * point), "worker alone")
    if (cut_off) {
        eval key_line(15, 740, 74, "filled head size screen 0.006, 20 lw 2 lc rgb vermillion", "cut off: took longer")
    }
    set lmargin at screen 0.20
    set rmargin at screen 0.80
    set tmargin at screen from_top(92)
    set bmargin at screen (62.0 + foot) / height
    unset key
    set logscale x
    set xrange [x_low:x_high]
    set yrange [-lines - 0.55:-0.45]
    set xlabel "time of one step (unit at each tick, log scale)" offset 0, 0.3
    unset ytics
    eval "set xtics (" . ticks . ")"
    set grid xtics lc rgb faint lt 1 lw 1
    plot data index 1 using 3:1:3:5:($1 - 0.36):($1 + 0.36) with boxxyerror \
             fs solid 1.0 border lc rgb black lc rgb faint, \
         "" index 2 using 2:1 with points pt 7 ps 0.28 lc rgb blue, \
         "" index 1 using 4:($1 - 0.36):(0):(0.72) with vectors nohead lw 3.5 lc rgb black, \
         "" index 4 using 2:1 with points pt 13 ps 1.5 * point lc rgb orange, \
         "" index 4 using 2:1 with points pt 12 ps 1.5 * point lw 1.5 lc rgb black, \
         "" index 3 using 2:1:(0.13 * $2):(0) with vectors filled head size screen 0.006, 20 lw 2 \
             lc rgb vermillion, \
         "" index 1 using (x_high):1:6 with labels left offset 1.5, 0, \
         "" index 5 using (x_low):1:3 with labels left offset 1, 0 textcolor rgb grey, \
         "" index 1 using (x_low):1:2 with labels right offset -1, 0, \
         "" index 5 using (x_low):1:2 with labels right offset -1, 0
    unset output
}
