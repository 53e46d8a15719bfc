#include "harness/verdict/runs/selfcheck.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/base/array.h"
#include "harness/lib/base/text.h"
#include "harness/verdict/runs/compare.h"

const struct selfcheck_kind_info selfcheck_kinds[SELFCHECK_KINDS] = {
    [SELFCHECK_AA] = {"aa", "ab, equal variants", "comparisons of equal variants by ab", 0, 0, 20,
                      20},
    [SELFCHECK_COMPARE] = {"compare", "compare, equal runs", "comparisons of two equal runs", 0, 0,
                           0, 30},
    [SELFCHECK_10] = {"10", "ab, 10% slower", "slowdowns of 10%", 10, 0.99, 180, 15},
    [SELFCHECK_5] = {"5", "ab, 5% slower", "slowdowns of 5%", 5, 0.95, 180, 30},
    [SELFCHECK_2] = {"2", "ab, 2% slower", "slowdowns of 2%", 2, 0, 600, 300},
};

char *selfcheck_percent(double share, char *buf, size_t size)
{
    if (share > 0 || isnan(share))
        return text_percent(share, buf, size);
    (void)snprintf(buf, size, "0%%");
    return buf;
}

int selfcheck_add(struct selfcheck *check, const struct selfcheck_trial *trial, struct err *err)
{
    struct selfcheck_trial *grown =
        array_grown(check->all, check->n, &check->capacity, sizeof(*grown));
    if (!grown)
        return err_set(err, -ENOMEM, "no memory for %zu trials", check->n + 1);
    check->all = grown;
    grown[check->n++] = *trial;
    return 0;
}

void selfcheck_free(struct selfcheck *check)
{
    free(check->all);
    *check = (struct selfcheck){0};
}

enum finding_outcome selfcheck_outcome(const struct comparisons *comparisons)
{
    static const enum finding_outcome order[] = {OUTCOME_FASTER, OUTCOME_SLOWER, OUTCOME_MISSING,
                                                 OUTCOME_UNCLEAR, OUTCOME_SAME};
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        if (comparisons_count(comparisons, order[i]))
            return order[i];
    return OUTCOME_MISSING;
}

static bool is_slowed(enum selfcheck_kind kind)
{
    return selfcheck_kinds[kind].busy > 0;
}

static bool is_hit(const struct selfcheck_trial *trial)
{
    return trial->outcome == OUTCOME_SLOWER ||
           (trial->outcome == OUTCOME_FASTER && !is_slowed(trial->kind));
}

static bool is_error(const struct selfcheck_trial *trial)
{
    return trial->outcome == OUTCOME_ERROR || trial->outcome == OUTCOME_MISSING;
}

static enum finding_outcome judge(const struct selfcheck *check, enum selfcheck_kind kind,
                                  const struct selfcheck_count *count)
{
    const struct selfcheck_kind_info *info = &selfcheck_kinds[kind];
    bool in_time = check->limit_s[kind] >= info->limit_s;
    unsigned alarms = is_slowed(kind) ? count->wrong : count->hits;
    if (stats_share_interval(alarms, count->trials).low > COMPARE_ERROR)
        return OUTCOME_FAIL;
    if (info->promise > 0 && in_time && count->trials >= SELFCHECK_TRIALS_LEAST &&
        count->share.high < info->promise)
        return OUTCOME_FAIL;
    if (count->errors)
        return OUTCOME_ERROR;
    if (count->trials < SELFCHECK_TRIALS_LEAST || (info->promise > 0 && !in_time))
        return OUTCOME_UNCLEAR;
    return is_slowed(kind) && info->promise <= 0 ? OUTCOME_NONE : OUTCOME_PASS;
}

/* Median and largest of what `values` holds and is known; sorts it. */
static void summarise(double *values, size_t n, double *median, double *worst)
{
    n = stats_sort(values, n);
    *median = stats_median(values, n);
    *worst = n ? values[n - 1] : NAN;
}

int selfcheck_count(const struct selfcheck *check, enum selfcheck_kind kind,
                    struct selfcheck_count *count, struct err *err)
{
    double *rounds = calloc(2 * check->n + 1, sizeof(*rounds)), *took_s;
    size_t n = 0;
    *count = (struct selfcheck_count){0};
    if (!rounds)
        return err_set(err, -ENOMEM, "no memory for %zu trials", check->n);
    took_s = rounds + check->n;
    for (size_t i = 0; i < check->n; i++) {
        const struct selfcheck_trial *trial = &check->all[i];
        if (trial->kind != kind)
            continue;
        count->errors += is_error(trial);
        count->trials += !is_error(trial);
        count->hits += is_hit(trial);
        count->wrong += is_slowed(kind) && trial->outcome == OUTCOME_FASTER;
        if (is_slowed(kind) ? is_hit(trial) : !is_error(trial)) {
            rounds[n] = trial->rounds ? (double)trial->rounds : NAN;
            took_s[n++] = trial->took_s;
        }
    }
    summarise(rounds, n, &count->rounds, &count->rounds_worst);
    summarise(took_s, n, &count->took_s, &count->took_worst_s);
    count->share = stats_share_interval(count->hits, count->trials);
    count->outcome = judge(check, kind, count);
    free(rounds);
    return 0;
}

static const char *first_error(const struct selfcheck *check, enum selfcheck_kind kind)
{
    for (size_t i = 0; i < check->n; i++)
        if (check->all[i].kind == kind && is_error(&check->all[i]))
            return check->all[i].said;
    return "";
}

/* Appends to the sentence, as far as there is room. */
__attribute__((format(printf, 2, 3))) static void say(struct finding *finding, const char *fmt, ...)
{
    va_list args;
    size_t used = strlen(finding->sentence);
    va_start(args, fmt);
    (void)vsnprintf(finding->sentence + used, sizeof(finding->sentence) - used, fmt, args);
    va_end(args);
}

static void say_shown(enum selfcheck_kind kind, const struct selfcheck_count *count,
                      struct finding *finding)
{
    char low[16], high[16];
    say(finding, "%u of %u %s %s", count->hits, count->trials, selfcheck_kinds[kind].what,
        is_slowed(kind) ? "were found" : "called something changed");
    if (count->trials)
        say(finding, "; the rate is %s to %s (95%%)",
            selfcheck_percent(count->share.low, low, sizeof(low)),
            selfcheck_percent(count->share.high, high, sizeof(high)));
    if (is_slowed(kind) && count->hits)
        say(finding, ", after %.0f rounds in the median and %.0f at worst", count->rounds,
            count->rounds_worst);
    if (count->wrong)
        say(finding, "; %u called FASTER", count->wrong);
}

static void say_judged(const struct selfcheck *check, enum selfcheck_kind kind,
                       const struct selfcheck_count *count, struct finding *finding)
{
    const struct selfcheck_kind_info *info = &selfcheck_kinds[kind];
    char much[16];
    (void)selfcheck_percent(is_slowed(kind) ? info->promise : COMPARE_ERROR, much, sizeof(much));
    if (is_slowed(kind) && info->promise > 0)
        say(finding, "; %s within %.0f s are promised", much, info->limit_s);
    else if (!is_slowed(kind))
        say(finding, "; at most %s are promised", much);
    if (count->errors)
        say(finding, "; %u did not end well, such as: %.150s", count->errors,
            first_error(check, kind));
    else if (count->outcome == OUTCOME_UNCLEAR)
        say(finding, "; %s",
            count->trials < SELFCHECK_TRIALS_LEAST ? "so few trials say nothing"
                                                   : "trials were shorter than the promise is for");
}

static int tell(const struct selfcheck *check, enum selfcheck_kind kind,
                const struct selfcheck_count *count, struct findings *findings, struct err *err)
{
    struct finding finding = {.outcome = count->outcome,
                              .metric = "share",
                              .unit = "ratio",
                              .value = count->trials ? (double)count->hits / count->trials : NAN,
                              .low = count->share.low,
                              .high = count->share.high};
    finding.severity = count->outcome == OUTCOME_FAIL || count->outcome == OUTCOME_ERROR
                           ? FINDING_BAD
                       : count->outcome == OUTCOME_UNCLEAR ? FINDING_DOUBT
                                                           : FINDING_NOTE;
    (void)snprintf(finding.id, sizeof(finding.id), "selfcheck_%s", selfcheck_kinds[kind].name);
    (void)snprintf(finding.subject, sizeof(finding.subject), "%s", selfcheck_kinds[kind].title);
    say_shown(kind, count, &finding);
    say_judged(check, kind, count, &finding);
    return findings_add(findings, &finding, err);
}

int selfcheck_judge(const struct selfcheck *check, struct findings *findings, struct err *err)
{
    int rc = 0;
    for (int kind = 0; kind < SELFCHECK_KINDS && !rc; kind++) {
        struct selfcheck_count count;
        rc = selfcheck_count(check, (enum selfcheck_kind)kind, &count, err);
        if (!rc && count.trials + count.errors)
            rc = tell(check, (enum selfcheck_kind)kind, &count, findings, err);
    }
    return rc;
}
