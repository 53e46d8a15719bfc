#include "harness/record/fingerprint.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/stats.h"
#include "harness/lib/text.h"

/* A distance within same_units is the same class; a part beyond named_units is named. */
static const double same_units = 1, named_units = 2;

/*
 * One unit: twice the root mean square of |ln ratio| over pairs of equal runs. Of two values the
 * larger one: five runs on 2 CPUs, and runs 1 to 5 on H100s in three virtual machines (results/,
 * `fingerprint`). At least least_unit. Later equal runs, on one H100, one H200 and two H200s,
 * differed by at most 0.8.
 */
static const struct unit {
    const char *part, *name; /* NULL: all of the part */
    double share;
} units[] = {
    {"cpu", "integer", 0.40}, /* in one virtual machine 0.39 and 0.51 ns */
    {"cpu", "latency of L1", 0.12},
    {"cpu", "copy", 0.19},
    {"memory", "latency, huge pages", 0.13},
    {"memory", "read by all CPUs", 0.69}, /* on 2 CPUs either 36 or 62 GB/s */
    {"default", "partition", 0.06},
    {"default", "none relative to partition", 0.15},
    {"cpu load", NULL, 0.13},
    {"memory load", NULL, 0.16},
    {"copies under memory load", "h2d at bandwidth=0.8", 0.09}, /* later runs on one H100 */
    {"launches", NULL, 0.22},
    {"launches under cpu load", NULL, 0.19},
};
static const double least_unit = 0.05;

static const struct phrase {
    const char *part, *text;
} phrases[] = {
    {"cpu", "the CPU is"},
    {"memory", "memory is"},
    {"default", "the main job is"},
    {"cpu load", "work under CPU load is"},
    {"memory load", "work under memory load is"},
    {"copies", "copies are"},
    {"copies under memory load", "copies under memory load are"},
    {"launches", "launches are"},
    {"launches under cpu load", "launches under CPU load are"},
};

/* Values that this version does not know get the least unit. */
static double unit_of(const struct fingerprint_value *value)
{
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (!strcmp(units[i].part, value->part) &&
            (!units[i].name || !strcmp(units[i].name, value->name)))
            return units[i].share;
    return least_unit;
}

static const char *phrase_of(const char *part)
{
    for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++)
        if (!strcmp(phrases[i].part, part))
            return phrases[i].text;
    return NULL;
}

void fingerprint_add(struct fingerprint *print, const struct fingerprint_value *value)
{
    if (print->n < FINGERPRINT_VALUES)
        print->value[print->n++] = *value;
}

size_t fingerprint_absent(const struct fingerprint *print)
{
    size_t absent = 0;
    for (size_t i = 0; i < print->n; i++)
        absent += isnan(print->value[i].value) ? 1 : 0;
    return absent;
}

/* The value with the same name and unit; NULL = missing or absent. */
static const struct fingerprint_value *find(const struct fingerprint *print,
                                            const struct fingerprint_value *like)
{
    for (size_t i = 0; i < print->n; i++) {
        const struct fingerprint_value *value = &print->value[i];
        if (!strcmp(value->part, like->part) && !strcmp(value->name, like->name) &&
            !strcmp(value->unit, like->unit) && value->value > 0)
            return value;
    }
    return NULL;
}

static struct fingerprint_part *part_of(struct fingerprint_distance *distance, const char *name)
{
    size_t i = 0;
    while (i < distance->nparts && strcmp(distance->part[i].name, name) != 0)
        i++;
    if (i == FINGERPRINT_PARTS)
        return NULL;
    if (i == distance->nparts)
        distance->part[distance->nparts++] = (struct fingerprint_part){.name = name};
    return &distance->part[i];
}

static void add(struct fingerprint_distance *distance, const struct fingerprint_value *a,
                const struct fingerprint_value *b)
{
    struct fingerprint_difference one = {a, b, NAN, NAN};
    if (a && b) {
        one.ratio = a->less_is_better ? a->value / b->value : b->value / a->value;
        one.units = fabs(log(one.ratio)) / unit_of(a);
        struct fingerprint_part *part = part_of(distance, a->part);
        if (part) {
            if (!part->n || one.units > distance->difference[part->farthest].units)
                part->farthest = distance->n;
            part->distance += one.units * one.units; /* sum of squares for now */
            part->n++;
        }
    }
    distance->difference[distance->n++] = one;
}

static void sort_parts(struct fingerprint_distance *distance)
{
    for (size_t i = 1; i < distance->nparts; i++)
        for (size_t k = i; k && distance->part[k].distance > distance->part[k - 1].distance; k--) {
            struct fingerprint_part other = distance->part[k];
            distance->part[k] = distance->part[k - 1];
            distance->part[k - 1] = other;
        }
}

void fingerprint_compare(const struct fingerprint *a, const struct fingerprint *b,
                         struct fingerprint_distance *out)
{
    double sum = 0;
    *out = (struct fingerprint_distance){.distance = NAN};
    for (size_t i = 0; i < a->n; i++)
        if (a->value[i].value > 0)
            add(out, &a->value[i], find(b, &a->value[i]));
    for (size_t i = 0; i < b->n; i++)
        if (b->value[i].value > 0 && !find(a, &b->value[i]))
            add(out, NULL, &b->value[i]);
    for (size_t i = 0; i < out->nparts; i++) {
        struct fingerprint_part *part = &out->part[i];
        sum += part->distance;
        out->shared += part->n;
        part->distance = sqrt(part->distance / (double)part->n);
    }
    if (out->shared)
        out->distance = sqrt(sum / (double)out->shared);
    sort_parts(out);
}

/* The median of one value; NaN if at most half of the machines have it. */
static double median_of(const struct fingerprint_machine *all, size_t n,
                        const struct fingerprint_value *like, double *room)
{
    size_t has = 0;
    for (size_t i = 0; i < n; i++) {
        const struct fingerprint_value *value = find(&all[i].print, like);
        if (value)
            room[has++] = value->value;
    }
    return 2 * has > n ? stats_median(room, stats_sort(room, has)) : (double)NAN;
}

static void add_medians(const struct fingerprint_machine *all, size_t n, size_t from, double *room,
                        struct fingerprint *median)
{
    for (size_t v = 0; v < all[from].print.n; v++) {
        struct fingerprint_value value = all[from].print.value[v];
        value.value = median_of(all, n, &value, room);
        value.low = value.high = NAN;
        if (!isnan(value.value) && !find(median, &value))
            fingerprint_add(median, &value);
    }
}

static double rank_of(const struct fingerprint_machine *machine)
{
    return machine->distance.shared ? machine->distance.distance : (double)INFINITY;
}

static int farther(const void *a, const void *b)
{
    double one = rank_of(a), other = rank_of(b);
    return (one < other) - (one > other);
}

int fingerprint_rank(struct fingerprint_machine *all, size_t n, struct fingerprint *median)
{
    double *room = calloc(n, sizeof(*room));
    *median = (struct fingerprint){.host = "median"};
    if (!room)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        add_medians(all, n, i, room, median);
    free(room);
    for (int sorted = 0; sorted < 2; sorted++) { /* the sort moves what distances point to */
        for (size_t i = 0; i < n; i++)
            fingerprint_compare(median, &all[i].print, &all[i].distance);
        if (!sorted)
            qsort(all, n, sizeof(*all), farther);
    }
    return 0;
}

bool fingerprint_is_same(const struct fingerprint_distance *distance)
{
    return distance->distance <= same_units;
}

const char *fingerprint_format_ratio(double ratio)
{
    double percent = round(100 * fabs(ratio - 1));
    if (percent > 0)
        return str_fmt("%.0f%% %s", percent, ratio < 1 ? "worse" : "better");
    return "same";
}

const char *fingerprint_format(const struct fingerprint_distance *distance)
{
    if (!distance->shared) {
        return "no verdict: the fingerprints share no value";
    }
    const char *text =
        str_fmt("%s class (distance %.1f)", fingerprint_is_same(distance) ? "same" : "another",
                distance->distance);
    for (size_t i = 0; i < distance->nparts; i++) {
        const struct fingerprint_part *part = &distance->part[i];
        const struct fingerprint_difference *farthest = &distance->difference[part->farthest];
        if (!(part->distance > named_units))
            continue;
        const char *phrase = phrase_of(part->name);
        str_add(&text, "; ", "%s%s %s here", phrase ? phrase : part->name, phrase ? "" : ":",
                fingerprint_format_ratio(farthest->ratio));
        if (part->n > 1)
            str_add(&text, "", " (%s)", farthest->a->name);
    }
    return text;
}
