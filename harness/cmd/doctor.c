/* contend doctor: what is wrong right now with the processes that run here. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness/cmd/cmd.h"
#include "harness/cmd/doctor_apply.h"
#include "harness/cmd/processes.h"
#include "harness/doctor/check.h"
#include "harness/doctor/host.h"
#include "harness/doctor/reader.h"
#include "harness/json/doctor.h"
#include "harness/report/markdown.h"
#include "harness/say/log.h"
#include "harness/sys/clock.h"
#include "harness/sys/signals.h"
#include "harness/sys/terminal.h"
#include "harness/table/doctor.h"

struct doctor_args {
    struct opt_texts pids;
    bool all, gpu_procs, json, markdown, list, apply, undo;
    struct doctor_apply_options applied;
    double watch_s;
    const char *root;
};

static const struct opt doctor_opts[] = {
    OPT_TEXTS("pid", doctor_args, pids, "PID",
              "look at this process and what it started; may be repeated"),
    OPT_FLAG("gpu-procs", doctor_args, gpu_procs, NULL,
             "look at the processes that use a GPU, as NVML lists them, and what they started"),
    OPT_FLAG("all", doctor_args, all, NULL, "look at all processes, not only those that are busy"),
    OPT_SECONDS("watch", doctor_args, watch_s, "5", 0.2, 3600, "TIME", "how long to look"),
    OPT_FLAG("apply", doctor_args, apply, NULL,
             "then bind the busy ones to CPUs of their own, after showing it and asking"),
    OPT_TEXT("placement", doctor_args, applied.placement, "partition", "P",
             "with --apply: by which placement, see 'contend list'", .letter = 'P'),
    OPT_FLAG("yes", doctor_args, applied.yes, NULL, "with --apply: do not ask"),
    OPT_FLAG("undo", doctor_args, undo, NULL, "give back the masks that --apply replaced"),
    OPT_TEXT("state", doctor_args, applied.state, NULL, "FILE",
             "where --apply keeps them (default: doctor.state in ~/.local/state/contend)"),
    OPT_FLAG("list", doctor_args, list, NULL, "explain the checks, and look at nothing"),
    OPT_FLAG("markdown", doctor_args, markdown, NULL, "print Markdown"),
    OPT_FLAG("json", doctor_args, json, NULL, "print JSON"),
    OPT_TEXT("root", doctor_args, root, NULL, "DIR",
             "for tests: /proc and /sys are looked up below it"),
    {.name = NULL}};

/* Of one CPU: who has less is not looked at unless asked for. */
static const double busy_share = 0.05;

/* -EINTR where a signal asked to stop. */
static int rest(double seconds, struct signals *signals, struct err *err)
{
    const uint64_t end_ns = clock_now_ns() + (uint64_t)(seconds * 1e9);
    for (uint64_t now_ns = clock_now_ns(); now_ns < end_ns; now_ns = clock_now_ns()) {
        uint64_t left_ns = end_ns - now_ns, step_ns = left_ns < 100000000 ? left_ns : 100000000;
        const struct timespec step = {.tv_nsec = (long)step_ns};
        (void)nanosleep(&step, NULL);
        if (signals_take(signals))
            return err_set(err, -EINTR, "interrupted");
    }
    return 0;
}

/* Who is busy is seen first: a fifth of the time. */
static int choose(const struct doctor_args *args, struct reader *reader, struct signals *signals,
                  struct err *err)
{
    pid_t pids[OPT_TEXTS_MOST];
    size_t n;
    int rc = processes_parse(&args->pids, pids, err);
    if (rc || args->pids.n)
        return rc ? rc : reader_watch_pids(reader, pids, args->pids.n, err);
    if (args->gpu_procs)
        return processes_watch_gpu_users(reader, err);
    if (args->all)
        return reader_watch_busy(reader, 0, &n, err);
    rc = reader_mark(reader, err);
    if (!rc)
        rc = rest(fmax(args->watch_s / 5, 0.2), signals, err);
    if (!rc)
        rc = reader_tick(reader, READER_WHOLE, err);
    return rc ? rc : reader_watch_busy(reader, busy_share, &n, err);
}

/* Once a second. */
static int watch(const struct doctor_args *args, struct reader *reader, struct host *host,
                 struct signals *signals, struct err *err)
{
    double left_s = args->watch_s;
    int rc = reader_mark(reader, err);
    for (; !rc && left_s > 0; left_s -= 1) {
        /* At least twice: what runs is looked at closely from its first tick on. */
        double step_s = fmin(left_s, fmin(1, args->watch_s / 2));
        left_s += 1 - step_s;
        rc = rest(step_s, signals, err);
        if (!rc)
            rc = reader_tick(reader, left_s > 1 ? READER_WATCHED : READER_WHOLE, err);
        if (!rc)
            host_look(&reader->view, host);
    }
    return rc ? rc : host_finish(&reader->view, host, err);
}

/* The machine beside them; without what hwloc or a driver cannot tell here. */
static int watch_machine(const struct doctor_args *args, struct reader *reader,
                         struct signals *signals, struct host *host, struct topo *topo,
                         struct err *err)
{
    const struct topo_options options = {.probe_gpus = true};
    bool known = !args->root && !topo_load(&options, topo, err);
    int rc = host_mark(&reader->view, known ? topo : NULL, reader->root, host, err);
    /* Who waits for ever is not busy. */
    host->locks.everybody = !args->pids.n && !args->gpu_procs;
    if (!rc)
        rc = watch(args, reader, host, signals, err);
    reader->view.host = host;
    return rc;
}

static int print_markdown(const struct view *view, const struct diagnosis *diagnosis,
                          struct err *err)
{
    struct findings findings = {0};
    char unread[DOCTOR_UNREAD_MAX];
    int rc = diagnosis_findings(diagnosis, &findings, err);
    if (!rc && !findings.n)
        (void)puts(doctor_tell_none_found(view));
    else if (!rc)
        markdown_print_findings(&findings, stdout);
    if (!rc && doctor_tell_unread(view, unread, sizeof(unread))[0])
        (void)printf("\n%s\n", unread);
    findings_free(&findings);
    return rc;
}

static int say(const struct doctor_args *args, const struct reader *reader,
               const struct diagnosis *diagnosis, int *code, struct err *err)
{
    char unread[DOCTOR_UNREAD_MAX];
    int rc = 0;
    if (args->json)
        *code = cmd_print_json(
            doctor_to_json(&reader->view, diagnosis,
                           doctor_tell_unread(&reader->view, unread, sizeof(unread))),
            2);
    else {
        rc = args->markdown ? print_markdown(&reader->view, diagnosis, err)
                            : doctor_print(&reader->view, diagnosis, stdout,
                                           terminal_has_color(STDOUT_FILENO), err);
        *code = cmd_finish();
    }
    if (!rc && *code == EXIT_GOOD && diagnosis_is_bad(diagnosis))
        *code = EXIT_VERDICT;
    if (!rc && *code == EXIT_GOOD && doctor_saw_nothing(&reader->view, diagnosis))
        *code = EXIT_NOT_RUN;
    return rc;
}

static int check_args(const struct doctor_args *args, struct err *err)
{
    if (args->apply && (args->json || args->markdown || args->root || args->undo))
        return err_set(err, -EINVAL, "--apply goes without --json, --markdown, --root and --undo");
    if (args->applied.yes && !args->apply)
        return err_set(err, -EINVAL, "--yes goes with --apply");
    if ((args->pids.n > 0) + args->all + args->gpu_procs > 1)
        return err_set(err, -EINVAL, "--pid, --gpu-procs and --all exclude each other");
    return 0;
}

static int apply(const struct doctor_args *args, const struct reader *reader, int *code,
                 struct err *err)
{
    bool done;
    (void)putchar('\n');
    int rc = doctor_apply(&reader->view, &args->applied, &done, err);
    if (!rc && done)
        *code = cmd_finish();
    return rc;
}

static int doctor(const struct doctor_args *args, struct signals *signals, int *code,
                  struct err *err)
{
    struct reader reader;
    struct host host = {0};
    struct topo topo = {0};
    struct diagnosis diagnosis = {0};
    int rc = reader_open(args->root ? args->root : "", &reader, err);
    if (!rc)
        rc = choose(args, &reader, signals, err);
    if (!rc && !args->root)
        processes_find_gpus(&reader);
    reader.samples = true;
    if (!rc)
        rc = watch_machine(args, &reader, signals, &host, &topo, err);
    if (!rc)
        rc = diagnosis_make(&reader.view, &diagnosis, err);
    if (!rc)
        rc = say(args, &reader, &diagnosis, code, err);
    if (!rc && args->apply)
        rc = apply(args, &reader, code, err);
    diagnosis_free(&diagnosis);
    host_free(&host);
    topo_free(&topo);
    reader_close(&reader);
    return rc;
}

static int doctor_main(const struct cmd_env *env, int argc, char **argv)
{
    struct doctor_args args = {0};
    struct cli cli;
    struct signals signals;
    struct err err = {0};
    int code;
    if (!cmd_parse(env, &doctor_command, argc, argv, &args, &cli, &code))
        return code;
    if (args.list) {
        if (args.markdown)
            doctor_print_checks_markdown(stdout);
        else
            doctor_print_checks(stdout);
        return cmd_finish();
    }
    int rc = check_args(&args, &err);
    if (!rc && args.undo) {
        rc = doctor_undo(&args.applied, &err);
        code = cmd_finish();
    } else if (!rc && (rc = signals_open(&signals, &err)) == 0) {
        signals_let_stop(true);
        rc = doctor(&args, &signals, &code, &err);
        signals_close(&signals);
    }
    if (rc)
        log_error("%s", err.msg);
    return !rc ? code : rc == -EINVAL ? EXIT_USAGE : (int)cmd_not_measured(rc);
}

const struct command doctor_command = {
    .name = "doctor",
    .main = doctor_main,
    .summary = "what is wrong right now with the processes that run here, and what mends it",
    .about =
        "Looks at live processes for a few seconds, those that are busy unless others are named, "
        "and says what costs them time: with the numbers behind it, and the command that mends it, "
        "what costs most first. Threads that wait for each other for ever are looked for in "
        "processes that sleep, too. Changes nothing without --apply, and needs no root; root sees "
        "the environment, the pages and the locks of other users' processes, too. Exit code: 0 "
        "nothing found, 1 something that costs, 3 it could not look.",
    .opts = doctor_opts,
};
