#include "harness/doctor/reader/proc_sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/doctor/reader/reader_parts.h"
#include "harness/lib/array.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/sys/proc.h"

bool proc_sampler_read(const struct proc_sampler *at, int tid, const char *file, char *buf,
                       size_t size)
{
    char name[64];
    int once = -1;
    (void)snprintf(name, sizeof(name), "task/%d/%s", tid, file);
    errno = 0;
    return reader_read(at->dir_fd, name, &once, buf, size);
}

/* The tid in the innermost pid namespace; *depth: number of pid namespaces that it is in. */
static uint32_t read_number(const struct proc_sampler *at, int tid, unsigned *depth)
{
    char text[4096];
    uint32_t number = (uint32_t)tid;
    *depth = 0;
    if (!proc_sampler_read(at, tid, "status", text, sizeof(text)))
        return number;
    const char *next = proc_find(text, "NSpid"); /* missing on old kernels */
    while (next && *next && *next != '\n') {
        number = (uint32_t)strtoul(next, (char **)&next, 10);
        ++*depth;
    }
    return number;
}

static int by_tid(const void *a, const void *b)
{
    const struct proc_sampler_task *one = a, *other = b;
    return (one->tid > other->tid) - (one->tid < other->tid);
}

bool proc_sampler_list(struct proc_sampler *at)
{
    at->ntasks = 0;
    DIR *dir = file_open_folder(at->dir_fd, "task");
    for (int tid; (tid = task_next(&dir));) {
        struct proc_sampler_task *added = array_add(at->tasks, at->ntasks, at->tasks_capacity);
        if (added)
            *added = (struct proc_sampler_task){.tid = tid, .number = (uint32_t)tid};
    }
    if (at->ntasks)
        qsort(at->tasks, at->ntasks, sizeof(at->tasks[0]), by_tid);
    return at->ntasks > 0;
}

void proc_sampler_number(struct proc_sampler *at)
{
    unsigned nested = 2, depth;
    for (size_t i = 0; i < at->ntasks && nested > 1; i++)
        at->tasks[i].number = read_number(at, at->tasks[i].tid, i ? &depth : &nested);
}

bool proc_sampler_open(const struct view_process *process, const char *root,
                       struct proc_sampler *at)
{
    char path[320];
    *at = (struct proc_sampler){.dir_fd = -1, .memory_fd = -1};
    (void)snprintf(path, sizeof(path), "%s/proc/%d", root, process->pid);
    at->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return at->dir_fd >= 0;
}

void proc_sampler_close(struct proc_sampler *at)
{
    free(at->tasks);
    if (at->memory_fd >= 0)
        (void)close(at->memory_fd);
    if (at->dir_fd >= 0)
        (void)close(at->dir_fd);
}

bool proc_sampler_read_memory(struct proc_sampler *at, int tid, uint64_t address, void *to,
                              size_t size)
{
    char name[48];
    (void)snprintf(name, sizeof(name), "task/%d/mem", tid);
    if (at->memory_fd < 0)
        at->memory_fd = reader_open_file(at->dir_fd, name);
    return at->memory_fd >= 0 && address <= INT64_MAX &&
           pread(at->memory_fd, to, size, (off_t)address) == (ssize_t)size;
}
