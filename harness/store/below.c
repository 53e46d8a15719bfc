#include "harness/store/below.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct walk {
    below_found *found;
    void *arg;
    struct err *err;
    char path[4096];
};

static int is_worth(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strcmp(entry->d_name, "plots") != 0 &&
           (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN);
}

static int visit(struct walk *walk, int dir_fd, unsigned depth);

static int enter(struct walk *walk, int dir_fd, const char *name, unsigned depth)
{
    size_t length = strlen(walk->path);
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) /* no directory, or gone; one that may not be read is no silent nothing */
        return errno == EACCES
                   ? err_sys(walk->err, -EACCES, "cannot open '%.100s/%.80s'", walk->path, name)
                   : 0;
    (void)snprintf(walk->path + length, sizeof(walk->path) - length, "%s%s",
                   length && walk->path[length - 1] == '/' ? "" : "/", name);
    int rc = visit(walk, fd, depth + 1);
    walk->path[length] = '\0';
    (void)close(fd);
    return rc;
}

static int visit(struct walk *walk, int dir_fd, unsigned depth)
{
    struct stat status;
    struct dirent **names = NULL;
    int rc = 0;
    if (fstatat(dir_fd, "run.json", &status, AT_SYMLINK_NOFOLLOW) == 0)
        rc = walk->found(walk->arg, walk->path, dir_fd, walk->err);
    int n = rc || depth == BELOW_DEPTH ? 0 : scandirat(dir_fd, ".", &names, is_worth, alphasort);
    if (n < 0)
        return err_sys(walk->err, -errno, "cannot read the directory '%.150s'", walk->path);
    for (int i = 0; i < n; i++) {
        if (!rc)
            rc = enter(walk, dir_fd, names[i]->d_name, depth);
        free(names[i]);
    }
    free(names);
    return rc;
}

int below_find(const char *path, below_found *found, void *arg, struct err *err)
{
    struct walk walk = {.found = found, .arg = arg, .err = err};
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, -errno, "cannot open the directory '%.150s'", path);
    (void)snprintf(walk.path, sizeof(walk.path), "%s", path);
    int rc = visit(&walk, fd, 0);
    (void)close(fd);
    return rc;
}
