#include "harness/doctor/doctor_change.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/doctor/checks/cure.h"
#include "harness/doctor/doctor_apply.h"
#include "harness/doctor/reader/host.h"
#include "harness/lib/text.h"
#include "harness/plan/check.h"
#include "harness/show/doc.h"

const char doctor_usual_placement[] = "partition";

/* Most findings that are named because their fix is another one. */
enum { NAMED = 3 };

static const char and_children[] = "and what it started";

/* What doctor_change_make works on. */
struct planning {
    const struct view *view;
    const struct doctor_apply_options *options;
    FILE *out;
    struct cure_plan cures;
    const struct view_process **leads; /* owned: the processes to bind, with what they started */
    size_t n;
    struct doctor_change *change;
};

int doctor_find_state(const struct doctor_apply_options *options, char *path, size_t size,
                      struct err *err)
{
    if (!options->state)
        return apply_state_path(path, size, err);
    if ((size_t)snprintf(path, size, "%s", options->state) >= size)
        return err_set(err, -ENAMETOOLONG, "the path of the state file is too long");
    return 0;
}

char *doctor_format_state(const struct doctor_apply_options *options, char *buf, size_t size)
{
    buf[0] = '\0';
    if (options->state)
        (void)check_append(buf, size, " --state %s", text_shell_word(options->state));
    return buf;
}

const char *doctor_whose(unsigned uid)
{
    const struct passwd *user = uid == getuid() ? NULL : getpwuid(uid);
    if (user)
        return str_fmt(" of %s", user->pw_name);
    if (uid != getuid())
        return str_fmt(" of user %u", uid);
    return "";
}

bool doctor_is_own_process(const void *arg, const struct view_process *process)
{
    (void)arg;
    return process->pid == getpid() || process->parent == getpid();
}

/* True also for the rest of the job that the user named. */
static bool is_target(const void *arg, const struct view_process *process)
{
    const struct planning *planning = arg;
    const struct host *host = planning->view->host;
    return doctor_is_own_process(NULL, process) || (host && host->hung.named && process->watched) ||
           apply_worker_of(planning->view, process, planning->leads, planning->n) < planning->n;
}

static void show(const struct planning *planning, const struct view_process *process,
                 const char *what, const struct bitset *cpus)
{
    struct bitset had = {0};
    view_add_cpus(planning->view, process, &had);
    (void)fprintf(planning->out, "  %s (%d)%s, %s: CPUs %s instead of %s\n", process->name,
                  (int)process->pid, doctor_whose(process->uid), what, bitset_format(cpus),
                  bitset_format(&had));
}

/* Without root, only the user's own processes can be bound. */
static bool may_bind(const struct planning *planning, const struct view_process *process)
{
    if (planning->view->is_root || process->uid == planning->view->uid)
        return true;
    (void)fprintf(planning->out, "%s (%d)%s belongs to another user: only root can bind it.\n",
                  process->name, (int)process->pid, doctor_whose(process->uid));
    return false;
}

static int add_process(struct planning *planning, const struct view_process *process, int tid,
                       bool is_lead, const struct bitset *cpus, struct err *err)
{
    struct doctor_change *change = planning->change;
    const size_t most = planning->view->nprocesses + planning->cures.binds.n;
    struct bitset now = {0};
    if (!change->processes)
        change->processes = calloc(most + 1, sizeof(*change->processes));
    if (!change->processes)
        return err_set(err, -ENOMEM, "out of memory for %zu processes", most);
    struct apply_process *one = &change->processes[change->n++];
    *one = (struct apply_process){.pid = process->pid,
                                  .start_ticks = process->start_ticks,
                                  .is_lead = is_lead,
                                  .tid = tid,
                                  .cpus = *cpus};
    memcpy(one->name, process->name, sizeof(one->name));
    for (size_t t = 0; tid && t < process->ntasks; t++)
        if (process->tasks[t].tid == tid && process->tasks[t].mask >= 0)
            now = planning->view->masks[process->tasks[t].mask];
    if (!tid)
        view_add_cpus(planning->view, process, &now);
    change->is_new |= process->watched && !bitset_equal(&now, cpus);
    return 0;
}

/* True if the change binds the busy process above it too. */
static bool has_lead(const struct planning *planning, const struct view_process *process)
{
    const struct view_process *lead = view_lead(planning->view, process);
    for (size_t b = 0; lead != process && b < planning->cures.binds.n; b++)
        if (planning->cures.binds.all[b].pid == lead->pid)
            return true;
    return false;
}

/* Binds as the commands of the findings do. */
static int take_binds(struct planning *planning, struct err *err)
{
    struct doctor_change *change = planning->change;
    const struct check_binds *binds = &planning->cures.binds;
    bool fits = true;
    int rc = 0;
    (void)fputs("as the findings say:\n", planning->out);
    for (size_t b = 0; b < binds->n && !rc; b++) {
        const struct check_bind *bind = &binds->all[b];
        const struct view_process *process = view_find(planning->view, bind->pid);
        if (!process || !may_bind(planning, process))
            continue;
        planning->leads[planning->n++] = process;
        if (!b || bind[-1].pid != bind->pid)
            show(planning, process, bind->tid ? "some threads" : and_children, &bind->cpus);
        fits &= check_append_bind(planning->view, process, bind->tid, &bind->cpus, change->commands,
                                  sizeof(change->commands));
        rc = add_process(planning, process, bind->tid, !has_lead(planning, process), &bind->cpus,
                         err);
    }
    if (!fits)
        change->commands[0] = '\0';
    return rc;
}

/* True if the findings bind the worker or a process that it started. */
static bool is_concerned(const struct planning *planning, const struct view_process *lead)
{
    for (size_t b = 0; b < planning->cures.binds.n; b++) {
        const struct view_process *process =
            view_find(planning->view, planning->cures.binds.all[b].pid);
        if (process && apply_worker_of(planning->view, process, &lead, 1) == 0)
            return true;
    }
    return planning->options->force;
}

static void choose_leads(struct planning *planning)
{
    const size_t n = apply_find_leads(planning->view, planning->leads);
    for (size_t w = 0; w < n; w++)
        if (is_concerned(planning, planning->leads[w]) && may_bind(planning, planning->leads[w]))
            planning->leads[planning->n++] = planning->leads[w];
}

static int list_workers(struct planning *planning, const struct plan *plan, struct err *err)
{
    const struct view *view = planning->view;
    int rc = 0;
    for (size_t i = 0; i < view->nprocesses && !rc; i++) {
        const struct view_process *process = &view->processes[i];
        size_t w = apply_worker_of(view, process, planning->leads, planning->n);
        if (w == planning->n || process->kernel || process->state == 'Z')
            continue;
        rc = add_process(planning, process, 0, process == planning->leads[w],
                         &plan->workers[w].cpus, err);
    }
    return rc;
}

/* Binds as a placement does. */
static int take_placement(struct planning *planning, struct err *err)
{
    const char *placement =
        planning->options->placement ? planning->options->placement : doctor_usual_placement;
    struct topo own = {0};
    struct findings findings = {0};
    struct plan plan = {0};
    const struct topo *topo = host_topo(planning->view);
    int rc = 0;
    choose_leads(planning);
    if (!planning->n)
        return 0;
    if (!topo) {
        rc = host_load_topo(&own, err);
        topo = &own;
    }
    if (!rc)
        rc = apply_plan(planning->view, topo, planning->leads, planning->n, placement, &plan, err);
    if (!rc)
        (void)fprintf(planning->out, "placement %s:\n", placement);
    for (size_t w = 0; w < planning->n && !rc; w++)
        show(planning, planning->leads[w], and_children, &plan.workers[w].cpus);
    if (!rc) {
        plan_check(topo, &plan, &findings);
        doc_print_findings(&findings, planning->out, false);
        rc = list_workers(planning, &plan, err);
    }
    findings_free(&findings);
    plan_free(&plan);
    topo_free(&own);
    return rc;
}

/* Names the findings that this change does not fix, and what does. */
static void report_others(const struct planning *planning)
{
    const struct cure_plan *cures = &planning->cures;
    bool has_settings = false;
    for (size_t i = 0; i < cures->nother && i < NAMED; i++) {
        const struct found *found = cures->other[i];
        has_settings |= found->env_changes.n;
        text_wrapped(planning->out, 0, 2, "Not bound: %s. The fix of %s is %s.",
                     found->finding.subject, found->finding.id, cure_format_other(found));
    }
    if (cures->nother > NAMED)
        (void)fprintf(planning->out, "Nor for %zu more findings.\n", cures->nother - NAMED);
    if (has_settings)
        (void)fputs("This tries that start, and measures its gain:\n"
                    "  contend doctor --verify METRIC --restart 'COMMAND'\n",
                    planning->out);
}

static void report_nothing(const struct planning *planning)
{
    const bool is_left_out = planning->cures.binds.n || planning->options->force;
    const bool is_busy = apply_find_leads(planning->view, planning->leads);
    (void)fprintf(planning->out, "nothing was changed: %s\n",
                  is_left_out || !is_busy     ? "no busy process can be bound"
                  : planning->cures.is_unsure ? "the gain is not known; --verify METRIC measures it"
                  : planning->cures.nother
                      ? "a binding would not fix this, and may harm; --force binds"
                      : "no error, and a binding may slow healthy jobs; --force binds");
}

static int lock_state(const struct doctor_apply_options *options, struct doctor_change *change,
                      struct err *err)
{
    int rc = options->state ? 0 : apply_make_folder(change->state, err);
    return rc ? rc : apply_lock_take(change->state, &change->lock, err);
}

int doctor_change_make(const struct view *view, const struct diagnosis *diagnosis, bool tries,
                       const struct doctor_apply_options *options, FILE *out,
                       struct doctor_change *change, struct err *err)
{
    struct planning planning = {.view = view, .options = options, .out = out, .change = change};
    *change = (struct doctor_change){0};
    int rc = cure_decide(diagnosis, tries, &planning.cures, err);
    const bool finds = planning.cures.binds.n;
    (void)fputc('\n', out);
    if (!rc)
        rc = doctor_find_state(options, change->state, sizeof(change->state), err);
    planning.leads = calloc(view->nprocesses + planning.cures.binds.n + 1, sizeof(const void *));
    if (!rc && !planning.leads)
        rc = err_set(err, -ENOMEM, "out of memory for %zu processes", view->nprocesses);
    if (!rc && finds && !options->placement)
        rc = take_binds(&planning, err);
    else if (!rc && (finds || options->force))
        rc = take_placement(&planning, err);
    if (!rc && !options->force)
        report_others(&planning);
    if (!rc && change->n)
        rc = lock_state(options, change, err);
    if (!rc && change->n && !view->plan) {
        bystanders_find(view, is_target, &planning, &change->bystanders);
        doctor_print_bystanders(&change->bystanders, out);
    } else if (!rc && !change->n)
        report_nothing(&planning);
    free(planning.leads);
    cure_free(&planning.cures);
    return rc;
}

void doctor_change_free(struct doctor_change *change)
{
    free(change->processes);
    apply_lock_release(&change->lock);
    *change = (struct doctor_change){0};
}

int doctor_change_do(const struct doctor_change *change, enum apply_purpose purpose, size_t *bound,
                     struct err *err)
{
    struct apply_left left;
    struct err ignored;
    int rc = apply_bind(change->processes, change->n, purpose, change->state, bound, err);
    if (rc && rc != -EEXIST)
        (void)apply_undo(change->state, getpid(), &left, &ignored);
    return rc;
}

bool doctor_change_name_pids(const struct doctor_change *change, char *buf, size_t size)
{
    bool all = true;
    for (size_t i = 0; i < change->n; i++)
        if (change->processes[i].is_lead)
            all &= check_append(buf, size, " --pid %d", (int)change->processes[i].pid);
    return all;
}

enum { GRACE_TRIES = 150, GRACE_PAUSE_US = 20000 };

struct job_line {
    const char *line;
    struct env_changes *env_changes;
    int output_fd;
};

static int run_shell(void *arg)
{
    const struct job_line *job = arg;
    for (unsigned i = 0; job->env_changes && i < job->env_changes->n; i++) {
        char *setting = job->env_changes->settings[i];
        if (strchr(setting, '=') ? putenv(setting) : unsetenv(setting))
            return 127;
    }
    return process_become_shell(job->line, job->output_fd, job->output_fd);
}

/* Runs as the parent of the job, and ends all of it when the job or contend ends. */
static int supervise_job(void *arg)
{
    struct process shell;
    int status;
    process_adopt(true);
    process_end_with_parent();
    if (process_start(&shell, false, run_shell, arg))
        return 127;
    process_wait(&shell, &status);
    (void)process_end_below(getpid());
    return 0;
}

int doctor_launch_begin(const char *line, struct env_changes *env_changes, int output_fd,
                        struct doctor_launch *launch, struct err *err)
{
    struct job_line job = {line, env_changes, output_fd};
    int rc = process_start(&launch->process, true, supervise_job, &job);
    return rc ? err_sys(err, rc, "cannot start '%.100s'", line) : 0;
}

bool doctor_launch_runs(const struct doctor_launch *launch)
{
    return !process_is_zombie(&launch->process);
}

void doctor_launch_end(struct doctor_launch *launch)
{
    int status;
    if (!launch->process.pid)
        return;
    (void)process_signal_below(launch->process.pid, SIGTERM);
    for (int i = 0; i < GRACE_TRIES && !process_is_zombie(&launch->process); i++)
        (void)usleep(GRACE_PAUSE_US);
    if (!process_is_zombie(&launch->process))
        (void)process_end_below(launch->process.pid);
    (void)process_end(&launch->process, GRACE_TRIES * GRACE_PAUSE_US * 1e-6, &status);
}
