# Bars, some at each place. `figure` names the file
# (`gnuplot -e "figure='bandwidth'" common.gp bar_chart.gp`).
#
# <figure>.dat: block 0: title, subtitle, footnote, texts of the x and the y axis, number of places, of
# bars each, upper end of the y axis, and where a logarithmic one starts (0 = it is linear).
# Block 1: 1 place, 2 its name. Block 2: 1 number of the bar at its place, 2 its name. Block 3, one line
# a bar: 1 place, 2 number, 3 value, 4 ci_low, 5 ci_high, 6 value as text. "none" where there is none.

data = data_of(figure)
stats data index 0 using (title_text = strcol(1), subtitle_text = strcol(2), footnote_text = strcol(3), x_text = strcol(4), y_text = strcol(5), places = int($6), bars = int($7), y_end = $8, y_from = $9, 0) nooutput
array name[bars]
stats data index 2 using ($1 >= 0 ? name[int($1) + 1] = strcol(2) : 0, 0) nooutput
longest = 0
stats data index 3 using ($1 >= 0 && strlen(strcol(6)) > longest ? longest = strlen(strcol(6)) : 0, 0) nooutput

# From light to dark, at least 15 of CIE L* apart.
shade(i) = word("#F0E442 #56B4E9 #0072B2 #12355B #CC79A7 #D55E00", i % 6 + 1)

width = 1000.0
foot = footnote_text eq "" ? 0 : 22
height = 100 + 24 * ((bars + 3) / 4) + 340 + 62 + foot
top = 80 + 24 * ((bars + 3) / 4)
bar = 0.84 / bars

# Values that are wider than their bars stand upright, for which the axis has room above the bars.
text_length = 7.6 * longest
upright = text_length > 0.84 / bars * (width - 110) / places
room = upright ? 1 + text_length / 340 : 1
y_top = y_from > 0 ? y_from * (y_end / y_from) ** room : y_end * room

do for [kind in kinds] {
    eval open_figure(kind, figure, width, height)
    eval heading
    do for [i = 0:bars - 1] {
        eval key_box(11 + i, 86 + 225 * (i % 4), 74 + 24 * (i / 4), shade(i), "")
        set label (11 + i) name[i + 1]
    }
    set lmargin at screen from_left(86)
    set rmargin at screen from_left(width - 24)
    set tmargin at screen from_top(top)
    set bmargin at screen (62.0 + foot) / height
    unset key
    set xrange [-0.5:places - 0.5]
    if (y_from > 0) {
        set logscale y 10
        set format y "%.0s%c"
    } else {
        set format y tick_format(y_end)
    }
    set yrange [y_from:y_top]
    set xlabel x_text offset 0, 0.3
    set ylabel y_text offset (y_end < 10000 ? 0 : 1.2), 0
    set xtics ()
    set grid ytics lc rgb faint lt 1 lw 1
    left(place, i) = place - 0.42 + i * bar
    plot data index 1 using 1:(NaN):xtic(2) with points, \
         for [i = 0:bars - 1] "" index 3 using ($2 == i ? left($1, i) + bar / 2 : NaN):(y_from):\
             (left($1, i)):(left($1, i) + bar * 0.94):(y_from):3 with boxxyerror \
             fs solid 1.0 border lc rgb black lc rgb shade(i), \
         "" index 3 using (left($1, $2) + bar * 0.47):4:(0):($5 - $4) @interval lc rgb grey, \
         "" index 3 using (left($1, $2) + bar * 0.47):(upright ? NaN : valid(5) ? $5 : $3):6 \
             with labels offset 0, 0.6 font small, \
         "" index 3 using (left($1, $2) + bar * 0.47):(upright ? (valid(5) ? $5 : $3) : NaN):6 \
             with labels left rotate by 90 offset 0, 0.4 font small, \
         NaN with points
    unset output
}
