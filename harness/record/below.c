#include "harness/record/below.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/lib/text.h"

static const struct {
    enum below_mark mark;
    const char *name;
} marks[] = {
    {BELOW_RUN, "run.json"}, {BELOW_ROWS, "rows.csv"}, {BELOW_VALIDATION, "validate.json"}};

struct walk {
    const struct below_request *request;
    struct err *err;
    char path[4096];
};

static int is_searched(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strcmp(entry->d_name, "plots") != 0 &&
           (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN);
}

static int visit(struct walk *walk, int dir_fd, unsigned depth);

static int enter(struct walk *walk, int dir_fd, const char *name, unsigned depth)
{
    size_t length = strlen(walk->path);
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) /* no directory, or removed; unreadable is an error unless skipped */
        return errno == EACCES && !walk->request->skip_unreadable
                   ? err_sys(walk->err, -EACCES, "cannot open '%.100s/%.80s'", walk->path, name)
                   : 0;
    (void)snprintf(walk->path + length, sizeof(walk->path) - length, "%s%s",
                   length && walk->path[length - 1] == '/' ? "" : "/", name);
    int rc = visit(walk, fd, depth + 1);
    walk->path[length] = '\0';
    (void)close(fd);
    return rc;
}

static unsigned marks_of(const struct walk *walk, int dir_fd)
{
    struct stat status;
    unsigned found = 0;
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if ((walk->request->marks & marks[i].mark) &&
            fstatat(dir_fd, marks[i].name, &status, AT_SYMLINK_NOFOLLOW) == 0)
            found |= marks[i].mark;
    return found;
}

static int visit(struct walk *walk, int dir_fd, unsigned depth)
{
    struct dirent **names = NULL;
    unsigned found = marks_of(walk, dir_fd);
    int rc =
        found ? walk->request->found(walk->request->arg, walk->path, dir_fd, found, walk->err) : 0;
    if (rc)
        return rc == BELOW_SKIP_CHILDREN ? 0 : rc;
    int n =
        depth == walk->request->depth ? 0 : scandirat(dir_fd, ".", &names, is_searched, alphasort);
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

int below_find(const char *path, const struct below_request *request, struct err *err)
{
    struct walk walk = {.request = request, .err = err};
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, -errno, "cannot open the directory '%.150s'", path);
    text_set(walk.path, "%s", path);
    int rc = visit(&walk, fd, 0);
    (void)close(fd);
    return rc;
}
