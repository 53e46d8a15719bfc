#include "harness/machine/topo_root.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Directories of the root. `except` is no link: it is the next directory, or the hidden file. */
static const struct {
    const char *path, *except;
} levels[] = {{"", "sys"},
              {"/sys", "devices"},
              {"/sys/devices", "system"},
              {"/sys/devices/system", "cpu"},
              {"/sys/devices/system/cpu", "online"}};
enum { LEVELS = sizeof(levels) / sizeof(levels[0]) };

static bool is_link(int level, const char *name)
{
    if (name[0] == '.' || strcmp(name, levels[level].except) == 0)
        return false;
    return level > 0 || strcmp(name, "proc") == 0;
}

static int join(char *to, const char *root, const char *dir, const char *name)
{
    int n = snprintf(to, PATH_MAX, "%s%s/%s", root, dir, name);
    return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* Links all entries of the machine's own directory. */
static int fill(const struct topo_root *root, int level)
{
    char from[PATH_MAX], to[PATH_MAX];
    const char *path = levels[level].path;
    int rc = 0;
    DIR *dir = opendir(level ? path : "/");
    if (!dir)
        return -errno;
    for (struct dirent *entry; !rc && (entry = readdir(dir));) {
        if (!is_link(level, entry->d_name))
            continue;
        rc = join(from, "", path, entry->d_name);
        if (!rc)
            rc = join(to, root->path, path, entry->d_name);
        if (!rc && symlink(from, to))
            rc = -errno;
    }
    (void)closedir(dir);
    return rc;
}

static int make_in(const char *where, struct topo_root *root)
{
    char path[PATH_MAX];
    int n = snprintf(root->path, sizeof(root->path), "%s/contend-root-XXXXXX", where);
    int rc = n >= (int)sizeof(root->path) ? -ENAMETOOLONG : mkdtemp(root->path) ? 0 : -errno;
    if (rc)
        root->path[0] = '\0';
    for (int i = 0; i < LEVELS && !rc; i++) {
        rc = join(path, root->path, levels[i].path, "");
        if (!rc && i && mkdir(path, 0700))
            rc = -errno;
        if (!rc)
            rc = fill(root, i);
    }
    if (rc) {
        topo_root_remove(root);
        root->path[0] = '\0';
    }
    return rc;
}

int topo_root_make(struct topo_root *root, struct err *err)
{
    const char *given = getenv("TMPDIR");
    const char *const places[] = {given && *given ? given : "/tmp", "/tmp", "/dev/shm"};
    int rc = -ENOENT;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && rc; i++)
        rc = make_in(places[i], root);
    return rc ? err_sys(err, rc,
                        "/sys/devices/system/cpu/online lacks CPUs that this process may use, as "
                        "under lxcfs; to read past it takes a directory: set TMPDIR to one that "
                        "can be written")
              : 0;
}

void topo_root_remove(const struct topo_root *root)
{
    char path[PATH_MAX], name[PATH_MAX];
    for (int i = LEVELS; root->path[0] && i-- > 0;) {
        if (join(path, root->path, levels[i].path, ""))
            continue;
        DIR *dir = opendir(path);
        for (struct dirent *entry; dir && (entry = readdir(dir));)
            if (is_link(i, entry->d_name) && !join(name, path, "", entry->d_name))
                (void)unlink(name);
        if (dir)
            (void)closedir(dir);
        (void)rmdir(path);
    }
}
