# occupancy.dat: block 0: title, subtitle, footnote, panels, rows (CPUs, or groups of CPUs where
# there are more than 256), bins of time, width of a bin (ms), workers, 1 where background workers
# ran plus 2 where panels do not show the start but a stretch that their names tell, lines of a
# matrix that stand for one row (a picture of few lines blurs in an enlarged SVG).
# Block 1, ticks of the CPU axis: 1 row, 2 CPU number as text. Block 2, one line a panel: 1 panel,
# 2 name. Blocks 3 and on, one a panel, a matrix: lines are CPUs, columns bins of time, and values
# 0 nobody, 1 to 16 that worker (the 17th has the colour of the first again), 17 background, 18
# two or more workers (contested).

data = data_of("occupancy")
stats data index 0 using (title_text = strcol(1), subtitle_text = strcol(2), footnote_text = strcol(3), panels = int($4), rows = int($5), bins = int($6), bin_ms = $7, workers = int($8), background = int($9) % 2, stretch = int($9) / 2, repeats = int($10), 0) nooutput
array name[panels]
stats data index 2 using (name[int($1) + 1] = strcol(2), 0) nooutput

# The background is the grey of a step of its own, in the middle of those of the workers.
shown = workers < 16 ? workers : 16
steps = shown + background
middle = steps / 2
step_of(i) = ladder_step(i, shown) + (background && ladder_step(i, shown) >= middle)
colour(i) = i < shown ? ladder_colour(step_of(i), steps) : "#FFFFFF"
level = int(255.5 * (1.055 * ((ladder_lightness(middle, steps) + 16) / 116) ** (3 / 2.4) - 0.055))
background_colour = sprintf("#%02X%02X%02X", level, level, level)
palette_text = "0 '#FFFFFF'"
do for [i = 1:16] { palette_text = palette_text . sprintf(", %d '%s'", i, colour(i - 1)) }
eval "set palette maxcolors 19 defined (" . palette_text . ", 17 '" . background_colour . "', 18 '#000000')"
set cbrange [-0.5:18.5]
unset colorbox
unset key

columns = panels <= 3 ? 1 : panels <= 8 ? 2 : 3
lines = (panels + columns - 1) / columns
width = 1200.0
body = rows <= 8 ? 24.0 * rows + 12 : rows <= 64 ? 140 + 0.7 * rows : 190 + 0.55 * (rows - 64)
step = body + 44
top = 66 + 24 * (1 + (shown + 9) / 10)
foot = footnote_text eq "" ? 0 : 22
height = int(top + step * lines + 50 + foot)
left_margin = 66.0
right_margin = 24.0
between = 52.0
panel_width = (width - left_margin - right_margin - between * (columns - 1)) / columns

do for [kind in kinds] {
    eval open_figure(kind, "occupancy", width, height)
    set multiplot
    eval heading
    eval key_box(11, left_margin, 73, "#000000", "contested: two or more workers")
    eval key_box(12, left_margin + 300, 73, "#FFFFFF", "nobody seen")
    if (background) {
        eval key_box(13, left_margin + 450, 73, background_colour, "background")
    }
    do for [i = 0:shown - 1] {
        eval key_box(20 + i, left_margin + 108 * (i % 10), 97 + 24 * (i / 10), colour(i), sprintf("worker %d", i))
    }
    if (workers > 16) {
        eval key_text(40, left_margin + 626, 121, "(colours repeat from worker 16 on)")
    }
    set xrange [0:bins * bin_ms]
    set yrange [rows - 0.5:-0.5]
    do for [panel = 0:panels - 1] {
        column = panel % columns
        line = panel / columns
        x = left_margin + column * (panel_width + between)
        y = top + line * step + 30
        set lmargin at screen x / width
        set rmargin at screen (x + panel_width) / width
        set tmargin at screen 1 - real(y) / height
        set bmargin at screen 1 - (y + body) / height
        set border 15 lc rgb grey lw 1
        set label 3 name[panel + 1] at graph 0, graph 1 offset 0, 0.75 left front
        is_lowest = panel + columns >= panels
        if (is_lowest) {
            set xlabel (stretch ? "time within the stretch that is shown (ms)" : "time since the start of measuring (ms)") offset 0, 0.3
            set xtics format "%g"
        } else {
            unset xlabel
            set xtics format ""
        }
        if (column == 0) { set ylabel "CPU" } else { unset ylabel }
        plot data index (panel + 3) matrix using (($1 + 0.5) * bin_ms):(($2 + 0.5) / repeats - 0.5):3 with image notitle, \
             data index 1 using (NaN):1:ytic(2) with points notitle
        # Heading and key are drawn once, with the first panel.
        unset label 1
        unset label 2
        unset label 4
        unset for [i = 11:40] label i
        unset for [i = 11:40] object i
    }
    unset multiplot
    unset label 3
    unset output
}
