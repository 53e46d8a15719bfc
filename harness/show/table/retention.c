#include "harness/show/table/retention.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/lib/base/units.h"
#include "harness/rows/number.h"
#include "harness/rows/say.h"
#include "harness/verdict/advice/advice.h"

enum { LABEL = 10, VALUE = 9, KEPT = 6, ARMS_A_BLOCK = 4 };

struct retention {
    const struct analysis *analysis;
    const struct result *result; /* of the analysis */
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
static struct dims without_choices(const struct retention *r, struct dims at)
{
    char own[DIMS_KEY_MAX], value[DIMS_KEY_MAX];
    for (const struct opt *opt = r->idle->bench->opts; opt && opt->name; opt++) {
        unsigned dim = dim_find(r->idle->bench, opt->name);
        if (dim && !strcmp(dims_value(r->idle->bench, &at, dim, own),
                           opt_format_value(opt, r->idle->params, value, sizeof(value))))
            at = dims_without(&at, dim);
    }
    return at;
}

/* "2 MiB" of a size, else the place as people say it. */
static const char *label_of(const struct retention *r, const struct dims *at, char *buf,
                            size_t size)
{
    const struct bench *bench = r->idle->bench;
    unsigned by_size = dim_find_kind(bench, DIM_BYTES);
    double bytes = dims_number(bench, at, by_size);
    char name[DIMS_KEY_MAX], text[32];
    struct dims rest = without_choices(r, *at);
    if (!by_size || isnan(bytes))
        return say_dims(bench, &rest, buf, size);
    rest = dims_without(&rest, by_size);
    (void)units_format_bytes((uint64_t)bytes, text, sizeof(text));
    (void)snprintf(buf, size, "%s%s%s", text, rest.n ? " " : "",
                   say_dims(bench, &rest, name, sizeof(name)));
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
    for (const struct row *row;
         (row = rows_next(&r->analysis->rows, r->idle, r->metric->name, &at));) {
        char label[96];
        (void)fprintf(r->out, "%-*.*s", LABEL, LABEL,
                      label_of(r, &row->dims, label, sizeof(label)));
        print_number(r, row->median);
        for (size_t i = 0; i < n; i++) {
            print_number(r,
                         median(rows_at(&r->analysis->rows, arms[i], r->metric->name, &row->dims)));
            print_kept(r, median(rows_at(&r->analysis->rows, arms[i], "retention", &row->dims)));
        }
        (void)fputc('\n', r->out);
    }
}

/* "collective (allreduce, float, queue 1), 4 workers: latency, us": choices, and what differs. */
static void print_title(const struct retention *r)
{
    char choices[120] = "", value[48];
    const struct bench *bench = r->idle->bench;
    for (const struct opt *opt = bench->opts; opt && opt->name; opt++) {
        bool differs = arm_option_differs(r->result, r->idle, opt);
        if (opt->kind == OPT_CHOICE || differs)
            text_append(choices, sizeof(choices), ", ", "%s%s%s", differs ? opt->name : "",
                        differs ? " " : "",
                        opt_format_value(opt, r->idle->params, value, sizeof(value)));
    }
    (void)fprintf(r->out, "\n%s%s%s%s%s, %u worker%s: %s, %s%s\n", r->color ? "\033[1m" : "",
                  bench->name, choices[0] ? " (" : "", choices, choices[0] ? ")" : "",
                  r->idle->slots, r->idle->slots == 1 ? "" : "s", r->metric->name, r->metric->unit,
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
        const struct retention r = {analysis, result, out, color, arm, bench_kept(arm->bench)};
        if (arm->alone && arm->bench->together && r.metric)
            rc = print_team(&r);
    }
    return rc;
}
