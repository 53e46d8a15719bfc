#include "harness/show/figures/dots.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/array.h"
#include "harness/lib/text.h"
#include "harness/show/figures/dat.h"

unsigned dots_add_panel(struct dots *dots, const struct dots_panel *panel)
{
    if (dots->npanels == DOTS_PANELS)
        return DOTS_PANELS;
    struct dots_panel *added = &dots->panels[dots->npanels];
    *added = *panel;
    added->nlines = 0;
    added->low = panel->log ? INFINITY : 0;
    added->high = 0;
    return dots->npanels++;
}

size_t dots_add_line(struct dots *dots, unsigned panel, const char *label)
{
    struct dots_line *line = array_add(dots->lines, dots->nlines, dots->lines_capacity);
    if (!line)
        return SIZE_MAX;
    *line = (struct dots_line){
        .panel = panel, .place = dots->panels[panel].nlines++, .label = label, .text = {"", ""}};
    for (int mark = 0; mark < DOT_MARKS; mark++) {
        line->least[mark] = INFINITY;
        line->most[mark] = -INFINITY;
    }
    return dots->nlines - 1;
}

void dots_add_key(struct dots *dots, int colour, enum dot_mark mark, const char *text)
{
    if (dots->nkeys == DOTS_KEY)
        return;
    dots->keys[dots->nkeys++] = (struct dots_key){colour, mark, text};
}

bool dots_add(struct dots *dots, const struct dot *dot)
{
    struct dot *added = array_add(dots->dot, dots->n, dots->capacity);
    if (!added)
        return false;
    *added = *dot;
    struct dots_line *line = &dots->lines[dot->line];
    line->least[dot->mark] = fmin(line->least[dot->mark], dot->at);
    line->most[dot->mark] = fmax(line->most[dot->mark], dot->at);
    struct dots_panel *panel = &dots->panels[line->panel];
    /* A dot without an interval has NaN there, which fmin and fmax ignore. */
    panel->low = fmin(panel->low, fmin(dot->at, dot->low));
    panel->high = fmax(panel->high, fmax(dot->at, dot->high));
    return true;
}

/* Leaves some room beyond the last dot. */
static void choose_axis(struct dots_panel *panel)
{
    if (panel->mark > 0) {
        panel->low = fmin(panel->low, panel->mark);
        panel->high = fmax(panel->high, panel->mark);
    }
    if (!panel->log) {
        panel->high = panel->high > 0 ? 1.05 * panel->high : 1;
        return;
    }
    bool any = panel->low > 0 && isfinite(panel->low);
    panel->low = any ? dat_round_125(panel->low / 1.05, false) : 1;
    panel->high = any ? dat_round_125(panel->high * 1.05, true) : 10;
}

static size_t longer(size_t length, const char *text)
{
    return strlen(text) > length ? strlen(text) : length;
}

static void put_panels(struct dots *dots, FILE *out)
{
    dat_block("panels", "panel label right right_2 lines low high log mark", out);
    for (unsigned i = 0; i < dots->npanels; i++) {
        struct dots_panel *panel = &dots->panels[i];
        choose_axis(panel);
        (void)fprintf(out, "%u %s %s %s %u %.9g %.9g %d %.9g\n", i,
                      dat_text(panel->label, DOTS_TEXT).quoted,
                      dat_text(panel->right[0] ? panel->right[0] : "", DOTS_NAME).quoted,
                      dat_text(panel->right[1] ? panel->right[1] : "", DOTS_NAME).quoted,
                      panel->nlines, panel->low, panel->high, panel->log, panel->mark);
    }
}

/* Each panel has its own blocks, so that its script reads no other panel's rows. */
static void begin_panel(const char *what, unsigned panel, const char *columns, FILE *out)
{
    const char *name = str_fmt("%s_%u", what, panel);
    dat_block(name, columns, out);
}

static void put_lines(const struct dots *dots, unsigned panel, FILE *out)
{
    begin_panel("lines", panel, "y name text text_2 absent", out);
    for (size_t i = 0; i < dots->nlines; i++) {
        const struct dots_line *line = &dots->lines[i];
        if (line->panel == panel)
            (void)fprintf(out, "-%u %s %s %s %d\n", line->place,
                          dat_text(line->label, DOTS_NAME).quoted,
                          dat_text(line->text[0], DOTS_TEXT).quoted,
                          dat_text(line->text[1], DOTS_TEXT).quoted, line->absent);
    }
}

static void put_dots(const struct dots *dots, unsigned panel, FILE *out)
{
    begin_panel("dots", panel, "y x low high colour mark", out);
    for (size_t i = 0; i < dots->n; i++) {
        const struct dot *dot = &dots->dot[i];
        const struct dots_line *line = &dots->lines[dot->line];
        if (line->panel == panel)
            (void)fprintf(out, "%.3f %.9g %.9g %.9g %u %d\n", dot->above - (double)line->place,
                          dot->at, dot->low, dot->high, dot->colour, (int)dot->mark);
    }
}

void dots_put(struct dots *dots, FILE *out)
{
    size_t label = 0, text = 0;
    bool has_two = false;
    for (size_t i = 0; i < dots->nlines; i++) {
        const struct dots_line *line = &dots->lines[i];
        label = longer(label, line->label);
        has_two = has_two || line->text[1][0];
        text = line->absent ? text : longer(longer(text, line->text[0]), line->text[1]);
    }
    (void)fprintf(out, " %u %u %zu %zu %zu %d\n", dots->npanels, dots->ncolours, dots->nkeys, label,
                  text, has_two);
    put_panels(dots, out);
    dat_block("keys", "number colour mark text", out);
    for (size_t i = 0; i < dots->nkeys; i++)
        (void)fprintf(out, "%zu %d %d %s\n", i, dots->keys[i].colour, (int)dots->keys[i].mark,
                      dat_text(dots->keys[i].text, DOTS_TEXT).quoted);
    for (unsigned panel = 0; panel < dots->npanels; panel++) {
        put_lines(dots, panel, out);
        put_dots(dots, panel, out);
    }
}

void dots_free(struct dots *dots)
{
    free(dots->dot);
    free(dots->lines);
    *dots = (struct dots){0};
}

const char *dots_format(double value)
{
    int digits = value >= 99.5 ? 0 : value >= 9.95 ? 1 : 2;
    for (double tenth = value; tenth > 0 && tenth < 0.0995 && digits < 9; tenth *= 10)
        digits++;
    return str_fmt("%.*f", value == 0 ? 0 : digits, value);
}
