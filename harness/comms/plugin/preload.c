#include "harness/comms/plugin/preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "harness/comms/plugin/names.h"

void preload_report_off(const char *why, const char *what, int code)
{
    char line[PATH_MAX + 200];
    int n = snprintf(line, sizeof(line), "contend comms: off in process %ld: %s%s%s%s\n",
                     (long)getpid(), why, what, code ? ": " : "", code ? strerror(code) : "");
    if (n > 0 &&
        write(STDERR_FILENO, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line)) < 0)
        return; /* there is no other place to report it */
}

uint64_t preload_now_ns(clockid_t clock)
{
    struct timespec now = {0};
    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct comms_header preload_header(const struct preload_file *file, uint32_t interface)
{
    struct comms_header header = comms_header_begin();
    header.interface = interface;
    header.pid = getpid();
    header.start_ns = preload_now_ns(CLOCK_REALTIME);
    header.start_mono_ns = preload_now_ns(CLOCK_MONOTONIC);
    header.copied_ns = file->is_private ? header.start_mono_ns : 0;
    (void)snprintf(header.host, sizeof(header.host), "%s", file->host);
    (void)snprintf(header.program, sizeof(header.program), "%s", program_invocation_short_name);
    comms_boot_find(header.boot);
    return header;
}

/* True on file systems that keep allocated blocks: no page of a mapped file fails later. */
static bool keeps_mapped_blocks(int fd)
{
    enum { XFS_MAGIC = 0x58465342 }; /* linux/magic.h has it since 5.4 only */
    const char *wanted = getenv("CONTEND_COMMS_MAPPED");
    struct statfs system;
    if ((wanted && strcmp(wanted, "0") == 0) || fstatfs(fd, &system))
        return false;
    return system.f_type == EXT4_SUPER_MAGIC || system.f_type == XFS_MAGIC ||
           system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC;
}

/* A write beyond the limit sends a signal that ends the program. */
static bool is_within_limit(size_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur >= size;
}

/* Allocates all blocks before the mapping: a page without a block kills the process that touches
 * it. A copied log needs none: each copy is a new file, and on NFS each block would be a write. */
static bool map(int fd, struct preload_file *file)
{
    file->is_private = !keeps_mapped_blocks(fd);
    int code = !is_within_limit(file->size) ? EFBIG
               : file->is_private           ? 0
                                            : posix_fallocate(fd, 0, (off_t)file->size);
    if (!code) {
        file->bytes = mmap(NULL, file->size, PROT_READ | PROT_WRITE,
                           file->is_private ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED,
                           file->is_private ? -1 : fd, 0);
        code = file->bytes == MAP_FAILED ? errno : 0;
    }
    if (!code)
        return true;
    preload_report_off("cannot write ", file->unfinished, code);
    (void)unlink(file->unfinished);
    return false;
}

bool preload_file_create(struct preload_file *file, const char *suffix, size_t size)
{
    const char *dir = getenv("CONTEND_COMMS_DIR");
    if (!dir || !*dir) {
        preload_report_off("CONTEND_COMMS_DIR names no directory", "", 0);
        return false;
    }
    file->size = size;
    comms_host_find(file->host);
    int n = snprintf(file->path, sizeof(file->path), "%s/%s-%ld-%llu%s", dir, file->host,
                     (long)getpid(), (unsigned long long)preload_now_ns(CLOCK_REALTIME), suffix);
    (void)snprintf(file->unfinished, sizeof(file->unfinished), "%s.begun", file->path);
    int fd = n < (int)sizeof(file->path)
                 ? open(file->unfinished, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644)
                 : -1;
    if (fd < 0) {
        preload_report_off("cannot create ", file->path,
                           n < (int)sizeof(file->path) ? errno : ENAMETOOLONG);
        return false;
    }
    bool mapped = map(fd, file);
    (void)close(fd);
    return mapped;
}

bool preload_file_name(struct preload_file *file)
{
    int code = file->is_private                       ? preload_file_save(file)
               : rename(file->unfinished, file->path) ? errno
                                                      : 0;
    if (code)
        preload_file_drop(file, code);
    return !code;
}

/* Zeroed blocks stay holes. */
static int write_backwards(int fd, const struct preload_file *file)
{
    enum { WORDS = 512 };
    const uint64_t *word = file->bytes;
    uint64_t block[WORDS];
    const size_t all = file->size / sizeof(*word);
    for (size_t at = (all - 1) / WORDS * WORDS, n = all - at;; at -= WORDS, n = WORDS) {
        uint64_t any = 0;
        for (size_t i = n; i-- > 0;)
            any |= block[i] = __atomic_load_n(&word[at + i], __ATOMIC_ACQUIRE);
        if (any && pwrite(fd, block, n * sizeof(*word), (off_t)(at * sizeof(*word))) !=
                       (ssize_t)(n * sizeof(*word)))
            return errno ? errno : ENOSPC;
        if (!at)
            return 0;
    }
}

int preload_file_save(const struct preload_file *file)
{
    int fd = open(file->unfinished, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return errno;
    errno = 0;
    int code = !is_within_limit(file->size)       ? EFBIG
               : ftruncate(fd, (off_t)file->size) ? errno
                                                  : write_backwards(fd, file);
    if (close(fd) && !code) /* NFS reports a full disk here */
        code = errno;
    if (!code && rename(file->unfinished, file->path))
        code = errno;
    if (code)
        (void)unlink(file->unfinished);
    return code;
}

static int start(pthread_t *thread, void *(*run)(void *arg))
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(thread, NULL, run, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

static struct timespec in_ms(long ms)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return until;
}

int preload_thread_start(struct preload_thread *saver, void *(*run)(void *arg))
{
    pthread_condattr_t clock;
    int code = pthread_condattr_init(&clock);
    code = code ? code : pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    code = code ? code : pthread_cond_init(&saver->changed, &clock);
    return code ? code : start(&saver->thread, run);
}

bool preload_thread_pause(struct preload_thread *saver, long ms)
{
    const struct timespec until = in_ms(ms);
    int code = 0;
    (void)pthread_mutex_lock(&saver->lock);
    while (!saver->ends && !saver->wanted && !code)
        code = pthread_cond_timedwait(&saver->changed, &saver->lock, &until);
    saver->wanted = false;
    bool ends = saver->ends;
    (void)pthread_mutex_unlock(&saver->lock);
    return ends;
}

void preload_thread_end(struct preload_thread *saver, long ms)
{
    const struct timespec until = in_ms(ms);
    (void)pthread_mutex_lock(&saver->lock);
    saver->ends = true;
    (void)pthread_cond_signal(&saver->changed);
    (void)pthread_mutex_unlock(&saver->lock);
    /* Joined, as LeakSanitizer reports a thread that is still ending when the program ends. */
    (void)pthread_clockjoin_np(saver->thread, NULL, CLOCK_MONOTONIC, &until);
}

bool preload_find_symbols(void *library, const struct preload_symbol *symbols, size_t n,
                          void *table)
{
    for (size_t i = 0; i < n; i++)
        if (!dlsym(library, symbols[i].name))
            return false;
    for (size_t i = 0; i < n; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        memcpy((char *)table + symbols[i].offset, &symbol, sizeof(symbol));
    }
    return true;
}

void preload_file_drop(struct preload_file *file, int code)
{
    preload_report_off("cannot begin ", file->path, code);
    (void)unlink(file->unfinished);
    (void)munmap(file->bytes, file->size);
}
