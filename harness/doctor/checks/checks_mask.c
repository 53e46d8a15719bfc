#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/doctor/checks/check.h"
#include "harness/doctor/checks/check_launch.h"
#include "harness/doctor/checks/check_runtime.h"
#include "harness/doctor/checks/cpu_allocator.h"
#include "harness/lib/text.h"

/* Masks that are too narrow, or differ between the threads of a process. */

struct check_gain check_gain_of_idle(const struct view *view, const struct bitset *cpus,
                                     double oncpu_s, double wait_s, bool is_team_waiting)
{
    static const double least = 1.1;
    const struct check_gain gain =
        check_gain_of_more(oncpu_s, fmin(wait_s, view_idle_s(view, cpus)), is_team_waiting);
    return isnan(wait_s) || gain.times < least ? (struct check_gain){.times = NAN} : gain;
}

/* Waiting of tasks while CPUs idle that the task, or the first thread, may use. */
struct waits_beside_idle {
    double oncpu_s, wait_s;
    struct bitset wide; /* CPUs where all of them could run */
};

static void add_wait_beside_idle(const struct view *view, const struct view_process *process,
                                 const struct view_task *task, struct waits_beside_idle *sum)
{
    static const double idle_cpus = 0.5;
    if (task->mask < 0 || process->mask < 0 || !check_waits(view, task->oncpu_s, task->wait_s))
        return;
    struct bitset usable = view->masks[process->mask];
    const struct bitset *mask = &view->masks[task->mask];
    bool narrow = !bitset_subset(&usable, mask) && bitset_subset(mask, &usable);
    if (narrow)
        bitset_andnot(&usable, mask);
    else
        usable = *mask;
    double idle = view_idle_s(view, &usable) / view->wall_s;
    /* Without a narrower mask, all its CPUs must idle that often: a queue is on one of them. */
    if (idle < (narrow ? idle_cpus : idle_cpus * bitset_count(mask)))
        return;
    sum->oncpu_s += task->oncpu_s;
    sum->wait_s += task->wait_s;
    bitset_or(&sum->wide, &view->masks[process->mask]);
}

void check_idle_cpus(struct checker *checker)
{
    const struct view *view = checker->view;
    for (size_t i = 0; i < view->nprocesses; i++) {
        const struct view_process *process = &view->processes[i];
        struct waits_beside_idle sum = {0};
        char command[COMMAND_MAX] = "";
        if (checker->group_of[i] < 0 || view_is_throttled(view, process))
            continue;
        for (size_t t = 0; t < process->ntasks; t++)
            add_wait_beside_idle(view, process, &process->tasks[t], &sum);
        if (!check_waits(view, sum.oncpu_s, sum.wait_s))
            continue;
        double share = check_wait_share(sum.oncpu_s, sum.wait_s);
        const char *list = bitset_format(&sum.wide);
        const char *evidence =
            str_fmt("waited %s of their runnable time, while of CPUs %.40s %.1f idled",
                    text_percent(share), list, view_idle_s(view, &sum.wide) / view->wall_s);
        (void)check_bind(checker, process, 0, &sum.wide, command, sizeof(command));
        struct finding_parts parts = finding_parts_bind(share, &process, 1, evidence, command);
        if (command[0])
            parts.gain = check_gain_of_idle(view, &sum.wide, sum.oncpu_s, sum.wait_s,
                                            check_team_waits(view, process));
        checker->has_cause[checker->group_of[i]] = true;
        checker_report(
            checker, &parts,
            "its threads wait while CPUs that it may use idle: they %s. Their own masks "
            "are narrower than that of the process, or the scheduler does not spread them.",
            evidence);
    }
}

/* Children of one parent that have the same mask and wait. */
struct children {
    size_t n, at[FOUND_PIDS_MAX]; /* indexes in the view */
    const struct view_process *who[FOUND_PIDS_MAX], *parent;
    double oncpu_s, wait_s;
    bool is_team_waiting;
};

typedef bool child_filter(const struct checker *checker, const struct view_process *process);

static bool has_inherited_cpu(const struct checker *checker, const struct view_process *process)
{
    return process->mask == process->parent_mask &&
           bitset_count(&checker->view->masks[process->mask]) == 1;
}

/* Children of a shell are separate programs, and the user chose their masks. */
static bool is_shell(const struct view_process *process)
{
    static const char *const names[] = {"sh", "bash", "dash", "zsh", "ksh", "fish"};
    bool is_one = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        is_one |= strcmp(process->name, names[i]) == 0;
    return is_one;
}

static bool was_narrowed(const struct checker *checker, const struct view_process *process)
{
    const struct view *view = checker->view;
    const struct view_process *parent = view_find(view, process->parent);
    return parent && !is_shell(parent) && process->parent_mask >= 0 &&
           process->mask != process->parent_mask &&
           bitset_subset(&view->masks[process->mask], &view->masks[process->parent_mask]);
}

/* Process i and the later processes like it; none if an earlier one is like it. */
static struct children find_children(const struct checker *checker, size_t i, child_filter *filter)
{
    const struct view *view = checker->view;
    const struct view_process *first = &view->processes[i];
    struct children children = {.parent = view_find(view, first->parent)};
    for (size_t c = 0; c < view->nprocesses && children.n < FOUND_PIDS_MAX; c++) {
        const struct view_process *one = &view->processes[c];
        if (checker->group_of[c] < 0 || one->mask < 0 || one->mask != first->mask ||
            one->parent != first->parent || view_is_throttled(view, one) ||
            !check_waits(view, view_oncpu_s(one), view_wait_s(one)) || !filter(checker, one))
            continue;
        if (c < i)
            return (struct children){0};
        children.at[children.n] = c;
        children.who[children.n++] = one;
        children.oncpu_s += view_oncpu_s(one);
        children.wait_s += view_wait_s(one);
        children.is_team_waiting |= check_team_waits(view, one);
    }
    return children;
}

/* Writes the command that gives the children these CPUs. */
static struct finding_parts widen(struct checker *checker, const struct children *children,
                                  const struct bitset *cpus, const char *evidence, char *command)
{
    const double oncpu_s = children->oncpu_s, wait_s = children->wait_s;
    for (size_t c = 0; c < children->n; c++) {
        checker->has_cause[checker->group_of[children->at[c]]] = true;
        (void)check_bind(checker, children->who[c], 0, cpus, command, COMMAND_MAX);
    }
    struct finding_parts parts = finding_parts_bind(check_wait_share(oncpu_s, wait_s),
                                                    children->who, children->n, evidence, command);
    parts.gain =
        check_gain_of_idle(checker->view, cpus, oncpu_s, wait_s, children->is_team_waiting);
    return parts;
}

void check_inherited_mask(struct checker *checker)
{
    const struct view *view = checker->view;
    for (size_t i = 0; i < view->nprocesses; i++) {
        const struct view_process *process = &view->processes[i];
        const struct children children = find_children(checker, i, has_inherited_cpu);
        char command[COMMAND_MAX] = "";
        struct bitset allowed;
        view_allowed_cpus(view, process, &allowed);
        if (!children.n || bitset_count(&allowed) < 2)
            continue;
        allocate_spare(checker, (size_t)checker->group_of[i], 2, &allowed);
        const double share = check_wait_share(children.oncpu_s, children.wait_s);
        const char *evidence =
            str_fmt("CPU %d of %u that its cgroup allows; waited %s of its runnable time",
                    bitset_next(&view->masks[process->mask], 0), bitset_count(&allowed),
                    text_percent(share));
        const struct finding_parts parts = widen(checker, &children, &allowed, evidence, command);
        checker_report(checker, &parts,
                       "may use one CPU only, inherited from its parent %s (%d): %s. Start the "
                       "parent without that binding too.",
                       children.parent ? children.parent->name : "?", process->parent, evidence);
    }
}

/* Reports children that are bound to fewer CPUs than there are children. */
void check_narrowed_children(struct checker *checker)
{
    const struct view *view = checker->view;
    for (size_t i = 0; i < view->nprocesses; i++) {
        const struct view_process *process = &view->processes[i];
        const struct children children = find_children(checker, i, was_narrowed);
        char command[COMMAND_MAX] = "";
        if (!children.n || children.n <= bitset_count(&view->masks[process->mask]))
            continue;
        const struct bitset *wide = &view->masks[process->parent_mask];
        const double share = check_wait_share(children.oncpu_s, children.wait_s);
        const char *evidence = str_fmt(
            "bound to CPU %.40s, while it may use %.40s; they waited %s of their "
            "runnable time",
            bitset_format(&view->masks[process->mask]), bitset_format(wide), text_percent(share));
        const struct finding_parts parts = widen(checker, &children, wide, evidence, command);
        checker_report(checker, &parts,
                       "%zu children of %s (%d), %s. Something narrowed their mask after they were "
                       "started, as OpenMP runtimes and worker_init_fn do.",
                       children.n, children.parent->name, children.parent->pid, evidence);
    }
}

/* Tasks whose masks contain that of the first thread and more CPUs. */
struct wider {
    double oncpu_s;
    int mask;        /* the mask that all of them have; -1 = they differ */
    bool is_team;    /* other masks are not nested with the first one's: they are pinned */
    unsigned wanted; /* tasks, the first included, that wanted a CPU at least half of the time */
};

static struct wider find_wider(const struct view *view, const struct view_process *process)
{
    struct wider wider = {.mask = -1};
    const struct bitset *leader = &view->masks[process->mask];
    bool any = false;
    for (size_t t = 0; t < process->ntasks; t++) {
        const struct view_task *task = &process->tasks[t];
        wider.wanted += view_wanted_s(task->oncpu_s, task->wait_s) >= 0.5 * view->wall_s;
        if (task->mask < 0 || task->mask == process->mask)
            continue;
        const struct bitset *mask = &view->masks[task->mask];
        if (bitset_subset(leader, mask)) {
            wider.oncpu_s += task->oncpu_s;
            wider.mask = any && wider.mask != task->mask ? -1 : task->mask;
            any = true;
        } else if (!bitset_subset(mask, leader))
            wider.is_team = true;
    }
    return wider;
}

/* Binds all threads to the CPUs of the first one if these suffice and idle enough, else the first
 * thread to the CPUs of the others. */
static void write_together(struct checker *checker, const struct view_process *process,
                           const struct wider *wider, char *command, size_t size)
{
    const struct view *view = checker->view;
    const struct bitset *first = &view->masks[process->mask];
    bool fits = wider->wanted <= bitset_count(first) && view_idle_s(view, first) >= wider->oncpu_s;
    if (wider->mask >= 0)
        (void)check_bind(checker, process, fits ? 0 : process->pid,
                         &view->masks[fits ? process->mask : wider->mask], command, size);
}

void check_leader_alone(struct checker *checker)
{
    static const double least_cpus = 0.2;
    const struct view *view = checker->view;
    for (size_t i = 0; i < view->nprocesses; i++) {
        const struct view_process *process = &view->processes[i];
        char command[COMMAND_MAX] = "";
        if (checker->group_of[i] < 0 || process->mask < 0)
            continue;
        const struct wider wider = find_wider(view, process);
        double all_s = view_oncpu_s(process);
        if (wider.is_team || wider.oncpu_s < least_cpus * view->wall_s)
            continue;
        const char *list = bitset_format(&view->masks[process->mask]);
        const char *evidence = str_fmt("%s of its CPU time is of threads that may leave CPUs %.60s",
                                       text_percent(wider.oncpu_s / all_s), list);
        write_together(checker, process, &wider, command, sizeof(command));
        const struct finding_parts parts =
            finding_parts_bind(wider.oncpu_s / all_s, &process, 1, evidence, command);
        checker_report(
            checker, &parts,
            "its first thread is bound, the others are not: %s. taskset without -a binds "
            "one thread only.",
            evidence);
    }
}

/*
 * Threads that leave the mask of their process. Some pools count the CPUs of the machine and bind a
 * thread to each, whatever mask the process was given: ONNX Runtime does, unless its number of
 * threads is set (onnxruntime's core/platform/posix/env.cc).
 */

struct escape {
    const struct view_process *process;
    unsigned n; /* threads */
    double oncpu_s, wait_s;
    struct bitset cpus;                             /* outside its mask */
    size_t nvictims;                                /* groups whose CPUs these are */
    const struct view_process *who[FOUND_PIDS_MAX]; /* it, and the leads of those groups */
};

const char *check_binding_setting(const struct view_process *process)
{
    static const char *const names[] = {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY",
                                        "KMP_AFFINITY"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = view_setting(process, names[i]);
        if (value && strcasecmp(value, "false") != 0 && strcmp(value, "disabled") != 0)
            return names[i];
    }
    return NULL;
}

static void find_outside(const struct view *view, struct escape *escape)
{
    const struct view_process *process = escape->process;
    const struct bitset *own = &view->masks[process->mask];
    for (size_t t = 0; t < process->ntasks; t++) {
        const struct view_task *task = &process->tasks[t];
        if (task->mask < 0 || view_wanted_s(task->oncpu_s, task->wait_s) < 0.1 * view->wall_s ||
            bitset_subset(&view->masks[task->mask], own) ||
            bitset_subset(own, &view->masks[task->mask]))
            continue;
        escape->n++;
        escape->oncpu_s += task->oncpu_s;
        escape->wait_s += task->wait_s;
        bitset_or(&escape->cpus, &view->masks[task->mask]);
    }
    bitset_andnot(&escape->cpus, own);
}

/*
 * True if the mask of its first thread is that of the process: inherited, or shared by further
 * threads. A program that binds each of its threads has such a mask too, and leaves nothing.
 */
static bool has_mask_of_its_own(const struct view *view, const struct view_process *process)
{
    unsigned same = 0;
    for (size_t t = 0; t < process->ntasks; t++)
        same += process->tasks[t].mask == process->mask;
    return process->mask == process->parent_mask || same > 2 ||
           bitset_count(&view->masks[process->mask]) > 1;
}

/* Finds the groups that have these CPUs, and none of the process's. False: it shares its own CPUs
 * with another one, so that they are no slice of the machine. */
static bool find_victims(const struct checker *checker, struct escape *escape)
{
    const struct view *view = checker->view;
    const struct view_process *process = escape->process;
    escape->who[0] = process;
    for (size_t g = 0; g < checker->ngroups; g++) {
        const struct view_process *lead = checker->groups[g].lead;
        if ((int)g == checker->group_of[process - view->processes] || lead->mask < 0)
            continue;
        if (lead->mask == process->mask && process->mask != process->parent_mask)
            return false;
        const struct bitset *its = &view->masks[lead->mask];
        if (bitset_intersects(its, &escape->cpus) &&
            !bitset_intersects(its, &view->masks[process->mask]) &&
            escape->nvictims + 1 < FOUND_PIDS_MAX)
            escape->who[++escape->nvictims] = lead;
    }
    return escape->nvictims || has_mask_of_its_own(view, process);
}

/*
 * What all of them spin is gained if each team keeps to its own CPUs. Fewer threads get a smaller
 * part of these CPUs beside other processes.
 */
static struct check_gain find_gain(const struct view *view, const struct escape *escape)
{
    double oncpu_s = 0, wait_s = 0, spun_s = 0;
    unsigned samples = 0;
    struct bitset cpus = escape->cpus;
    for (size_t i = 0; i <= escape->nvictims; i++) {
        const struct view_process *one = escape->who[i];
        const double its_s = view_oncpu_s(one), spun = view_spin_share(one);
        samples += one->samples + one->missing_samples;
        oncpu_s += its_s;
        wait_s += view_wait_s(one);
        spun_s += isnan(spun) ? 0 : spun * its_s;
        bitset_or(&cpus, &view->masks[one->mask]);
    }
    const double ran = oncpu_s / view->wall_s;
    struct check_spin spin = {.share = spun_s / oncpu_s,
                              .samples = samples,
                              .ran = ran,
                              .wanted = view_wanted_s(oncpu_s, wait_s) / view->wall_s,
                              .room = bitset_count(&cpus),
                              .others = fmax(view_busy_s(view, &cpus) / view->wall_s - ran, 0)};
    if (spin.share < check_spinning_least)
        return (struct check_gain){.times = NAN};
    const struct check_gain alone = check_gain_of_fewer(&spin);
    spin.threads = spin.room;
    const struct check_gain beside = check_gain_of_fewer(&spin);
    return beside.times < alone.times || isnan(beside.times) ? beside : alone;
}

static void report_escape(struct checker *checker, const struct escape *escape)
{
    const struct view_process *process = escape->process;
    const struct bitset *own = &checker->view->masks[process->mask];
    const struct check_team team = check_team_of(checker->view, process);
    const unsigned fit = bitset_count(own);
    const double share = check_wait_share(escape->oncpu_s, escape->wait_s);
    struct env_changes env_changes;
    struct launch launch;
    const char *runtime = check_team_format(&team);
    check_team_set(process, &team, fit, &env_changes);
    launch_write(checker->view, process, &env_changes, NULL, fit, &launch);
    const char *how = str_fmt("%s%s", launch.how[0] ? " " : "", launch.how);
    const char *evidence =
        str_fmt("%u of %s (%d) on CPUs %.40s, while its mask is %.40s; waited %s of their "
                "runnable time there",
                escape->n, process->name, process->pid, bitset_format(&escape->cpus),
                bitset_format(own), text_percent(share));
    struct finding_parts parts =
        finding_parts_bad(share, escape->who, escape->nvictims + 1, evidence, launch.command);
    parts.cure = CURE_RESTART;
    parts.gain = find_gain(checker->view, escape);
    parts.tail = how;
    parts.env_changes = &env_changes;
    checker_report(checker, &parts,
                   "threads leave the mask of their process: %s. The program binds them itself. "
                   "%s. Set it to %u: the CPUs of the mask.",
                   evidence, runtime, fit);
    for (size_t i = 0; i <= escape->nvictims; i++)
        checker->has_cause[checker->group_of[escape->who[i] - checker->view->processes]] = true;
}

void check_escape(struct checker *checker)
{
    const struct view *view = checker->view;
    for (size_t i = 0; i < view->nprocesses; i++) {
        struct escape escape = {.process = &view->processes[i]};
        bool is_loss;
        if (checker->group_of[i] < 0 || escape.process->mask < 0 ||
            check_binding_setting(escape.process) || view_is_throttled(view, escape.process))
            continue;
        find_outside(view, &escape);
        if (!escape.n || !find_victims(checker, &escape))
            continue;
        is_loss = check_waits(view, escape.oncpu_s, escape.wait_s);
        for (size_t v = 1; v <= escape.nvictims && !is_loss; v++)
            is_loss = check_waits(view, view_oncpu_s(escape.who[v]), view_wait_s(escape.who[v]));
        if (is_loss)
            report_escape(checker, &escape);
    }
}
