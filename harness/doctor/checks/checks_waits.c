#include <math.h>
#include <stdio.h>

#include "harness/doctor/checks/check.h"
#include "harness/doctor/reader/host.h"
#include "harness/lib/text.h"

/* What threads and processes wait for: each other, a lock, their loaders. Pure. */

static const char *stacks_command(int pid, bool is_python)
{
    const char *py_spy = is_python ? str_fmt("py-spy dump --pid %d; ", pid) : "";
    return str_fmt("%sgdb -p %d -batch -ex 'thread apply all bt'", py_spy, pid);
}

/* Reports hung processes: bad if the process was named, else FINDING_DOUBT. */
void check_hung(struct checker *checker)
{
    const struct host *host = checker->view->host;
    for (size_t i = 0; host && i < host->hung.n; i++) {
        const struct hung_process *hung = &host->hung.found[i];
        const struct view_process *who = view_find(checker->view, hung->pid);
        char threads[48] = "its only thread waits";
        if (!who)
            continue;
        const char *command = stacks_command(hung->pid, hung->is_python);
        const char *evidence =
            str_fmt("no thread ran for %.1f s", checker->view->now_s - hung->then_s);
        if (hung->threads > 1)
            (void)snprintf(threads, sizeof(threads), "all %u threads wait", hung->threads);
        struct finding_parts parts = finding_parts_bad(1, &who, 1, evidence, command);
        parts.severity = host->hung.named ? FINDING_BAD : FINDING_DOUBT;
        checker_report(
            checker, &parts,
            "hangs: %s in futex(2) without a time-out, and no other thread is left to wake %s "
            "(%s).%s The command shows where each thread waits; it stops the process briefly.",
            threads, hung->threads > 1 ? "one" : "it", evidence,
            host->hung.named ? "" : " A process that waits for a signal looks the same.");
    }
}

/* Its threads that want a CPU at times. */
struct turns {
    unsigned threads;
    double per_s, cpus, most_cpus; /* most: of one thread */
};

static struct turns find_turns(const struct view *view, const struct view_process *process)
{
    static const double share_least = 0.01;
    struct turns turns = {0};
    for (size_t i = 0; i < process->ntasks; i++) {
        const struct view_task *task = &process->tasks[i];
        if (view_wanted_s(task->oncpu_s, task->wait_s) < share_least * view->wall_s)
            continue;
        turns.threads++;
        turns.per_s += task->turns / view->wall_s;
        turns.cpus += task->oncpu_s / view->wall_s;
        turns.most_cpus = fmax(turns.most_cpus, task->oncpu_s / view->wall_s);
    }
    return turns;
}

enum { LOOKS_LEAST = 50 };

/* Of the time that its threads run or wait for the lock of the interpreter. */
static double find_python_share(const struct convoy *convoy)
{
    const unsigned wanted = convoy->in_python + convoy->running;
    return wanted ? (double)convoy->in_python / wanted : 0;
}

static bool is_held_by_python(const struct convoy *convoy)
{
    static const double share_least = 0.2, threads_least = 0.1;
    return convoy->looks >= LOOKS_LEAST && convoy->in_python >= threads_least * convoy->looks &&
           find_python_share(convoy) >= share_least;
}

void check_interpreter(struct checker *checker)
{
    const struct view *view = checker->view;
    for (size_t i = 0; view->host && i < view->host->convoys.n; i++) {
        const struct convoy *convoy = &view->host->convoys.found[i];
        const struct view_process *who = view_find(view, convoy->pid);
        if (!who || who->start_ticks != convoy->start_ticks || !is_held_by_python(convoy))
            continue;
        const double share = find_python_share(convoy), looks = convoy->looks;
        const char *evidence = str_fmt("%.1f threads wait for it at a time, %.1f run",
                                       convoy->in_python / looks, convoy->running / looks);
        const char *command = str_fmt("py-spy top --gil --pid %d", convoy->pid);
        const struct finding_parts parts = finding_parts_bad(share, &who, 1, evidence, command);
        checker_report(checker, &parts,
                       "its threads wait for the lock of Python's interpreter, for %s of the time "
                       "that they want to run (%s). Use processes in place of threads, or calls "
                       "that release the lock. The command shows who holds it.",
                       text_percent(share), evidence);
    }
}

/*
 * At nearly every instant a thread runs, seldom more, and the others sleep in futex(2), though CPUs
 * are idle. A team sleeps so too between its regions, but then none runs, or most do. One thread
 * that does most of the work is a slow stage, and long turns are one stage after the other: neither
 * is a lock. Threads that are woken count as running until they have found the lock taken:
 * measured, 1.2 to 1.65 of 3 to 4 threads at an instant.
 */
static bool is_convoy(const struct convoy *convoy, const struct turns *turns, double idle_cpus)
{
    static const double active_least = 0.8, futex_least = 0.8, idle_least = 0.3;
    static const double cpus_most = 1.25, one_most = 0.6, turns_least_per_s = 50;
    const double together_most = fmax(1.8, 0.4 * turns->threads);
    return convoy->looks >= LOOKS_LEAST && turns->threads >= CONVOY_THREADS_LEAST &&
           convoy->active >= active_least * convoy->looks &&
           convoy->running <= together_most * convoy->active &&
           convoy->in_futex >= futex_least * convoy->asleep && idle_cpus >= idle_least &&
           turns->cpus <= cpus_most && turns->most_cpus <= one_most * turns->cpus &&
           turns->per_s >= turns_least_per_s;
}

void check_convoy(struct checker *checker)
{
    const struct view *view = checker->view;
    for (size_t i = 0; view->host && i < view->host->convoys.n; i++) {
        const struct convoy *convoy = &view->host->convoys.found[i];
        const struct view_process *who = view_find(view, convoy->pid);
        struct bitset cpus = {0};
        if (!who || who->start_ticks != convoy->start_ticks || is_held_by_python(convoy))
            continue;
        view_add_cpus(view, who, &cpus);
        const struct turns turns = find_turns(view, who);
        const unsigned ncpus = (unsigned)bitset_count(&cpus);
        if (!is_convoy(convoy, &turns, view_idle_s(view, &cpus) / view->wall_s))
            continue;
        const char *evidence = str_fmt("%u threads use %.1f of %u CPUs in %.0f turns a second",
                                       turns.threads, turns.cpus, ncpus, turns.per_s);
        const struct finding_parts parts =
            finding_parts_bad(1 - turns.cpus / fmin(turns.threads, ncpus), &who, 1, evidence,
                              stacks_command(convoy->pid, convoy->is_python));
        checker_report(checker, &parts,
                       "its threads run one at a time, as behind one lock, and the others wait in "
                       "futex(2) (%s). Hold the lock shorter, or shard it: more threads bring "
                       "nothing. The command shows where each waits; it stops the process briefly.",
                       evidence);
    }
}

/* Children of a process, which may feed on them. */
struct loaders {
    size_t n;
    const struct view_process *who[FOUND_PIDS_MAX];
    double least; /* share of the watch that the laziest wanted a CPU */
    struct bitset cpus;
};

static double works(const struct view *view, const struct view_process *process)
{
    return view_wanted_s(view_oncpu_s(process), view_wait_s(process)) / view->wall_s;
}

static void find_loaders(const struct view *view, const struct view_process *of,
                         struct loaders *loaders)
{
    static const double share_least = 0.01;
    const struct view_process *process;
    *loaders = (struct loaders){.least = 1};
    for (size_t at = 0; (process = view_next_watched(view, &at)) && loaders->n < FOUND_PIDS_MAX;) {
        if (process->parent != of->pid || works(view, process) < share_least)
            continue;
        loaders->who[loaders->n++] = process;
        loaders->least = fmin(loaders->least, works(view, process));
        view_add_cpus(view, process, &loaders->cpus);
    }
}

/*
 * It works a little and sleeps mostly, while all its children compute all the time: they are what
 * it waits for. If it were the limit, or a GPU behind it, they would sleep as their queue is full.
 * A process that only starts loaders may stand between, as Python's fork server does. So does a
 * shell that waits for its children: if a terminal started it, it has a session of its own.
 */
void check_loaders(struct checker *checker)
{
    static const double works_least = 0.01, works_most = 0.5, loads_least = 0.9, idle_least = 0.5;
    const struct view *view = checker->view;
    for (size_t i = 0; i < view->nprocesses; i++) {
        const struct view_process *process = &view->processes[i];
        struct loaders loaders;
        find_loaders(view, process, &loaders);
        if (loaders.n < 2 || loaders.least < loads_least)
            continue;
        if (works(view, process) < works_least)
            process = view_find(view, process->parent);
        if (!process || !process->watched || works(view, process) < works_least ||
            works(view, process) > works_most || process->autogroup != loaders.who[0]->autogroup)
            continue;
        const double idle = view_idle_s(view, &loaders.cpus) / view->wall_s;
        const char *storage = "";
        if (view->host && !isnan(view->host->a_second.disk_waits_s))
            storage = str_fmt("; threads wait for storage during %s of the time",
                              text_percent(view->host->a_second.disk_waits_s));
        const char *evidence = str_fmt("%zu children use all of the CPU time that they can, "
                                       "%.1f CPUs idle%s",
                                       loaders.n, idle, storage);
        const struct finding_parts parts = {.severity =
                                                idle >= idle_least ? FINDING_DOUBT : FINDING_NOTE,
                                            .cost = 1 - works(view, process),
                                            .who = &process,
                                            .nwho = 1,
                                            .evidence = evidence};
        checker_report(checker, &parts, "it waits for its loaders, which lack CPU time: %s. %s",
                       evidence,
                       idle >= idle_least
                           ? "Start more of them: CPUs idle."
                           : "More of them bring nothing: prepare the data ahead of time or on a "
                             "GPU, or use more CPUs.");
    }
}
