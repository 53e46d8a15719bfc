/* contend selfcheck: how often ab and compare are right on this machine, where the truth is known.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "harness/cmd/common/cmd.h"
#include "harness/cmd/common/named.h"
#include "harness/cmd/session/selfcheck_trials.h"
#include "harness/lib/files/file.h"
#include "harness/lib/say/log.h"
#include "harness/lib/say/terminal.h"
#include "harness/lib/sys/clock.h"
#include "harness/machine/facts/env.h"
#include "harness/show/summary/findings.h"
#include "harness/show/summary/selfcheck.h"
#include "harness/store/files/directory.h"
#include "harness/store/files/trials.h"
#include "harness/store/forms/selfcheck.h"

#define RECORD_NAME "selfcheck.json"

struct selfcheck_args {
    int64_t trials;
    double max_time_s, limit_s;
    const char *only, *out, *host, *workers, *device;
    bool json, dry_run;
};

/* For shells: the names of selfcheck_kinds. */
static const char *const kind_names[] = {"aa", "compare", "10", "5", "2", NULL};

static const struct opt selfcheck_opts[] = {
    OPT_TEXT("only", selfcheck_args, only, "aa,compare,10,5", "KIND[,..]",
             "Which trials: aa (ab of equal variants), compare (of equal runs), 10, 5, 2 (ab of a "
             "variant that is so many percent slower)",
             .choices = kind_names),
    OPT_INT("trials", selfcheck_args, trials, "6", 1, 10000, "N",
            "Trials of each kind, in turns; fewer than 6 say nothing"),
    OPT_SECONDS("max-time", selfcheck_args, max_time_s, "15m", 1, 864000, "T",
                "Begin no trial later than this"),
    OPT_SECONDS("limit", selfcheck_args, limit_s, NULL, 1, 86400, "T",
                "Of a trial by ab, which ends sooner where it is clear (default 20 s of equal "
                "variants, 180 s of slower ones, of 2% 10 min)"),
    OPT_TEXT("workers", selfcheck_args, workers, NULL, "N", "As in 'contend ab'", .letter = 'n'),
    OPT_TEXT("device", selfcheck_args, device, NULL, "D", "As in 'contend ab'"),
    OPT_TEXT("out", selfcheck_args, out, NULL, "DIR",
             "Where the results go (default results/<host>/<utc>-selfcheck); it must not hold a "
             "selfcheck",
             .letter = 'o'),
    OPT_TEXT("host", selfcheck_args, host, NULL, "NAME",
             "Name of this machine in results (default: its host name)"),
    OPT_FLAG("json", selfcheck_args, json, NULL, "Print JSON instead of the table"),
    OPT_FLAG("dry-run", selfcheck_args, dry_run, NULL,
             "Print the trials and the expected time; start nothing"),
    {.name = NULL},
};

/* While it goes on. */
struct work {
    const struct selfcheck_args *args;
    bool asked[SELFCHECK_KINDS];
    char host[ENV_HOST_LABEL_MAX];
    char utc[32];
    char dir[4096];
    int dir_fd; /* -1 = closed */
    uint64_t start_ns;
    bool complete;
    struct signals signals;
    struct selfcheck_trials trials;
    struct selfcheck check;
    struct findings findings;
};

static int parse_kinds(const char *list, bool asked[SELFCHECK_KINDS], struct err *err)
{
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        size_t length = strcspn(at, ",");
        int kind = 0;
        while (kind < SELFCHECK_KINDS && (strlen(selfcheck_kinds[kind].name) != length ||
                                          strncmp(selfcheck_kinds[kind].name, at, length) != 0))
            kind++;
        if (kind == SELFCHECK_KINDS)
            return err_set(err, -EINVAL, "only '%.60s' is none of: aa, compare, 10, 5, 2", at);
        asked[kind] = true;
    }
    return 0;
}

static void set_limits(struct work *work)
{
    for (int kind = 0; kind < SELFCHECK_KINDS; kind++) {
        double usual = selfcheck_kinds[kind].limit_s;
        bool given = work->args->limit_s > 0 && usual > 0;
        work->check.limit_s[kind] = given ? work->args->limit_s : usual;
        work->trials.limit_s[kind] = work->check.limit_s[kind];
    }
}

/* How long it will take as far as is known, and at most. */
static double expect(const struct work *work, double *most_s)
{
    double expected_s = 0, longest_s = 0;
    for (int kind = 0; kind < SELFCHECK_KINDS; kind++) {
        double limit_s = work->check.limit_s[kind], usual_s = selfcheck_kinds[kind].usual_s;
        if (!work->asked[kind])
            continue;
        expected_s +=
            (double)work->args->trials * (limit_s > 0 && limit_s < usual_s ? limit_s : usual_s);
        if (longest_s < (limit_s > 0 ? limit_s : usual_s))
            longest_s = limit_s > 0 ? limit_s : usual_s;
    }
    *most_s = work->args->max_time_s + longest_s;
    return expected_s < *most_s ? expected_s : *most_s;
}

static void say_plan(const struct work *work, char *text, size_t size)
{
    double most_s, expected_s = expect(work, &most_s);
    size_t used = (size_t)snprintf(text, size,
                                   "%lld trial%s of each in turns:", (long long)work->args->trials,
                                   work->args->trials == 1 ? "" : "s");
    const char *between = " ";
    for (int kind = 0; kind < SELFCHECK_KINDS && used < size; kind++)
        if (work->asked[kind]) {
            used += (size_t)snprintf(text + used, size - used, "%s%s", between,
                                     selfcheck_kinds[kind].title);
            between = "; ";
        }
    if (used < size)
        (void)snprintf(text + used, size - used, ". About %.0f min, at most %.0f",
                       expected_s / 60 < 1 ? 1 : expected_s / 60, most_s / 60 + 0.5);
}

static int open_directory(struct work *work, struct err *err)
{
    time_t now = time(NULL);
    struct tm tm;
    char utc[32];
    (void)gmtime_r(&now, &tm);
    (void)strftime(work->utc, sizeof(work->utc), "%Y-%m-%dT%H:%M:%SZ", &tm);
    (void)strftime(utc, sizeof(utc), "%Y%m%dT%H%M%SZ", &tm);
    if (work->args->out)
        (void)snprintf(work->dir, sizeof(work->dir), "%.4000s", work->args->out);
    else
        (void)snprintf(work->dir, sizeof(work->dir), "results/%s/%s-selfcheck", work->host, utc);
    int rc = directory_make_parents(work->dir, err);
    if (rc)
        return rc;
    if ((mkdir(work->dir, 0777) && errno != EEXIST) ||
        (work->dir_fd = open(work->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        return err_sys(err, -errno, "cannot use the directory '%.150s'", work->dir);
    if (faccessat(work->dir_fd, TRIALS_NAME, F_OK, 0) == 0)
        return err_set(err, -EEXIST, "'%.150s' holds a selfcheck", work->dir);
    return trials_write(work->dir_fd, &work->check, err);
}

static bool is_over(const struct work *work)
{
    return (double)(clock_now_ns() - work->start_ns) / 1e9 >= work->args->max_time_s;
}

static int make_one(struct work *work, enum selfcheck_kind kind, unsigned number, struct err *err)
{
    struct selfcheck_trial trial = {.kind = kind, .number = number};
    int rc = selfcheck_make(&work->trials, &trial, err);
    if (!rc)
        rc = selfcheck_add(&work->check, &trial, err);
    if (!rc)
        rc = trials_write(work->dir_fd, &work->check, err);
    if (!rc)
        log_info("%s, %u of %lld: %s in %.0f s", selfcheck_kinds[kind].title, number,
                 (long long)work->args->trials, finding_outcome_name(trial.outcome), trial.took_s);
    return rc;
}

/* Kinds in turns, so that what the machine does meanwhile is shared by all. */
static int make_all(struct work *work, struct err *err)
{
    int rc = 0;
    for (unsigned number = 1; number <= work->args->trials && !rc; number++)
        for (int kind = 0; kind < SELFCHECK_KINDS && !rc; kind++) {
            if (!work->asked[kind])
                continue;
            if (is_over(work)) {
                log_warn("the time is over: raise --max-time for all trials");
                return 0;
            }
            rc = make_one(work, (enum selfcheck_kind)kind, number, err);
        }
    work->complete = !rc;
    return rc;
}

/* Exit code of what was counted. */
static int code_of(const struct findings *findings)
{
    bool failed = false, errors = false, unclear = findings->n == 0;
    for (size_t i = 0; i < findings->n; i++) {
        failed |= findings->all[i].outcome == OUTCOME_FAIL;
        errors |= findings->all[i].outcome == OUTCOME_ERROR;
        unclear |= findings->all[i].outcome == OUTCOME_UNCLEAR;
    }
    return failed ? EXIT_VERDICT : errors ? EXIT_NOT_RUN : unclear ? EXIT_INCONCLUSIVE : EXIT_GOOD;
}

static json_t *to_json(const struct work *work, int code)
{
    const struct selfcheck_about about = {.host = work->host,
                                          .utc = work->utc,
                                          .scenario = work->trials.scenario,
                                          .complete = work->complete,
                                          .exit_code = code};
    return selfcheck_to_json(&work->check, &about, &work->findings);
}

static int write_record(const struct work *work, int code, struct err *err)
{
    json_t *json = to_json(work, code);
    char *text = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
    int rc = text ? file_replace(work->dir_fd, RECORD_NAME, text, strlen(text)) : -ENOMEM;
    free(text);
    json_decref(json);
    return rc ? err_sys(err, rc, "cannot write " RECORD_NAME) : 0;
}

static int print(const struct work *work, int code, struct err *err)
{
    bool color = terminal_has_color(STDOUT_FILENO);
    if (work->args->json)
        return cmd_print_json(to_json(work, code), 2);
    if (selfcheck_print(&work->check, stdout, err))
        return EXIT_NOT_RUN;
    findings_print(&work->findings, stdout, color);
    (void)printf("\nResults: %s\n", work->dir);
    return cmd_finish();
}

/* What was counted, also where an interrupt or an error ended it. */
static int conclude(struct work *work, int rc, struct err *err)
{
    struct err why = {0};
    int told = selfcheck_all_pairs(&work->trials, &work->check, &why);
    if (!told)
        told = selfcheck_judge(&work->check, &work->findings, &why);
    int code = rc == -EINTR ? EXIT_INTERRUPTED
               : rc || told ? EXIT_NOT_RUN
                            : code_of(&work->findings);
    if (!told)
        told = write_record(work, code, &why);
    if (!told && work->check.n) {
        int printed = print(work, code, &why);
        code = printed ? printed : code;
    }
    if (told)
        log_error("%s", why.msg);
    if (rc && rc != -EINTR)
        log_error("%s", err->msg);
    return told ? EXIT_NOT_RUN : code;
}

static int plan(struct work *work, struct err *err)
{
    int rc = 0;
    for (int kind = 0; kind < SELFCHECK_KINDS && !rc; kind++)
        if (work->asked[kind])
            rc = selfcheck_try(&work->trials, (enum selfcheck_kind)kind, err);
    return rc;
}

static int run(struct work *work)
{
    struct err err = {0};
    char text[400];
    int rc = plan(work, &err);
    say_plan(work, text, sizeof(text));
    if (!rc && work->args->dry_run) {
        (void)printf("%s\n", text);
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
    return conclude(work, make_all(work, &err), &err);
}

static void name_host(struct work *work)
{
    struct environment environment = {0};
    env_gather(&(struct env_request){0}, &environment);
    if (work->args->host)
        (void)snprintf(environment.hostname, sizeof(environment.hostname), "%s", work->args->host);
    (void)env_host_label(&environment, work->host);
    env_free(&environment);
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
    struct work work = {.args = &args, .dir_fd = -1};
    int n = named_scenarios(env, &cli, scenarios);
    if (n > 1)
        log_error("one scenario at a time: unexpected argument '%.80s'", cli.positional[1]);
    if (n != 1)
        return EXIT_USAGE;
    int rc = parse_kinds(args.only, work.asked, &err);
    if (!rc)
        rc = signals_open(&work.signals, &err);
    if (rc) {
        log_error("%s", err.msg);
        return rc == -EINVAL ? EXIT_USAGE : EXIT_NOT_RUN;
    }
    work.trials = (struct selfcheck_trials){.benches = env->benches,
                                            .cli = &cli,
                                            .scenario = scenarios[0]->name,
                                            .workers = args.workers,
                                            .device = args.device,
                                            .dir = work.dir,
                                            .signals = &work.signals};
    set_limits(&work);
    name_host(&work);
    code = run(&work);
    signals_close(&work.signals);
    if (work.dir_fd >= 0)
        (void)close(work.dir_fd);
    runs_free(&work.trials.runs);
    selfcheck_free(&work.check);
    findings_free(&work.findings);
    return code;
}

const struct command selfcheck_command = {
    .name = "selfcheck",
    .main = selfcheck_main,
    .summary = "proof on this machine: false alarms, and slowdowns that are found",
    .operands = "[SCENARIO]",
    .about =
        "Compares what is equal, by ab and by compare, and counts how often a whole comparison "
        "calls anything changed; then slows one variant down by a known amount (the parameter "
        "busy) and counts how often that is found, and after how many rounds. Each rate has its "
        "interval. Exit codes: 0 nothing contradicts what is promised; 1 a rate is shown to be "
        "worse; 3 a trial did not end well; 4 too few trials.",
    .opts = selfcheck_opts,
    .takes_params = true,
};
