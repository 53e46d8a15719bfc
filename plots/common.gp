# Terminals, fonts and colours of every figure. Reads no data.
#
# Each figure is drawn by `gnuplot common.gp FIGURE.gp`, in the directory with its FIGURE.dat, and
# writes FIGURE.svg and FIGURE.png there, unless `data_file`, `svg_file` and `png_file` name other
# files, as the program does. Works with gnuplot 5.4 and 6.
#
# A .dat file has blocks of named columns, separated by two empty lines: a line "# NAME", gnuplot's `index`,
# a line of names, and the values. Block 0, the heading, has one row. Names from the machine come in here, as
# data; they are never part of a script.

set encoding utf8
set datafile separator whitespace
set datafile missing "-"
set datafile columnheaders

data = exists("data_file") ? data_file : figure . ".dat"
if (!exists("narrow")) { narrow = 0 } # 1: for a phone, whose 390 pixels hold the letters at nearly their size
picture_of(name, kind) = exists(kind . "_file") ? value(kind . "_file") : name . "." . kind

# Of a row, by the name of the column.
num(name) = column(name)
whole(name) = int(column(name))

# The text of a label that is not for all rows: gnuplot 5.4 crashes where a block's only label has no place.
text_if(wanted, name) = wanted ? strcol(name) : ""

# Reads the heading, for eval: each column that is named becomes a variable of its name.
read_each(how, names, i) = i > words(names) ? "" : \
    sprintf("%s = %s('%s'), ", word(names, i), how, word(names, i)) . read_each(how, names, i + 1)
read_heading(wholes, numbers, texts) = "stats data index 0 using (" . \
    read_each("strcol", "title subtitle footnote " . texts, 1) . read_each("whole", wholes, 1) . \
    read_each("num", numbers, 1) . "0) nooutput; " . \
    "title = wrap(title, narrow ? 38 : 200); subtitle = wrap(subtitle, narrow ? 52 : 200); " . \
    "footnote = wrap(footnote, narrow ? 52 : 200); title_end = 20 + 23 * breaks(title); " . \
    "head = title_end - 20 + 18 * breaks(subtitle); foot = footnote eq '' ? 0 : (narrow ? 28 : 22) + 18 * breaks(footnote)"

# Breaks a text into lines of some `most` characters, at blanks.
wrap_word(line, next, most) = strlen(line) + strlen(next) < most ? line . " " . next : line . "\n" . next
wrap_last(text) = strstrt(text, "\n") ? wrap_last(text[strstrt(text, "\n") + 1:*]) : text
wrap_from(text, done, i, most) = i > words(text) ? done : \
    wrap_from(text, done . wrap_word(wrap_last(done), word(text, i), most)[strlen(wrap_last(done)) + 1:*], i + 1, most)
wrap(text, most) = words(text) ? wrap_from(text, word(text, 1), 2, most) : ""
breaks(text) = strstrt(text, "\n") ? 1 + breaks(text[strstrt(text, "\n") + 1:*]) : 0

# A terminal and an output, for eval. Sizes in points of the SVG; the PNG has 1.5 pixels a point.
open_svg(name, width, height) = sprintf( \
    "set terminal svg noenhanced standalone fixed size %d,%d font 'sans-serif,14' background rgb 'white'; set output '%s'", \
    width, height, picture_of(name, "svg"))
open_png(name, width, height) = sprintf( \
    "set terminal pngcairo noenhanced size %d,%d font 'Sans,11' fontscale 1.42 linewidth 1.5 pointscale 1.5 background rgb 'white'; set output '%s'", \
    int(1.5 * width), int(1.5 * height), picture_of(name, "png"))
open_figure(kind, name, width, height) = \
    kind eq "svg" ? open_svg(name, width, height) : open_png(name, width, height)
kinds = "svg png"

# Okabe and Ito's colours, told apart by the colour-blind. Beside each its lightness (CIE L*): what
# must be told apart in grey differs by 15 or more, or has a pattern or a label of its own.
black = "#000000"      #  0
blue = "#0072B2"       # 46
vermilion = "#D55E00" # 53
green = "#009E73"      # 58
purple = "#CC79A7"     # 61
sky = "#56B4E9"        # 70
orange = "#E69F00"     # 71
yellow = "#F0E442"     # 89
faint = "#E4E4E4"      # 90
grey = "#606060"       # 41

# Colours from dark to light, so that members of a group differ in grey as well: CIE L* 36, 54, 70 and
# 89 of up to four, else as many as there are of 28 to 91 in equal steps, neighbours in that order of
# another hue. Neighbours in number, which are often neighbours in a plot, are some steps apart.
ladder_few = "#00559E #D55E00 #56B4E9 #F0E442"
ladder_many = "#00427F #931C0C #026230 #913899 #036EA2 #B65617 #0C8B7A #D853A2 #0A9ACB #D4892C #59B858 \
    #D694FF #04CAF4 #F5BA4E #B5DD65 #FFCAF7 #FFE56D"
ladder_share(step, steps) = steps > 1 ? step / (steps - 1.0) : 0
ladder_step(i, n) = i * int(word("1 1 1 1 2 1 3 3 4 3 4 5 5 5 4 5", n)) % n
ladder_colour(step, steps) = steps <= 4 ? word(ladder_few, int(3 * ladder_share(step, steps) + 1.5)) : \
    word(ladder_many, int(16 * ladder_share(step, steps) + 1.5))

unset key
set border 3 lc rgb grey lw 1
set tics nomirror out scale 0.6 textcolor rgb black
set grid noxtics noytics
set format x "%g"
set pointintervalbox 0 # gnuplot 6 would paint white around points, over short intervals
set style fill solid 1.0 border lc rgb black

# Points on the canvas, from the left and from the top, as screen coordinates. `head` is what the heading takes
# beyond two lines: a part of each height.
from_left(x) = real(x) / width
from_top(y) = 1 - real(y + head) / height

# Begins a picture, for eval, when `kind`, `width` and `height` (points) are set. Title at the left, a line
# of context below it, a footnote: at fixed distances from the edges, so that no canvas size clips them.
begin = "eval open_figure(kind, figure, width, height); " . \
    "small = kind eq 'svg' ? ',13' : ',10'; large = kind eq 'svg' ? ',17' : ',13'; " . \
    "point = kind eq 'svg' ? 0.62 : 1.0; " . \
    "set label 1 title at screen from_left(12), screen from_top(20 - head) left front font large; " . \
    "set label 2 subtitle at screen from_left(12), screen from_top(title_end + 22 - head) left front font small textcolor rgb grey; " . \
    "set label 4 footnote at screen from_left(12), screen real(foot - 8) / height left front font small textcolor rgb grey"

# Behind the first of several panels: heading and key are drawn once.
begin_next = "unset label 1; unset label 2; unset label 4; unset for [i = 11:140] label i; " . \
    "unset for [i = 11:40] arrow i; unset for [i = 11:40] object i"

# The edges of a plot, for eval: in points from the left and the top, but the bottom on the screen.
frame(left, right, top, bottom) = sprintf("set lmargin at screen %.17g; set rmargin at screen %.17g; " . \
    "set tmargin at screen %.17g; set bmargin at screen %.17g", \
    from_left(left), from_left(right), from_top(top), bottom)

# Entries of a key in a line at y points from the top; x is the left end of the swatch, n a number
# that no other entry has. gnuplot's own key counts characters and overflows when fonts differ.
key_text(n, x, y, text) = sprintf("set label %d '%s' at screen %f, screen %f left front font small; ", \
    n, text, from_left(x + 24), from_top(y))
key_box(n, x, y, colour, text) = key_text(n, x, y, text) . \
    sprintf("set object %d rectangle from screen %f, screen %f to screen %f, screen %f fs solid 1.0 border lc rgb black fc rgb '%s' front", \
    n, from_left(x), from_top(y - 7), from_left(x + 17), from_top(y + 7), colour)
key_line(n, x, y, style, text) = key_text(n, x, y, text) . \
    sprintf("set arrow %d from screen %f, screen %f to screen %f, screen %f %s front", \
    n, from_left(x), from_top(y), from_left(x + 18), from_top(y), style)
key_point(n, x, y, style, text) = key_text(n, x, y, text) . \
    sprintf("set label %d '' at screen %f, screen %f point %s front", n + 100, from_left(x + 10), \
    from_top(y), style)

# Rows of bars or points, whose name and value stand beside them and on a phone above them; y is that of a row. There
# each entry of the key has a line, the i-th from 0.
row_left = narrow ? 24 : 200
row_right(x) = narrow ? 370 : x
row_why(x) = wrap(strcol("why"), narrow ? 48 : 200)
row_up = narrow ? 0.33 : 0
row_label = narrow ? "left offset 0.4, 0" : "right offset -1, 0"
row_text = narrow ? "right" : "left offset 1.5, 0"
key_x(x) = narrow ? 16 : x
key_y(i) = narrow ? 74 + 24 * i : 74

# Lines that differ in colour and dashes, and each in its points: styles 1 to 13, and again from the
# first.
set style line 1 lw 2.5 pt 7 lc rgb blue dt 1
set style line 2 lw 2.5 pt 5 lc rgb vermilion dt (9, 3)
set style line 3 lw 2.5 pt 9 lc rgb green dt (3, 3)
set style line 4 lw 2.5 pt 13 lc rgb purple dt (9, 3, 3, 3)
set style line 5 lw 2.5 pt 4 lc rgb black dt 1
set style line 6 lw 2.5 pt 6 lc rgb sky dt (9, 3)
set style line 7 lw 2.5 pt 11 lc rgb orange dt 1
set style line 8 lw 2.5 pt 8 lc rgb blue dt (3, 3)
set style line 9 lw 2.5 pt 10 lc rgb vermilion dt 1
set style line 10 lw 2.5 pt 12 lc rgb green dt (9, 3, 3, 3)
set style line 11 lw 2.5 pt 14 lc rgb purple dt 1
set style line 12 lw 2.5 pt 15 lc rgb black dt (3, 3)
set style line 13 lw 2.5 pt 2 lc rgb sky dt 1
line(i) = i % 13 + 1
line_point(i) = int(word("7 5 9 13 4 6 11 8 10 12 14 15 2", line(i)))
line_colour(i) = word(blue . " " . vermilion . " " . green . " " . purple . " " . black . " " . sky . " " . \
    orange . " " . blue . " " . vermilion . " " . green . " " . purple . " " . black . " " . sky, line(i))

# An entry for line i. The name comes from the data, so the script gives the variable that holds it,
# and never its content.
key_series(n, x, y, i, variable) = sprintf( \
    "set label %d %s at screen %f, screen %f left front font small; ", \
    n, variable, from_left(x + 44), from_top(y)) . \
    sprintf("set arrow %d from screen %f, screen %f to screen %f, screen %f nohead ls %d front; ", \
    n, from_left(x), from_top(y), from_left(x + 38), from_top(y), line(i)) . \
    sprintf("set label %d '' at screen %f, screen %f point pt %d ps %f lc rgb '%s' front", \
    n + 100, from_left(x + 19), from_top(y), line_point(i), point, line_colour(i))

# 65536 -> "64 KiB".
bytes_text(size) = size < 1024 ? sprintf("%g B", size) : size < 2 ** 20 ? sprintf("%g KiB", size / 2 ** 10) : \
    size < 2 ** 30 ? sprintf("%g MiB", size / 2 ** 20) : sprintf("%g GiB", size / 2 ** 30)

# 1600000 -> "1.6M", with what stands before and behind the prefix: "1.6 MB".
si_power(value) = value == 0 ? 0 : int(floor(log10(abs(value)) / 3 + 1e-9))
si_text(value, space, unit) = value == 0 ? "0" : sprintf("%g", value / 1000.0 ** si_power(value)) . space . \
    gprintf("%c", value * 1.000001) . unit

# By `counts`, what a value counts: 0 numbers, 1 GB/s, 2 us, 3 bytes.
counted_text(counts, value) = counts == 1 ? si_text(value * 1e9, " ", "B/s") : counts == 2 ? \
    si_text(value * 1e-6, " ", "s") : counts == 3 ? si_text(value, " ", "B") : value > 0 && value < 1e-4 ? \
    plain_text(value) : number_text(value)

# The list `ticks` of a linear axis, for eval: some three to six, 1, 2 or 5 times a power of ten apart. Whole
# numbers up to 9999 have no prefix.
tick_power(range) = 10 ** floor(log10(range / 3.0))
tick_step(range) = (range / 3.0 >= 5 * tick_power(range) ? 5 : range / 3.0 >= 2 * tick_power(range) ? 2 : 1) * \
    tick_power(range)
number_text(value) = tick_high < 10000 ? sprintf("%g", value) : si_text(value, "", "")
linear_ticks = "ticks = ''; step = tick_step(tick_high - tick_low); " . \
    "do for [i = int(ceil(tick_low / step - 1e-6)):int(floor(tick_high / step + 1e-6))] { " . \
    "ticks = ticks . (ticks eq '' ? '' : ', ') . sprintf(\"'%s' %.9g\", tick_text(i * step), i * step) }"
# A power of ten, or one of its multiples: 0.00001, and never 1e-05.
plain_text(value) = value > 9999 ? gprintf("%.0s%c", value * 1.000001) : \
    sprintf(sprintf("%%.%df", value < 1 ? int(ceil(-log10(value) - 1e-9)) : 0), value)

# The list `ticks` of a logarithmic axis from tick_low to tick_high, for eval: those of tick_digits have the
# text tick_text(value), the others are small, and there where tick_small says so.
log_ticks = "ticks = ''; " . \
    "do for [power = int(floor(log10(tick_low) + 1e-9)):int(ceil(log10(tick_high) - 1e-9))] { " . \
    "do for [digit = 1:9] { value = digit * 10.0 ** power; " . \
    "shown = strstrt(tick_digits, sprintf('%d', digit)); " . \
    "if (value > tick_low * 0.999 && value < tick_high * 1.001 && (shown || tick_small)) { " . \
    "ticks = ticks . (ticks eq '' ? '' : ', ') . (shown ? " . \
    "sprintf(\"'%s' %g\", tick_text(value), value) : sprintf(\"'' %g 1\", value)) } } }"
tick_small = 1

# Intervals, drawn from x:low:(0):(high - low). Error bars paint a white disk around their point.
interval = "with vectors heads size screen 0.003, 90 lw 1.5"
