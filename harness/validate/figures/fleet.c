#include "harness/validate/figures/fleet.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/show/data/dat.h"
#include "harness/show/draw/files.h"
#include "harness/show/draw/gnuplot.h"
#include "harness/show/draw/scripts.h"

/* Of more machines than that some, evenly chosen by value, stand for all that are not odd. */
enum { DOTS_MOST = 240, NAMED_MOST = 3, TEXT = 96, LABEL = 76 };

/* What is further away than halved and doubled stands at the edge, and says by how much. */
static const double edge_low = 0.5, edge_high = 1.75;

/* A figure: how far the worst machine is, to put those with odd ones first. */
struct line {
    size_t bound, nodd;
    double score;
};

struct picture {
    const struct fleet *fleet;
    const struct bounds *bounds;
    const struct fleet_judgement *judgement;
    struct line *lines;
    size_t nlines;
    struct dot {
        double ratio;
        uint32_t machine;
        bool odd;
    } * dots; /* scratch: one a machine */
};

static int compare_lines(const void *a, const void *b)
{
    const struct line *one = a, *other = b;
    if (one->score > other->score || one->score < other->score)
        return one->score > other->score ? -1 : 1;
    return one->bound < other->bound ? -1 : one->bound > other->bound;
}

static int compare_dots(const void *a, const void *b)
{
    const struct dot *one = a, *other = b;
    if (one->ratio < other->ratio || one->ratio > other->ratio)
        return one->ratio < other->ratio ? -1 : 1;
    return one->machine < other->machine ? -1 : one->machine > other->machine;
}

static void find_lines(struct picture *picture)
{
    const struct fleet_judgement *judgement = picture->judgement;
    double *score = calloc(picture->bounds->n + 1, sizeof(*score));
    for (size_t i = 0; score && i < judgement->noffences; i++) {
        const struct fleet_offence *offence = &judgement->offences[i];
        if (offence->kind == OFFENCE_FIGURE || offence->kind == OFFENCE_DRIFT)
            score[offence->bound] = fmax(score[offence->bound], offence->score);
    }
    for (size_t i = 0; score && i < picture->bounds->n; i++)
        if (judgement->metric_of[i] != INTERN_NONE)
            picture->lines[picture->nlines++] = (struct line){.bound = i, .score = score[i]};
    free(score);
    if (picture->nlines)
        qsort(picture->lines, picture->nlines, sizeof(*picture->lines), compare_lines);
}

/* All machines by value. Odd is who is beyond the bounds: of drift the trend is not in the picture.
 */
static size_t collect_dots(struct picture *picture, const struct line *line)
{
    const struct bound *bound = &picture->bounds->all[line->bound];
    uint32_t metric = picture->judgement->metric_of[line->bound];
    size_t n = 0;
    for (size_t i = picture->fleet->first[metric]; i < picture->fleet->first[metric + 1]; i++) {
        const struct fleet_cell *cell = &picture->fleet->cells[i];
        bool odd = cell->value < bound->lower || cell->value > bound->upper;
        picture->dots[n++] = (struct dot){cell->value / bound->reference, cell->machine, odd};
    }
    if (n)
        qsort(picture->dots, n, sizeof(*picture->dots), compare_dots);
    return n;
}

static double at_edge(double ratio)
{
    return fmin(edge_high, fmax(edge_low, ratio));
}

/* Dots of one value would hide each other: each next one stands elsewhere on the line's height. */
static void put_dots(const struct picture *picture, size_t n, size_t place, FILE *out)
{
    static const double golden = 0.6180339887;
    size_t nth = n / DOTS_MOST + 1;
    for (size_t i = 0; i < n; i++) {
        const struct dot *dot = &picture->dots[i];
        double height = 0.5 * (fmod((double)i * golden, 1) - 0.5);
        if (dot->odd || i % nth == 0)
            (void)fprintf(out, "%.3f %.6g %d\n", (dot->odd ? 0 : height) - (double)place,
                          at_edge(dot->ratio), dot->odd);
    }
}

/* "node17 -41%, node3 -38% and 4 more": those beyond the bounds, the farthest first. */
static void say_odd(const struct picture *picture, size_t n, char text[static TEXT])
{
    size_t nodd = 0, low = 0, high = n;
    text[0] = '\0';
    for (size_t i = 0; i < n; i++)
        nodd += picture->dots[i].odd;
    for (size_t named = 0; named < nodd && named < NAMED_MOST && strlen(text) < TEXT / 2; named++) {
        while (low < high && !picture->dots[low].odd)
            low++;
        while (low < high && !picture->dots[high - 1].odd)
            high--;
        bool take_low = fabs(log(fmax(picture->dots[low].ratio, 1e-9))) >=
                        fabs(log(fmax(picture->dots[high - 1].ratio, 1e-9)));
        const struct dot *dot = &picture->dots[take_low ? low++ : --high];
        text_append(text, TEXT, ", ", "%.24s %+.0f%%",
                    intern_text(&picture->fleet->names, dot->machine), 100 * (dot->ratio - 1));
        if (named + 1 == NAMED_MOST && nodd > NAMED_MOST)
            text_append(text, TEXT, "", " and %zu more", nodd - NAMED_MOST);
    }
}

/* Behind it who drifts, "node5 drifts": the trend of its runs is not in the picture. */
static void say_drift(const struct picture *picture, size_t bound, char text[static TEXT])
{
    for (size_t i = 0; i < picture->judgement->noffences; i++) {
        const struct fleet_offence *offence = &picture->judgement->offences[i];
        if (offence->kind == OFFENCE_DRIFT && offence->bound == bound && strlen(text) < TEXT / 2)
            text_append(text, TEXT, ", ", "%.24s drifts",
                        intern_text(&picture->fleet->names, offence->machine));
    }
}

/* "op=copy" as "op copy": what dat.h keeps of a text has no such sign. */
static void without_equals(char *text)
{
    for (; *text; text++)
        *text = *text == '=' ? ' ' : *text;
}

static void put_line(struct picture *picture, const struct line *line, size_t place, FILE *out)
{
    const struct bound *bound = &picture->bounds->all[line->bound];
    char label[FLEET_SAID_MAX], odd[TEXT], usual[TEXT];
    say_odd(picture, collect_dots(picture, line), odd);
    (void)snprintf(usual, sizeof(usual), "%.4g %s", bound->reference, bound->unit);
    say_drift(picture, line->bound, odd);
    without_equals(fleet_key_say(bound->key, label, sizeof(label)));
    (void)fprintf(out, "-%zu %s %s %s %.6g %.6g\n", place, dat_text(label, LABEL).quoted,
                  dat_text(usual, TEXT).quoted, dat_text(odd, TEXT).quoted,
                  at_edge(fmax(0, bound->lower / bound->reference)),
                  at_edge(fmin(1e9, bound->upper / bound->reference)));
}

static void put_heading(const struct picture *picture, size_t first, size_t n, FILE *out)
{
    char title[200], what[150];
    const struct fleet_judgement *judgement = picture->judgement;
    (void)snprintf(title, sizeof(title),
                   "%zu machines: %zu fail, %zu odd. Figures %zu to %zu of %zu",
                   judgement->nmachines, judgement->nfail, judgement->nwarn, first + 1, first + n,
                   picture->nlines);
    (void)snprintf(what, sizeof(what), "Figure of each machine / the usual one (%s)",
                   picture->bounds->kind ? picture->bounds->kind : "");
    dat_begin(title, what,
              picture->fleet->names.n > DOTS_MOST
                  ? "Of the machines within the bounds some stand for all"
                  : "",
              "lines low high", out);
    (void)fprintf(out, " %zu %g %g\n", n, edge_low, edge_high);
    dat_block("lines", "y name usual odd lower upper", out);
}

/* One picture: lines from `first` on. */
struct page {
    struct picture *picture;
    size_t first;
};

static int put_page(const void *arg, FILE *out, struct err *err)
{
    const struct page *page = arg;
    struct picture *picture = page->picture;
    size_t left = picture->nlines - page->first;
    size_t n = left < FLEET_LINES_A_PICTURE ? left : FLEET_LINES_A_PICTURE;
    (void)err;
    put_heading(picture, page->first, n, out);
    for (size_t i = 0; i < n; i++)
        put_line(picture, &picture->lines[page->first + i], i, out);
    dat_block("dots", "y x odd", out);
    for (size_t i = 0; i < n; i++)
        put_dots(picture, collect_dots(picture, &picture->lines[page->first + i]), i, out);
    return 0;
}

int fleet_draw(const struct fleet *fleet, const struct bounds *bounds,
               const struct fleet_judgement *judgement, int dir_fd, struct signals *signals,
               size_t *pictures, struct err *err)
{
    char names[FLEET_PICTURES][16];
    struct gnuplot_job jobs[FLEET_PICTURES];
    struct picture picture = {fleet, bounds, judgement, NULL, 0, NULL};
    picture.lines = calloc(bounds->n + 1, sizeof(*picture.lines));
    picture.dots = calloc((size_t)fleet->names.n + 1, sizeof(*picture.dots));
    int rc = picture.lines && picture.dots ? 0 : err_set(err, -ENOMEM, "no memory for pictures");
    *pictures = 0;
    if (!rc)
        find_lines(&picture);
    for (size_t first = 0; !rc && first < picture.nlines && *pictures < FLEET_PICTURES;
         first += FLEET_LINES_A_PICTURE) {
        (void)snprintf(names[*pictures], sizeof(names[0]), "fleet_%02zu", *pictures + 1);
        jobs[*pictures] = (struct gnuplot_job){.name = names[*pictures],
                                               .scripts = {plot_common_gp, plot_fleet_gp}};
        const struct page page = {&picture, first};
        rc = plot_files_write_data(dir_fd, names[(*pictures)++], put_page, &page, err);
    }
    if (!rc && *pictures)
        rc = gnuplot_run(dir_fd, jobs, *pictures, GNUPLOT_LIMIT_S, signals, err);
    free(picture.lines);
    free(picture.dots);
    return rc;
}
