#include "harness/store/runs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/array.h"

/* Below results/: host, then run. Some more for those who sort theirs. */
enum { DEPTH_MOST = 5 };

/* What is the same for all directories. */
struct search {
    const struct bench *const *benches;
    directory_remove *remove_figures;
    struct runs *runs;
};

static int append(const struct search *search, const char *path, int dir_fd, struct err *err)
{
    struct runs *runs = search->runs;
    struct err why;
    struct run *grown = array_grown(runs->all, runs->n, &runs->capacity, sizeof(*grown));
    if (!grown)
        return err_set(err, -ENOMEM, "out of memory for %zu results", runs->n + 1);
    runs->all = grown;
    struct run *run = &grown[runs->n];
    *run = (struct run){.path = strdup(path), .recorded = calloc(1, sizeof(*run->recorded))};
    runs->n++;
    if (!run->path || !run->recorded)
        return err_set(err, -ENOMEM, "out of memory for %zu results", runs->n);
    int rc = recorded_read(dir_fd, search->benches, run->recorded, &why);
    if (rc)
        return err_set(err, rc, "'%.150s': %s", path, why.msg);
    if (!run->recorded->result.rounds_done)
        return err_set(err, -EINVAL, "'%.150s': run.json has no finished round", path);
    return 0;
}

static int skip_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int read_directory(const struct search *search, const char *path, int depth,
                          struct err *err);

static int read_below(const struct search *search, const char *path, int depth, struct err *err)
{
    struct dirent **entries = NULL;
    int n = scandir(path, &entries, skip_hidden, alphasort), rc = 0;
    if (n < 0)
        return err_sys(err, -errno, "cannot read the directory '%.150s'", path);
    for (int i = 0; i < n; i++) {
        char *below = NULL;
        if (!rc && asprintf(&below, "%s/%s", path, entries[i]->d_name) < 0)
            rc = err_set(err, -ENOMEM, "out of memory for a path");
        struct stat status;
        if (!rc && lstat(below, &status) == 0 && S_ISDIR(status.st_mode))
            rc = read_directory(search, below, depth + 1, err);
        free(below);
        free(entries[i]);
    }
    free(entries);
    return rc;
}

static int read_directory(const struct search *search, const char *path, int depth, struct err *err)
{
    int rc, dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return err_sys(err, -errno, "cannot open the result directory '%.150s'", path);
    directory_recover(dir_fd, search->remove_figures);
    if (faccessat(dir_fd, "run.json", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        rc = append(search, path, dir_fd, err);
    else
        rc = depth < DEPTH_MOST ? read_below(search, path, depth, err) : 0;
    (void)close(dir_fd);
    return rc;
}

int runs_read(const char *path, const struct bench *const *benches,
              directory_remove *remove_figures, struct runs *runs, struct err *err)
{
    const struct search search = {
        .benches = benches, .remove_figures = remove_figures, .runs = runs};
    size_t before = runs->n;
    int rc = read_directory(&search, path, 0, err);
    if (!rc && runs->n == before)
        return err_set(err, -ENOENT, "'%.150s' is no result directory: no run.json in it or below",
                       path);
    return rc;
}

void runs_free(struct runs *runs)
{
    for (size_t i = 0; i < runs->n; i++) {
        if (runs->all[i].recorded)
            recorded_free(runs->all[i].recorded);
        free(runs->all[i].recorded);
        free(runs->all[i].path);
    }
    free(runs->all);
    *runs = (struct runs){0};
}
