/*
 * contend selfcheck: how often ab and compare are right on this machine, in cases where the truth
 * is known. Runs these commands in a loop and counts their verdicts.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "harness/cmd/common/named.h"
#include "harness/cmd/selfcheck.h"
#include "harness/lib/base/array.h"
#include "harness/lib/base/similar.h"
#include "harness/lib/base/text.h"
#include "harness/lib/say/log.h"
#include "harness/lib/sys/clock.h"
#include "harness/show/figures/figures.h"
#include "harness/store/files/csv.h"
#include "harness/store/files/directory.h"
#include "harness/store/read/runs.h"
#include "harness/verdict/runs/compare.h"

#define TRIALS_NAME "trials.csv"

enum { COMPARE_ROUNDS = 3 };

const struct kind selfcheck_kinds[KINDS] = {
    {"aa", "ab, equal variants", 0, 0, 20, 20},  {"compare", "compare, equal runs", 0, 0, 0, 30},
    {"10", "ab, 10% slower", 10, 0.99, 180, 15}, {"5", "ab, 5% slower", 5, 0.95, 180, 30},
    {"2", "ab, 2% slower", 2, 0, 600, 300},
};

/* The names of kinds, for completions. */
static const char *const kind_names[] = {"aa", "compare", "10", "5", "2", NULL};

static const struct opt selfcheck_opts[] = {
    OPT_TEXT("only", selfcheck_args, only, "aa,compare,10,5", "KIND[,..]",
             "Kinds of trials: aa (ab of equal variants), compare (of equal runs), 10, 5, 2 (ab of "
             "a variant that is 10, 5 or 2% slower)",
             .choices = kind_names),
    OPT_INT("trials", selfcheck_args, trials, "6", 1, 10000, "N",
            "Trials of each kind, in turn; fewer than 6 prove nothing"),
    OPT_SECONDS("max-time", selfcheck_args, max_time_s, "15m", 1, 864000, "T",
                "Begin no trial later than this"),
    OPT_SECONDS("trial-max-time", selfcheck_args, trial_max_s, NULL, 1, 86400, "T",
                "The --max-time of a trial by ab (default 20s of equal variants, 3m of slower "
                "ones, of 2% 10m)"),
    OPT_TEXT("workers", selfcheck_args, workers, NULL, "N", "As in 'contend ab'", .letter = 'n'),
    OPT_TEXT("device", selfcheck_args, device, NULL, "D", "As in 'contend ab'"),
    OPT_TEXT("out", selfcheck_args, out, NULL, "DIR",
             "Where the results go (default results/<host>/<utc>-selfcheck); it must not hold a "
             "selfcheck",
             .letter = 'o'),
    OPT_TEXT("host", selfcheck_args, host, NULL, "NAME",
             "Name of this machine in results (default: its host name)"),
    OPT_FLAG("json", selfcheck_args, json, NULL, "Print JSON"),
    OPT_FLAG("dry-run", selfcheck_args, dry_run, NULL,
             "Print the trials and the expected time; start nothing"),
    {.name = NULL},
};

static int parse_kinds(const char *list, bool requested[KINDS], struct err *err)
{
    for (int kind = 0; kind < KINDS; kind++)
        requested[kind] = text_has_word(list, ',', selfcheck_kinds[kind].name);
    return similar_check_list("only", list, kind_names, err);
}

static void format_plan(const struct work *work, char *text, size_t size)
{
    double trials = (double)work->args->trials, expected_s = 0, longest_s = 0;
    size_t used = (size_t)snprintf(text, size, "%.0f trial%s of each in turns:", trials,
                                   trials > 1 ? "s" : "");
    for (int kind = 0; kind < KINDS; kind++) {
        double limit_s = work->limit_s[kind], usual_s = selfcheck_kinds[kind].usual_s;
        if (!work->requested[kind])
            continue;
        expected_s += trials * (limit_s > 0 ? fmin(limit_s, usual_s) : usual_s);
        used += (size_t)snprintf(text + used, size - used, "%s %s", longest_s > 0 ? ";" : "",
                                 selfcheck_kinds[kind].title);
        longest_s = fmax(longest_s, limit_s > 0 ? limit_s : usual_s);
    }
    double most_s = work->args->max_time_s + longest_s;
    (void)snprintf(text + used, size - used, ". About %.0f min, at most %.0f",
                   fmax(1, fmin(expected_s, most_s) / 60), most_s / 60 + 0.5);
}

static int open_directory(struct work *work, struct err *err)
{
    time_t now = time(NULL);
    (void)text_utc(now, work->utc);
    if (work->args->out)
        (void)snprintf(work->dir, sizeof(work->dir), "%.4000s", work->args->out);
    else
        (void)directory_default(work->host, "selfcheck", now, work->dir, sizeof(work->dir));
    int rc = directory_make_parents(work->dir, err);
    if (rc)
        return rc;
    if ((mkdir(work->dir, 0777) && errno != EEXIST) ||
        (work->dir_fd = open(work->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        return err_sys(err, -errno, "cannot use the directory '%.150s'", work->dir);
    int fd = openat(work->dir_fd, TRIALS_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST)
        return err_set(err, -EEXIST, "'%.150s' holds a selfcheck", work->dir);
    work->csv = fd < 0 ? NULL : fdopen(fd, "w");
    if (!work->csv)
        return err_sys(err, -errno, "cannot write " TRIALS_NAME);
    (void)fputs("kind,trial,busy_percent,outcome,rounds,took_s,said\n", work->csv);
    return 0;
}

/* The command line of a trial. A run for compare has the fewest rounds that compare accepts: more
 * rounds would not make runs more alike. */
static struct child_run *make_command(const struct work *work, int kind, const char *dir)
{
    struct child_run *run = calloc(1, sizeof(*run));
    if (!run)
        return NULL;
    child_run_add(run, CHILD_RUN_SELF);
    child_run_add(run, kind == KIND_COMPARE ? "run" : "ab");
    child_run_add(run, "%s", work->scenario);
    if (kind == KIND_COMPARE) {
        child_run_add(run, "--placement=sized,partition");
        child_run_add(run, "--rounds=%d", COMPARE_ROUNDS);
        child_run_add(run, "--no-baselines");
        child_run_add(run, "--no-plots");
    } else {
        child_run_add(run, "--variant=a");
        if (selfcheck_kinds[kind].busy)
            child_run_add(run, "--variant=b=param:busy=%u", selfcheck_kinds[kind].busy);
        else
            child_run_add(run, "--variant=b");
        child_run_add(run, "--max-time=%.9g", work->limit_s[kind]);
    }
    if (dir[0]) /* "" in a dry run */
        child_run_add(run, "--out=%s", dir);
    if (work->args->workers)
        child_run_add(run, "--workers=%s", work->args->workers);
    if (work->args->device)
        child_run_add(run, "--device=%s", work->args->device);
    for (size_t i = 0; i < work->cli->npairs; i++)
        child_run_add(run, "--param=%s", work->cli->pairs[i]);
    return run;
}

/* The last line on its stderr, without the prefix. */
static const char *last_line_of(const struct child_run *run)
{
    static const char prefix[] = "contend: error: ";
    return strncmp(run->last_line, prefix, strlen(prefix)) == 0 ? run->last_line + strlen(prefix)
                                                                : run->last_line;
}

/* Checks by dry runs that the trials can be planned here. */
static int plan(struct work *work, struct err *err)
{
    int rc = 0;
    for (int kind = 0; kind < KINDS && !rc; kind++) {
        struct child_run *run = work->requested[kind] ? make_command(work, kind, work->dir) : NULL;
        if (!work->requested[kind])
            continue;
        if (!run)
            return err_set(err, -ENOMEM, "no memory for a trial");
        child_run_add(run, "--dry-run");
        rc = child_run(run, &work->signals, err);
        if (rc > 0 || rc == -ECHILD)
            rc = err_set(err, -EINVAL, "'contend %s' says: %s", run->argv[1],
                         run->last_line[0] ? last_line_of(run) : "nothing, and ended");
        free(run);
    }
    return rc;
}

/* Runs a command to its end; repeats it if it was stopped (Ctrl-Z) meanwhile. -EINTR, -ENOMEM. */
static int measure(struct work *work, const char *dir, struct trial *trial, struct err *err)
{
    struct err why = {0};
    int rc;
    do {
        struct child_run *run = make_command(work, trial->kind, dir);
        if (!run)
            return err_set(err, -ENOMEM, "no memory for a trial");
        uint64_t start_ns = clock_now_ns();
        rc = child_run(run, &work->signals, &why);
        trial->took_s += (double)(clock_now_ns() - start_ns) / 1e9;
        bool bad = rc != EXIT_GOOD && rc != EXIT_INCONCLUSIVE && rc != -EINTR && rc != -ERESTART;
        if (bad)
            trial->outcome = OUTCOME_ERROR;
        if (bad && rc > 0)
            (void)snprintf(trial->explanation, sizeof(trial->explanation),
                           "%s: exit code %d: %.150s", run->argv[1], rc, last_line_of(run));
        else if (bad)
            (void)snprintf(trial->explanation, sizeof(trial->explanation), "%s: %.150s",
                           run->argv[1], rc == -ECHILD ? "was killed by a signal" : why.msg);
        free(run);
    } while (rc == -ERESTART);
    return rc == -EINTR ? rc : 0;
}

/* Outcome of a trial: the first of `order` that a gating metric has. */
static void take(const struct comparisons *comparisons, struct trial *trial)
{
    static const enum finding_outcome order[] = {OUTCOME_FASTER, OUTCOME_SLOWER, OUTCOME_MISSING,
                                                 OUTCOME_UNCLEAR, OUTCOME_SAME};
    struct finding whole;
    trial->outcome = OUTCOME_MISSING;
    for (size_t i = sizeof(order) / sizeof(order[0]); i-- > 0;)
        if (comparisons_count(comparisons, order[i]))
            trial->outcome = order[i];
    for (size_t i = 0; i < comparisons->n; i++)
        if (comparisons->all[i].gating && comparisons->all[i].pairs > trial->rounds)
            trial->rounds = comparisons->all[i].pairs;
    comparisons_to_finding(comparisons, &whole);
    (void)snprintf(trial->explanation, sizeof(trial->explanation), "%.190s", whole.sentence);
}

static int compare_two(const struct runs *runs, struct comparisons *comparisons, struct err *err)
{
    const struct analysis *analyses[] = {&runs->all[0].recorded->analysis,
                                         &runs->all[1].recorded->analysis};
    const struct pairing_runs sides[PAIRING_SIDES] = {
        {.name = "base", .n = 1, .runs = &analyses[0]},
        {.name = "new", .n = 1, .runs = &analyses[1]},
        {.name = "history"}};
    return compare_make(sides, &(struct compare_options){.threshold = 0.05}, comparisons, err);
}

/* A failed trial is an outcome, not an error. -EINTR: a signal asked to end; -ENOMEM. */
static int make_trial(struct work *work, struct trial *trial, struct err *err)
{
    char dir[PATH_MOST], path[PATH_MOST + 16];
    struct runs runs = {0};
    struct comparisons compared = {0};
    struct err why = {0};
    int rc = 0, read = 0, parts = trial->kind == KIND_COMPARE ? 2 : 1;
    (void)snprintf(dir, sizeof(dir), "%.4000s/%s/%u", work->dir, selfcheck_kinds[trial->kind].name,
                   trial->number);
    for (int i = 1; i <= parts && !rc && !read && trial->outcome != OUTCOME_ERROR; i++) {
        (void)snprintf(path, sizeof(path), parts > 1 ? "%s/%d" : "%s", dir, i);
        rc = measure(work, path, trial, err);
        if (!rc && trial->outcome != OUTCOME_ERROR)
            read = runs_read(path, work->env->benches, figures_remove, &runs, &why);
    }
    bool ended = !rc && !read && trial->outcome != OUTCOME_ERROR;
    if (ended && parts > 1)
        read = compare_two(&runs, &compared, &why);
    if (ended && !read)
        take(parts > 1 ? &compared : &runs.all[0].recorded->comparisons, trial);
    if (read == -ENOMEM)
        rc = err_set(err, read, "%s", why.msg);
    else if (read) {
        trial->outcome = OUTCOME_ERROR;
        (void)snprintf(trial->explanation, sizeof(trial->explanation), "'%.60s': %.120s", dir,
                       why.msg);
    }
    comparisons_free(&compared);
    runs_free(&runs);
    return rc;
}

static int keep(struct work *work, const struct trial *trial, struct err *err)
{
    struct trial *added = array_add(work->trials, work->n, work->capacity);
    if (!added)
        return err_set(err, -ENOMEM, "no memory for %zu trials", work->n + 1);
    *added = *trial;
    (void)fprintf(work->csv, "%s,%u,%u,%s,%u,%.3f,", selfcheck_kinds[trial->kind].name,
                  trial->number, selfcheck_kinds[trial->kind].busy,
                  finding_outcome_name(trial->outcome), trial->rounds, trial->took_s);
    csv_put_text(trial->explanation, work->csv);
    (void)fputc('\n', work->csv);
    log_info("%s, %u of %lld: %s in %.0f s", selfcheck_kinds[trial->kind].title, trial->number,
             (long long)work->args->trials, finding_outcome_name(trial->outcome), trial->took_s);
    return fflush(work->csv) ? err_sys(err, -errno, "cannot write " TRIALS_NAME) : 0;
}

/* Runs the kinds in turns, so that changes of the machine affect all kinds alike. */
static int make_all(struct work *work, struct err *err)
{
    int rc = 0;
    for (unsigned number = 1; number <= work->args->trials && !rc; number++)
        for (int kind = 0; kind < KINDS && !rc; kind++) {
            struct trial trial = {.kind = kind, .number = number};
            if (!work->requested[kind])
                continue;
            if ((double)(clock_now_ns() - work->start_ns) / 1e9 >= work->args->max_time_s) {
                log_warn("the time is over: raise --max-time for all trials");
                return 0;
            }
            rc = make_trial(work, &trial, err);
            rc = rc ? rc : keep(work, &trial, err);
        }
    work->complete = !rc;
    return rc;
}

static int run(struct work *work)
{
    struct err err = {0};
    char text[400];
    int rc = plan(work, &err);
    format_plan(work, text, sizeof(text));
    if (!rc && work->args->dry_run) {
        text_wrap(text, 0, 2, stdout);
        return cmd_finish();
    }
    if (!rc)
        rc = open_directory(work, &err);
    if (rc) {
        if (rc != -EINTR)
            log_error("%s", err.msg);
        return rc == -EINTR ? EXIT_INTERRUPTED : EXIT_USAGE;
    }
    log_info("%s", text);
    work->start_ns = clock_now_ns();
    return selfcheck_conclude(work, make_all(work, &err), &err);
}

static int selfcheck_main(const struct cmd_env *env, int argc, char **argv)
{
    struct selfcheck_args args = {0};
    const struct scenario *scenarios[CLI_LIST_MAX];
    struct cli cli;
    struct err err = {0};
    int code;
    if (!cmd_parse(env, &selfcheck_command, argc, argv, &args, &cli, &code))
        return code;
    struct work work = {.env = env, .args = &args, .cli = &cli, .dir_fd = -1};
    int n = named_scenarios(env, &cli, scenarios);
    if (n > 1)
        log_error("one scenario at a time: unexpected argument '%.80s'", cli.positional[1]);
    if (n != 1)
        return EXIT_USAGE;
    work.scenario = scenarios[0]->name;
    int rc = parse_kinds(args.only, work.requested, &err);
    if (!rc)
        rc = signals_open(&work.signals, &err);
    if (rc) {
        log_error("%s", err.msg);
        return rc == -EINVAL ? EXIT_USAGE : EXIT_NOT_RUN;
    }
    for (int kind = 0; kind < KINDS; kind++)
        work.limit_s[kind] = args.trial_max_s > 0 && kind != KIND_COMPARE
                                 ? args.trial_max_s
                                 : selfcheck_kinds[kind].limit_s;
    named_host(args.host, work.host);
    code = run(&work);
    signals_close(&work.signals);
    if (work.csv)
        (void)fclose(work.csv);
    if (work.dir_fd >= 0)
        (void)close(work.dir_fd);
    free(work.trials);
    return code;
}

const struct command selfcheck_command = {
    .name = "selfcheck",
    .main = selfcheck_main,
    .summary = "test ab and compare here: false alarms, and slowdowns detected",
    .operands = "[SCENARIO]",
    .about =
        "Tests ab and compare on this machine. Compares equal variants and counts false alarms; "
        "then slows one variant down by a known amount, and counts how often that is detected, and "
        "after how many rounds. Each rate has its interval. Exit codes: 0 no rate contradicts what "
        "is promised; 1 a rate is worse; 3 a trial did not end well; 4 too few trials.",
    .opts = selfcheck_opts,
    .examples = {{"contend selfcheck --max-time 1h", "false alarms and detected slowdowns"}},
    .takes_params = true,
};
