#include "harness/show/data/dots.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/base/array.h"
#include "harness/show/data/dat.h"

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
    struct dots_line *grown =
        array_grown(dots->lines, dots->nlines, &dots->lines_capacity, sizeof(*grown));
    if (!grown)
        return SIZE_MAX;
    dots->lines = grown;
    struct dots_line *line = &grown[dots->nlines];
    *line = (struct dots_line){.panel = panel, .place = dots->panels[panel].nlines++};
    (void)snprintf(line->label, sizeof(line->label), "%s", label);
    for (int mark = 0; mark < DOT_MARKS; mark++) {
        line->least[mark] = INFINITY;
        line->most[mark] = -INFINITY;
    }
    return dots->nlines++;
}

void dots_add_key(struct dots *dots, int colour, enum dot_mark mark, const char *text)
{
    if (dots->nkeys == DOTS_KEY)
        return;
    struct dots_key *key = &dots->keys[dots->nkeys++];
    *key = (struct dots_key){.colour = colour, .mark = mark};
    (void)snprintf(key->text, sizeof(key->text), "%s", text);
}

bool dots_add(struct dots *dots, const struct dot *dot)
{
    struct dot *grown = array_grown(dots->dot, dots->n, &dots->capacity, sizeof(*grown));
    if (!grown)
        return false;
    dots->dot = grown;
    grown[dots->n++] = *dot;
    struct dots_line *line = &dots->lines[dot->line];
    line->least[dot->mark] = fmin(line->least[dot->mark], dot->at);
    line->most[dot->mark] = fmax(line->most[dot->mark], dot->at);
    struct dots_panel *panel = &dots->panels[line->panel];
    /* fmin and fmax pass over an interval that there is not. */
    panel->low = fmin(panel->low, fmin(dot->at, dot->low));
    panel->high = fmax(panel->high, fmax(dot->at, dot->high));
    return true;
}

/* With some room behind the last dot. */
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

static void put_panels(struct dots *dots, FILE *out)
{
    for (unsigned i = 0; i < dots->npanels; i++) {
        struct dots_panel *panel = &dots->panels[i];
        choose_axis(panel);
        (void)fprintf(out, "%u", i);
        dat_put_text(out, panel->label, DOTS_TEXT);
        (void)fprintf(out, " %u %.9g %.9g %d %.9g\n", panel->nlines, panel->low, panel->high,
                      panel->log, panel->mark);
    }
    dat_end_block(out);
}

static void put_keys(const struct dots *dots, FILE *out)
{
    dat_start_block(out, "-1 0 0 \"\"");
    for (size_t i = 0; i < dots->nkeys; i++) {
        (void)fprintf(out, "%zu %d %d", i, dots->keys[i].colour, (int)dots->keys[i].mark);
        dat_put_text(out, dots->keys[i].text, DOTS_TEXT);
        (void)fputc('\n', out);
    }
    dat_end_block(out);
}

static void put_lines(const struct dots *dots, FILE *out)
{
    for (size_t i = 0; i < dots->nlines; i++) {
        const struct dots_line *line = &dots->lines[i];
        (void)fprintf(out, "%u -%u", line->panel, line->place);
        dat_put_text(out, line->label, DOTS_NAME);
        dat_put_text(out, line->text[0], DOTS_TEXT);
        dat_put_text(out, line->text[1], DOTS_TEXT);
        (void)fprintf(out, " %d\n", line->absent);
    }
    dat_end_block(out);
}

static size_t longer(size_t length, const char *text)
{
    return strlen(text) > length ? strlen(text) : length;
}

void dots_put(struct dots *dots, FILE *out)
{
    size_t label = 0, text = 0;
    for (size_t i = 0; i < dots->nlines; i++) {
        const struct dots_line *line = &dots->lines[i];
        label = longer(label, line->label);
        text = line->absent ? text : longer(longer(text, line->text[0]), line->text[1]);
    }
    (void)fprintf(out, " %u %u %zu %zu %zu\n", dots->npanels, dots->ncolours, dots->nkeys, label,
                  text);
    dat_end_block(out);
    put_panels(dots, out);
    put_keys(dots, out);
    put_lines(dots, out);
    dat_start_block(out, "-1 NaN NaN NaN NaN 0 0");
    for (size_t i = 0; i < dots->n; i++) {
        const struct dot *dot = &dots->dot[i];
        const struct dots_line *line = &dots->lines[dot->line];
        (void)fprintf(out, "%u %.3f %.9g %.9g %.9g %u %d\n", line->panel,
                      dot->above - (double)line->place, dot->at, dot->low, dot->high, dot->colour,
                      (int)dot->mark);
    }
}

void dots_free(struct dots *dots)
{
    free(dots->dot);
    free(dots->lines);
    *dots = (struct dots){0};
}

char *dots_format(double value, char *buf, size_t size)
{
    int digits = value >= 99.5 ? 0 : value >= 9.95 ? 1 : 2;
    for (double tenth = value; tenth > 0 && tenth < 0.0995 && digits < 9; tenth *= 10)
        digits++;
    (void)snprintf(buf, size, "%.*f", value == 0 ? 0 : digits, value);
    return buf;
}
