#include "harness/show/json/runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/array.h"
#include "harness/lib/sys/log.h"
#include "harness/record/below.h"

/* The state of a search over directories. */
struct search {
    const struct bench *const *benches;
    directory_remove *remove_figures;
    struct runs *runs;
    const char *path; /* the argument of runs_read */
};

static int append(void *arg, const char *path, int dir_fd, unsigned marks, struct err *err)
{
    const struct search *search = arg;
    struct runs *runs = search->runs;
    struct err why;
    (void)marks;
    directory_recover(dir_fd, search->remove_figures);
    struct run *run = array_add(runs->all, runs->n, runs->capacity);
    if (!run)
        return err_set(err, -ENOMEM, "out of memory for %zu results", runs->n + 1);
    *run = (struct run){.path = strdup(path), .recorded = calloc(1, sizeof(*run->recorded))};
    if (!run->path || !run->recorded)
        return err_set(err, -ENOMEM, "out of memory for %zu results", runs->n);
    int rc = recorded_read(dir_fd, search->benches, run->recorded, &why);
    if (rc == -ENODATA && strcmp(path, search->path) != 0) { /* one of several, cut off */
        log_warn("'%.150s' is left out: %s", path, why.msg);
        runs_forget_from(runs, runs->n - 1);
        return 0;
    }
    return rc ? err_set(err, rc, "'%.150s': %s", path, why.msg) : 0;
}

int runs_read(const char *path, const struct bench *const *benches,
              directory_remove *remove_figures, struct runs *runs, struct err *err)
{
    struct search search = {
        .benches = benches, .remove_figures = remove_figures, .runs = runs, .path = path};
    size_t before = runs->n;
    const struct below_request request = {
        .marks = BELOW_RUN, .depth = BELOW_DEPTH, .found = append, .arg = &search};
    int rc = below_find(path, &request, err);
    if (!rc && runs->n == before)
        return err_set(err, -ENOENT, "'%.150s' is no result directory: no run.json in it or below",
                       path);
    return rc;
}

void runs_forget_from(struct runs *runs, size_t n)
{
    while (runs->n > n) {
        struct run *run = &runs->all[--runs->n];
        if (run->recorded)
            recorded_free(run->recorded);
        free(run->recorded);
        free(run->path);
    }
}

void runs_free(struct runs *runs)
{
    runs_forget_from(runs, 0);
    free(runs->all);
    *runs = (struct runs){0};
}
