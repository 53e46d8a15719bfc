#include "harness/engine/others.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/tree.h"

enum { PROCESSES_MOST = 16384 };

void others_begin(struct others *others)
{
    *others = (struct others){.before = calloc(PROCESSES_MOST, sizeof(*others->before))};
    if (others->before)
        others->n = tree_list_others(others->before, PROCESSES_MOST);
    others->at_ns = clock_now_ns();
}

/* 0 if it began after others_begin. */
static double cpu_s_before(const struct others *others, const struct tree_use *now)
{
    for (unsigned i = 0; i < others->n; i++)
        if (others->before[i].pid == now->pid && others->before[i].started == now->started)
            return others->before[i].cpu_s;
    return 0;
}

/* Keeps the list sorted, the largest share first. */
static void insert(const struct other_process *process, struct result *result)
{
    unsigned at = result->nothers < RESULT_OTHERS ? result->nothers++ : RESULT_OTHERS;
    for (; at > 0 && result->others[at - 1].share < process->share; at--)
        if (at < RESULT_OTHERS)
            result->others[at] = result->others[at - 1];
    if (at < RESULT_OTHERS)
        result->others[at] = *process;
}

void others_note(const struct others *others, struct result *result)
{
    struct tree_use *now = others->before ? calloc(PROCESSES_MOST, sizeof(*now)) : NULL;
    unsigned n = now ? tree_list_others(now, PROCESSES_MOST) : 0;
    double all_s =
        (double)(clock_now_ns() - others->at_ns) * 1e-9 * (double)sysconf(_SC_NPROCESSORS_ONLN);
    result->nothers = 0;
    for (unsigned i = 0; i < n && all_s > 0; i++) {
        if (now[i].cpu_s < RESULT_OTHERS_LEAST * all_s) /* spares the search for most processes */
            continue;
        struct other_process process = {
            .pid = now[i].pid, .share = (now[i].cpu_s - cpu_s_before(others, &now[i])) / all_s};
        memcpy(process.command, now[i].name, sizeof(process.command));
        if (process.share >= RESULT_OTHERS_LEAST)
            insert(&process, result);
    }
    free(now);
}

void others_end(struct others *others)
{
    free(others->before);
    *others = (struct others){0};
}
