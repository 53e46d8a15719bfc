# Rows are CPUs, or groups of CPUs where there are more than 256, columns bins of time. background 1: background
# workers ran. stretch 1: panels do not show the start but a stretch that their names tell. `repeats` lines of a
# matrix stand for one row: a picture of few lines blurs in an enlarged SVG. Blocks 3 and on are a matrix a
# panel: 0 nobody, 1 to 16 that worker (the 17th has the colour of the first again), 17 background, 18 two or
# more workers (contested).

eval read_heading("panels rows bins workers background stretch repeats", "bin_ms", "")
array name[panels]
stats data index "panels" using (name[whole("number") + 1] = strcol("name"), 0) nooutput

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

columns = panels <= 3 ? 1 : panels <= 8 ? 2 : 3
lines = (panels + columns - 1) / columns
width = 1200.0
body = rows <= 8 ? 24.0 * rows + 12 : rows <= 64 ? 140 + 0.7 * rows : 190 + 0.55 * (rows - 64)
step = body + 44
top = 66 + 24 * (1 + (shown + 9) / 10)
height = int(top + step * lines + 50 + foot)
left_margin = 66.0
right_margin = 24.0
between = 52.0
panel_width = (width - left_margin - right_margin - between * (columns - 1)) / columns

do for [kind in kinds] {
    eval begin
    set multiplot
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
        eval frame(x, x + panel_width, y, from_top(y + body))
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
             data index "ticks" using (NaN):"row":ytic(strcol("cpu")) with points notitle
        eval begin_next
    }
    unset multiplot
    unset label 3
    unset output
}
