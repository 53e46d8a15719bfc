#include "harness/rows/key.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values of keys as people say them. */
static const struct {
    const char *name, *value, *text;
} sayings[] = {
    {"op", "allreduce", "all-reduce"},
    {"op", "allgather", "all-gather"},
    {"op", "reducescatter", "reduce-scatter"},
    {"op", "broadcast", "broadcast"},
    {"op", "reduce", "reduce"},
    {"op", "alltoall", "all-to-all"},
    {"op", "sendrecv", "send-recv"},
    {"place", "in", "in place"},
    {"place", "out", "out of place"},
    {"pages", "4k", "4 KiB pages"},
    {"pages", "thp", "transparent huge pages"},
    {"pages", "hugetlb", "huge pages of the pool"},
    {"inject", "r", "others read"},
    {"inject", "rw", "others read and write (1:1)"},
    {"inject", "rrw", "others read and write (2:1)"},
    {"where", "smt", "SMT sibling"},
    {"where", "same-llc", "same last-level cache"},
    {"where", "other-llc", "other last-level cache"},
    {"where", "other-node", "other NUMA node"},
    {"aggressor", "l1", "aggressors stay in their L1"},
    {"aggressor", "stream", "aggressors stream"},
    {"aggressor", "random", "aggressors walk at random"},
    {"victim", "l2", "victim in its L2"},
    {"victim", "l3", "victim in the L3"},
    {"victim", "prep", "victim preprocesses"},
    {"stores", "nt", "non-temporal stores"},
    {"stores", "plain", "plain stores"},
    {"what", "launch", "launch call"},
    {"what", "queue", "launches back to back"},
    {"what", "sync", "launch and wait"},
    {"what", "graph1", "graph of one kernel and wait"},
    {"what", "graph20", "kernel of graphs of 20"},
    {"wait", "spin", "wait by polling"},
    {"wait", "yield", "wait by polling and yielding"},
    {"wait", "block", "wait asleep"},
    {"load", "idle", "CPUs idle"},
    {"load", "busy", "CPUs busy"},
    {"via", "driver", "the driver's copy"},
    {"reason", "sw_power_cap", "at the power limit"},
    {"reason", "hw_slowdown", "slowed by hardware"},
    {"reason", "sw_thermal", "slowed by the driver, hot"},
    {"reason", "hw_thermal", "slowed by hardware, hot"},
    {"reason", "power_brake", "slowed by the power supply"},
};

const struct row *key_next_row(const struct rows *rows, const struct arm *arm, const char *metric,
                               size_t *at)
{
    while (*at < rows->n) {
        const struct row *row = &rows->row[(*at)++];
        if (row->arm == arm && !isnan(row->median) && strcmp(row->metric, metric) == 0)
            return row;
    }
    return NULL;
}

const struct arm *key_find_arm(const struct result *result, const struct rows *rows,
                               const char *metric)
{
    for (size_t i = 0; i < result->narms; i++) {
        size_t at = 0;
        if (result->arms[i].bench->scan && key_next_row(rows, &result->arms[i], metric, &at))
            return &result->arms[i];
    }
    return NULL;
}

char *key_copy(const struct row *row, char key[static VALUE_KEY_MAX])
{
    (void)snprintf(key, VALUE_KEY_MAX, "%.*s", (int)row->key_length, row->params + row->key_at);
    return key;
}

bool key_part(const char *key, unsigned part, char name[static VALUE_KEY_MAX],
              char value[static VALUE_KEY_MAX])
{
    for (; part > 0 && key; part--) {
        key = strchr(key, ';');
        key = key ? key + 1 : NULL;
    }
    if (!key || !*key)
        return false;
    size_t length = strcspn(key, ";"), split = strcspn(key, "=;");
    (void)snprintf(name, VALUE_KEY_MAX, "%.*s", (int)split, key);
    size_t from = split < length ? split + 1 : length;
    (void)snprintf(value, VALUE_KEY_MAX, "%.*s", (int)(length - from), key + from);
    return true;
}

char *key_get(const char *key, const char *name, char value[static VALUE_KEY_MAX])
{
    char own[VALUE_KEY_MAX];
    for (unsigned part = 0; key_part(key, part, own, value); part++)
        if (strcmp(own, name) == 0)
            return value;
    return NULL;
}

double key_number(const char *key, const char *name)
{
    char value[VALUE_KEY_MAX], *end;
    if (!key_get(key, name, value))
        return NAN;
    double number = strtod(value, &end);
    return *end || end == value ? (double)NAN : number;
}

void key_drop(char *key, const char *name)
{
    char own[VALUE_KEY_MAX], value[VALUE_KEY_MAX], rest[VALUE_KEY_MAX] = "";
    size_t used = 0;
    for (unsigned part = 0; key_part(key, part, own, value); part++)
        if (strcmp(own, name) != 0 && used < sizeof(rest))
            used += (size_t)snprintf(rest + used, sizeof(rest) - used, "%s%s=%s", used ? ";" : "",
                                     own, value);
    memcpy(key, rest, sizeof(rest));
}

static const char *say(const char *name, const char *value)
{
    for (size_t i = 0; i < sizeof(sayings) / sizeof(sayings[0]); i++)
        if (strcmp(sayings[i].name, name) == 0 && strcmp(sayings[i].value, value) == 0)
            return sayings[i].text;
    return NULL;
}

/* Appends to text that is cut where the buffer ends. */
__attribute__((format(printf, 3, 4))) static void append(char *buf, size_t size, const char *fmt,
                                                         ...)
{
    size_t used = strlen(buf);
    va_list args;
    va_start(args, fmt);
    if (used && used + 2 < size)
        used += (size_t)snprintf(buf + used, size - used, ", ");
    if (used < size)
        (void)vsnprintf(buf + used, size - used, fmt, args);
    va_end(args);
}

static bool has_other_placement(const struct result *result, const struct arm *arm)
{
    for (size_t i = 0; i < result->narms; i++)
        if (result->arms[i].bench == arm->bench && result->arms[i].params == arm->params &&
            result->arms[i].placement != arm->placement)
            return true;
    return false;
}

static void append_arm(const struct result *result, const struct arm *arm, const char *key,
                       char *buf, size_t size)
{
    char value[VALUE_KEY_MAX];
    for (const struct opt *opt = arm->bench->opts; opt && opt->name; opt++)
        if (!key_get(key, opt->name, value) && arm_option_differs(result, arm, opt))
            append(buf, size, "%s %s", opt->name,
                   opt_format_value(opt, arm->params, value, sizeof(value)));
    if (arm->alone)
        append(buf, size, "%s", bench_is_team(arm->bench) ? "without load" : "alone");
    else if (has_other_placement(result, arm) || arm_background(arm))
        append(buf, size, "%s", placement_infos[arm->placement].name);
}

char *key_say(const struct result *result, const struct arm *arm, const char *key, char *buf,
              size_t size)
{
    char name[VALUE_KEY_MAX], value[VALUE_KEY_MAX];
    buf[0] = '\0';
    for (unsigned part = 0; key_part(key, part, name, value); part++) {
        const char *text = say(name, value);
        if (text)
            append(buf, size, "%s", text);
        else
            append(buf, size, "%s %s", name, value);
    }
    if (arm)
        append_arm(result, arm, key, buf, size);
    return buf;
}

const struct row *key_find_row(const struct rows *rows, const struct arm *arm, const char *metric,
                               const char *key)
{
    size_t at = 0;
    char own[VALUE_KEY_MAX];
    for (const struct row *row; (row = key_next_row(rows, arm, metric, &at));)
        if (strcmp(key_copy(row, own), key) == 0)
            return row;
    return NULL;
}
