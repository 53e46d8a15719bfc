#include "harness/record/directory.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "harness/lib/sys/file.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"
#include "harness/record/csv.h"

#define WORK_NAME ".contend-run"
#define LOCK_NAME "lock"
#define RECORD_NAME "run.json"

/* In the order in which they are moved: run.json, which describes the other files, is last. */
static const char *const file_names[] = {CSV_SAMPLES_NAME, CSV_ROUNDS_NAME, CSV_ROWS_NAME,
                                         DIRECTORY_SUMMARY, RECORD_NAME};
enum { NAMES = sizeof(file_names) / sizeof(file_names[0]) };

/* Attempts to lock: another run may end, and remove the files, while this run opens them. */
enum { TRIES = 100, PAUSE_US = 2000 };

static bool is_there(int dir_fd, const char *name)
{
    return !faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW);
}

/* Directory with the output of the workers of a user's command: *-worker*.txt. */
#define OUTPUTS_NAME "command-output"

/* Other files there are the user's: then the directory stays. */
static void remove_outputs(int dir_fd)
{
    DIR *files = file_open_folder(dir_fd, OUTPUTS_NAME);
    for (struct dirent *file; (file = file_next(&files));) {
        const char *end = strrchr(file->d_name, '.');
        if (end && !strcmp(end, ".txt") && strstr(file->d_name, "-worker"))
            (void)unlinkat(dirfd(files), file->d_name, 0);
    }
    (void)unlinkat(dir_fd, OUTPUTS_NAME, AT_REMOVEDIR);
}

static char *make_inside(const struct directory *dir, const char *name, char *buf, size_t size,
                         struct err *err)
{
    bool waits = dir->holds_earlier;
    int parent_fd = waits ? dir->work_fd : dir->fd;
    if (mkdirat(parent_fd, name, 0777) && errno != EEXIST) {
        (void)err_sys(err, -errno, "cannot make '%.100s/%s'", dir->path, name);
        return NULL;
    }
    DIR *folder = file_open_folder(parent_fd, name);
    if (!folder) { /* a link leads to another folder, where files would be written and removed */
        (void)err_set(err, -ENOTDIR, "'%.100s/%s' is no folder, or a link: remove it", dir->path,
                      name);
        return NULL;
    }
    (void)closedir(folder);
    (void)snprintf(buf, size, "%s%s/%s", dir->path, waits ? "/" WORK_NAME : "", name);
    return buf;
}

char *directory_outputs(const struct directory *dir, char *buf, size_t size, struct err *err)
{
    return make_inside(dir, OUTPUTS_NAME, buf, size, err);
}

/* Removes what is written at the end of a run. */
static void remove_exports(const struct directory *dir)
{
    if (dir->remove_figures)
        dir->remove_figures(dir->fd);
    (void)unlinkat(dir->fd, CSV_ROWS_NAME, 0);
    (void)unlinkat(dir->fd, DIRECTORY_SUMMARY, 0);
    (void)unlinkat(dir->fd, DIRECTORY_PREDICTION, 0);
}

/* Each step can be repeated after a kill, as run.json leaves work_fd last. */
static int move_files(const struct directory *dir)
{
    if (is_there(dir->work_fd, CSV_SAMPLES_NAME) && is_there(dir->fd, RECORD_NAME)) {
        remove_exports(dir);
        remove_outputs(dir->fd);
        if (unlinkat(dir->fd, RECORD_NAME, 0))
            return -errno;
    }
    if (renameat(dir->work_fd, OUTPUTS_NAME, dir->fd, OUTPUTS_NAME) && errno != ENOENT)
        return -errno;
    for (size_t i = 0; i < NAMES; i++)
        if (renameat(dir->work_fd, file_names[i], dir->fd, file_names[i]) && errno != ENOENT)
            return -errno;
    return 0;
}

/* Completes a publish that was begun, or else removes the unpublished files. */
static int finish_or_discard(const struct directory *dir)
{
    file_remove_begun(dir->work_fd);
    if (is_there(dir->work_fd, RECORD_NAME))
        return move_files(dir);
    for (size_t i = 0; i < NAMES; i++)
        (void)unlinkat(dir->work_fd, file_names[i], 0);
    (void)unlinkat(dir->work_fd, DIRECTORY_RECORD, 0);
    remove_outputs(dir->work_fd);
    return 0;
}

bool directory_is_whole(int dir_fd, struct stat *since)
{
    const struct stat before = *since;
    bool under_way = is_there(dir_fd, WORK_NAME "/" RECORD_NAME);
    if (fstatat(dir_fd, RECORD_NAME, since, AT_SYMLINK_NOFOLLOW))
        *since = (struct stat){0};
    return !under_way && since->st_ino == before.st_ino && since->st_size == before.st_size &&
           since->st_mtim.tv_sec == before.st_mtim.tv_sec &&
           since->st_mtim.tv_nsec == before.st_mtim.tv_nsec;
}

int directory_default(const char *host, const char *name, time_t at, char *path, size_t size)
{
    char utc[32];
    struct tm tm;
    (void)strftime(utc, sizeof(utc), "%Y%m%dT%H%M%SZ", gmtime_r(&at, &tm));
    return snprintf(path, size, "results/%s/%s-%s", host, utc, name);
}

int directory_make_parents(const char *path, struct err *err)
{
    const char *part;
    for (size_t i = 1; path[i]; i++) {
        if (path[i] != '/')
            continue;
        part = str_fmt("%.*s", (int)i, path);
        if (mkdir(part, 0777) && errno != EEXIST)
            return err_sys(err, -errno, "cannot create output directory '%.150s'", part);
    }
    return 0;
}

int directory_check_file(const char *path, struct err *err)
{
    char parent[4096];
    struct stat at;
    const char *name = strrchr(path, '/');
    int rc = directory_make_parents(path, err);
    if (rc)
        return rc;
    text_set(parent, "%.*s", name ? (int)(name - path) + 1 : 1, name ? path : ".");
    if (stat(parent, &at) || access(parent, W_OK))
        return err_sys(err, -errno, "cannot write to '%.150s'", parent);
    if (!S_ISDIR(at.st_mode))
        return err_sys(err, -ENOTDIR, "cannot write to '%.150s'", parent);
    if (!stat(path, &at) && S_ISDIR(at.st_mode))
        return err_sys(err, -EISDIR, "cannot write '%.150s'", path);
    return 0;
}

/* Makes "a", or with `unique` and if that exists "a-2", "a-3". mkdir decides between runs that
 * start in the same second. */
static int make_directory(struct directory *dir, bool unique, struct err *err)
{
    size_t length = strlen(dir->path), size = sizeof(dir->path);
    int rc = directory_make_parents(dir->path, err);
    if (rc)
        return rc;
    for (unsigned i = 2; mkdir(dir->path, 0777); i++) {
        rc = -errno;
        if (rc == -EEXIST && !unique)
            return 0;
        if (rc == -EEXIST && (size_t)snprintf(dir->path + length, size - length, "-%u", i) < size)
            continue;
        return err_sys(err, rc, "cannot create output directory '%.150s'", dir->path);
    }
    dir->is_new = true;
    return 0;
}

/* Names the holder of the lock, from its own text. The text may be another user's: only printable
 * characters pass. */
static int report_lock_holder(const struct directory *dir, struct err *err)
{
    char holder[140];
    ssize_t n = pread(dir->lock_fd, holder, sizeof(holder) - 1, 0);
    holder[n > 0 ? n : 0] = '\0';
    for (char *at = holder; *at; at++)
        if (!isprint((unsigned char)*at))
            *at = '?';
    return err_set(err, -EBUSY, "output directory '%.80s' is in use by %s", dir->path,
                   holder[0] ? holder : "another run");
}

/* Writes the text for runs that are refused. Only their message needs it, so errors are ignored. */
static void write_lock_holder(const struct directory *dir, const char *command)
{
    char host[64] = "?", since[40], text[1024];
    struct tm tm;
    time_t now = time(NULL);
    (void)gethostname(host, sizeof(host) - 1);
    (void)strftime(since, sizeof(since), "%Y-%m-%d %H:%M:%S UTC", gmtime_r(&now, &tm));
    int n = snprintf(text, sizeof(text), "process %ld on %s since %s: %s", (long)getpid(), host,
                     since, command);
    size_t size = n < 0 ? 0 : (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1;
    if (!ftruncate(dir->lock_fd, 0))
        (void)file_write_at(dir->lock_fd, text, size, 0);
}

static bool is_same_file(int dir_fd, const char *name, int fd)
{
    struct stat by_name, by_fd;
    return !fstatat(dir_fd, name, &by_name, AT_SYMLINK_NOFOLLOW) && !fstat(fd, &by_fd) &&
           by_name.st_ino == by_fd.st_ino && by_name.st_dev == by_fd.st_dev;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

/*
 * Opens work_fd and the lock file in it, and takes the lock. -EBUSY: a run holds it; -EAGAIN: its
 * holder has removed it meanwhile; -ENOLCK: this file system has no locks.
 */
static int take_lock(struct directory *dir)
{
    dir->work_fd = openat(dir->fd, WORK_NAME, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (dir->work_fd < 0)
        return errno == ENOENT ? -EAGAIN : -errno;
    /* Open for writing: on NFS an exclusive lock needs that. */
    dir->lock_fd = openat(dir->work_fd, LOCK_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (dir->lock_fd < 0)
        return errno == ENOENT ? -EAGAIN : -errno;
    if (flock(dir->lock_fd, LOCK_EX | LOCK_NB))
        return errno == EWOULDBLOCK ? -EBUSY : -ENOLCK;
    return is_same_file(dir->work_fd, LOCK_NAME, dir->lock_fd) ? 0 : -EAGAIN;
}

static int lock_directory(struct directory *dir, struct err *err)
{
    int rc = -EAGAIN;
    for (int i = 0; i < TRIES && rc == -EAGAIN; i++) {
        close_fd(&dir->lock_fd);
        close_fd(&dir->work_fd);
        rc = mkdirat(dir->fd, WORK_NAME, 0777) && errno != EEXIST ? -errno : take_lock(dir);
        struct stat lock;
        if (rc == -EBUSY && !fstat(dir->lock_fd, &lock) && !lock.st_size) {
            rc = -EAGAIN; /* a reader's directory_recover, which is over in a moment */
            (void)usleep(PAUSE_US);
        }
    }
    if (rc == -EBUSY || (rc == -EAGAIN && dir->lock_fd >= 0))
        (void)report_lock_holder(dir, err);
    else if (rc == -ENOLCK) /* such as Lustre without -o flock: run without a lock */
        log_warn("'%.150s' cannot be locked: start no other run in it meanwhile", dir->path);
    else if (rc)
        (void)err_sys(err, rc, "cannot lock output directory '%.150s'", dir->path);
    if (!rc || rc == -ENOLCK)
        return 0;
    close_fd(&dir->lock_fd);
    (void)unlinkat(dir->fd, WORK_NAME, AT_REMOVEDIR);
    return rc;
}

/* Removes the lock file while it is locked, so that no other run can lock a removed file. */
static void unlock_directory(struct directory *dir)
{
    (void)unlinkat(dir->work_fd, LOCK_NAME, 0);
    close_fd(&dir->lock_fd);
    close_fd(&dir->work_fd);
    (void)unlinkat(dir->fd, WORK_NAME, AT_REMOVEDIR);
}

static bool is_record(int dir_fd)
{
    int fd = openat(dir_fd, RECORD_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    json_t *record = fd < 0 ? NULL : json_loadfd(fd, 0, NULL);
    bool is_contend = json_is_integer(json_object_get(record, "schema_version")) &&
                      json_is_string(json_object_get(record, "status"));
    json_decref(record);
    close_fd(&fd);
    return is_contend;
}

/* Files are from contend if a run.json of contend is beside them. */
static int look_for_earlier(struct directory *dir, struct err *err)
{
    const char *found = NULL;
    for (size_t i = 0; i < NAMES; i++) {
        struct stat stat;
        if (fstatat(dir->fd, file_names[i], &stat, AT_SYMLINK_NOFOLLOW))
            continue;
        found = file_names[i];
        if (!S_ISREG(stat.st_mode))
            break;
        dir->holds_earlier = i + 1 == NAMES && is_record(dir->fd);
    }
    if (!found || dir->holds_earlier)
        return 0;
    return err_set(err, -EEXIST,
                   "output directory '%.100s' has a %s that is not of a run of contend: name "
                   "another one",
                   dir->path, found);
}

int directory_open(struct directory *dir, const struct directory_request *request, struct err *err)
{
    const char *path = request->path;
    *dir = (struct directory){.is_open = true,
                              .fd = -1,
                              .work_fd = -1,
                              .lock_fd = -1,
                              .remove_figures = request->remove_figures};
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (!length || length >= sizeof(dir->path))
        return err_set(err, -EINVAL, "output directory '%.80s' has no usable name", path);
    memcpy(dir->path, path, length);
    int rc = make_directory(dir, request->unique, err);
    if (rc)
        return rc;
    dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir->fd < 0)
        return err_sys(err, -errno, "cannot open output directory '%.150s'", dir->path);
    rc = lock_directory(dir, err);
    if (rc)
        return rc;
    write_lock_holder(dir, request->command);
    rc = finish_or_discard(dir);
    if (rc)
        return err_sys(err, rc, "cannot end what an earlier run began in '%.120s'", dir->path);
    return look_for_earlier(dir, err);
}

/* Checks an existing directory, open as dir->fd. */
static int check_existing(struct directory *dir, struct err *err)
{
    if (faccessat(dir->fd, ".", W_OK, 0))
        return err_sys(err, -errno, "cannot write into output directory '%.150s'", dir->path);
    return look_for_earlier(dir, err);
}

int directory_check(const char *path, struct err *err)
{
    struct directory dir = {.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    (void)snprintf(dir.path, sizeof(dir.path), "%s", path);
    if (dir.fd >= 0) {
        int rc = check_existing(&dir, err);
        close_fd(&dir.fd);
        return rc;
    }
    int code = errno;
    /* Makes the first missing directory of the path, and removes it. */
    for (size_t i = 1; path[i - 1]; i++) {
        if (path[i] && path[i] != '/')
            continue;
        (void)snprintf(dir.path, sizeof(dir.path), "%.*s", (int)i, path);
        if (!mkdir(dir.path, 0777))
            return rmdir(dir.path) ? err_sys(err, -errno, "cannot remove '%.150s'", dir.path) : 0;
        if (errno != EEXIST)
            return err_sys(err, -errno, "cannot create output directory '%.150s'", dir.path);
    }
    return err_sys(err, -code, "cannot open output directory '%.150s'", path);
}

int directory_publish(struct directory *dir, struct err *err)
{
    /* From this rename on the result counts: after a kill, the next open moves the other files. */
    int rc = renameat(dir->work_fd, DIRECTORY_RECORD, dir->work_fd, RECORD_NAME) ? -errno : 0;
    if (!rc) {
        dir->holds_earlier = false;
        rc = move_files(dir);
    }
    return rc ? err_sys(err, rc, "cannot replace the files in '%.120s'", dir->path) : 0;
}

int directory_add(struct directory *dir, const char *name, const char *text, size_t size,
                  struct err *err)
{
    int rc = file_write(dir->work_fd, name, text, size);
    if (!rc && renameat(dir->work_fd, name, dir->fd, name))
        rc = -errno;
    return rc ? err_sys(err, rc, "cannot write %s", name) : 0;
}

void directory_close(struct directory *dir)
{
    if (!dir->is_open)
        return;
    if (dir->lock_fd >= 0 && !finish_or_discard(dir))
        unlock_directory(dir);
    close_fd(&dir->lock_fd);
    close_fd(&dir->work_fd);
    close_fd(&dir->fd);
    if (dir->is_new)
        (void)rmdir(dir->path);
    *dir = (struct directory){0};
}

void directory_recover(int dir_fd, directory_remove *remove_figures)
{
    struct directory dir = {
        .fd = dir_fd, .work_fd = -1, .lock_fd = -1, .remove_figures = remove_figures};
    if (!take_lock(&dir) && !finish_or_discard(&dir))
        unlock_directory(&dir);
    close_fd(&dir.lock_fd);
    close_fd(&dir.work_fd);
}

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
