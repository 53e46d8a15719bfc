/* contend doctor: finds what is wrong right now with processes on this machine. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "harness/cmd/common/cmd.h"
#include "harness/doctor/apply_plan.h"
#include "harness/doctor/checks/check.h"
#include "harness/doctor/doctor_json.h"
#include "harness/doctor/doctor_tables.h"
#include "harness/doctor/options.h"
#include "harness/doctor/reader/host.h"
#include "harness/doctor/reader/reader.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/sys/signals.h"
#include "harness/lib/text.h"

/*
 * Share of one CPU: a process with less is not watched unless asked for. If no CPU idles, a process
 * that waits for one may run less.
 */
static const double busy_share = 0.05, starved_share = 0.01;

static double look_s(const struct doctor_args *args)
{
    return args->look_s > 0 ? args->look_s : 5;
}

/* Time to find the busy processes, before the watch. */
static double choose_s(const struct doctor_args *args)
{
    return args->look_s > 0 && !args->plan ? fmax(args->look_s / 5, 0.2) : 0.5;
}

static double least_share(const struct view *view)
{
    static const double full = 0.05;
    const double all_s = view->wall_s * bitset_count(&view->online);
    return view_idle_s(view, &view->online) < full * all_s ? starved_share : busy_share;
}

/* Watches the job that contend has started, or the processes asked for, or the busy ones. */
static int choose(const struct doctor_args *args, pid_t job, struct reader *reader,
                  struct signals *signals, pid_t pids[OPT_TEXTS_MOST], struct err *err)
{
    size_t n;
    if (job)
        return reader_watch_pids(reader, &job, 1, err);
    int rc = processes_watch(&args->pids, args->gpu_procs, reader, pids, err);
    if (rc || args->pids.n || args->gpu_procs)
        return rc;
    if (args->all)
        return reader_watch_busy(reader, 0, &n, err);
    rc = reader_mark(reader, err);
    if (!rc)
        rc = meter_rest(choose_s(args), signals, err);
    if (!rc)
        rc = reader_tick(reader, READER_WHOLE, err);
    return rc ? rc : reader_watch_busy(reader, least_share(&reader->view), &n, err);
}

/* On a terminal, prints what the first second shows. */
static void report_so_far(const struct doctor_args *args, const struct reader *reader)
{
    struct diagnosis diagnosis = {0};
    struct err ignored = {0};
    if (args->look_s > 0 || args->json || !terminal_has_escapes(STDERR_FILENO))
        return;
    if (!diagnosis_make(&reader->view, &diagnosis, &ignored))
        log_info("so far: %s", diagnosis_is_bad(&diagnosis) ? diagnosis.all[0].finding.sentence
                                                            : "nothing wrong");
    diagnosis_free(&diagnosis);
}

/* Watches for look_s, with a tick per second. */
static int watch(const struct doctor_args *args, struct reader *reader, struct host *host,
                 struct signals *signals, struct err *err)
{
    const double whole_s = look_s(args);
    double left_s = whole_s;
    bool printed = false;
    int rc = reader_mark(reader, err);
    for (; !rc && left_s > 0; left_s -= 1) {
        /* At least two ticks: a task is looked at closely only from its first tick on. */
        double step_s = fmin(left_s, fmin(1, whole_s / 2));
        left_s += 1 - step_s;
        rc = meter_rest(step_s, signals, err);
        if (!rc)
            rc = reader_tick(reader, left_s > 1 ? READER_WATCHED : READER_WHOLE, err);
        if (!rc)
            host_look(&reader->view, host);
        if (!rc && !printed)
            report_so_far(args, reader);
        printed = true;
    }
    return rc ? rc : host_finish(&reader->view, host, err);
}

/* Watches processes and machine, without what hwloc or a driver does not provide here. */
static int watch_machine(const struct doctor_args *args, struct reader *reader,
                         struct signals *signals, struct host *host, struct topo *topo,
                         struct err *err)
{
    bool known = !args->root && !host_load_topo(topo, err);
    int rc = host_mark(&reader->view, known ? topo : NULL, reader->root, host, err);
    host->hung.named = args->pids.n || args->gpu_procs;
    if (!rc)
        rc = watch(args, reader, host, signals, err);
    reader->view.host = host;
    return rc;
}

/* Prints the findings; JSON is kept in *json until all is known. */
static int report(const struct doctor_args *args, const struct reader *reader,
                  const struct diagnosis *diagnosis, json_t **json, int *code, struct err *err)
{
    int rc = 0;
    if (args->json)
        *json = doctor_to_json(&reader->view, diagnosis, doctor_format_unread(&reader->view));
    else
        rc = doctor_print(&reader->view, diagnosis, stdout, terminal_has_color(STDOUT_FILENO), err);
    *code = diagnosis_is_bad(diagnosis)                        ? EXIT_VERDICT
            : doctor_sees_no_process(&reader->view, diagnosis) ? EXIT_NOT_RUN
                                                               : EXIT_GOOD;
    return rc;
}

static int check_args(const struct doctor_args *args, struct err *err)
{
    bool verify = args->verify.metrics.n;
    enum placement placement;
    if (args->markdown)
        return err_set(err, -EINVAL, "--markdown goes with --list");
    if (args->live && (args->apply || verify || args->undo || args->root))
        return err_set(err, -EINVAL, "--live excludes --apply, --verify and --undo");
    if (args->plan &&
        (args->live || verify || args->undo || args->applied.placement || args->applied.force))
        return err_set(err, -EINVAL,
                       "--plan excludes --live, --verify, --undo, --placement and --force");
    if (args->looks && !args->live)
        return err_set(err, -EINVAL, "--looks needs --live");
    if (args->apply && (args->json || args->root || args->undo))
        return err_set(err, -EINVAL, "--apply excludes --json and --undo");
    if (verify && (args->apply || args->undo || args->root))
        return err_set(err, -EINVAL, "--verify excludes --apply and --undo");
    if (args->applied.yes && !args->apply && !verify)
        return err_set(err, -EINVAL, "--yes needs --apply or --verify");
    if (args->applied.force && !args->apply && (!verify || args->verify.restart))
        return err_set(err, -EINVAL, "--force needs --apply, or --verify without --restart");
    if ((args->verify.restart || args->verify.keep || args->verify.less_is_better) && !verify)
        return err_set(err, -EINVAL, "--restart, --keep and --less-is-better need --verify");
    if (args->verify.restart && (args->verify.keep || args->pids.n || args->all || args->gpu_procs))
        return err_set(
            err, -EINVAL,
            "--restart starts the job itself: it excludes --keep, --pid, --gpu-procs and --all");
    if ((args->pids.n > 0) + args->all + args->gpu_procs > 1)
        return err_set(err, -EINVAL, "--pid, --gpu-procs and --all exclude each other");
    return args->applied.placement ? apply_parse_placement(args->applied.placement, &placement, err)
                                   : 0;
}

/* State of one run: watch, report, then apply or verify. */
struct doctor {
    const struct doctor_args *args;
    struct signals *signals;
    struct reader reader;
    struct host host;
    struct topo topo;
    struct diagnosis diagnosis;
    struct doctor_verify verify;
    struct view_plan plan;
    json_t *json; /* printed at the end; NULL = no JSON */
};

static int look(struct doctor *doctor, pid_t job, int *code, struct err *err)
{
    const struct doctor_args *args = doctor->args;
    struct reader *reader = &doctor->reader;
    pid_t pids[OPT_TEXTS_MOST];
    int rc = choose(args, job, reader, doctor->signals, pids, err);
    if (!rc && !args->root)
        processes_find_gpus(reader);
    reader->samples = true;
    if (!rc)
        rc = watch_machine(args, reader, doctor->signals, &doctor->host, &doctor->topo, err);
    if (!rc)
        rc = diagnosis_make(&reader->view, &doctor->diagnosis, err);
    reader->samples = false; /* a later trial only counts CPU time */
    return rc ? rc : report(args, reader, &doctor->diagnosis, &doctor->json, code, err);
}

/* Watches the processes, and finds the workers among them. */
static int find_workers(struct doctor *doctor, struct err *err)
{
    struct reader *reader = &doctor->reader;
    struct view_plan *plan = &doctor->plan;
    pid_t pids[OPT_TEXTS_MOST];
    const char *how;
    int rc = choose(doctor->args, 0, reader, doctor->signals, pids, err);
    if (!rc && reader->view.hidden.npids)
        rc = reader_refuse_hidden(reader, err);
    if (!rc)
        rc = reader_mark(reader, err);
    if (!rc)
        rc = meter_rest(choose_s(doctor->args), doctor->signals, err);
    if (!rc)
        rc = reader_tick(reader, READER_WHOLE, err);
    if (!rc)
        rc = plan_match(&reader->view, pids, doctor->args->pids.n, plan, &how, err);
    for (size_t w = 0; w < plan->n && !rc; w++)
        log_info("worker %u, CPUs %s: process %d, by %s", plan->workers[w].number,
                 bitset_format(&plan->workers[w].cpus), plan->workers[w].pid, how);
    reader->view.plan = plan;
    return rc;
}

/* Prints all that is outside now, with the time; JSON as one line. */
static int report_plan(struct doctor *doctor, struct err *err)
{
    int code;
    json_t *json = NULL;
    const char *utc = text_utc(time(NULL));
    if (!doctor->args->json)
        (void)printf("%s: ", utc);
    int rc = report(doctor->args, &doctor->reader, &doctor->diagnosis, &json, &code, err);
    const int lost = doctor->args->json
                         ? json_value_add(json, "utc:t", utc) | cmd_print_json(json, 0)
                         : cmd_finish();
    return rc || !lost ? rc : err_set(err, -EIO, "a change is lost");
}

/* Reports what has changed. *runs: a worker does; *drifted: a thread is outside. */
static int look_at_plan(struct doctor *doctor, bool *runs, bool *drifted, struct err *err)
{
    struct view *view = &doctor->reader.view;
    struct diagnosis *diagnosis = &doctor->diagnosis;
    bool changed = false;
    int rc = 0;
    plan_look(view, &doctor->plan);
    for (size_t i = 0; i < view->nprocesses && !rc; i++) {
        const struct plan_drift drift = plan_drift_of(view, &view->processes[i]);
        *runs |= drift.worker && view->processes[i].state != 'Z';
        *drifted |= drift.outside;
        changed |= drift.fresh || drift.returned;
        if (drift.fresh) /* it may have loaded what sets masks since */
            rc = reader_read_again(&doctor->reader, &view->processes[i], err);
    }
    if (rc || (!changed && doctor->plan.looks > 1))
        return rc;
    diagnosis_free(diagnosis);
    rc = diagnosis_make(view, diagnosis, err);
    return rc || (!changed && !diagnosis->n) ? rc : report_plan(doctor, err);
}

/* Ends early with the job, and with --apply at the first drift. */
static int hold_plan(struct doctor *doctor, int *code, struct err *err)
{
    const struct doctor_args *args = doctor->args;
    const struct str_mark before = str_mark();
    double left_s = args->look_s > 0 ? args->look_s : 1;
    bool drifted = false, runs = true;
    int rc = find_workers(doctor, err);
    while (!rc) {
        runs = false;
        rc = look_at_plan(doctor, &runs, &drifted, err);
        str_release(before);
        if (rc || left_s <= 0 || !runs || (drifted && args->apply))
            break;
        rc = meter_rest(fmin(left_s, 1), doctor->signals, err);
        left_s -= 1;
        if (!rc)
            rc = reader_tick(&doctor->reader, READER_MASKS, err);
    }
    if (!rc && !drifted && !args->json)
        (void)puts(runs ? "no thread was outside the plan"
                        : "no thread was outside the plan until the job ended");
    *code = drifted ? EXIT_VERDICT : EXIT_GOOD;
    return rc;
}

static int apply(struct doctor *doctor, int *code, struct err *err)
{
    bool done;
    int rc = doctor_apply(&doctor->reader, &doctor->diagnosis, &doctor->args->applied,
                          doctor->signals, &done, err);
    if (!rc && done)
        *code = EXIT_GOOD;
    return rc;
}

static int verify(struct doctor *doctor, int *code, struct err *err)
{
    struct doctor_verify *verify = &doctor->verify;
    bool done;
    int rc = doctor_verify_run(verify, &doctor->reader, &doctor->diagnosis, &done, err);
    enum finding_outcome verdict = verify->trial.gain.outcome;
    *code = !done || verdict == OUTCOME_UNCLEAR ? EXIT_INCONCLUSIVE
            : verdict == OUTCOME_FASTER         ? EXIT_GOOD
                                                : EXIT_VERDICT;
    if (doctor->json)
        (void)json_object_set_new(doctor->json, "verify", trial_to_json(&verify->trial));
    return rc;
}

static int run(struct doctor *doctor, int *code, struct err *err)
{
    const struct doctor_args *args = doctor->args;
    bool verifies = args->verify.metrics.n, wanted = true;
    pid_t job = 0;
    int rc = reader_open(args->root ? args->root : "", &doctor->reader, err);
    if (!rc && verifies)
        rc = doctor_verify_open(&args->verify, &args->applied, doctor->signals,
                                args->json ? stderr : stdout, &doctor->verify, err);
    if (!rc && args->plan)
        rc = doctor_plan_read(args->plan, &doctor->plan, err);
    if (!rc && args->verify.restart)
        rc = doctor_verify_start(&doctor->verify, &doctor->reader, &job, &wanted, err);
    if (!rc && wanted) {
        rc = args->plan ? hold_plan(doctor, code, err) : look(doctor, job, code, err);
        if (rc && job)
            rc = doctor_verify_check_job(&doctor->verify, rc, err);
    }
    if (!rc && wanted && args->apply && (!args->plan || *code))
        rc = apply(doctor, code, err);
    if (!rc && wanted && verifies)
        rc = verify(doctor, code, err);
    return rc;
}

static int doctor_look(const struct doctor_args *args, struct signals *signals, int *code,
                       struct err *err)
{
    struct doctor *doctor = calloc(1, sizeof(*doctor));
    if (!doctor)
        return err_set(err, -ENOMEM, "out of memory");
    doctor->args = args;
    doctor->signals = signals;
    *code = EXIT_GOOD;
    int rc = run(doctor, code, err);
    int finished = doctor->json && !rc ? cmd_print_json(doctor->json, 2) : cmd_finish();
    if (doctor->json && rc)
        json_decref(doctor->json);
    if (finished)
        *code = finished;
    doctor_verify_free(&doctor->verify);
    diagnosis_free(&doctor->diagnosis);
    free(doctor->plan.workers);
    host_free(&doctor->host);
    topo_free(&doctor->topo);
    reader_close(&doctor->reader);
    free(doctor);
    return rc;
}

static int code_of(int rc)
{
    return rc == -EINVAL    ? EXIT_USAGE
           : rc == -ENODATA ? EXIT_INCONCLUSIVE
                            : (int)cmd_not_measured(rc);
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
        doctor_print_checks(args.markdown, stdout);
        return cmd_finish();
    }
    int rc = check_args(&args, &err);
    if (!rc && args.live)
        return doctor_live(&args);
    if (!rc && !args.undo && !args.root)
        doctor_undo_stale_trial(&args.applied);
    if (!rc && args.undo) {
        rc = doctor_undo(&args.applied, &err);
        code = cmd_finish();
    } else if (!rc && (rc = signals_open(&signals, &err)) == 0) {
        signals_allow_stop(!args.verify.metrics.n); /* a stopped trial would keep its masks */
        rc = doctor_look(&args, &signals, &code, &err);
        signals_close(&signals);
    }
    if (rc)
        log_error("%s", err.msg);
    return rc ? code_of(rc) : code;
}

const struct tool_command doctor_tool[] = {{&doctor_command, doctor_main}, {NULL, NULL}};
