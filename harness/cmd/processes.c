#include "harness/cmd/processes.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

int processes_parse(const struct opt_texts *texts, pid_t pids[OPT_TEXTS_MOST], struct err *err)
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
