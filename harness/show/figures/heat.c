#include "harness/show/figures/heat.h"

#include <math.h>

#include "harness/show/figures/dat.h"

enum {
    LABEL_MOST = 60,
    LINES_WANTED = 128, /* least rows of the image; viewers blur the rows of a smaller one */
    TICKS_MOST = 17,
};

/* At most TICKS_MOST ticks, so that they stay readable. */
static void put_ticks(const struct heat *heat, unsigned longer, FILE *out)
{
    unsigned step = 1;
    while ((longer + step - 1) / step > TICKS_MOST)
        step *= 2;
    dat_block("ticks", "place column line", out);
    for (unsigned place = 0; place < longer; place += step) {
        const char *text[HEAT_AXES] = {"", ""};
        for (unsigned axis = 0; axis < HEAT_AXES; axis++)
            if (place < heat->n[axis])
                text[axis] = heat->name(heat->arg, axis, place);
        (void)fprintf(out, "%u %s %s\n", place, dat_text(text[0], HEAT_TEXT).quoted,
                      dat_text(text[1], HEAT_TEXT).quoted);
    }
}

static void put_cells(const struct heat *heat, unsigned longer, FILE *out)
{
    dat_block("cells", "column line value text", out);
    for (size_t i = 0; i < (size_t)heat->n[0] * heat->n[1] && longer <= heat->printed_most; i++)
        if (!isnan(heat->value[i]))
            (void)fprintf(out, "%zu %zu %.6g %s\n", i % heat->n[0], i / heat->n[0], heat->value[i],
                          dat_text(heat->format_cell(heat->arg, i), HEAT_TEXT).quoted);
}

void heat_put(const struct heat *heat, FILE *out)
{
    unsigned longer = heat->n[0] > heat->n[1] ? heat->n[0] : heat->n[1];
    unsigned repeats = (LINES_WANTED + longer - 1) / longer;
    (void)fprintf(out, " %u %.9g %.9g %u %s %s %s %u %d\n", heat->n[1], heat->low, heat->high,
                  repeats, dat_text(heat->colours, LABEL_MOST).quoted,
                  dat_text(heat->labels[0], LABEL_MOST).quoted,
                  dat_text(heat->labels[1], LABEL_MOST).quoted, heat->n[0], (int)heat->ticks);
    put_ticks(heat, longer, out);
    put_cells(heat, longer, out);
    dat_block("matrix", "", out);
    for (unsigned line = 0; line < heat->n[1] * repeats; line++) {
        for (unsigned column = 0; column < heat->n[0] * repeats; column++) {
            double value = heat->value[(size_t)(line / repeats) * heat->n[0] + column / repeats];
            (void)fprintf(out, isnan(value) ? "NaN " : "%.5g ", value);
        }
        (void)fputc('\n', out);
    }
}
