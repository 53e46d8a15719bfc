#include "harness/comms/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness/comms/host.h"

void inside_say_off(const char *why, const char *what, int code)
{
    char line[PATH_MAX + 200];
    int n = snprintf(line, sizeof(line), "%s: off in process %ld: %s%s%s%s\n", inside_who,
                     (long)getpid(), why, what, code ? ": " : "", code ? strerror(code) : "");
    if (n > 0 &&
        write(STDERR_FILENO, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line)) < 0)
        return; /* nobody to tell */
}

uint64_t inside_now_ns(clockid_t clock)
{
    struct timespec now = {0};
    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* All its blocks are there before it is mapped: a page that finds none kills who touches it. */
static bool map(int fd, struct inside_file *file)
{
    struct rlimit limit;
    int code = EFBIG; /* its signal would end the program */
    if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur >= file->size)
        code = posix_fallocate(fd, 0, (off_t)file->size);
    if (!code) {
        file->bytes = mmap(NULL, file->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        code = file->bytes == MAP_FAILED ? errno : 0;
    }
    if (!code)
        return true;
    inside_say_off("cannot write ", file->unfinished, code);
    (void)unlink(file->unfinished);
    return false;
}

bool inside_file_create(struct inside_file *file, const char *suffix, size_t size)
{
    const char *dir = getenv("CONTEND_COMMS_DIR");
    if (!dir || !*dir) {
        inside_say_off("CONTEND_COMMS_DIR names no directory", "", 0);
        return false;
    }
    file->size = size;
    comms_host_find(file->host);
    int n = snprintf(file->path, sizeof(file->path), "%s/%s-%ld-%llu%s", dir, file->host,
                     (long)getpid(), (unsigned long long)inside_now_ns(CLOCK_REALTIME), suffix);
    (void)snprintf(file->unfinished, sizeof(file->unfinished), "%s.begun", file->path);
    int fd = n < (int)sizeof(file->path)
                 ? open(file->unfinished, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644)
                 : -1;
    if (fd < 0) {
        inside_say_off("cannot create ", file->path,
                       n < (int)sizeof(file->path) ? errno : ENAMETOOLONG);
        return false;
    }
    bool mapped = map(fd, file);
    (void)close(fd);
    return mapped;
}

bool inside_file_name(struct inside_file *file)
{
    if (!rename(file->unfinished, file->path))
        return true;
    inside_file_drop(file, errno);
    return false;
}

void inside_file_drop(struct inside_file *file, int code)
{
    inside_say_off("cannot begin ", file->path, code);
    (void)unlink(file->unfinished);
    (void)munmap(file->bytes, file->size);
}
