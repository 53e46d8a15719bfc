/*
 * Threads that leave the mask of their process. Some pools count the CPUs of the machine and bind a
 * thread to each, whatever mask the process was given: ONNX Runtime does, unless its number of
 * threads is set (onnxruntime's core/platform/posix/env.cc).
 */
#include <math.h>
#include <stdlib.h>

#include "harness/doctor/checks/check.h"
#include "harness/doctor/checks/check_launch.h"
#include "harness/doctor/checks/check_runtime.h"
#include "harness/lib/str.h"
#include "harness/lib/text.h"

struct escape {
    const struct view_process *process;
    unsigned n; /* threads */
    double oncpu_s, wait_s;
    struct bitset cpus;                             /* outside its mask */
    size_t nvictims;                                /* groups whose CPUs these are */
    const struct view_process *who[FOUND_PIDS_MAX]; /* it, and the leads of those groups */
};

/* True if the user asked its OpenMP runtime to bind its threads. */
static bool is_bound_by_setting(const struct view_process *process)
{
    static const char *const names[] = {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY",
                                        "KMP_AFFINITY"};
    bool is_one = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        is_one |= view_setting(process, names[i]) != NULL;
    return is_one;
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
            is_bound_by_setting(escape.process) || view_is_throttled(view, escape.process))
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
