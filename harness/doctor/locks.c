#include "harness/doctor/locks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/array.h"
#include "harness/base/text.h"
#include "harness/doctor/looking.h"
#include "harness/sys/clock.h"
#include "harness/sys/proc.h"

/* Between the two looks at what seems stuck. */
static const double apart_s = 0.1;
/* Forks back to whoever may have held a lock. */
enum { FORKS_MOST = 4 };

static bool is_behind_call(struct looking *at, int tid, uint64_t address)
{
    uint8_t before[LOCK_CALL_BYTES];
    return address > sizeof(before) &&
           looking_read_memory(at, tid, address - sizeof(before), before, sizeof(before)) &&
           view_is_call(before);
}

#ifdef __aarch64__
static bool was_refused(struct looking *at, const struct asleep *one)
{
    const struct asleep *other = &at->inheriting;
    uint64_t here[LOCK_FRAME_WORDS], there[LOCK_FRAME_WORDS];
    size_t record;
    return looking_read_memory(at, one->tid, one->call.stack, here, sizeof(here)) &&
           looking_read_memory(at, other->tid, other->call.stack, there, sizeof(there)) &&
           view_are_alike(&one->call, here, &other->call, there, &record) &&
           is_behind_call(at, one->tid, view_way_back(here[record + 1])) &&
           is_behind_call(at, other->tid, view_way_back(there[record + 1]));
}
#else
/* `code` is of the function in which that one waits. */
static bool is_beside(struct looking *at, const struct asleep *other, uint64_t code)
{
    uint64_t there[LOCK_FRAME_WORDS];
    bool known = looking_read_memory(at, other->tid, other->call.stack, there, sizeof(there));
    for (size_t i = 0; known && i < LOCK_FRAME_WORDS; i++)
        if (there[i] < code + LOCK_NEAR_CODE && code < there[i] + LOCK_NEAR_CODE &&
            is_behind_call(at, other->tid, there[i]))
            return true;
    return false;
}

static bool was_refused(struct looking *at, const struct asleep *one)
{
    uint64_t here[LOCK_STACK_MOST / sizeof(uint64_t)];
    size_t n = (one->call.address - one->call.stack) / sizeof(here[0]);
    if (!looking_read_memory(at, one->tid, one->call.stack, here, n * sizeof(here[0])))
        return false;
    while (n && !is_behind_call(at, one->tid, here[n - 1]))
        n--;
    return n && is_beside(at, &at->inheriting, here[n - 1]);
}
#endif

/* False: it waits for nothing that names who holds it. */
static bool look_at_task(struct looking *at, int tid, struct lock_wait *wait)
{
    char text[256];
    struct asleep asleep = {.tid = tid};
    uint32_t words[LOCK_WORDS] = {0};
    at->threads++;
    if (!looking_read(at, tid, "syscall", text, sizeof(text))) {
        at->refused |= errno == EPERM || errno == EACCES;
        return false;
    }
    if (!view_read_futex(text, &asleep.call) || !view_may_be_lock(&asleep.call))
        return false;
    const uint64_t address = asleep.call.address;
    /* What is behind a word may not be mapped. */
    if (!looking_read_memory(at, tid, address, words, sizeof(words)) &&
        !looking_read_memory(at, tid, address, words, sizeof(words[0])))
        return false;
    struct lock_seen seen = view_read_lock(&asleep.call, words);
    if (seen.kind == LOCK_INHERITING)
        at->inheriting = asleep;
    if (view_may_be_refused(&asleep.call, words[0]) && at->nrefused < REFUSED_MOST)
        at->may_be_refused[at->nrefused++] = asleep;
    *wait = (struct lock_wait){.tid = tid,
                               .lock = address,
                               .kind = seen.kind,
                               .number = seen.holder,
                               .is_shared = seen.is_shared};
    return seen.kind != LOCK_NONE;
}

static bool add_wait(const struct lock_wait *wait, struct lock_process *seen)
{
    struct lock_wait *grown =
        array_grown(seen->waits, seen->nwaits, &seen->capacity, sizeof(*grown));
    if (!grown)
        return false;
    seen->waits = grown;
    grown[seen->nwaits++] = *wait;
    return true;
}

static uint32_t lead_number(const struct looking *at)
{
    for (size_t i = 0; i < at->ntasks; i++)
        if (at->tasks[i].tid == at->pid)
            return at->tasks[i].number;
    return UINT32_MAX;
}

/*
 * What is called a holder has been a thread: of this process, since when numbers only rise; or of
 * one that it was forked from, which has it still.
 */
static bool was_thread(const struct view *view, const char *root, const struct looking *at,
                       uint32_t number)
{
    const struct view_process *process = view_find(view, at->pid);
    bool was = number > lead_number(at);
    for (int hops = 0; process && hops < FORKS_MOST && !was; hops++) {
        struct looking above;
        process = view_find(view, process->parent);
        if (!process || process->kernel || !looking_open(process, root, &above))
            break;
        if (looking_list(&above)) {
            looking_number(&above);
            was = looking_has_number(&above, number);
        }
        looking_close(&above);
    }
    return was;
}

/*
 * The word at which the C library waits for the end of that thread is in what it keeps of it, 16
 * bytes before the list of robust locks that it has told the kernel of (struct pthread,
 * nptl/descr.h).
 */
static bool is_end_of(const char *root, int tid, uint64_t address)
{
    enum { TO_ROBUST_LIST = 16 };
    void *head = NULL;
    size_t size;
    return !root[0] && tid && syscall(SYS_get_robust_list, tid, &head, &size) == 0 &&
           (uint64_t)(uintptr_t)head == address + TO_ROBUST_LIST;
}

static void find_holders(const struct view *view, const char *root, struct looking *at,
                         bool lead_ended, struct lock_process *seen)
{
    looking_number(at);
    for (size_t w = 0; w < seen->nwaits; w++) {
        struct lock_wait *wait = &seen->waits[w];
        for (size_t i = 0; i < at->ntasks && !wait->holder; i++)
            if (at->tasks[i].number == wait->number && !(lead_ended && at->tasks[i].tid == at->pid))
                wait->holder = at->tasks[i].tid;
        if (wait->kind == LOCK_THREAD_END && !is_end_of(root, wait->holder, wait->lock))
            wait->kind = LOCK_NONE;
        if (lock_wait_is_lost(wait) && !(lead_ended && looking_has_number(at, wait->number)) &&
            !was_thread(view, root, at, wait->number))
            wait->kind = LOCK_NONE;
    }
}

static int by_waiter(const void *a, const void *b)
{
    const struct lock_wait *one = a, *other = b;
    return (one->tid > other->tid) - (one->tid < other->tid);
}

static void look_at_one(struct looking *at, int tid, struct lock_process *seen)
{
    struct lock_wait wait;
    at->cut |= at->threads == LOCKS_THREADS_MOST;
    if (!at->cut && !at->refused && look_at_task(at, tid, &wait))
        at->cut = !add_wait(&wait, seen);
}

static void add_refused(struct looking *at, struct lock_process *seen)
{
    for (unsigned i = 0; i < at->nrefused && at->inheriting.tid; i++) {
        const struct asleep *one = &at->may_be_refused[i];
        const struct lock_wait wait = {
            .tid = one->tid, .kind = LOCK_REFUSED, .lock = one->call.address, .holder = one->tid};
        if (was_refused(at, one))
            at->cut |= !add_wait(&wait, seen);
    }
}

/* Of one that is watched, those that are known, as a list of them takes time; and of them none that
 * ran since the mark, as it does not wait for ever. */
static void look_at_tasks(const struct view_process *process, struct looking *at,
                          struct lock_process *seen)
{
    if (!process->watched && !looking_list(at))
        return;
    for (size_t i = 0; i < at->ntasks; i++)
        look_at_one(at, at->tasks[i].tid, seen);
    for (size_t i = 0; i < process->ntasks; i++)
        if (process->tasks[i].oncpu_s <= 0)
            look_at_one(at, process->tasks[i].tid, seen);
    add_refused(at, seen);
    if (seen->nwaits)
        qsort(seen->waits, seen->nwaits, sizeof(seen->waits[0]), by_waiter);
}

/* The waits of a process. Returns how many threads that cost. */
static unsigned collect(const struct view *view, const char *root,
                        const struct view_process *process, struct lock_process *seen,
                        struct looking *at)
{
    *seen = (struct lock_process){.pid = process->pid, .start_ticks = process->start_ticks};
    if (!looking_open(process, root, at))
        return 1;
    look_at_tasks(process, at, seen);
    /* Now that there is one, it has to be all of them, also the newest. */
    if (seen->nwaits && looking_list(at))
        find_holders(view, root, at, process->state == 'Z', seen);
    (void)lock_waits_join(seen->waits, seen->nwaits);
    return at->threads + 1;
}

/* And names, which wait until there is something to tell. */
static void read_switches(const struct looking *at, struct lock_process *seen)
{
    char text[4096];
    for (size_t i = 0; i < seen->nwaits; i++) {
        struct lock_wait *wait = &seen->waits[i];
        if (!looking_read(at, wait->tid, "status", text, sizeof(text)) ||
            !view_read_switches(text, &wait->switches))
            wait->kind = LOCK_NONE; /* it has ended */
        if (looking_read(at, wait->tid, "comm", text, sizeof(text))) {
            text[strcspn(text, "\n")] = '\0';
            proc_copy_text(wait->name, sizeof(wait->name), text_one_line(text));
        }
    }
}

static void free_waits(struct lock_process *seen)
{
    free(seen->waits);
    *seen = (struct lock_process){0};
}

/* One of its threads is in futex(2), or whether is not told. */
static bool may_be_stuck(struct looking *at)
{
    char text[64];
    (void)looking_list(at);
    for (size_t i = 0; i < at->ntasks && i < LOCKS_THREADS_MOST; i++)
        if (!looking_read(at, at->tasks[i].tid, "wchan", text, sizeof(text)) ||
            strcmp(text, "0") == 0 || strstr(text, "futex"))
            return true;
    return false;
}

static unsigned look_at_process(const struct view *view, const char *root,
                                const struct view_process *process, struct locks *locks)
{
    struct lock_process seen;
    struct looking at;
    unsigned cost = collect(view, root, process, &seen, &at);
    locks->skipped += at.cut;
    locks->refused += at.refused && process->watched && may_be_stuck(&at);
    if (lock_waits_are_stuck(seen.waits, seen.nwaits) && locks->n < LOCKS_PROCESSES_MOST) {
        seen.then_s = (double)clock_now_ns() / 1e9;
        read_switches(&at, &seen);
        locks->stuck[locks->n++] = seen;
    } else
        free_waits(&seen);
    looking_close(&at);
    return cost;
}

static bool is_wanted(const struct view *view, const struct locks *locks,
                      const struct view_process *process)
{
    if (process->kernel || (process->state == 'Z' && process->threads < 2))
        return false;
    if (process->watched)
        return !locks->others;
    return locks->others && process->cpu_s <= 0 &&
           (view->is_root || process->uid == (unsigned)geteuid());
}

/* What comes behind those that are watched, if it is asked for. */
static bool go_on(struct locks *locks)
{
    if (locks->others || !locks->everybody)
        return false;
    locks->others = true;
    locks->last_pid = 0;
    return true;
}

void locks_look(const struct view *view, const char *root, struct locks *locks)
{
    unsigned cost = 0;
    do {
        for (size_t i = 0; i < view->nprocesses; i++) {
            const struct view_process *process = &view->processes[i];
            if (process->pid <= locks->last_pid || !is_wanted(view, locks, process))
                continue;
            if (cost && cost + process->threads > LOCKS_THREADS_MOST)
                return;
            cost += look_at_process(view, root, process, locks);
            locks->last_pid = process->pid;
        }
    } while (go_on(locks));
}

static unsigned count_left(const struct view *view, struct locks *locks)
{
    unsigned n = 0;
    do {
        for (size_t i = 0; i < view->nprocesses; i++)
            n += view->processes[i].pid > locks->last_pid &&
                 is_wanted(view, locks, &view->processes[i]);
    } while (go_on(locks));
    return n;
}

static double age_s(const struct lock_process *seen)
{
    return (double)clock_now_ns() / 1e9 - seen->then_s;
}

/* False: it is so no more. */
static bool look_again(const struct view *view, const char *root, struct lock_process *seen)
{
    const struct view_process *process = view_find(view, seen->pid);
    struct lock_process now;
    struct looking at;
    if (!process || process->start_ticks != seen->start_ticks)
        return false;
    double left_s = apart_s - age_s(seen);
    if (left_s > 0)
        (void)nanosleep(&(struct timespec){.tv_nsec = (long)(left_s * 1e9)}, NULL);
    (void)collect(view, root, process, &now, &at);
    read_switches(&at, &now);
    looking_close(&at);
    now.then_s = seen->then_s;
    now.still_s = age_s(seen);
    bool is_stuck = lock_waits_confirm(seen->waits, seen->nwaits, now.waits, now.nwaits);
    free_waits(seen);
    *seen = now;
    return is_stuck;
}

void locks_finish(const struct view *view, const char *root, struct locks *locks)
{
    size_t kept = 0;
    locks->skipped += count_left(view, locks);
    for (size_t i = 0; i < locks->n; i++) {
        struct lock_process seen = locks->stuck[i];
        if (look_again(view, root, &seen))
            locks->stuck[kept++] = seen;
        else
            free_waits(&seen);
    }
    locks->n = kept;
}

void locks_free(struct locks *locks)
{
    for (size_t i = 0; i < locks->n; i++)
        free_waits(&locks->stuck[i]);
    *locks = (struct locks){0};
}
