/* Heat maps of scans: a value for every pair of CPUs, of NUMA nodes, of GPUs, of both. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/bitset.h"
#include "harness/base/stats.h"
#include "harness/plot/dat.h"
#include "harness/rows/key.h"

enum { ACROSS, DOWN, AXES };

enum {
    PRINTED_MOST = 8,   /* so many lines still have room for numbers in their cells */
    LINES_WANTED = 128, /* of the picture; programs that enlarge it blend lines that are few */
    TICKS_MOST = 17,
};

/* What the figure shows and how it is written. */
struct heat_map {
    const char *metric;
    const char *axis[AXES]; /* names in the key; a symmetric map has either order */
    bool symmetric;
    bool apart;          /* the axes are of different things, else both have all members */
    const char *only[8]; /* name, value, ...: parts that a key must have; ends with NULL */
    const char *split;   /* a part whose values, of `splits`, each have lines of their own */
    const char *splits[3];
    const char *what, *how, *unit_label;
    const char *label[AXES];
    double low, high; /* the colours reach at least from, and at least to; NaN = the values' own */
    int digits;       /* behind the point of a number in a cell */
};

struct matrix {
    struct bitset members[AXES]; /* CPUs, nodes or GPUs by their number, times the splits if any */
    unsigned n[AXES];
    unsigned place[AXES][BITSET_BITS]; /* of a member among the members */
    double *value;                     /* owned, n[DOWN] lines; NaN = none */
    double *sorted;                    /* owned, scratch: all values */
    size_t nvalues;
};

static unsigned count_splits(const struct heat_map *map)
{
    unsigned n = 0;
    while (map->split && map->splits[n])
        n++;
    return n ? n : 1;
}

static bool has_parts(const struct heat_map *map, const char *key)
{
    char value[VALUE_KEY_MAX];
    for (unsigned i = 0; map->only[i]; i += 2)
        if (!key_get(key, map->only[i], value) || strcmp(value, map->only[i + 1]) != 0)
            return false;
    return true;
}

/* Which of the splits a key is of; as many as there are where it is of none. */
static unsigned find_split(const struct heat_map *map, const char *key)
{
    char value[VALUE_KEY_MAX];
    unsigned n = 0;
    if (!map->split)
        return 0;
    bool has = key_get(key, map->split, value);
    while (map->splits[n] && !(has && strcmp(value, map->splits[n]) == 0))
        n++;
    return n;
}

/* The two numbers of a row's key; false when it has none that belong here. */
static bool read_pair(const struct heat_map *map, const struct row *row, unsigned pair[static AXES])
{
    char key[VALUE_KEY_MAX];
    unsigned splits = count_splits(map), split = find_split(map, key_copy(row, key));
    unsigned most = BITSET_BITS / splits;
    double x = key_number(key, map->axis[ACROSS]), y = key_number(key, map->axis[DOWN]);
    if (split == splits || !has_parts(map, key) || !(x >= 0 && x < BITSET_BITS) ||
        !(y >= 0 && y < most))
        return false;
    pair[ACROSS] = (unsigned)x;
    pair[DOWN] = (unsigned)y * splits + split;
    return true;
}

static void number_members(struct matrix *matrix, unsigned axis)
{
    const struct bitset *members = &matrix->members[axis];
    for (int at = bitset_next(members, 0); at >= 0; at = bitset_next(members, (unsigned)at + 1))
        matrix->place[axis][at] = matrix->n[axis]++;
}

static double *cell(const struct matrix *matrix, unsigned across, unsigned down)
{
    return &matrix->value[(size_t)down * matrix->n[ACROSS] + across];
}

static void fill(const struct figure_data *data, const struct heat_map *map, const struct arm *arm,
                 struct matrix *matrix)
{
    size_t at = 0;
    unsigned pair[AXES];
    for (size_t i = 0; i < (size_t)matrix->n[ACROSS] * matrix->n[DOWN]; i++)
        matrix->value[i] = NAN;
    for (const struct row *row; (row = key_next_row(data->rows, arm, map->metric, &at));) {
        if (!read_pair(map, row, pair))
            continue;
        unsigned x = matrix->place[ACROSS][pair[ACROSS]], y = matrix->place[DOWN][pair[DOWN]];
        *cell(matrix, x, y) = row->median;
        if (map->symmetric)
            *cell(matrix, y, x) = row->median;
        matrix->sorted[matrix->nvalues++] = row->median;
    }
    matrix->nvalues = stats_sort(matrix->sorted, matrix->nvalues);
}

static int make_matrix(const struct figure_data *data, const struct heat_map *map,
                       const struct arm *arm, struct matrix *matrix, struct err *err)
{
    size_t at = 0, rows = 0;
    unsigned pair[AXES];
    for (const struct row *row; (row = key_next_row(data->rows, arm, map->metric, &at));) {
        if (!read_pair(map, row, pair))
            continue;
        for (unsigned axis = 0; axis < AXES; axis++) {
            bitset_set(&matrix->members[axis], pair[axis]);
            if (!map->apart)
                bitset_set(&matrix->members[axis], pair[AXES - 1 - axis]);
        }
        rows++;
    }
    if (!rows)
        return err_set(err, -ENODATA, "the run has no value of a pair");
    for (unsigned axis = 0; axis < AXES; axis++)
        number_members(matrix, axis);
    size_t cells = (size_t)matrix->n[ACROSS] * matrix->n[DOWN];
    matrix->value = calloc(cells, sizeof(*matrix->value));
    matrix->sorted = calloc(rows, sizeof(*matrix->sorted));
    if (!matrix->value || !matrix->sorted)
        return err_set(err, -ENOMEM, "out of memory for a map of %u by %u", matrix->n[ACROSS],
                       matrix->n[DOWN]);
    fill(data, map, arm, matrix);
    return 0;
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

static unsigned longer(const struct matrix *matrix)
{
    return matrix->n[ACROSS] > matrix->n[DOWN] ? matrix->n[ACROSS] : matrix->n[DOWN];
}

static unsigned count_repeats(const struct matrix *matrix)
{
    return (LINES_WANTED + longer(matrix) - 1) / longer(matrix);
}

static void put_heat_heading(const struct figure_data *data, const struct heat_map *map,
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
    dat_put_scan_heading(data, arm, map->what, how, rest, out);
    (void)fprintf(out, " %u %.9g %.9g %u", matrix->n[DOWN], low, high, count_repeats(matrix));
    dat_put_text(out, map->unit_label, 60);
    dat_put_text(out, map->label[ACROSS], 60);
    dat_put_text(out, map->label[DOWN], 60);
    (void)fprintf(out, " %u\n", matrix->n[ACROSS]);
    dat_end_block(out);
}

/* "3", or "1 d2h" where the lines are split; "" behind the last. */
static const char *name_member(const struct heat_map *map, const struct matrix *matrix,
                               unsigned axis, unsigned place, char *buf, size_t size)
{
    unsigned splits = axis == DOWN ? count_splits(map) : 1;
    buf[0] = '\0';
    for (unsigned at = 0; at < BITSET_BITS && place < matrix->n[axis]; at++) {
        if (!bitset_test(&matrix->members[axis], at) || matrix->place[axis][at] != place)
            continue;
        (void)snprintf(buf, size, "%u%s%s", at / splits, splits > 1 ? " " : "",
                       splits > 1 ? map->splits[at % splits] : "");
    }
    return buf;
}

/* Few enough to read. */
static void put_ticks(const struct heat_map *map, const struct matrix *matrix, FILE *out)
{
    char across[32], down[32];
    unsigned step = 1;
    while ((longer(matrix) + step - 1) / step > TICKS_MOST)
        step *= 2;
    for (unsigned place = 0; place < longer(matrix); place += step)
        (void)fprintf(out, "%u \"%s\" \"%s\"\n", place,
                      name_member(map, matrix, ACROSS, place, across, sizeof(across)),
                      name_member(map, matrix, DOWN, place, down, sizeof(down)));
    dat_end_block(out);
}

/* Columns: place across, down, value as text. */
static void put_cells(const struct heat_map *map, const struct matrix *matrix, FILE *out)
{
    dat_start_block(out, "0 -1 NaN \"\"");
    for (unsigned y = 0; y < matrix->n[DOWN] && longer(matrix) <= PRINTED_MOST; y++)
        for (unsigned x = 0; x < matrix->n[ACROSS]; x++) {
            double value = *cell(matrix, x, y);
            if (!isnan(value))
                (void)fprintf(out, "%u %u %.6g \"%.*f\"\n", x, y, value, map->digits, value);
        }
    dat_end_block(out);
}

static void put_matrix(const struct matrix *matrix, FILE *out)
{
    unsigned repeats = count_repeats(matrix);
    for (unsigned line = 0; line < matrix->n[DOWN] * repeats; line++) {
        for (unsigned column = 0; column < matrix->n[ACROSS] * repeats; column++) {
            double value = *cell(matrix, column / repeats, line / repeats);
            (void)fprintf(out, isnan(value) ? "NaN " : "%.5g ", value);
        }
        (void)fputc('\n', out);
    }
    dat_end_block(out);
}

static int write_heat_map(const struct figure_data *data, const struct heat_map *map, FILE *out,
                          struct err *err)
{
    const struct arm *arm = key_find_arm(data->result, data->rows, map->metric);
    if (!arm)
        return err_set(err, -ENODATA, "the run has no value of %s", map->metric);
    struct matrix *matrix = calloc(1, sizeof(*matrix));
    if (!matrix)
        return err_set(err, -ENOMEM, "out of memory for a map of %s", map->metric);
    int rc = make_matrix(data, map, arm, matrix, err);
    if (!rc) {
        put_heat_heading(data, map, arm, matrix, out);
        put_ticks(map, matrix, out);
        put_cells(map, matrix, out);
        put_matrix(matrix, out);
    }
    free(matrix->sorted);
    free(matrix->value);
    free(matrix);
    return rc;
}

int figure_core_to_core(const struct figure_data *data, FILE *out, struct err *err)
{
    static const struct heat_map map = {
        .metric = "pair_latency",
        .axis = {"a", "b"},
        .symmetric = true,
        .what = "round trip of a cache line between two CPUs",
        .how = "ns, median of several lines",
        .unit_label = "round trip (ns)",
        .label = {"CPU (number)", "CPU (number)"},
        .low = NAN,
        .high = NAN,
    };
    return write_heat_map(data, &map, out, err);
}

int figure_smt_pairs(const struct figure_data *data, FILE *out, struct err *err)
{
    static const struct heat_map map = {
        .metric = "pair_slowdown",
        .axis = {"a", "b"},
        .symmetric = true,
        .what = "how much two busy CPUs slow each other down",
        .how = "1: not at all. SMT siblings show 1.3 to 2",
        .unit_label = "slowdown (ratio)",
        .label = {"CPU (number)", "CPU (number)"},
        /* Or a machine without siblings would show its noise in all colours. */
        .low = 1,
        .high = 1.5,
        .digits = 2,
    };
    return write_heat_map(data, &map, out, err);
}

int figure_numa_bandwidth(const struct figure_data *data, FILE *out, struct err *err)
{
    static const struct heat_map map = {
        .metric = "node_bandwidth",
        .axis = {"to", "from"},
        .what = "bandwidth from the CPUs of one NUMA node to the memory of each",
        .how = "GB/s read by all CPUs of one node, the others idle",
        .unit_label = "bandwidth (GB/s)",
        .label = {"memory of node (number)", "CPUs of node (number)"},
        .low = NAN,
        .high = NAN,
        .digits = 1,
    };
    return write_heat_map(data, &map, out, err);
}

int figure_numa_latency(const struct figure_data *data, FILE *out, struct err *err)
{
    static const struct heat_map map = {
        .metric = "node_latency",
        .axis = {"to", "from"},
        .what = "latency from a CPU of one NUMA node to the memory of each",
        .how = "ns a load, all other CPUs idle",
        .unit_label = "latency of a load (ns)",
        .label = {"memory of node (number)", "CPUs of node (number)"},
        .low = NAN,
        .high = NAN,
        .digits = 0,
    };
    return write_heat_map(data, &map, out, err);
}

int figure_gpu_copy(const struct figure_data *data, FILE *out, struct err *err)
{
    static const struct heat_map map = {
        .metric = "copy_bandwidth",
        .axis = {"dst", "src"},
        .only = {"dir", "d2d", "via", "ce", "op", "read", NULL},
        .what = "copies from the memory of one GPU to that of another",
        .how = "GB/s by the copy engine of the GPU that receives",
        .unit_label = "bandwidth (GB/s)",
        .label = {"to GPU (number)", "from GPU (number)"},
        .low = NAN,
        .high = NAN,
        .digits = 1,
    };
    return write_heat_map(data, &map, out, err);
}

int figure_host_copy(const struct figure_data *data, FILE *out, struct err *err)
{
    static const struct heat_map map = {
        .metric = "copy_bandwidth",
        .axis = {"gpu", "node"},
        .apart = true,
        .only = {"mem", "pinned", "via", "ce", "with", "alone", NULL},
        .split = "dir",
        .splits = {"h2d", "d2h", NULL},
        .what = "copies between the memory of NUMA nodes and GPUs, one at a time",
        .how = "GB/s of page-locked memory by copy engine",
        .unit_label = "bandwidth (GB/s)",
        .label = {"GPU (number)", "node (number), direction"},
        .low = NAN,
        .high = NAN,
        .digits = 1,
    };
    return write_heat_map(data, &map, out, err);
}
