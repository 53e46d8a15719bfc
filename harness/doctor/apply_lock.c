#include "harness/doctor/apply_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The holder writes its pid right after it takes the lock. */
enum { TRIES = 50, PAUSE_US = 10000 };

static int err_held(int fd, struct err *err)
{
    char text[24] = "";
    for (int i = 0; i < TRIES && pread(fd, text, sizeof(text) - 1, 0) <= 0; i++)
        (void)usleep(PAUSE_US);
    return err_set(err, -EBUSY,
                   "another 'contend doctor' (%ld) is changing masks: wait for it, or type --state "
                   "FILE for other processes",
                   strtol(text, NULL, 10));
}

/* True if the path is still the file that was locked: the last holder removes it. */
static bool is_current(const struct apply_lock *lock, struct stat *held)
{
    struct stat there;
    return !fstat(lock->fd, held) && !lstat(lock->path, &there) && held->st_ino == there.st_ino &&
           held->st_dev == there.st_dev;
}

int apply_lock_take(const char *state_path, struct apply_lock *lock, struct err *err)
{
    struct stat held;
    char pid[24];
    int rc = 0;
    *lock = (struct apply_lock){0};
    if ((size_t)snprintf(lock->path, sizeof(lock->path), "%s.lock", state_path) >=
        sizeof(lock->path))
        return err_set(err, -ENAMETOOLONG, "the path of the state file is too long");
    do {
        apply_lock_release(lock);
        lock->fd = open(lock->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (lock->fd < 0) {
            rc = -errno;
            lock->fd = 0;
            return err_sys(err, rc, "cannot lock %.150s", lock->path);
        }
        if (flock(lock->fd, LOCK_EX | LOCK_NB)) {
            rc = errno == EWOULDBLOCK ? err_held(lock->fd, err)
                                      : err_sys(err, -errno, "cannot lock %.150s", lock->path);
            (void)close(lock->fd);
            lock->fd = 0;
            return rc;
        }
    } while (!is_current(lock, &held));
    int length = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
    if (held.st_uid != geteuid())
        rc = err_set(err, -EPERM, "%.150s is of another user: remove it, or type --state FILE",
                     lock->path);
    else if (ftruncate(lock->fd, 0) || pwrite(lock->fd, pid, (size_t)length, 0) != length)
        rc = err_sys(err, -errno, "cannot write to %.150s", lock->path);
    if (rc) {
        (void)close(lock->fd);
        lock->fd = 0;
    }
    return rc;
}

/* Removed while it is held: who opened it before then finds that it is not current. */
void apply_lock_release(struct apply_lock *lock)
{
    struct stat held;
    if (lock->fd <= 0)
        return;
    if (is_current(lock, &held) && held.st_uid == geteuid())
        (void)unlink(lock->path);
    (void)close(lock->fd);
    lock->fd = 0;
}
