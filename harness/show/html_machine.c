#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/show/html.h"

/*
 * The machine as nested boxes: packages, NUMA nodes, caches and cores, each if the machine has
 * several. The colours of a CPU are the workers of a placement that may use it.
 */

enum {
    CELL = 12, /* a CPU with the gap to the next */
    SQUARE = 10,
    PAD = 4,
    HEAD = 9, /* room for the label of a box */
    CPUS_MOST = 1024,
    NUMBERS_MOST = 64, /* most CPUs that are drawn with their numbers */
    STRIPES = 4,       /* most workers that one CPU shows */
    COLOURS = 8,
    DRAWINGS_MOST = 24,
    LIST_OPEN = 4 /* most workers in a list that is not folded */
};

struct box {
    unsigned x, y, w, h;
    char label[32];
};

struct cell {
    unsigned os_cpu, x, y;
};

struct size {
    unsigned w, h;
};

struct drawing {
    const struct about *about;
    struct size size;
    size_t nboxes, ncells;
    struct box *boxes;
    struct cell *cells;
};

/* A part of the drawing. It is laid out at 0, 0, and then moved to its place. */
struct piece {
    struct size size;
    size_t first_box, first_cell;
};

static unsigned larger(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

/*
 * Columns for n things of that size, so that they fill an area about twice as wide as high. Prefers
 * a number that leaves no shorter last line.
 */
static unsigned columns_of(unsigned n, struct size each)
{
    double root = sqrt(2.2 * n * larger(each.h, 1) / larger(each.w, 1));
    unsigned wanted = root < 1 ? 1 : root < n ? (unsigned)root : larger(n, 1);
    for (unsigned off = 0; off <= wanted / 3; off++) {
        if (n % (wanted + off) == 0)
            return wanted + off;
        if (n % (wanted - off) == 0)
            return wanted - off;
    }
    return wanted;
}

/* Removes the next core from `left` and returns it in *core; false: `left` is empty. A CPU whose
 * core is not recorded counts as a core. */
static bool take_core(const struct about_sets *cores, size_t *at, struct bitset *left,
                      struct bitset *core)
{
    while (*at < cores->n) {
        *core = cores->set[(*at)++];
        bitset_and(core, left);
        if (!bitset_empty(core)) {
            bitset_andnot(left, core);
            return true;
        }
    }
    int cpu = bitset_next(left, 0);
    if (cpu < 0)
        return false;
    *core = (struct bitset){0};
    bitset_set(core, (unsigned)cpu);
    bitset_clear(left, (unsigned)cpu);
    return true;
}

/* CPUs of one core stand below each other. */
static struct size lay_cores(struct drawing *drawing, const struct bitset *cpus)
{
    const struct about_sets *cores = &drawing->about->levels[ABOUT_CORES];
    struct bitset left = *cpus, core;
    unsigned n = 0, threads = 1;
    for (size_t at = 0; take_core(cores, &at, &left, &core); n++)
        threads = larger(threads, bitset_count(&core));
    const struct size each = {CELL, threads * CELL + (threads > 1 ? 2 : 0)};
    unsigned columns = columns_of(n, each), place = 0;
    left = *cpus;
    for (size_t at = 0; take_core(cores, &at, &left, &core); place++) {
        unsigned x = place % columns * each.w, y = place / columns * each.h;
        for (int cpu = bitset_next(&core, 0); cpu >= 0;
             cpu = bitset_next(&core, (unsigned)cpu + 1)) {
            drawing->cells[drawing->ncells++] = (struct cell){(unsigned)cpu, x, y};
            y += CELL;
        }
    }
    return (struct size){columns * each.w, (n + columns - 1) / columns * each.h};
}

static void move(struct drawing *drawing, const struct piece *from, const struct piece *to,
                 unsigned x, unsigned y)
{
    for (size_t i = from->first_box; i < to->first_box; i++) {
        drawing->boxes[i].x += x;
        drawing->boxes[i].y += y;
    }
    for (size_t i = from->first_cell; i < to->first_cell; i++) {
        drawing->cells[i].x += x;
        drawing->cells[i].y += y;
    }
}

static struct size lay(struct drawing *drawing, int level, const struct bitset *cpus);

/* Lays out one set with a frame and a label around its content. */
static struct size lay_set(struct drawing *drawing, int level, size_t index,
                           const struct bitset *cpus)
{
    static const char *const names[ABOUT_LEVELS] = {"package", "node", "cache", ""};
    const struct piece from = {.first_box = drawing->nboxes, .first_cell = drawing->ncells};
    struct box *box = &drawing->boxes[drawing->nboxes++];
    const struct size inner = lay(drawing, level + 1, cpus);
    const struct piece inside = {.first_box = from.first_box + 1, .first_cell = from.first_cell};
    const struct piece end = {.first_box = drawing->nboxes, .first_cell = drawing->ncells};
    move(drawing, &inside, &end, PAD, HEAD);
    *box = (struct box){0, 0, larger(inner.w + 2 * PAD - 2, 40), inner.h + HEAD + PAD - 2, ""};
    (void)snprintf(box->label, sizeof(box->label), "%s %zu", names[level], index);
    return (struct size){box->w, box->h};
}

/* Moves pieces into a grid whose cells are as large as the largest piece. */
static struct size arrange(struct drawing *drawing, const struct piece *pieces, unsigned n)
{
    struct size each = {0};
    for (unsigned i = 0; i < n; i++)
        each = (struct size){larger(each.w, pieces[i].size.w), larger(each.h, pieces[i].size.h)};
    unsigned columns = columns_of(n, each);
    for (unsigned i = 0; i < n; i++)
        move(drawing, &pieces[i], &pieces[i + 1], i % columns * (each.w + PAD),
             i / columns * (each.h + PAD));
    return (struct size){columns * (each.w + PAD) - PAD,
                         (n + columns - 1) / columns * (each.h + PAD) - PAD};
}

/* Lays out the CPUs at 0, 0. A level with only one set on this machine is not drawn. */
static struct size lay(struct drawing *drawing, int level, const struct bitset *cpus)
{
    if (level == ABOUT_CORES)
        return lay_cores(drawing, cpus);
    const struct about_sets *sets = &drawing->about->levels[level];
    struct piece *pieces =
        sets->n > 1 && sets->n <= CPUS_MOST ? calloc(sets->n + 2, sizeof(*pieces)) : NULL;
    if (!pieces)
        return lay(drawing, level + 1, cpus);
    struct bitset left = *cpus;
    unsigned n = 0;
    for (size_t i = 0; i < sets->n; i++) {
        struct bitset part = sets->set[i];
        bitset_and(&part, &left);
        if (bitset_empty(&part))
            continue;
        bitset_andnot(&left, &part);
        pieces[n] = (struct piece){.first_box = drawing->nboxes, .first_cell = drawing->ncells};
        pieces[n++].size = lay_set(drawing, level, i, &part);
    }
    if (!bitset_empty(&left)) {
        pieces[n] = (struct piece){.first_box = drawing->nboxes, .first_cell = drawing->ncells};
        pieces[n++].size = lay(drawing, level + 1, &left);
    }
    pieces[n] = (struct piece){.first_box = drawing->nboxes, .first_cell = drawing->ncells};
    struct size size = arrange(drawing, pieces, n);
    free(pieces);
    return size;
}

static void drawing_free(struct drawing *drawing)
{
    free(drawing->boxes);
    free(drawing->cells);
}

/* One drawing serves all placements. False: nothing to draw, or out of memory. */
static bool drawing_make(const struct about *about, struct drawing *drawing)
{
    unsigned n = bitset_count(&about->cpus);
    *drawing = (struct drawing){.about = about};
    if (n == 0 || n > CPUS_MOST)
        return false;
    /* A set is drawn only if it has a CPU, so each level has at most one box per CPU. */
    drawing->boxes = calloc((size_t)n * ABOUT_LEVELS, sizeof(*drawing->boxes));
    drawing->cells = calloc(n, sizeof(*drawing->cells));
    if (drawing->boxes && drawing->cells)
        drawing->size = lay(drawing, 0, &about->cpus);
    return drawing->ncells;
}

/* Only workers on the first worker's host are drawn; other hosts have other CPUs. */
static bool is_drawn(const struct plan *plan, unsigned worker)
{
    return strcmp(plan->workers[worker].host, plan->workers[0].host) == 0;
}

/* Returns how many workers may use that CPU; *before: how many of these precede `worker`. */
static unsigned sharers(const struct plan *plan, unsigned os_cpu, unsigned worker, unsigned *before)
{
    unsigned n = 0;
    for (unsigned w = 0; w < plan->nworkers; w++) {
        if (w == worker)
            *before = n;
        n += is_drawn(plan, w) && bitset_test(&plan->workers[w].cpus, os_cpu);
    }
    return n;
}

static const char *colour_of(const struct plan *plan, unsigned worker)
{
    const char *text = str_fmt("w%u", worker % COLOURS);
    return plan->workers[worker].background ? "wb" : text;
}

/* Prints a worker's CPUs as one path; a CPU that workers share gets a stripe for each. */
static void print_worker(const struct drawing *drawing, const struct plan *plan, unsigned worker,
                         FILE *out)
{
    (void)fprintf(out, "<path class=\"%s\" d=\"", colour_of(plan, worker));
    for (size_t i = 0; i < drawing->ncells; i++) {
        const struct cell *cell = &drawing->cells[i];
        unsigned before = 0, n = sharers(plan, cell->os_cpu, worker, &before);
        if (!bitset_test(&plan->workers[worker].cpus, cell->os_cpu) || n > STRIPES)
            continue;
        double width = (double)SQUARE / n;
        (void)fprintf(out, "M%.4g %uh%.3gv%dh-%.3gz", cell->x + before * width, cell->y, width,
                      SQUARE, width);
    }
    (void)fputs("\"/>\n", out);
}

/* Prints the CPUs without workers' colours: unused, shared by too many, or not allowed. */
static void print_cells(const struct drawing *drawing, const struct plan *plan, FILE *out)
{
    for (size_t i = 0; i < drawing->ncells; i++) {
        const struct cell *cell = &drawing->cells[i];
        unsigned before = 0, n = sharers(plan, cell->os_cpu, 0, &before);
        const char *class = !bitset_test(&drawing->about->allowed, cell->os_cpu) ? "off"
                            : n > STRIPES                                        ? "many"
                                                                                 : "free";
        if (n == 0 || n > STRIPES)
            (void)fprintf(out, "<rect class=\"%s\" x=\"%u\" y=\"%u\" width=\"%d\" height=\"%d\"/>",
                          class, cell->x, cell->y, SQUARE, SQUARE);
        if (drawing->ncells <= NUMBERS_MOST)
            (void)fprintf(out, "<text class=\"cpu%s\" x=\"%u\" y=\"%u\">%u</text>",
                          n == 0 ? " alone" : "", cell->x + SQUARE / 2, cell->y + 7, cell->os_cpu);
    }
    (void)fputc('\n', out);
}

static void print_boxes(const struct drawing *drawing, FILE *out)
{
    for (size_t i = 0; i < drawing->nboxes; i++) {
        const struct box *box = &drawing->boxes[i];
        (void)fprintf(out,
                      "<rect class=\"box\" x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" rx=\"2\"/>"
                      "<text class=\"label\" x=\"%u\" y=\"%u\">%s</text>",
                      box->x, box->y, box->w, box->h, box->x + 3, box->y + 7, box->label);
    }
    (void)fputc('\n', out);
}

/* "worker 0: CPUs 0-15, 16 threads, GPU 0". */
static const char *format_worker(const struct plan_worker *worker, unsigned index)
{
    const char *gpu = worker->gpu >= 0 ? str_fmt(", GPU %d", worker->gpu) : "";
    return str_fmt("%s %u: CPUs %.300s, %u thread%s%s%s%s%s",
                   worker->background ? "background worker" : "worker", index,
                   bitset_format(&worker->cpus), worker->threads, worker->threads == 1 ? "" : "s",
                   gpu, worker->passive ? ", waits asleep" : "", worker->host[0] ? ", on " : "",
                   worker->host);
}

static void print_workers(const struct plan *plan, FILE *out)
{
    bool folded = plan->nworkers > LIST_OPEN;
    if (folded)
        (void)fprintf(out, "<details><summary>%u workers</summary>\n", plan->nworkers);
    (void)fputs("<ul class=\"workers\">\n", out);
    for (unsigned w = 0; w < plan->nworkers; w++) {
        const char *text = format_worker(&plan->workers[w], w);
        (void)fprintf(out,
                      "<li><svg class=\"key\" width=\"12\" height=\"12\" aria-hidden=\"true\">"
                      "<rect class=\"%s\" width=\"12\" height=\"12\"/></svg> ",
                      colour_of(plan, w));
        html_text(out, "%s", text);
        (void)fputs("</li>\n", out);
    }
    (void)fprintf(out, "</ul>%s\n", folded ? "</details>" : "");
}

static void print_placement(const struct drawing *drawing, const struct arm *arm, FILE *out)
{
    const struct placement_info *info = &placement_infos[arm->placement];
    (void)fputs("<figure class=\"card\"><figcaption>", out);
    html_element("b", out, "%s%s%s", info->name, arm->variant ? ", " : "",
                 arm->variant ? arm->variant->name : "");
    (void)fprintf(out, ", %u worker%s%s</figcaption>\n", arm->planned_workers,
                  arm->planned_workers == 1 ? "" : "s",
                  info->pinned ? "" : ", not pinned: each may run on any of its CPUs");
    (void)fprintf(out,
                  "<svg class=\"machine\" role=\"img\" viewBox=\"-1 -1 %u %u\" "
                  "style=\"max-width:%upx\">",
                  drawing->size.w + 2, drawing->size.h + 2, 3 * drawing->size.w);
    html_element("title", out, "CPUs of each worker under %s", info->name);
    html_line("desc", out, "Which worker has which CPU stands as text below.");
    print_boxes(drawing, out);
    for (unsigned w = 0; w < arm->plan.nworkers; w++)
        if (is_drawn(&arm->plan, w))
            print_worker(drawing, &arm->plan, w, out);
    print_cells(drawing, &arm->plan, out);
    (void)fputs("</svg>\n", out);
    print_workers(&arm->plan, out);
    (void)fputs("</figure>\n", out);
}

/* True for the first arm to draw with its placement, variant and number of workers. */
static bool is_first(const struct result *result, size_t index)
{
    const struct arm *arm = &result->arms[index];
    for (size_t i = 0; i < index; i++)
        if (!result->arms[i].is_baseline && result->arms[i].placement == arm->placement &&
            result->arms[i].variant == arm->variant &&
            result->arms[i].planned_workers == arm->planned_workers)
            return false;
    return !arm->is_baseline && !arm->is_control && arm->plan.status == PLAN_OK &&
           arm->plan.nworkers;
}

void html_machine(const struct html_side *side, FILE *out)
{
    const struct result *result = &side->recorded->result;
    struct drawing drawing;
    unsigned drawn = 0;
    if (drawing_make(side->about, &drawing)) {
        (void)fputs("<div class=\"cards\">\n", out);
        for (size_t i = 0; i < result->narms && drawn < DRAWINGS_MOST; i++)
            if (is_first(result, i)) {
                print_placement(&drawing, &result->arms[i], out);
                drawn++;
            }
        (void)fputs("</div>\n", out);
    } else {
        (void)fprintf(out, "<p>%u CPUs: too many to draw, or not recorded.</p>\n",
                      bitset_count(&side->about->cpus));
    }
    drawing_free(&drawing);
}

/* The context of the numbers: commands, the machine, warnings, provenance. */

static struct doc_table *begin(struct doc *doc)
{
    struct doc_table *table = doc_table(doc);
    doc_column(table, DOC_LABEL, "%s", "");
    doc_column(table, DOC_SENTENCE, "%s", "");
    return table;
}

/* Skips empty values. */
static void add_line(struct doc_table *table, const char *label, const char *text)
{
    if (!text || !text[0])
        return;
    doc_row(table, DOC_PLAIN);
    doc_cell(table, "%s", label);
    doc_cell(table, "%s", text);
}

void html_facts(const struct html_side *side, FILE *out)
{
    struct doc doc = {0};
    struct doc_table *table = begin(&doc);
    for (size_t i = 0; i < side->about->nfacts; i++)
        add_line(table, side->about->facts[i].label, side->about->facts[i].text);
    html_doc(&doc, out);
}

static void print_note(const char *name, const char *text, FILE *out)
{
    (void)fputs("<li class=\"note\">", out);
    html_element("b", out, "%s", name);
    html_text(out, " %s", text);
    (void)fputs("</li>\n", out);
}

/* Findings that the verdict does not show, reasons of skipped placements, and notes of the run. */
void html_warnings(const struct html_side *side, FILE *out)
{
    const struct result *result = &side->recorded->result;
    struct doc doc = {0};
    doc_findings(&doc, &side->recorded->findings, DOC_REST);
    html_doc(&doc, out);
    (void)fputs("<ul class=\"findings\">\n", out);
    for (size_t i = 0; i < result->narms; i++)
        if (!result->arms[i].is_baseline && result->arms[i].plan.status == PLAN_SKIPPED)
            print_note(arm_name(&result->arms[i]), result->arms[i].plan.reason, out);
    for (size_t i = 0; i < side->about->nnotes; i++)
        print_note("note", side->about->notes[i], out);
    (void)fputs("</ul>\n", out);
}

static void add_command(struct doc_table *table, const struct about *about)
{
    const char *line = "";
    for (size_t i = 0; i < about->nwords; i++)
        str_add(&line, " ", "%s", text_shell_word(about->words[i]));
    add_line(table, "to repeat it", line);
}

void html_provenance(const struct html_side *side, FILE *out)
{
    struct doc doc = {0};
    const struct recorded *recorded = side->recorded;
    struct doc_table *table = begin(&doc);
    const char *rounds =
        str_fmt("%u of %u", recorded->result.rounds_done, recorded->result.rounds_planned);
    const char *seed = str_fmt("%llu", (unsigned long long)recorded->result.seed);
    const char *const lines[][2] = {{"run", recorded->result.run_id},
                                    {"directory", side->path},
                                    {"measured by", recorded->version},
                                    {"commit", recorded->commit},
                                    {"status", side->about->status},
                                    {"started", side->about->started},
                                    {"ended", side->about->ended},
                                    {"rounds", rounds},
                                    {"seed", seed}};
    add_command(table, side->about);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        add_line(table, lines[i][0], lines[i][1]);
    html_doc(&doc, out);
}
