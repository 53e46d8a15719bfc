#include "bench/io/place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "harness/lib/str.h"
#include "harness/lib/units.h"

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
    (void)snprintf(place->file_system, sizeof(place->file_system), "0x%" PRIx64, magic);
    for (size_t i = 0; i < sizeof(file_systems) / sizeof(file_systems[0]); i++)
        if (file_systems[i].magic == magic) {
            (void)snprintf(place->file_system, sizeof(place->file_system), "%s",
                           file_systems[i].name);
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
    (void)snprintf(name, sizeof(name), "%s/.contend-io-XXXXXX", place->directory);
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

uint64_t place_allow_descriptors(void)
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
