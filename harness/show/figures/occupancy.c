/*
 * The occupancy map: whose threads each CPU saw over time, one panel per placement.
 *
 * A thread records its CPU at the start of each parallel region. It counts as being on that CPU
 * until its next record, at most for map.hold_ns. It may be descheduled meanwhile, or moved without
 * a record, so a cell means "last seen here", not "executing". A cell of one thread has the colour
 * of its worker. One that two threads share, also of one worker, is darker the more of the
 * throughput its placement loses, because sharing need not cost anything.
 *
 * A user's command is sampled from outside, every 20 ms at most. It begins with preparations such
 * as imports, so the figure shows its busiest stretch.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/show/figures/dat.h"
#include "harness/show/figures/lines.h"

enum {
    HOLD_MS = 20,
    SPAN_MS = 400, /* long enough for tens of good steps, short enough to show single regions */
    HOLD_COMMAND_MS = 60,
    SPAN_COMMAND_MS = 5000,
    BINS = 250,
    ROWS_MOST = 256,    /* with more CPUs, several share a row */
    LINES_WANTED = 192, /* rows of the image; see map_repeats */
    TICKS_MOST = 9,
    STRETCHES = 64, /* candidates for the busiest stretch */
};

/*
 * States of a cell, as plots/occupancy.gp reads them. A single worker: 1 + its number modulo 16. A
 * shared cell: CONTESTED + the quarter of the throughput that is lost.
 */
enum {
    NO_WORKER = 0,
    COLOURS = 16,
    BACKGROUND,
    CONTESTED,
    LOSSES = 4,
    STATES = CONTESTED + LOSSES
};

/* One panel. */
struct panel {
    size_t line; /* index in map.lines */
    const struct arm *arm;
    const struct observation *observation; /* the first one with CPU samples */
    uint64_t start_ns, from_ns;            /* start of measuring; start of the part shown */
    uint64_t seen_ns;                      /* from start_ns to the last sample */
    double loss;                           /* lines_lost */
};

struct map {
    struct lines lines;
    size_t npanels;
    struct panel *panels;
    unsigned planned_workers;
    bool background;
    struct bitset cpus; /* planned or seen; `per_row` of them share a row */
    unsigned ncpus, per_row;
    uint64_t span_ns, hold_ns;
    bool busiest;    /* a command's busiest stretch is shown; else the start */
    uint16_t *owner; /* scratch, ncpus x BINS: NO_WORKER, 1 + worker, or OWNER_MANY threads */
};
enum { OWNER_MANY = UINT16_MAX };

static const struct observation *marked_observation(const struct arm *arm)
{
    for (size_t i = 0; i < arm->nobservations; i++)
        for (unsigned w = 0; w < arm->observations[i].nworkers; w++)
            if (arm->observations[i].workers[w].ncpu_samples)
                return &arm->observations[i];
    return NULL;
}

/* When the first foreground worker had settled and began to measure. The go signal came earlier. */
static uint64_t origin_ns(const struct observation *observation)
{
    uint64_t first_ns = UINT64_MAX;
    for (unsigned w = 0; w < observation->nworkers; w++) {
        const struct worker_result *worker = &observation->workers[w];
        if (!worker->background && worker->go_ns && worker->go_ns < first_ns)
            first_ns = worker->go_ns;
    }
    return first_ns < UINT64_MAX ? first_ns : observation->start_ns;
}

/* Chooses the arms with the most workers, because contention is worst there. */
static int choose_panels(const struct figure_data *data, struct map *map, struct err *err)
{
    int rc = lines_make(data, &map->lines, err);
    if (rc)
        return rc;
    map->panels = calloc(map->lines.n, sizeof(*map->panels));
    if (!map->panels)
        return err_set(err, -ENOMEM, "out of memory for %zu panels", map->lines.n);
    for (size_t i = 0; i < map->lines.n; i++) {
        const struct arm *arm = lines_arm(data, &map->lines, i);
        const struct observation *observation = marked_observation(arm);
        if (!observation || arm->planned_workers < map->planned_workers)
            continue;
        if (arm->planned_workers > map->planned_workers)
            map->npanels = 0;
        map->planned_workers = arm->planned_workers;
        map->panels[map->npanels++] = (struct panel){i, arm, observation};
    }
    map->lines.workers = map->planned_workers; /* so that the panels' names omit it */
    return map->npanels ? 0 : err_set(err, -ENODATA, "no worker noted which CPUs it ran on");
}

/* The number of CPU samples of all workers in that span. */
static size_t count_marks(const struct panel *panel, uint64_t from_ns, uint64_t span_ns)
{
    size_t n = 0;
    for (unsigned w = 0; w < panel->observation->nworkers; w++) {
        const struct worker_result *worker = &panel->observation->workers[w];
        for (size_t i = 0; i < worker->ncpu_samples; i++)
            n += worker->cpu_samples[i].at_ns >= from_ns &&
                 worker->cpu_samples[i].at_ns < from_ns + span_ns;
    }
    return n;
}

/* Imports use one thread, so the span with most samples shows the command at work. */
static uint64_t find_busiest(const struct panel *panel, uint64_t span_ns)
{
    uint64_t best_ns = panel->start_ns;
    size_t most = 0;
    for (uint64_t i = 0; i <= STRETCHES; i++) {
        uint64_t from_ns = panel->start_ns + (panel->seen_ns - span_ns) * i / STRETCHES;
        size_t marks = count_marks(panel, from_ns, span_ns);
        if (marks > most) {
            most = marks;
            best_ns = from_ns;
        }
    }
    return best_ns;
}

/* Chooses the common span: up to the last sample, at most SPAN_MS or SPAN_COMMAND_MS. */
static void choose_span(struct map *map)
{
    bool command = map->panels[0].arm->bench->runs_command;
    uint64_t most_ns = (command ? SPAN_COMMAND_MS : SPAN_MS) * UINT64_C(1000000);
    map->hold_ns = (command ? HOLD_COMMAND_MS : HOLD_MS) * UINT64_C(1000000);
    map->span_ns = 1;
    for (size_t p = 0; p < map->npanels; p++)
        if (map->panels[p].seen_ns > map->span_ns)
            map->span_ns = map->panels[p].seen_ns;
    map->busiest = command && map->span_ns > most_ns;
    map->span_ns = map->span_ns < most_ns ? map->span_ns : most_ns;
    for (size_t p = 0; p < map->npanels; p++) {
        struct panel *panel = &map->panels[p];
        bool later = map->busiest && panel->seen_ns > map->span_ns;
        panel->from_ns = later ? find_busiest(panel, map->span_ns) : panel->start_ns;
    }
}

/* Collects the CPUs to show, and the time span of each panel. */
static void measure(const struct figure_data *data, struct map *map)
{
    for (size_t p = 0; p < map->npanels; p++) {
        struct panel *panel = &map->panels[p];
        const struct observation *observation = panel->observation;
        panel->start_ns = origin_ns(observation);
        panel->loss = lines_lost(data, &map->lines, panel->line);
        for (unsigned w = 0; w < map->panels[p].arm->plan.nworkers; w++)
            bitset_or(&map->cpus, &map->panels[p].arm->plan.workers[w].cpus);
        for (unsigned w = 0; w < observation->nworkers; w++) {
            const struct worker_result *worker = &observation->workers[w];
            map->background = map->background || worker->background;
            for (size_t i = 0; i < worker->ncpu_samples; i++) {
                bitset_set(&map->cpus, worker->cpu_samples[i].os_cpu % BITSET_BITS);
                if (worker->cpu_samples[i].at_ns > panel->start_ns + panel->seen_ns)
                    panel->seen_ns = worker->cpu_samples[i].at_ns - panel->start_ns;
            }
        }
    }
    map->ncpus = bitset_count(&map->cpus);
    map->per_row = (map->ncpus + ROWS_MOST - 1) / ROWS_MOST;
    choose_span(map);
}

static unsigned map_rows(const struct map *map)
{
    return (map->ncpus + map->per_row - 1) / map->per_row;
}

/*
 * How many lines of the image a row gets. Viewers that enlarge an SVG's image blend neighbouring
 * lines. With many lines that affects a pixel, not half of a CPU's row.
 */
static unsigned map_repeats(const struct map *map)
{
    return map_rows(map) < LINES_WANTED ? LINES_WANTED / map_rows(map) : 1;
}

/* Records that a thread of `owner` was on the CPU in that time, relative to the start of the span.
 * A bin counts by its middle, where a thread is on one CPU. */
static void occupy(struct map *map, unsigned cpu, uint64_t from_ns, uint64_t to_ns, uint16_t owner)
{
    uint64_t half_ns = map->span_ns / 2;
    uint64_t first = (from_ns * BINS + half_ns) / map->span_ns;
    uint64_t end = (to_ns * BINS + half_ns) / map->span_ns;
    uint16_t *cells = &map->owner[(size_t)cpu * BINS];
    for (uint64_t bin = first; bin < end && bin < BINS; bin++)
        cells[bin] = cells[bin] ? OWNER_MANY : owner;
}

/* Goes from the last sample to the first, so that each thread's next sample is known. */
static void occupy_worker(struct map *map, const struct worker_result *worker, uint64_t start_ns,
                          uint16_t owner, const unsigned *index_of)
{
    uint64_t next_ns[CPU_SAMPLE_THREADS];
    memset(next_ns, 0xff, sizeof(next_ns));
    for (size_t i = worker->ncpu_samples; i-- > 0;) {
        const struct cpu_sample_point *visit = &worker->cpu_samples[i];
        if (visit->thread >= CPU_SAMPLE_THREADS)
            continue;
        uint64_t at_ns = visit->at_ns > start_ns ? visit->at_ns - start_ns : 0;
        uint64_t until_ns = at_ns + map->hold_ns;
        if (visit->at_ns + map->hold_ns < start_ns)
            break; /* all remaining samples are earlier */
        if (next_ns[visit->thread] < until_ns)
            until_ns = next_ns[visit->thread];
        next_ns[visit->thread] = at_ns;
        occupy(map, index_of[visit->os_cpu % BITSET_BITS], at_ns, until_ns, owner);
    }
}

static unsigned state_of(uint16_t owner, const struct panel *panel)
{
    if (owner == NO_WORKER)
        return NO_WORKER;
    if (owner == OWNER_MANY) /* unknown loss: the darkest */
        return panel->loss < 1 ? CONTESTED + (unsigned)(LOSSES * fmax(panel->loss, 0)) : STATES - 1;
    return panel->observation->workers[owner - 1].background ? BACKGROUND
                                                             : 1 + (owner - 1u) % COLOURS;
}

/* The most frequent state of the CPUs that share a row; in a tie, the later state says more. */
static unsigned row_state(const struct map *map, const struct panel *panel, unsigned row,
                          unsigned bin)
{
    unsigned count[STATES] = {0}, best = NO_WORKER;
    unsigned end = (row + 1) * map->per_row < map->ncpus ? (row + 1) * map->per_row : map->ncpus;
    for (unsigned cpu = row * map->per_row; cpu < end; cpu++)
        count[state_of(map->owner[(size_t)cpu * BINS + bin], panel)]++;
    for (unsigned state = 0; state < STATES; state++)
        if (count[state] >= count[best])
            best = state;
    return best;
}

static void put_panel(struct map *map, const struct panel *panel, const unsigned *index_of,
                      FILE *out)
{
    const struct observation *observation = panel->observation;
    dat_block("map", "", out);
    memset(map->owner, 0, (size_t)map->ncpus * BINS * sizeof(*map->owner));
    for (unsigned w = 0; w < observation->nworkers; w++)
        occupy_worker(map, &observation->workers[w], panel->from_ns, (uint16_t)(w + 1), index_of);
    for (unsigned row = 0; row < map_rows(map); row++) {
        char line[BINS * 3 + 1];
        size_t used = 0;
        for (unsigned bin = 0; bin < BINS; bin++)
            used += (size_t)snprintf(line + used, sizeof(line) - used, "%u ",
                                     row_state(map, panel, row, bin));
        for (unsigned repeat = 0; repeat < map_repeats(map); repeat++)
            (void)fprintf(out, "%s\n", line);
    }
}

/* Writes few enough labels to be readable, each the first CPU of its row. */
static void put_ticks(const struct map *map, FILE *out)
{
    unsigned rows = map_rows(map), step = 1;
    while ((rows + step - 1) / step > TICKS_MOST)
        step *= 2;
    unsigned index = 0;
    dat_block("ticks", "row cpu", out);
    for (int cpu = bitset_next(&map->cpus, 0); cpu >= 0;
         cpu = bitset_next(&map->cpus, (unsigned)cpu + 1), index++)
        if (index % map->per_row == 0 && index / map->per_row % step == 0)
            (void)fprintf(out, "%u \"%d\"\n", index / map->per_row, cpu);
}

/* "none: 95% lost", and where the stretch begins. */
static struct dat_text name_panel(const struct figure_data *data, const struct map *map,
                                  const struct panel *panel)
{
    const char *name = lines_format_label(data, &map->lines, panel->line);
    const char *lost = lines_format_lost(data, &map->lines, panel->line);
    if (lost[0])
        str_add(&name, ": ", "%s", lost);
    if (map->busiest)
        str_add(&name, ", ", "from %.1f s on", (double)(panel->from_ns - panel->start_ns) * 1e-9);
    return dat_text(name, 200);
}

static void put_map(const struct figure_data *data, struct map *map, const unsigned *index_of,
                    FILE *out)
{
    const char *how =
        str_fmt("Seen on a CPU in the last %.0f ms. First round%s%s. %s",
                (double)map->hold_ns * 1e-6, map->busiest ? ", its busiest stretch" : "",
                map->per_row > 1 ? ". Neighbouring CPUs share a line" : "",
                lines_lost_to(data, &map->lines));
    dat_put_heading(data, "which threads share a CPU, and what is lost", map->planned_workers, how,
                    "panels rows bins bin_ms workers background stretch repeats", out);
    (void)fprintf(out, " %zu %u %d %.9g %u %d %d %u\n", map->npanels, map_rows(map), BINS,
                  (double)map->span_ns * 1e-6 / BINS, map->planned_workers, map->background,
                  map->busiest, map_repeats(map));
    put_ticks(map, out);
    dat_block("panels", "number name", out);
    for (size_t p = 0; p < map->npanels; p++)
        (void)fprintf(out, "%zu %s\n", p, name_panel(data, map, &map->panels[p]).quoted);
    for (size_t p = 0; p < map->npanels; p++)
        put_panel(map, &map->panels[p], index_of, out);
}

/* Maps each os_cpu to its index among the map's CPUs. */
static void number_cpus(const struct map *map, unsigned index_of[static BITSET_BITS])
{
    unsigned index = 0;
    for (int cpu = bitset_next(&map->cpus, 0); cpu >= 0;
         cpu = bitset_next(&map->cpus, (unsigned)cpu + 1))
        index_of[cpu] = index++;
}

int figure_occupancy(const struct figure_data *data, FILE *out, struct err *err)
{
    struct map map = {0};
    unsigned *index_of = NULL;
    int rc = choose_panels(data, &map, err);
    if (rc)
        goto free_map;
    measure(data, &map);
    index_of = calloc(BITSET_BITS, sizeof(*index_of));
    map.owner = calloc((size_t)map.ncpus * BINS, sizeof(*map.owner));
    if (index_of && map.owner) {
        number_cpus(&map, index_of);
        put_map(data, &map, index_of, out);
    } else {
        rc = err_set(err, -ENOMEM, "out of memory for a map of %u CPUs", map.ncpus);
    }
free_map:
    free(map.owner);
    free(index_of);
    free(map.panels);
    lines_free(&map.lines);
    return rc;
}
