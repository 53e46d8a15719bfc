# cache_thrash.dat: block 0: title, subtitle, footnote, number of panels, of places, of lines, right
# end of the axis (aggressors), lower and upper end (ratio).
# Block 1: 1 panel, 2 its name. Block 2: 1 place of the aggressors, 2 its name. Block 3: 1 line, 2
# its panel, 3 its place. Blocks 4 and on, one a line: 1 aggressors, 2 slowdown, 3 ci_low, 4 ci_high.

data = data_of("cache_thrash")
stats data index 0 using (title_text = strcol(1), subtitle_text = strcol(2), footnote_text = strcol(3), panels = int($4), places = int($5), lines = int($6), x_end = $7, y_low = $8, y_high = $9, 0) nooutput
array panel_name[panels]
array place_name[places]
array panel_of[lines]
array place_of[lines]
stats data index 1 using ($1 >= 0 ? panel_name[int($1) + 1] = strcol(2) : 0, 0) nooutput
stats data index 2 using ($1 >= 0 ? place_name[int($1) + 1] = strcol(2) : 0, 0) nooutput
stats data index 3 using ($1 >= 0 ? panel_of[int($1) + 1] = int($2) : 0, $1 >= 0 ? place_of[int($1) + 1] = int($3) : 0, 0) nooutput

columns = panels < 3 ? panels : 3
rows = (panels + columns - 1) / columns
width = panels == 1 ? 800.0 : 1200.0
foot = footnote_text eq "" ? 0 : 22
body = 280.0
top = 76 + 24 * ((places + 3) / 4)
height = int(top + rows * (body + 46) + 50 + foot)
left_edge = 80.0
between = 24.0
panel_width = (width - left_edge - 24 - between * (columns - 1)) / columns
pad = 0.06 * (y_high - y_low)

do for [kind in kinds] {
    eval open_figure(kind, "cache_thrash", width, height)
    set multiplot
    eval heading
    do for [i = 0:places - 1] {
        eval key_series(11 + i, left_edge + 0.24 * width * (i % 4), 74 + 24 * (i / 4), i, sprintf("place_name[%d]", i + 1))
    }
    unset key
    set xrange [0.75:x_end * 1.25]
    set logscale x 2
    set xtics 2
    set yrange [y_low - pad:y_high + pad]
    set border 3 lc rgb grey lw 1
    set grid ytics lc rgb faint lt 1 lw 1
    do for [panel = 0:panels - 1] {
        x = left_edge + (panel % columns) * (panel_width + between)
        y = top + (panel / columns) * (body + 46) + 30
        set lmargin at screen x / width
        set rmargin at screen (x + panel_width) / width
        set tmargin at screen 1 - real(y) / height
        set bmargin at screen 1 - (y + body) / height
        set label 3 panel_name[panel + 1] at graph 0, graph 1 offset 0, 0.75 left front
        set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead lc rgb black lw 1.5 dt 2 back
        if (panel + columns >= panels) {
            set xlabel "aggressors (number)" offset 0, 0.3
        } else { unset xlabel }
        if (panel % columns == 0) {
            set ylabel "slowdown of the victim (ratio)"
            set ytics format "%g"
        } else {
            unset ylabel
            set ytics format ""
        }
        plot for [i = 0:lines - 1] data index (i + 4) using \
                 (panel_of[i + 1] == panel ? $1 : NaN):3:(0):($4 - $3) @interval \
                 lc rgb line_colour(place_of[i + 1]), \
             for [i = 0:lines - 1] "" index (i + 4) using \
                 (panel_of[i + 1] == panel ? $1 : NaN):2 with linespoints \
                 ls line(place_of[i + 1]) ps 0.8 * point, \
             NaN with points
        # Heading and key are drawn once, with the first panel.
        unset label 1
        unset label 2
        unset label 4
        unset for [i = 11:40] label i
        unset for [i = 111:140] label i
        unset for [i = 11:40] arrow i
    }
    unset multiplot
    unset label 3
    unset output
}
