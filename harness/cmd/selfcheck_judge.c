/* What the trials of contend selfcheck show: shares with their intervals, held against promises. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/cmd/selfcheck.h"
#include "harness/lib/base/text.h"
#include "harness/lib/say/log.h"
#include "harness/lib/stats/stats.h"
#include "harness/store/json/value.h"
#include "harness/verdict/runs/compare.h"
#include "version.h"

#define RECORD_NAME "selfcheck.json"

/* With fewer trials the interval leaves half of all shares open: 5 of 5 is [48%, 100%]. */
enum { TRIALS_LEAST = 6 };

/* Results of the trials of a kind. */
struct count {
    unsigned trials, hits, errors, wrong; /* wrong: a slower variant that was called FASTER */
    struct stats_interval share;          /* of hits: Clopper and Pearson 1934, 95% */
    double rounds, rounds_worst, took_s;  /* of hits, or of all trials of equal variants; NaN */
    enum finding_outcome outcome;         /* PASS, FAIL, ERROR, UNCLEAR; NONE: no promise */
    const char *why;                      /* reason of the first error */
};

static enum finding_outcome judge(const struct work *work, int kind, const struct count *count)
{
    const struct kind *of = &selfcheck_kinds[kind];
    bool in_time = work->limit_s[kind] >= of->limit_s, few = count->trials < TRIALS_LEAST;
    unsigned alarms = of->busy ? count->wrong : count->hits;
    if (stats_share_interval(alarms, count->trials).low > COMPARE_ERROR ||
        (of->promise > 0 && in_time && !few && count->share.high < of->promise))
        return OUTCOME_FAIL;
    if (count->errors)
        return OUTCOME_ERROR;
    if (few || (of->promise > 0 && !in_time))
        return OUTCOME_UNCLEAR;
    return of->busy && of->promise <= 0 ? OUTCOME_NONE : OUTCOME_PASS;
}

/* `scratch` has room for two numbers per trial. */
static struct count count_kind(const struct work *work, int kind, double *scratch)
{
    struct count count = {.rounds = NAN, .rounds_worst = NAN, .took_s = NAN};
    double *rounds = scratch, *took_s = scratch + work->n;
    size_t n = 0;
    for (size_t i = 0; i < work->n; i++) {
        const struct trial *trial = &work->trials[i];
        bool bad = trial->outcome == OUTCOME_ERROR || trial->outcome == OUTCOME_MISSING;
        bool slower = trial->outcome == OUTCOME_SLOWER, faster = trial->outcome == OUTCOME_FASTER;
        if (trial->kind != kind)
            continue;
        if (bad && !count.errors++)
            count.why = trial->explanation;
        count.trials += !bad;
        count.hits += slower || (faster && !selfcheck_kinds[kind].busy);
        count.wrong += faster && selfcheck_kinds[kind].busy;
        if (selfcheck_kinds[kind].busy ? slower : !bad) {
            rounds[n] = trial->rounds ? (double)trial->rounds : NAN;
            took_s[n++] = trial->took_s;
        }
    }
    size_t known = stats_sort(rounds, n);
    count.rounds = stats_median(rounds, known);
    count.rounds_worst = known ? rounds[known - 1] : NAN;
    count.took_s = stats_sort_median(took_s, n);
    count.share = stats_share_interval(count.hits, count.trials);
    count.outcome = judge(work, kind, &count);
    return count;
}

static const char *percent(double share, char buf[static 16])
{
    return share == 0 ? "0%" : text_percent(share, buf, 16);
}

static void print_kind(int kind, const struct count *count)
{
    char interval[48] = "-", rounds[32] = "-", took[32] = "-", low[16], high[16], share[16];
    if (count->trials)
        (void)snprintf(interval, sizeof(interval), "%s..%s", percent(count->share.low, low),
                       percent(count->share.high, high));
    if (!isnan(count->rounds))
        (void)snprintf(rounds, sizeof(rounds), "%.0f (%.0f)", count->rounds, count->rounds_worst);
    if (!isnan(count->took_s))
        (void)snprintf(took, sizeof(took), "%.0f s", count->took_s);
    (void)printf("  %-20s %6u %8u %6s %13s %10s %6s\n", selfcheck_kinds[kind].title, count->trials,
                 count->hits, percent((double)count->hits / count->trials, share), interval, rounds,
                 took);
    if (count->errors)
        (void)printf("    %u did not end well, such as: %s\n", count->errors, count->why);
    (void)printf("    %s: ", finding_outcome_name(count->outcome));
    if (count->wrong)
        (void)printf("%u called FASTER; ", count->wrong);
    if (count->outcome == OUTCOME_UNCLEAR)
        (void)printf("%s; ", count->trials < TRIALS_LEAST
                                 ? "too few trials to prove anything"
                                 : "trials were shorter than the promise assumes");
    if (!selfcheck_kinds[kind].busy)
        (void)printf("at most %s are promised\n", percent(COMPARE_ERROR, share));
    else if (selfcheck_kinds[kind].promise > 0)
        (void)printf("%s within %.0f s are promised\n",
                     percent(selfcheck_kinds[kind].promise, share), selfcheck_kinds[kind].limit_s);
    else
        (void)printf("no share is promised\n");
}

static json_t *kind_to_json(const struct work *work, int kind, const struct count *count)
{
    double limit_s = work->limit_s[kind], promise = selfcheck_kinds[kind].promise;
    return json_pack(
        "{s:s, s:s, s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "kind",
        selfcheck_kinds[kind].name, "title", selfcheck_kinds[kind].title, "trials",
        (int)count->trials, "hits", (int)count->hits, "wrong", (int)count->wrong, "errors",
        (int)count->errors, "share", json_value_real((double)count->hits / count->trials), "low",
        json_value_real(count->share.low), "high", json_value_real(count->share.high), "promise",
        json_value_real(promise > 0 ? promise : (double)NAN), "limit_s",
        json_value_real(limit_s > 0 ? limit_s : (double)NAN), "rounds_median",
        json_value_real(count->rounds), "rounds_worst", json_value_real(count->rounds_worst),
        "took_median_s", json_value_real(count->took_s), "outcome",
        finding_outcome_name(count->outcome));
}

/* The exit code for the outcomes of all kinds. */
static int code_of(const bool any[OUTCOMES])
{
    if (any[OUTCOME_FAIL])
        return EXIT_VERDICT;
    if (any[OUTCOME_ERROR])
        return EXIT_NOT_RUN;
    return any[OUTCOME_UNCLEAR] ? EXIT_INCONCLUSIVE : EXIT_GOOD;
}

int selfcheck_conclude(struct work *work, int rc, struct err *err)
{
    bool any[OUTCOMES] = {[OUTCOME_UNCLEAR] = !work->n}, wants_json = work->args->json;
    double *scratch = calloc(2 * work->n + 1, sizeof(*scratch));
    json_t *all = json_array();
    if (rc && rc != -EINTR)
        log_error("%s", err->msg);
    if (work->n && !wants_json)
        (void)printf("  %-20s %6s %8s %6s %13s %10s %6s\n", "", "trials", "changed", "",
                     "95% interval", "rounds", "time");
    for (int kind = 0; scratch && kind < KINDS; kind++) {
        struct count count = count_kind(work, kind, scratch);
        if (!count.trials && !count.errors)
            continue;
        any[count.outcome] = true;
        (void)json_array_append_new(all, kind_to_json(work, kind, &count));
        if (!wants_json)
            print_kind(kind, &count);
    }
    int code = rc == -EINTR ? EXIT_INTERRUPTED : rc || !scratch ? EXIT_NOT_RUN : code_of(any);
    free(scratch);
    json_t *json = json_pack("{s:i, s:o, s:s, s:s, s:o, s:b, s:i, s:o}", "schema", 2, "host",
                             json_value_text(work->host), "utc", work->utc, "contend",
                             CONTEND_VERSION, "scenario", json_value_text(work->scenario),
                             "complete", work->complete, "exit_code", code, "kinds", all);
    if (json_value_replace(json, JSON_INDENT(2), work->dir_fd, RECORD_NAME, err)) {
        log_error("%s", err->msg);
        code = EXIT_NOT_RUN;
    }
    if (wants_json && work->n)
        return cmd_print_json(json, 2) ? EXIT_NOT_RUN : code;
    json_decref(json);
    if (work->n)
        (void)printf("\nResults: %s\n", work->dir);
    return cmd_finish() ? EXIT_NOT_RUN : code;
}
