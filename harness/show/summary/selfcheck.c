#include "harness/show/summary/selfcheck.h"

#include <math.h>

#define LINE "  %-20s %6s %8s %6s %13s %10s %6s\n"
#define PAIRS_LINE "  %-20s %6s %8s %6s\n"

/* "12 (31)": the median, and at worst. */
static void put_two(double median, double worst, char *buf, size_t size)
{
    if (isnan(median))
        (void)snprintf(buf, size, "-");
    else
        (void)snprintf(buf, size, "%.0f (%.0f)", median, worst);
}

static void print_kind(enum selfcheck_kind kind, const struct selfcheck_count *count, FILE *out)
{
    char trials[32], said[48], share[16], interval[48], rounds[32], took[32], low[16], high[16];
    (void)snprintf(trials, sizeof(trials), "%u", count->trials);
    (void)snprintf(said, sizeof(said), "%u", count->hits);
    (void)selfcheck_percent(count->trials ? (double)count->hits / count->trials : NAN, share,
                            sizeof(share));
    (void)snprintf(interval, sizeof(interval), "%s..%s",
                   selfcheck_percent(count->share.low, low, sizeof(low)),
                   selfcheck_percent(count->share.high, high, sizeof(high)));
    put_two(count->rounds, count->rounds_worst, rounds, sizeof(rounds));
    (void)snprintf(took, sizeof(took), "%.0f s", count->took_s);
    (void)fprintf(out, LINE, selfcheck_kinds[kind].title, trials, said, share,
                  count->trials ? interval : "-", rounds, isnan(count->took_s) ? "-" : took);
}

static void print_pairs(const struct selfcheck *check, FILE *out)
{
    char pairs[16], changed[16], share[16];
    (void)snprintf(pairs, sizeof(pairs), "%u", check->pairs);
    (void)snprintf(changed, sizeof(changed), "%u", check->pairs_changed);
    (void)selfcheck_percent((double)check->pairs_changed / check->pairs, share, sizeof(share));
    (void)fprintf(out, PAIRS_LINE, "  all pairs of them", pairs, changed, share);
}

int selfcheck_print(const struct selfcheck *check, FILE *out, struct err *err)
{
    (void)fprintf(out, LINE, "", "trials", "changed", "", "95% interval", "rounds", "time");
    for (int kind = 0; kind < SELFCHECK_KINDS; kind++) {
        struct selfcheck_count count;
        int rc = selfcheck_count(check, (enum selfcheck_kind)kind, &count, err);
        if (rc)
            return rc;
        if (count.trials + count.errors)
            print_kind((enum selfcheck_kind)kind, &count, out);
        if (kind == SELFCHECK_COMPARE && check->pairs)
            print_pairs(check, out);
    }
    return 0;
}
