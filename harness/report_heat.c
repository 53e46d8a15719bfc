/* Heat maps of scans: a value for every pair of CPUs, or of NUMA nodes. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/bitset.h"
#include "harness/report_data.h"
#include "harness/scan_rows.h"
#include "harness/stats.h"

enum {
    PRINTED_MOST = 8,   /* so many lines still have room for numbers in their cells */
    LINES_WANTED = 128, /* of the picture; programs that enlarge it blend lines that are few */
    TICKS_MOST = 17,
};

/* What the figure shows and how it is written. */
struct heat_map {
    const char *metric;
    const char *across, *down; /* names in the key; a symmetric map has either order */
    bool symmetric;
    const char *what, *how, *unit_label;
    const char *across_label, *down_label;
    double low, high; /* the colours reach at least from, and at least to; NaN = the values' own */
    int digits;       /* behind the point of a number in a cell */
};

struct matrix {
    struct bitset members; /* CPUs or nodes by their number */
    unsigned n;
    double *value;  /* owned, n x n; NaN = none */
    double *sorted; /* owned, scratch: all values */
    size_t nvalues;
};

/* The two numbers of a row's key; false when it has none that make sense. */
static bool read_pair(const struct heat_map *map, const struct row *row, unsigned *across,
                      unsigned *down)
{
    char key[VALUE_KEY_MAX];
    (void)scan_key(row, key);
    double x = scan_key_number(key, map->across), y = scan_key_number(key, map->down);
    if (!(x >= 0 && x < BITSET_BITS && y >= 0 && y < BITSET_BITS))
        return false;
    *across = (unsigned)x;
    *down = (unsigned)y;
    return true;
}

/* The place of a member among the members. */
static void number_members(const struct bitset *members, unsigned place[static BITSET_BITS])
{
    unsigned n = 0;
    for (int at = bitset_next(members, 0); at >= 0; at = bitset_next(members, (unsigned)at + 1))
        place[at] = n++;
}

static void fill(const struct report *report, const struct heat_map *map, const struct arm *arm,
                 const unsigned *place, struct matrix *matrix)
{
    size_t at = 0;
    unsigned x, y;
    for (size_t i = 0; i < (size_t)matrix->n * matrix->n; i++)
        matrix->value[i] = NAN;
    for (const struct row *row; (row = scan_next(report->rows, arm, map->metric, &at));) {
        if (!read_pair(map, row, &x, &y))
            continue;
        matrix->value[(size_t)place[y] * matrix->n + place[x]] = row->median;
        if (map->symmetric)
            matrix->value[(size_t)place[x] * matrix->n + place[y]] = row->median;
        matrix->sorted[matrix->nvalues++] = row->median;
    }
    matrix->nvalues = stats_sort(matrix->sorted, matrix->nvalues);
}

static int make_matrix(const struct report *report, const struct heat_map *map,
                       const struct arm *arm, struct matrix *matrix, struct err *err)
{
    size_t at = 0, rows = 0;
    unsigned x, y;
    for (const struct row *row; (row = scan_next(report->rows, arm, map->metric, &at));) {
        if (!read_pair(map, row, &x, &y))
            continue;
        bitset_set(&matrix->members, x);
        bitset_set(&matrix->members, y);
        rows++;
    }
    if (!rows)
        return err_set(err, -ENODATA, "the run has no value of a pair");
    matrix->n = bitset_count(&matrix->members);
    unsigned *place = calloc(BITSET_BITS, sizeof(*place));
    matrix->value = calloc((size_t)matrix->n * matrix->n, sizeof(*matrix->value));
    matrix->sorted = calloc(rows, sizeof(*matrix->sorted));
    int rc =
        place && matrix->value && matrix->sorted
            ? 0
            : err_set(err, -ENOMEM, "out of memory for a map of %u by %u", matrix->n, matrix->n);
    if (!rc) {
        number_members(&matrix->members, place);
        fill(report, map, arm, place, matrix);
    }
    free(place);
    return rc;
}

/*
 * The ends of the colours. One pair whose CPU the hypervisor took away for a while would leave a
 * single colour for all others, so what lies far beyond nearly all gets the colour of the end.
 * Returns how many values do. The ends are apart far enough that noise does not get all colours.
 */
static size_t choose_range(const struct heat_map *map, const struct matrix *matrix, double *low,
                           double *high)
{
    const double nearly_all = 0.99, far = 1.5, least_share = 0.2;
    double usual = stats_percentile(matrix->sorted, matrix->nvalues, nearly_all);
    size_t n = matrix->nvalues;
    usual = fmax(usual, map->high);
    while (matrix->sorted[n - 1] > far * usual)
        n--;
    *low = isnan(map->low) ? matrix->sorted[0] : map->low;
    *high = fmax(matrix->sorted[n - 1], map->high);
    double middle = (*low + *high) / 2;
    if (*high - *low < least_share * middle) {
        *low = middle * (1 - least_share / 2);
        *high = middle * (1 + least_share / 2);
    }
    return matrix->nvalues - n;
}

static void put_heat_heading(const struct report *report, const struct heat_map *map,
                             const struct arm *arm, const struct matrix *matrix, FILE *out)
{
    double low, high;
    char how[200], rest[120] = "";
    size_t beyond = choose_range(map, matrix, &low, &high);
    double median = stats_percentile(matrix->sorted, matrix->nvalues, 0.5);
    (void)snprintf(how, sizeof(how), "%s. Least %.*f, median %.*f, most %.*f", map->how,
                   map->digits, matrix->sorted[0], map->digits, median, map->digits,
                   matrix->sorted[matrix->nvalues - 1]);
    if (beyond)
        (void)snprintf(rest, sizeof(rest),
                       "Beyond the scale, in the colour of its end: %zu of %zu values", beyond,
                       matrix->nvalues);
    report_put_scan_heading(report, arm, map->what, how, rest, out);
    unsigned repeats = (LINES_WANTED + matrix->n - 1) / matrix->n;
    (void)fprintf(out, " %u %.9g %.9g %u", matrix->n, low, high, repeats);
    report_put_text(out, map->unit_label, 60);
    report_put_text(out, map->across_label, 60);
    report_put_text(out, map->down_label, 60);
    (void)fputc('\n', out);
    report_end_block(out);
}

/* Few enough numbers to read. */
static void put_ticks(const struct matrix *matrix, FILE *out)
{
    unsigned step = 1, index = 0;
    while ((matrix->n + step - 1) / step > TICKS_MOST)
        step *= 2;
    for (int at = bitset_next(&matrix->members, 0); at >= 0;
         at = bitset_next(&matrix->members, (unsigned)at + 1), index++)
        if (index % step == 0)
            (void)fprintf(out, "%u \"%d\"\n", index, at);
    report_end_block(out);
}

/* Columns: place across, down, value as text. */
static void put_cells(const struct heat_map *map, const struct matrix *matrix, FILE *out)
{
    report_start_block(out, "0 -1 NaN \"\"");
    for (unsigned y = 0; y < matrix->n && matrix->n <= PRINTED_MOST; y++)
        for (unsigned x = 0; x < matrix->n; x++) {
            double value = matrix->value[(size_t)y * matrix->n + x];
            if (!isnan(value))
                (void)fprintf(out, "%u %u %.6g \"%.*f\"\n", x, y, value, map->digits, value);
        }
    report_end_block(out);
}

static void put_matrix(const struct matrix *matrix, FILE *out)
{
    unsigned repeats = (LINES_WANTED + matrix->n - 1) / matrix->n;
    for (unsigned line = 0; line < matrix->n * repeats; line++) {
        const double *value = &matrix->value[(size_t)(line / repeats) * matrix->n];
        for (unsigned column = 0; column < matrix->n * repeats; column++)
            (void)fprintf(out, isnan(value[column / repeats]) ? "NaN " : "%.5g ",
                          value[column / repeats]);
        (void)fputc('\n', out);
    }
    report_end_block(out);
}

static int write_heat_map(const struct report *report, const struct heat_map *map, FILE *out,
                          struct err *err)
{
    struct matrix matrix = {0};
    const struct arm *arm = scan_find_arm(report->result, report->rows, map->metric);
    if (!arm)
        return err_set(err, -ENODATA, "the run has no value of %s", map->metric);
    int rc = make_matrix(report, map, arm, &matrix, err);
    if (!rc) {
        put_heat_heading(report, map, arm, &matrix, out);
        put_ticks(&matrix, out);
        put_cells(map, &matrix, out);
        put_matrix(&matrix, out);
    }
    free(matrix.sorted);
    free(matrix.value);
    return rc;
}

int report_write_core_to_core(const struct report *report, FILE *out, struct err *err)
{
    static const struct heat_map map = {
        .metric = "pair_latency",
        .across = "a",
        .down = "b",
        .symmetric = true,
        .what = "round trip of a cache line between two CPUs",
        .how = "ns, median of several lines",
        .unit_label = "round trip (ns)",
        .across_label = "CPU (number)",
        .down_label = "CPU (number)",
        .low = NAN,
        .high = NAN,
    };
    return write_heat_map(report, &map, out, err);
}

int report_write_smt_pairs(const struct report *report, FILE *out, struct err *err)
{
    static const struct heat_map map = {
        .metric = "pair_slowdown",
        .across = "a",
        .down = "b",
        .symmetric = true,
        .what = "how much two busy CPUs slow each other down",
        .how = "1: not at all. SMT siblings show 1.3 to 2",
        .unit_label = "slowdown (ratio)",
        .across_label = "CPU (number)",
        .down_label = "CPU (number)",
        /* Or a machine without siblings would show its noise in all colours. */
        .low = 1,
        .high = 1.5,
        .digits = 2,
    };
    return write_heat_map(report, &map, out, err);
}

int report_write_numa_bandwidth(const struct report *report, FILE *out, struct err *err)
{
    static const struct heat_map map = {
        .metric = "node_bandwidth",
        .across = "to",
        .down = "from",
        .what = "bandwidth from the CPUs of one NUMA node to the memory of each",
        .how = "GB/s read by all CPUs of one node, the others idle",
        .unit_label = "bandwidth (GB/s)",
        .across_label = "memory of node (number)",
        .down_label = "CPUs of node (number)",
        .low = NAN,
        .high = NAN,
        .digits = 1,
    };
    return write_heat_map(report, &map, out, err);
}

int report_write_numa_latency(const struct report *report, FILE *out, struct err *err)
{
    static const struct heat_map map = {
        .metric = "node_latency",
        .across = "to",
        .down = "from",
        .what = "latency from a CPU of one NUMA node to the memory of each",
        .how = "ns a load, all other CPUs idle",
        .unit_label = "latency of a load (ns)",
        .across_label = "memory of node (number)",
        .down_label = "CPUs of node (number)",
        .low = NAN,
        .high = NAN,
        .digits = 0,
    };
    return write_heat_map(report, &map, out, err);
}
