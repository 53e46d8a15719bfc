/* Threads that wait for ever: for each other, or for a lock that nobody can give back. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/doctor/check.h"
#include "harness/doctor/host.h"

enum {
    LEG_MAX = 160,
    SENTENCE_MAX = 600, /* what else is said takes the rest of a finding's */
    EVIDENCE_MAX = sizeof(((struct finding *)0)->evidence),
    COMMAND_MAX = sizeof(((struct finding *)0)->command)
};

static const char *const what_to_do =
    "This does not end by itself, and nothing mends it from outside: the command shows where each "
    "of them stands (it stops them for a moment), then end the process.";

static void tell_wait(const struct lock_wait *wait, const struct lock_wait *holder, char *buf,
                      size_t size)
{
    if (wait->kind == LOCK_THREAD_END)
        (void)snprintf(buf, size, "%s (%d) waits for the end of %s (%d)", wait->name, wait->tid,
                       holder->name, holder->tid);
    else if (holder == wait)
        (void)snprintf(buf, size, "%s (%d) waits for the lock at 0x%" PRIx64 ", which it holds",
                       wait->name, wait->tid, wait->lock);
    else
        (void)snprintf(buf, size, "%s (%d) waits for the lock at 0x%" PRIx64 " of %s (%d)",
                       wait->name, wait->tid, wait->lock, holder->name, holder->tid);
}

/* What is too long ends with dots, and nothing comes behind them. */
static void append_or_cut(char *buf, size_t size, const char *text)
{
    static const char cut[] = " ...";
    const size_t used = strlen(buf), room = size - sizeof(cut);
    bool was_cut = used >= strlen(cut) && strcmp(buf + used - strlen(cut), cut) == 0;
    if (!was_cut)
        (void)check_append(buf, size, "%s", used + strlen(text) < room ? text : cut);
}

/* One way round. Returns of how many threads. */
static unsigned tell_circle(const struct lock_process *stuck, size_t first, char *sentence,
                            char *evidence)
{
    unsigned n = 0;
    size_t i = first;
    char leg[LEG_MAX];
    do {
        const struct lock_wait *wait = &stuck->waits[i];
        tell_wait(wait, &stuck->waits[wait->next], leg, sizeof(leg));
        if (n)
            append_or_cut(sentence, SENTENCE_MAX, "; ");
        append_or_cut(sentence, SENTENCE_MAX, leg);
        (void)snprintf(leg, sizeof(leg), "%d -> 0x%" PRIx64 " -> ", wait->tid, wait->lock);
        append_or_cut(evidence, EVIDENCE_MAX, leg);
        i = (size_t)wait->next;
        n++;
    } while (i != first);
    (void)snprintf(leg, sizeof(leg), "%d", stuck->waits[first].tid);
    append_or_cut(evidence, EVIDENCE_MAX, leg);
    return n;
}

/* Those who wait for one that was refused a lock: the rest of its circle is among them. Returns how
 * many. */
static unsigned tell_refused(const struct lock_process *stuck, size_t refused, char *sentence,
                             char *evidence)
{
    const struct lock_wait *waits = stuck->waits;
    unsigned n = 0;
    char leg[LEG_MAX];
    (void)snprintf(leg, sizeof(leg),
                   "%s (%d) sleeps for ever, as the kernel refused it a lock that inherits "
                   "priorities and would have closed a circle",
                   waits[refused].name, waits[refused].tid);
    append_or_cut(sentence, SENTENCE_MAX, leg);
    for (size_t i = 0; i < stuck->nwaits; i++) {
        if (i == refused || waits[i].behind != waits[refused].circle)
            continue;
        append_or_cut(sentence, SENTENCE_MAX, "; ");
        tell_wait(&waits[i], &waits[waits[i].next], leg, sizeof(leg));
        append_or_cut(sentence, SENTENCE_MAX, leg);
        n++;
        (void)snprintf(leg, sizeof(leg), "%d -> 0x%" PRIx64 " -> %d, ", waits[i].tid, waits[i].lock,
                       waits[i].holder);
        append_or_cut(evidence, EVIDENCE_MAX, leg);
    }
    (void)snprintf(leg, sizeof(leg), "%d refused", waits[refused].tid);
    append_or_cut(evidence, EVIDENCE_MAX, leg);
    return n;
}

static struct said said_stuck(const struct lock_process *stuck,
                              const struct view_process *const *who, const char *evidence,
                              char *command)
{
    struct said said = said_bad(who, evidence, command);
    (void)snprintf(command, COMMAND_MAX, "gdb -p %d -batch -ex 'thread apply all bt'", stuck->pid);
    said.cost = 1; /* of those threads: all of their time */
    return said;
}

static void tell_more(unsigned more, char *buf, size_t size)
{
    buf[0] = '\0';
    if (more)
        (void)snprintf(buf, size, " %u more thread%s behind.", more,
                       more == 1 ? " waits" : "s wait");
}

static void say_refused(struct checker *checker, const struct lock_process *stuck,
                        const struct view_process *who, size_t refused)
{
    char sentence[SENTENCE_MAX] = "", evidence[EVIDENCE_MAX], command[COMMAND_MAX];
    (void)snprintf(evidence, sizeof(evidence), "none ran for %.1f s; ", stuck->still_s);
    bool others = tell_refused(stuck, refused, sentence, evidence);
    const struct said said = said_stuck(stuck, &who, evidence, command);
    checker_say(checker, &said, "%s, for %.1f s so far: %s. %s",
                others ? "threads wait for each other" : "a thread waits for ever", stuck->still_s,
                sentence, what_to_do);
}

static void say_circle(struct checker *checker, const struct lock_process *stuck,
                       const struct view_process *who, size_t first)
{
    char sentence[SENTENCE_MAX] = "", evidence[EVIDENCE_MAX], command[COMMAND_MAX], behind[48];
    unsigned more = 0;
    (void)snprintf(evidence, sizeof(evidence), "none ran for %.1f s; ", stuck->still_s);
    unsigned n = tell_circle(stuck, first, sentence, evidence);
    for (size_t i = 0; i < stuck->nwaits; i++)
        more += stuck->waits[i].behind == stuck->waits[first].circle;
    tell_more(more - n, behind, sizeof(behind));
    const struct said said = said_stuck(stuck, &who, evidence, command);
    if (n == 1)
        checker_say(checker, &said, "a thread waits for itself, for %.1f s so far: %s.%s %s",
                    stuck->still_s, sentence, behind, what_to_do);
    else
        checker_say(checker, &said, "%u threads wait for each other, for %.1f s so far: %s.%s %s",
                    n, stuck->still_s, sentence, behind, what_to_do);
}

/* Of the circle that it is a part of. */
static bool begins_circle(const struct lock_process *stuck, size_t wait)
{
    for (size_t i = 0; i < wait; i++)
        if (stuck->waits[i].circle == stuck->waits[wait].circle)
            return false;
    return stuck->waits[wait].circle >= 0;
}

void check_deadlock(struct checker *checker)
{
    const struct host *host = checker->view->host;
    for (size_t p = 0; host && p < host->locks.n; p++) {
        const struct lock_process *stuck = &host->locks.stuck[p];
        const struct view_process *who = view_find(checker->view, stuck->pid);
        for (size_t i = 0; who && i < stuck->nwaits; i++)
            if (begins_circle(stuck, i))
                (stuck->waits[i].kind == LOCK_REFUSED ? say_refused : say_circle)(checker, stuck,
                                                                                  who, i);
    }
}

/* Of those who wait for that lock. */
static bool is_first(const struct lock_process *stuck, size_t wait)
{
    for (size_t i = 0; i < wait; i++)
        if (lock_wait_is_lost(&stuck->waits[i]) && stuck->waits[i].lock == stuck->waits[wait].lock)
            return false;
    return true;
}

static void say_lost(struct checker *checker, const struct lock_process *stuck,
                     const struct view_process *who, const struct lock_wait *wait)
{
    char evidence[EVIDENCE_MAX], command[COMMAND_MAX], behind[48];
    unsigned more = 0;
    for (size_t i = 0; i < stuck->nwaits; i++)
        more += lock_wait_is_lost(&stuck->waits[i]) && stuck->waits[i].lock == wait->lock;
    tell_more(more - 1, behind, sizeof(behind));
    (void)snprintf(evidence, sizeof(evidence),
                   "%d did not run for %.1f s; the lock at 0x%" PRIx64 " names thread %u as its "
                   "holder",
                   wait->tid, stuck->still_s, wait->lock, wait->number);
    const struct said said = said_stuck(stuck, &who, evidence, command);
    checker_say(checker, &said,
                "%s (%d) waits for the lock at 0x%" PRIx64 ", and its holder, thread %u, is not in "
                "this process: it ended and did not unlock it, or another thread held it when this "
                "process was forked.%s %s",
                wait->name, wait->tid, wait->lock, wait->number, behind, what_to_do);
}

void check_lost_lock(struct checker *checker)
{
    const struct host *host = checker->view->host;
    for (size_t p = 0; host && p < host->locks.n; p++) {
        const struct lock_process *stuck = &host->locks.stuck[p];
        const struct view_process *who = view_find(checker->view, stuck->pid);
        for (size_t i = 0; who && i < stuck->nwaits; i++)
            if (lock_wait_is_lost(&stuck->waits[i]) && is_first(stuck, i))
                say_lost(checker, stuck, who, &stuck->waits[i]);
    }
}
