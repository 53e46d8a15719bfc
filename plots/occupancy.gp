# Rows are CPUs, or groups of CPUs where there are more than 256, columns bins of time. background 1: background
# workers ran. stretch 1: panels do not show the start but a stretch that their names tell. `repeats` lines of a
# matrix stand for one row: a picture of few lines blurs in an enlarged SVG. Blocks 3 and on are a matrix a
# panel: 0 nobody, 1 to 16 a thread of that worker (the 17th has the colour of the first again), 17 background, 18 to
# 21 two or more threads, where that quarter of the throughput is lost.

eval read_heading("panels rows bins workers background stretch repeats", "bin_ms", "")
array name[panels]
stats data index "panels" using (name[whole("number") + 1] = strcol("name"), 0) nooutput

# No worker is grey.
shown = workers < 16 ? workers : 16
colour(i) = i < shown ? ladder_colour(ladder_step(i, shown), shown) : "#FFFFFF"
background_colour = "#8C6D46"
contested(quarter) = word("#D5D5D5 #A0A0A0 #606060 #000000", quarter + 1)
nobody = "#FEFEFE" # of its own: dark where the reader's theme is
palette_text = "0 '" . nobody . "'"
do for [i = 1:16] { palette_text = palette_text . sprintf(", %d '%s'", i, colour(i - 1)) }
palette_text = palette_text . ", 17 '" . background_colour . "'"
do for [i = 0:3] { palette_text = palette_text . sprintf(", %d '%s'", 18 + i, contested(i)) }
eval "set palette maxcolors 22 defined (" . palette_text . ")"
set cbrange [-0.5:21.5]
unset colorbox

columns = narrow || panels <= 3 ? 1 : panels <= 8 ? 2 : 3
lines = (panels + columns - 1) / columns
width = narrow ? 400.0 : 1200.0
body = rows <= 8 ? 24.0 * rows + 12 : rows <= 64 ? 140 + 0.7 * rows : 190 + 0.55 * (rows - 64)
step = body + 44
key_columns = narrow ? 3 : 10
key_top = narrow ? 121 : 97
top = key_top - 7 + 24 * ((shown + key_columns - 1) / key_columns + (narrow && workers > 16))
height = int(top + step * lines + 50 + foot + head)
left_margin = narrow ? 62.0 : 66.0
key_left = narrow ? 16 : left_margin
right_margin = narrow ? 16.0 : 24.0
between = 52.0
panel_width = (width - left_margin - right_margin - between * (columns - 1)) / columns

do for [kind in kinds] {
    eval begin
    set multiplot
    do for [i = 0:3] {
        eval key_box(11 + i, key_left + 20 * i, 73, contested(i), i < 3 ? "" : narrow ? "two or more threads; darker: more is lost" : "two or more threads: the darker, the more of the throughput is lost")
    }
    eval key_box(15, key_left + (narrow ? 0 : 600), (narrow ? 97 : 73), nobody, "nobody seen")
    if (background) {
        eval key_box(16, key_left + (narrow ? 150 : 750), (narrow ? 97 : 73), background_colour, "background")
    }
    do for [i = 0:shown - 1] {
        eval key_box(20 + i, key_left + 108 * (i % key_columns), key_top + 24 * (i / key_columns), colour(i), sprintf("worker %d", i))
    }
    if (workers > 16) {
        eval key_text(40, key_left + (narrow ? 0 : 626), key_top + (narrow ? 144 : 24), "(colours repeat from worker 16 on)")
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
        set object 1 rectangle from graph 0, graph 0 to graph 1, graph 1 behind fs solid 1.0 noborder fc rgb nobody
        set label 3 name[panel + 1] at graph 0, graph 1 offset 0, 0.75 left front
        is_lowest = panel + columns >= panels
        if (is_lowest) {
            set xlabel (stretch ? "time within the stretch shown (ms)" : "time since the start of measuring (ms)") offset 0, 0.3
            set xtics format "%g"
        } else {
            unset xlabel
            set xtics format ""
        }
        if (column == 0) { set ylabel "CPU" } else { unset ylabel }
        plot data index (panel + 3) matrix using (($1 + 0.5) * bin_ms):(($2 + 0.5) / repeats - 0.5):($3 > 0 ? $3 : NaN) with image notitle, \
             data index "ticks" using (NaN):"row":ytic(strcol("cpu")) with points notitle
        eval begin_next
    }
    unset multiplot
    unset label 3
    unset output
}
