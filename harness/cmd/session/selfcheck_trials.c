#include "harness/cmd/session/selfcheck_trials.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/cmd/common/child_run.h"
#include "harness/lib/sys/clock.h"
#include "harness/show/figures/figures.h"
#include "harness/store/read/recorded.h"
#include "harness/verdict/runs/compare.h"

/* As compare's own default. */
static const double compare_threshold = 0.05;

enum { COMPARE_ROUNDS = 3, PATH_MOST = 4096 };

static void add_common(const struct selfcheck_trials *trials, struct child_run *run)
{
    if (trials->workers)
        child_run_add(run, "--workers=%s", trials->workers);
    if (trials->device)
        child_run_add(run, "--device=%s", trials->device);
    for (size_t i = 0; i < trials->cli->npairs; i++)
        child_run_add(run, "--param=%s", trials->cli->pairs[i]);
}

static void make_ab(const struct selfcheck_trials *trials, enum selfcheck_kind kind,
                    const char *dir, struct child_run *run)
{
    unsigned busy = selfcheck_kinds[kind].busy;
    child_run_add(run, CHILD_RUN_SELF);
    child_run_add(run, "ab");
    child_run_add(run, "%s", trials->scenario);
    child_run_add(run, "--variant=a");
    if (busy)
        child_run_add(run, "--variant=b=param:busy=%u", busy);
    else
        child_run_add(run, "--variant=b");
    child_run_add(run, "--max-time=%.9g", trials->limit_s[kind]);
    child_run_add(run, "--out=%s", dir);
    add_common(trials, run);
}

/* As short as a run that is compared may be: more rounds would make single runs no more alike. */
static void make_run(const struct selfcheck_trials *trials, const char *dir, struct child_run *run)
{
    child_run_add(run, CHILD_RUN_SELF);
    child_run_add(run, "run");
    child_run_add(run, "%s", trials->scenario);
    child_run_add(run, "--placement=sized,partition");
    child_run_add(run, "--rounds=%d", COMPARE_ROUNDS);
    child_run_add(run, "--no-baselines");
    child_run_add(run, "--no-plots");
    child_run_add(run, "--out=%s", dir);
    add_common(trials, run);
}

static struct child_run *make_command(const struct selfcheck_trials *trials,
                                      enum selfcheck_kind kind, const char *dir)
{
    struct child_run *run = calloc(1, sizeof(*run));
    if (run && kind == SELFCHECK_COMPARE)
        make_run(trials, dir, run);
    else if (run)
        make_ab(trials, kind, dir, run);
    return run;
}

/* The last line that it said, without its own name. */
static const char *said_by(const struct child_run *run)
{
    static const char prefix[] = "contend: error: ";
    return strncmp(run->said, prefix, strlen(prefix)) == 0 ? run->said + strlen(prefix) : run->said;
}

int selfcheck_try(struct selfcheck_trials *trials, enum selfcheck_kind kind, struct err *err)
{
    struct child_run *run = make_command(trials, kind, trials->dir);
    if (!run)
        return err_set(err, -ENOMEM, "no memory for a trial");
    child_run_add(run, "--dry-run");
    int rc = child_run(run, trials->signals, err);
    if (rc > 0 || rc == -ECHILD)
        rc = err_set(err, -EINVAL, "'contend %s' says: %s", run->argv[1],
                     run->said[0] ? said_by(run) : "nothing, and ended");
    free(run);
    return rc;
}

/* Its end is part of what the trial says: ERROR where it was no good one. */
static void take_end(int rc, const struct child_run *run, const struct err *why,
                     struct selfcheck_trial *trial)
{
    if (rc == EXIT_GOOD || rc == EXIT_INCONCLUSIVE)
        return;
    trial->outcome = OUTCOME_ERROR;
    if (rc >= 0)
        (void)snprintf(trial->said, sizeof(trial->said), "%s: exit code %d: %.150s", run->argv[1],
                       rc, said_by(run));
    else
        (void)snprintf(trial->said, sizeof(trial->said), "%s: %.150s", run->argv[1],
                       rc == -ECHILD ? "was killed by a signal" : why->msg);
}

/* Runs it to its end, again where it was stopped (Ctrl-Z) meanwhile. -EINTR, -ENOMEM. */
static int measure(const struct selfcheck_trials *trials, const char *dir,
                   struct selfcheck_trial *trial, struct err *err)
{
    struct err why = {0};
    int rc;
    do {
        struct child_run *run = make_command(trials, trial->kind, dir);
        if (!run)
            return err_set(err, -ENOMEM, "no memory for a trial");
        uint64_t start_ns = clock_now_ns();
        rc = child_run(run, trials->signals, &why);
        trial->took_s += (double)(clock_now_ns() - start_ns) / 1e9;
        if (rc != -EINTR && rc != -ERESTART)
            take_end(rc, run, &why, trial);
        free(run);
    } while (rc == -ERESTART);
    return rc == -EINTR ? rc : 0;
}

static void take_comparisons(const struct comparisons *comparisons, struct selfcheck_trial *trial)
{
    struct finding whole;
    trial->outcome = selfcheck_outcome(comparisons);
    for (size_t i = 0; i < comparisons->n; i++)
        if (comparisons->all[i].gates && comparisons->all[i].pairs > trial->rounds)
            trial->rounds = comparisons->all[i].pairs;
    comparisons_to_finding(comparisons, &whole);
    (void)snprintf(trial->said, sizeof(trial->said), "%.190s", whole.sentence);
}

static void refuse(struct selfcheck_trial *trial, const char *dir, const struct err *why)
{
    trial->outcome = OUTCOME_ERROR;
    (void)snprintf(trial->said, sizeof(trial->said), "'%.60s': %.120s", dir, why->msg);
}

static int read_ab(const struct selfcheck_trials *trials, const char *dir,
                   struct selfcheck_trial *trial, struct err *err)
{
    struct recorded recorded = {0};
    struct err why = {0};
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 ? err_sys(&why, -errno, "cannot open it")
                    : recorded_read(fd, trials->benches, &recorded, &why);
    if (fd >= 0)
        (void)close(fd);
    if (rc == -ENOMEM)
        (void)err_set(err, rc, "%s", why.msg);
    else if (rc)
        refuse(trial, dir, &why);
    else
        take_comparisons(&recorded.comparisons, trial);
    recorded_free(&recorded);
    return rc == -ENOMEM ? rc : 0;
}

static int compare_runs(const struct run *base, const struct run *other,
                        struct comparisons *comparisons, struct err *err)
{
    const struct analysis *analyses[] = {&base->recorded->analysis, &other->recorded->analysis};
    const struct pairing_runs sides[PAIRING_SIDES] = {
        {.name = "base", .n = 1, .runs = &analyses[0]},
        {.name = "new", .n = 1, .runs = &analyses[1]},
        {.name = "history"}};
    const struct compare_options options = {.threshold = compare_threshold};
    return compare_make(sides, &options, comparisons, err);
}

/* The two runs that were made last. */
static int compare_last(const struct selfcheck_trials *trials, const char *dir,
                        struct selfcheck_trial *trial, struct err *err)
{
    struct comparisons comparisons = {0};
    const struct run *last = &trials->runs.all[trials->runs.n - 1];
    struct err why = {0};
    int rc = compare_runs(&last[-1], last, &comparisons, &why);
    if (rc == -ENOMEM)
        (void)err_set(err, rc, "%s", why.msg);
    else if (rc)
        refuse(trial, dir, &why);
    else
        take_comparisons(&comparisons, trial);
    comparisons_free(&comparisons);
    return rc == -ENOMEM ? rc : 0;
}

/* Two runs; what of them is no good is not kept, so that all that is kept comes in pairs. */
static int make_compared(struct selfcheck_trials *trials, const char *dir,
                         struct selfcheck_trial *trial, struct err *err)
{
    struct runs *runs = &trials->runs;
    struct err why = {0};
    size_t before = runs->n;
    int rc = 0;
    for (int i = 1; i <= 2 && !rc && trial->outcome != OUTCOME_ERROR; i++) {
        char path[PATH_MOST];
        (void)snprintf(path, sizeof(path), "%.4000s/%d", dir, i);
        rc = measure(trials, path, trial, err);
        int read = rc || trial->outcome == OUTCOME_ERROR
                       ? 0
                       : runs_read(path, trials->benches, figures_remove, runs, &why);
        if (read == -ENOMEM)
            rc = err_set(err, read, "%s", why.msg);
        else if (read)
            refuse(trial, path, &why);
    }
    if (!rc && trial->outcome != OUTCOME_ERROR)
        rc = compare_last(trials, dir, trial, err);
    if (rc || trial->outcome == OUTCOME_ERROR)
        runs_forget_from(runs, before);
    return rc;
}

int selfcheck_make(struct selfcheck_trials *trials, struct selfcheck_trial *trial, struct err *err)
{
    char dir[PATH_MOST];
    (void)snprintf(dir, sizeof(dir), "%.4000s/%s/%u", trials->dir,
                   selfcheck_kinds[trial->kind].name, trial->number);
    if (trial->kind == SELFCHECK_COMPARE)
        return make_compared(trials, dir, trial, err);
    int rc = measure(trials, dir, trial, err);
    return rc || trial->outcome == OUTCOME_ERROR ? rc : read_ab(trials, dir, trial, err);
}

int selfcheck_all_pairs(const struct selfcheck_trials *trials, struct selfcheck *check,
                        struct err *err)
{
    const struct runs *runs = &trials->runs;
    int rc = 0;
    check->pairs = check->pairs_changed = 0;
    for (size_t i = 0; i < runs->n; i++)
        for (size_t j = i + 1; j < runs->n && !rc; j++) {
            struct comparisons comparisons = {0};
            struct err why = {0};
            int one = compare_runs(&runs->all[i], &runs->all[j], &comparisons, &why);
            enum finding_outcome outcome = one ? OUTCOME_ERROR : selfcheck_outcome(&comparisons);
            check->pairs += !one;
            check->pairs_changed += outcome == OUTCOME_FASTER || outcome == OUTCOME_SLOWER;
            rc = one == -ENOMEM ? err_set(err, one, "%s", why.msg) : 0;
            comparisons_free(&comparisons);
        }
    return rc;
}
