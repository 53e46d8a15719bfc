/*
 * What the kernel gave a worker: one line that says on which CPUs its team, a forked process and a
 * plain thread may run, and by which policy it gets memory.
 *
 *   team 0/1 fork 0-1 plain 0-1 memory bind
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/lib/bitset.h"
#include "harness/lib/sys/affinity.h"

enum { TEAM_MAX = 64, LIST_MAX = 256 };

static char team[TEAM_MAX][LIST_MAX];
static int threads;

static void list_mask(char *list)
{
    struct bitset cpus;
    if (affinity_get(0, &cpus))
        (void)snprintf(list, LIST_MAX, "?");
    else
        (void)snprintf(list, LIST_MAX, "%s", bitset_format(&cpus));
}

static void *list_plain(void *list)
{
    list_mask(list);
    return NULL;
}

/* The mask of a forked process, read through a pipe. */
static void list_forked(char *list)
{
    int ends[2];
    if (pipe(ends))
        return;
    pid_t pid = fork();
    if (!pid) {
        list_mask(list);
        _exit(write(ends[1], list, LIST_MAX) != LIST_MAX);
    }
    (void)close(ends[1]);
    if (read(ends[0], list, LIST_MAX) != LIST_MAX)
        list[0] = '\0';
    (void)close(ends[0]);
    (void)waitpid(pid, NULL, 0);
}

static const char *memory_policy(void)
{
    static const char *const names[] = {"default", "preferred", "bind", "interleave"};
    int mode = 0;
    if (syscall(SYS_get_mempolicy, &mode, NULL, 0UL, NULL, 0UL) || mode < 0 || mode > 3)
        return "?";
    return names[mode];
}

int main(void)
{
    char forked[LIST_MAX] = "", plain[LIST_MAX] = "";
    pthread_t thread;
#pragma omp parallel
    {
        char list[LIST_MAX];
        list_mask(list);
#pragma omp critical
        if (threads < TEAM_MAX)
            memcpy(team[threads++], list, sizeof(list));
    }
    list_forked(forked);
    if (pthread_create(&thread, NULL, list_plain, plain) || pthread_join(thread, NULL))
        return 1;
    qsort(team, (size_t)threads, sizeof(team[0]), (int (*)(const void *, const void *))strcmp);
    (void)printf("team ");
    for (int i = 0; i < threads; i++)
        (void)printf("%s%s", i ? "/" : "", team[i]);
    (void)printf(" fork %s plain %s memory %s\n", forked, plain, memory_policy());
    return 0;
}
