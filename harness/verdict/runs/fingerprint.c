#include "harness/verdict/runs/fingerprint.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/lib/base/text.h"

/* A whole within one unit is of the same class; a part beyond two is named. */
static const double same_units = 1, named_units = 2;

/*
 * Equal runs of one machine differ by this share: in rates and in retentions. First guesses. A
 * difference of ln(1.10) in copies is 4.8 units of 0.02.
 */
static const struct unit {
    const char *part, *phrase;
    double rate, retention;
} units[] = {
    {"cpu", "the CPU is", 0.02, 0.05},
    {"memory", "memory is", 0.05, 0.05},
    {"default", "the main job is", 0.05, 0.05},
    {"cpu load", "work under CPU load is", 0.05, 0.05},
    {"memory load", "work under memory load is", 0.05, 0.05},
    {"copies", "copies are", 0.02, 0.05},
    {"copies under memory load", "copies under memory load are", 0.02, 0.05},
    {"launches", "launches are", 0.05, 0.05},
    {"launches under cpu load", "launches under CPU load are", 0.05, 0.05},
};

/* A part that only a later version measures has one, too. */
static struct unit unit_of(const char *part)
{
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (!strcmp(units[i].part, part))
            return units[i];
    return (struct unit){part, NULL, 0.05, 0.05};
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

/* The value of that name, in that unit; NULL: it is not there or absent. */
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
        const struct unit unit = unit_of(a->part);
        one.ratio = a->less_is_better ? a->value / b->value : b->value / a->value;
        one.units = fabs(log(one.ratio)) / (a->is_retention ? unit.retention : unit.rate);
        struct fingerprint_part *part = part_of(distance, a->part);
        if (part) {
            if (!part->n || one.units > distance->difference[part->farthest].units)
                part->farthest = distance->n;
            part->distance += one.units * one.units; /* the root comes later */
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

bool fingerprint_is_same(const struct fingerprint_distance *distance)
{
    return distance->distance <= same_units;
}

char *fingerprint_format_ratio(double ratio, char *buf, size_t size)
{
    double percent = round(100 * fabs(ratio - 1));
    if (percent > 0)
        (void)snprintf(buf, size, "%.0f%% %s", percent, ratio < 1 ? "worse" : "better");
    else
        (void)snprintf(buf, size, "same");
    return buf;
}

char *fingerprint_format(const struct fingerprint_distance *distance, char *buf, size_t size)
{
    char ratio[40];
    if (!distance->shared) {
        (void)snprintf(buf, size, "no verdict: the fingerprints share no value");
        return buf;
    }
    (void)snprintf(buf, size, "%s class (distance %.1f)",
                   fingerprint_is_same(distance) ? "same" : "another", distance->distance);
    for (size_t i = 0; i < distance->nparts; i++) {
        const struct fingerprint_part *part = &distance->part[i];
        const struct fingerprint_difference *farthest = &distance->difference[part->farthest];
        if (!(part->distance > named_units))
            continue;
        const char *phrase = unit_of(part->name).phrase;
        text_append(buf, size, "; ", "%s%s %s here", phrase ? phrase : part->name,
                    phrase ? "" : ":",
                    fingerprint_format_ratio(farthest->ratio, ratio, sizeof(ratio)));
        if (part->n > 1)
            text_append(buf, size, "", " (%s)", farthest->a->name);
    }
    return buf;
}
