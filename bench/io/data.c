#include "bench/io/data.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "harness/lib/text.h"
#include "kernels/cpu/mix64.h"

const char *const place_names[] = {"here", "tmp", NULL};

/* From linux/magic.h; older versions of it lack some of these. */
static const struct {
    uint64_t magic;
    const char *name;
    bool memory;
} file_systems[] = {
    {0xef53, "ext4", false},         {0x58465342, "xfs", false},   {0x9123683e, "btrfs", false},
    {0x01021994, "tmpfs", true},     {0x858458f6, "ramfs", true},  {0x794c7630, "overlayfs", false},
    {0x6969, "nfs", false},          {0x2fc12fc1, "zfs", false},   {0xf2f52010, "f2fs", false},
    {0xca451a4e, "bcachefs", false}, {0x65735546, "fuse", false},  {0x0bd00bd0, "lustre", false},
    {0x47504653, "gpfs", false},     {0x00c36400, "ceph", false},  {0x01021997, "9p", false},
    {0xff534d42, "cifs", false},     {0xfe534d42, "smb2", false},  {0x4d44, "vfat", false},
    {0x19830326, "beegfs", false},   {0xaad7aaea, "panfs", false},
};

static void name_file_system(struct place *place, uint64_t magic)
{
    text_set(place->file_system, "0x%" PRIx64, magic);
    for (size_t i = 0; i < sizeof(file_systems) / sizeof(file_systems[0]); i++)
        if (file_systems[i].magic == magic) {
            text_set(place->file_system, "%s", file_systems[i].name);
            place->memory = file_systems[i].memory;
        }
}

static int refuse(int rc, const char *directory, struct err *err)
{
    (void)err_sys(err, rc, "no file can be made in %s", directory);
    return err->code = -ENOTSUP;
}

int place_open_directory(struct place *place, const char *directory, struct err *err)
{
    struct err own;
    struct statfs fs;
    struct statvfs room;
    err = err ? err : &own;
    *place = (struct place){.free_bytes = 0};
    if (!realpath(directory, place->directory) || statfs(place->directory, &fs) ||
        statvfs(place->directory, &room))
        return refuse(-errno, directory, err);
    name_file_system(place, (uint64_t)fs.f_type & 0xffffffff);
    place->free_bytes = (uint64_t)room.f_bavail * room.f_frsize;
    int fd = place_make_file(place, err);
    if (fd < 0)
        return refuse(fd, place->directory, err);
    (void)close(fd);
    return 0;
}

int place_open(struct place *place, enum place_where where, struct err *err)
{
    const char *tmp = getenv("TMPDIR"), *other = tmp && *tmp ? tmp : "/tmp";
    struct err why;
    int rc = place_open_directory(place, where == PLACE_HERE ? "." : other, &why);
    return rc ? err_set(err, rc, "%s (-p where=tmp and TMPDIR choose another)", why.msg) : 0;
}

int place_fit(const struct place *place, uint64_t least, uint64_t most, uint64_t unit,
              unsigned users, uint64_t *bytes, struct err *err)
{
    uint64_t room = place->free_bytes / PLACE_SHARE / (users ? users : 1);
    *bytes = (most < room ? most : room) / unit * unit;
    if (*bytes >= least && *bytes)
        return 0;
    return err_set(err, -ENOTSUP,
                   "%s has %s free, of which files take at most a quarter: %s do not fit",
                   place->directory, units_bytes(place->free_bytes), units_bytes(least));
}

/* For file systems without O_TMPFILE: makes a file with a name, then removes the name. */
static int make_and_unlink(const struct place *place)
{
    char name[PATH_MAX + 32];
    text_set(name, "%s/.contend-io-XXXXXX", place->directory);
    int fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (unlink(name)) {
        int rc = -errno;
        (void)close(fd);
        return rc;
    }
    return fd;
}

int place_make_file(const struct place *place, struct err *err)
{
    int fd = open(place->directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    int rc = fd < 0 ? -errno : fd;
    /* Kernels without O_TMPFILE take this for a directory opened for writing: -EISDIR. */
    if (rc == -EOPNOTSUPP || rc == -EISDIR || rc == -EINVAL || rc == -ENOENT)
        rc = make_and_unlink(place);
    return rc >= 0 ? rc : err_sys(err, rc, "cannot make a file in %s", place->directory);
}

int place_open_again(int fd, int flags, struct err *err)
{
    const char *name = str_fmt("/proc/self/fd/%d", fd);
    int again = open(name, flags | O_CLOEXEC);
    if (again >= 0)
        return again;
    return err_sys(err, -errno,
                   flags & O_DIRECT ? "the file system refuses O_DIRECT"
                                    : "cannot open a file by its descriptor");
}

/* Raises the soft limit of descriptors to the hard limit. The soft limit then, or 0: unknown. */
static uint64_t place_allow_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return 0;
    if (limit.rlim_cur != limit.rlim_max) {
        rlim_t before = limit.rlim_cur;
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit))
            limit.rlim_cur = before;
    }
    return limit.rlim_cur;
}

enum { CHUNK = 1 << 20, DESCRIPTORS_KEPT = 64, POISON = 0xa5 };

void data_fill(void *buffer, size_t bytes, uint64_t offset, uint64_t seed)
{
    uint64_t *words = buffer, first = offset / sizeof(*words);
    for (size_t i = 0; i < bytes / sizeof(*words); i++)
        words[i] = mix64(seed + first + i);
}

bool data_holds(const void *buffer, size_t bytes, uint64_t offset, uint64_t seed)
{
    const uint64_t *words = buffer, first = offset / sizeof(*words);
    uint64_t wrong = 0;
    for (size_t i = 0; i < bytes / sizeof(*words); i++)
        wrong |= words[i] ^ mix64(seed + first + i);
    return !wrong;
}

void *data_buffer(size_t bytes)
{
    void *buffer = aligned_alloc(DATA_ALIGN, (bytes + DATA_ALIGN - 1) / DATA_ALIGN * DATA_ALIGN);
    if (buffer)
        memset(buffer, POISON, bytes);
    return buffer;
}

int data_write(int fd, const void *buffer, size_t bytes, uint64_t offset, size_t *written)
{
    for (*written = 0; *written < bytes;) {
        ssize_t n = pwrite(fd, (const char *)buffer + *written, bytes - *written,
                           (off_t)(offset + *written));
        if (n < 0 && errno != EINTR)
            return -errno;
        if (!n)
            return -EIO;
        *written += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int report_failed(const struct data *data, const struct place *place, int rc, uint64_t done,
                         struct err *err)
{
    return err_sys(err, rc, "cannot write %s of files to %s (%s), after %s",
                   units_bytes(data->nfiles * data->file_bytes), place->directory,
                   place->file_system, units_bytes(done));
}

struct content {
    data_content *write;
    const void *arg;
};

static void write_pattern(const void *data, void *buffer, size_t bytes, uint64_t offset)
{
    data_fill(buffer, bytes, offset, ((const struct data *)data)->seed);
}

/* Errors of delayed writes appear only at fsync. */
static int write_file(struct data *data, const struct place *place, unsigned which,
                      const struct content *content, void *chunk, struct err *err)
{
    uint64_t begin = which * data->file_bytes;
    int fd = data->files[which].fd, rc = 0;
    for (uint64_t at = 0; at < data->file_bytes && !rc; at += CHUNK) {
        size_t n = data->file_bytes - at < CHUNK ? (size_t)(data->file_bytes - at) : CHUNK;
        size_t written;
        content->write(content->arg, chunk, n, begin + at);
        rc = data_write(fd, chunk, n, at, &written);
        if (rc)
            return report_failed(data, place, rc, begin + at + written, err);
    }
    return 0;
}

static int write_files(struct data *data, const struct place *place, const struct content *content,
                       struct err *err)
{
    void *chunk = data_buffer(CHUNK);
    int rc = chunk ? 0 : err_set(err, -ENOMEM, "cannot allocate a buffer");
    for (unsigned i = 0; i < data->nfiles && !rc; i++)
        rc = write_file(data, place, i, content, chunk, err);
    free(chunk);
    for (unsigned i = 0; i < data->nfiles && !rc; i++)
        if (fsync(data->files[i].fd))
            rc = report_failed(data, place, -errno, (uint64_t)i * data->file_bytes, err);
    return rc;
}

static int make_file(struct data *data, const struct place *place, unsigned which, struct err *err)
{
    struct data_file *file = &data->files[which];
    file->fd = place_make_file(place, err);
    if (file->fd < 0)
        return file->fd;
    text_set(file->name, "/proc/self/fd/%d", file->fd);
    return 0;
}

/* File systems in memory accept O_DIRECT from Linux 6.6 on, but read from memory as before. */
static void open_direct(struct data *data, const struct place *place)
{
    if (place->memory) {
        (void)err_set(&data->no_direct, -ENOTSUP, "%s is in memory: nothing to read past the cache",
                      place->file_system);
        return;
    }
    for (unsigned i = 0; i < data->nfiles && !data->no_direct.code; i++) {
        int fd = place_open_again(data->files[i].fd, O_RDONLY | O_DIRECT, &data->no_direct);
        data->files[i].direct_fd = data->nfiles == 1 ? fd : -1;
        if (fd >= 0 && data->nfiles > 1) {
            (void)close(fd);
            break;
        }
    }
    if (data->no_direct.code)
        data->no_direct.code = -ENOTSUP;
}

static int make(struct data *data, const struct place *place, unsigned nfiles,
                const struct content *content, struct err *err)
{
    uint64_t most = place_allow_descriptors();
    if (nfiles + DESCRIPTORS_KEPT > most)
        return err_set(err, -ENOTSUP, "%u files are more than may be open (ulimit -n: %llu)",
                       nfiles, (unsigned long long)most);
    data->files = calloc(nfiles, sizeof(*data->files));
    if (!data->files)
        return err_set(err, -ENOMEM, "cannot allocate a list of %u files", nfiles);
    int rc = 0;
    for (unsigned i = 0; i < nfiles; i++)
        data->files[i].fd = data->files[i].direct_fd = -1;
    for (data->nfiles = 0; data->nfiles < nfiles && !rc; data->nfiles++)
        rc = make_file(data, place, data->nfiles, err);
    if (!rc)
        rc = write_files(data, place, content, err);
    if (!rc)
        open_direct(data, place);
    if (rc)
        data_free(data);
    return rc;
}

int data_make(struct data *data, const struct place *place, unsigned nfiles, uint64_t file_bytes,
              uint64_t seed, struct err *err)
{
    *data = (struct data){.seed = mix64(seed), .file_bytes = file_bytes};
    return make(data, place, nfiles, &(struct content){write_pattern, data}, err);
}

int data_make_of(struct data *data, const struct place *place, uint64_t bytes,
                 data_content *content, const void *arg, struct err *err)
{
    *data = (struct data){.file_bytes = bytes};
    return make(data, place, 1, &(struct content){content, arg}, err);
}

void data_free(struct data *data)
{
    for (unsigned i = 0; i < data->nfiles; i++) {
        if (data->files[i].fd >= 0)
            (void)close(data->files[i].fd);
        if (data->files[i].direct_fd >= 0)
            (void)close(data->files[i].direct_fd);
    }
    free(data->files);
    *data = (struct data){.nfiles = 0};
}

int data_evict(const struct data *data, struct err *err)
{
    int rc = 0;
    for (unsigned i = 0; i < data->nfiles && !rc; i++)
        rc = -posix_fadvise(data->files[i].fd, 0, 0, POSIX_FADV_DONTNEED);
    return rc ? err_sys(err, rc, "cannot drop files from the page cache") : 0;
}

static int read_through(const struct data *data, unsigned which, void *chunk, struct err *err)
{
    for (uint64_t at = 0; at < data->file_bytes;) {
        ssize_t n = pread(data->files[which].fd, chunk, CHUNK, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_sys(err, n ? -errno : -EIO, "cannot read a file that was written");
        at += (uint64_t)n;
    }
    return 0;
}

int data_warm(const struct data *data, struct err *err)
{
    if (data_cached(data) >= 1)
        return 0;
    void *chunk = data_buffer(CHUNK);
    int rc = chunk ? 0 : err_set(err, -ENOMEM, "cannot allocate a buffer");
    for (unsigned i = 0; i < data->nfiles && !rc; i++)
        rc = read_through(data, i, chunk, err);
    free(chunk);
    return rc;
}

/* Pages of one file in the page cache, or -errno. A mapping that is not touched adds none. */
static int64_t cached_pages(const struct data *data, unsigned which, unsigned char *in_core,
                            size_t pages)
{
    void *map = mmap(NULL, data->file_bytes, PROT_READ, MAP_SHARED, data->files[which].fd, 0);
    if (map == MAP_FAILED)
        return -errno;
    int64_t found = mincore(map, data->file_bytes, in_core) ? -errno : 0;
    for (size_t page = 0; page < pages && found >= 0; page++)
        found += in_core[page] & 1;
    (void)munmap(map, data->file_bytes);
    return found;
}

double data_cached(const struct data *data)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = (data->file_bytes + page - 1) / page;
    unsigned char *in_core = malloc(pages ? pages : 1);
    double found = in_core ? 0 : (double)NAN;
    for (unsigned i = 0; i < data->nfiles && found >= 0; i++) {
        int64_t here = cached_pages(data, i, in_core, pages);
        found = here < 0 ? (double)NAN : found + (double)here;
    }
    free(in_core);
    return found / ((double)pages * data->nfiles);
}
