#include "harness/show/table/retention.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/lib/base/units.h"
#include "harness/rows/key.h"
#include "harness/rows/number.h"
#include "harness/verdict/advice/advice.h"

enum { LABEL = 10, VALUE = 9, KEPT = 6, ARMS_A_BLOCK = 4 };

struct retention {
    const struct analysis *analysis;
    const struct result *result; /* of the analysis, as the next */
    const struct rows *rows;
    FILE *out;
    bool color;
    const struct arm *idle;            /* the team without the load */
    const struct bench_metric *metric; /* that a load takes from */
};

static double median(const struct row *row)
{
    return row ? row->median : NAN;
}

/* What a choice has decided stands in the title already. */
static void drop_choices(const struct retention *r, char key[static VALUE_KEY_MAX])
{
    char own[VALUE_KEY_MAX], value[VALUE_KEY_MAX];
    for (const struct opt *opt = r->idle->bench->opts; opt && opt->name; opt++)
        if (key_get(key, opt->name, own) &&
            !strcmp(own, opt_format_value(opt, r->idle->params, value, sizeof(value))))
            key_drop(key, opt->name);
}

/* "2 MiB" for "size=2097152", else the key as people say it. */
static const char *label_of(const struct retention *r, const char *key, char *buf, size_t size)
{
    double bytes = key_number(key, "size");
    char rest[VALUE_KEY_MAX], name[VALUE_KEY_MAX], text[32];
    (void)snprintf(rest, sizeof(rest), "%s", key);
    drop_choices(r, rest);
    if (isnan(bytes))
        return key_say(r->idle->bench, rest, buf, size);
    key_drop(rest, "size");
    (void)units_format_bytes((uint64_t)bytes, text, sizeof(text));
    (void)snprintf(buf, size, "%s%s%s", text, rest[0] ? " " : "",
                   key_say(r->idle->bench, rest, name, sizeof(name)));
    return buf;
}

static void print_number(const struct retention *r, double value)
{
    char text[32] = "-";
    if (value >= 1e6)
        (void)snprintf(text, sizeof(text), "%.2e", value);
    else if (!isnan(value))
        (void)number_format(value, "", false, text, sizeof(text));
    (void)fprintf(r->out, "%*s", VALUE, text);
}

static void print_kept(const struct retention *r, double kept)
{
    char text[16];
    const char *paint = kept < 0.9 ? "\033[31m" : "\033[32m";
    bool painted = r->color && !isnan(kept);
    (void)fprintf(r->out, "%s%*s%s", painted ? paint : "", KEPT,
                  text_percent(kept, text, sizeof(text)), painted ? "\033[0m" : "");
}

/* Placements from..to-1 of those under load, beside the idle values. */
static void print_block(const struct retention *r, const struct arm *const *arms, size_t n)
{
    size_t at = 0;
    (void)fprintf(r->out, "%-*s%*s", LABEL, "", VALUE, "idle");
    for (size_t i = 0; i < n; i++)
        (void)fprintf(r->out, "%*s", VALUE + KEPT, placement_infos[arms[i]->placement].name);
    (void)fprintf(r->out, "\n%-*s%*s", LABEL, "size", VALUE, "");
    for (size_t i = 0; i < n; i++)
        (void)fprintf(r->out, "%*s%*s", VALUE, "", KEPT, "kept");
    (void)fputc('\n', r->out);
    for (const struct row *row; (row = key_next_row(r->rows, r->idle, r->metric->name, &at));) {
        char key[VALUE_KEY_MAX], label[96];
        (void)key_copy(row, key);
        (void)fprintf(r->out, "%-*.*s", LABEL, LABEL, label_of(r, key, label, sizeof(label)));
        print_number(r, row->median);
        for (size_t i = 0; i < n; i++) {
            print_number(r, median(key_find_row(r->rows, arms[i], r->metric->name, key)));
            print_kept(r, median(key_find_row(r->rows, arms[i], "retention", key)));
        }
        (void)fputc('\n', r->out);
    }
}

/* "collective (allreduce, float, queue 1), 4 workers: latency, us": choices, and what differs. */
static void print_title(const struct retention *r)
{
    char choices[120] = "", value[48];
    size_t used = 0;
    const struct bench *bench = r->idle->bench;
    for (const struct opt *opt = bench->opts; opt && opt->name && used < sizeof(choices); opt++) {
        bool differs = arm_option_differs(r->result, r->idle, opt);
        if (opt->kind != OPT_CHOICE && !differs)
            continue;
        used += (size_t)snprintf(choices + used, sizeof(choices) - used, "%s%s%s%s",
                                 used ? ", " : " (", differs ? opt->name : "", differs ? " " : "",
                                 opt_format_value(opt, r->idle->params, value, sizeof(value)));
    }
    (void)fprintf(r->out, "\n%s%s%s%s, %u worker%s: %s, %s%s\n", r->color ? "\033[1m" : "",
                  bench->name, choices, used ? ")" : "", r->idle->slots,
                  r->idle->slots == 1 ? "" : "s", r->metric->name, r->metric->unit,
                  r->color ? "\033[0m" : "");
}

/* One idle team against all its placements under load. */
static int print_team(const struct retention *r)
{
    const struct arm **arms = calloc(r->result->narms + 1, sizeof(const struct arm *));
    size_t n = 0;
    for (size_t i = 0; arms && i < r->result->narms; i++)
        if (advice_is_loaded(r->analysis, r->idle, &r->result->arms[i]))
            arms[n++] = &r->result->arms[i];
    if (n)
        print_title(r);
    for (size_t i = 0; i < n; i += ARMS_A_BLOCK)
        print_block(r, arms + i, n - i < ARMS_A_BLOCK ? n - i : ARMS_A_BLOCK);
    bool failed = !arms;
    free(arms);
    return failed ? -ENOMEM : 0;
}

int retention_print(const struct analysis *analysis, FILE *out, bool color)
{
    const struct result *result = analysis->result;
    int rc = 0;
    for (size_t i = 0; i < result->narms && !rc; i++) {
        const struct arm *arm = &result->arms[i];
        const struct retention r = {analysis, result, &analysis->rows,       out,
                                    color,    arm,    bench_kept(arm->bench)};
        if (arm->alone && arm->bench->together && r.metric)
            rc = print_team(&r);
    }
    return rc;
}
