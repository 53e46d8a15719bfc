#include "harness/doctor/reader/processes.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

static int parse(const struct opt_texts *texts, pid_t pids[OPT_TEXTS_MOST], struct err *err)
{
    for (size_t i = 0; i < texts->n; i++) {
        char *end;
        errno = 0;
        long pid = strtol(texts->text[i], &end, 10);
        if (end == texts->text[i] || *end || errno || pid < 1 || pid > INT_MAX)
            return err_set(err, -EINVAL, "'%.60s' is not the number of a process", texts->text[i]);
        pids[i] = (pid_t)pid;
    }
    return 0;
}

void processes_find_gpus(struct reader *reader)
{
    bool any = false;
    size_t users;
    struct err why;
    for (size_t i = 0; i < reader->view.nprocesses; i++) {
        const struct view_about *about = reader->view.processes[i].about;
        any = any || reader->view.processes[i].gpus || (about && about->libraries & LIBRARY_CUDA);
    }
    if (any)
        (void)reader_read_gpus(reader, &users, &why);
}

int processes_watch_gpu_users(struct reader *reader, struct err *err)
{
    size_t users;
    int rc = reader_read_gpus(reader, &users, err);
    if (!rc && !users)
        rc = err_set(err, -ESRCH, "NVML lists no GPU process that is here: %s",
                     reader->view.hidden.any
                         ? "/proc hides processes of other users (hidepid); root sees them"
                         : "in a container it may not; name them with --pid");
    return rc ? rc : reader_watch_gpu_users(reader, err);
}

int processes_watch(const struct opt_texts *texts, bool gpu_procs, struct reader *reader,
                    pid_t pids[OPT_TEXTS_MOST], struct err *err)
{
    int rc = parse(texts, pids, err);
    if (rc || gpu_procs)
        return rc ? rc : processes_watch_gpu_users(reader, err);
    return texts->n ? reader_watch_pids(reader, pids, texts->n, err) : 0;
}
