#include "harness/show/figures/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/lib/sys/file.h"
#include "harness/lib/text.h"

const char *const plot_suffixes[PLOT_PICTURES] = {".svg", ".png", ".narrow.svg", ".narrow.png"};

static const char *name_file(const char *name, const char *suffix)
{
    return str_fmt("%s%s", name, suffix);
}

int plot_files_open(int directory_fd, bool make, struct err *err)
{
    if (make && mkdirat(directory_fd, "plots", 0755) && errno != EEXIST)
        return err_sys(err, -errno, "cannot make the directory plots");
    int dir_fd = openat(directory_fd, "plots", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (dir_fd < 0 && (errno == ENOTDIR || errno == ELOOP))
        return err_set(err, -ENOTDIR, "plots is no directory (a link is not followed)");
    return dir_fd < 0 ? err_sys(err, -errno, "cannot open the directory plots") : dir_fd;
}

int plot_files_memory(struct err *err)
{
    int fd = memfd_create("contend-plot", MFD_CLOEXEC);
    return fd < 0 ? err_sys(err, -errno, "cannot hold a figure in memory") : fd;
}

/* Copies all of `from`; -EFBIG if that is more than `most` bytes. */
static int copy(int from, int to, off_t most)
{
    char bytes[65536];
    for (off_t at = 0;;) {
        ssize_t n = pread(from, bytes, sizeof(bytes), at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : 0;
        if (at + n > most)
            return -EFBIG;
        int rc = file_write_at(to, bytes, (size_t)n, at);
        if (rc)
            return rc;
        at += n;
    }
}

static int copy_data(int from, const char *file, int to, struct err *err)
{
    static const off_t most = (off_t)PLOT_DATA_MAX_MIB << 20;
    struct stat status;
    if (fstat(from, &status))
        return err_sys(err, -errno, "cannot read plots/%s", file);
    if (!S_ISREG(status.st_mode))
        return err_set(err, -EINVAL, "cannot read plots/%s: it is no regular file", file);
    int rc = status.st_size > most ? -EFBIG : copy(from, to, most);
    if (rc == -EFBIG)
        return err_set(err, rc, "cannot read plots/%s: it is larger than %d MiB", file,
                       PLOT_DATA_MAX_MIB);
    return rc ? err_sys(err, rc, "cannot read plots/%s", file) : 0;
}

int plot_files_read(int plots_fd, const char *name, const char *suffix, struct err *err)
{
    const char *file = name_file(name, suffix);
    /* O_NONBLOCK: opening a FIFO must not wait for a writer. */
    int from = openat(plots_fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (from < 0 && errno == ELOOP)
        return err_set(err, -EINVAL, "cannot read plots/%s: it is a link", file);
    if (from < 0)
        return err_sys(err, -errno, "cannot read plots/%s", file);
    int to = plot_files_memory(err);
    int rc = to < 0 ? to : copy_data(from, file, to, err);
    (void)close(from);
    if (rc && to >= 0)
        (void)close(to);
    return rc ? rc : to;
}

int plot_files_put(int plots_fd, const char *name, const char *suffix, int from_fd, struct err *err)
{
    struct stat status;
    void *bytes = MAP_FAILED;
    const char *file = name_file(name, suffix);
    int rc = fstat(from_fd, &status) ? -errno : 0;
    const size_t size = rc ? 0 : (size_t)status.st_size;
    if (size && (bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, from_fd, 0)) == MAP_FAILED)
        rc = -errno;
    rc = rc ? rc : file_replace(plots_fd, file, size ? bytes : "", size);
    if (bytes != MAP_FAILED)
        (void)munmap(bytes, size);
    return rc ? err_sys(err, rc, "cannot write plots/%s", file) : 0;
}

bool plot_files_has(int plots_fd, const char *name, const char *suffix)
{
    struct stat status;
    const char *file = name_file(name, suffix);
    return !fstatat(plots_fd, file, &status, AT_SYMLINK_NOFOLLOW);
}

void plot_files_remove(int plots_fd, const char *name, const char *suffix)
{
    const char *file = name_file(name, suffix);
    (void)unlinkat(plots_fd, file, 0);
}

void plot_files_remove_pictures(int plots_fd, const char *name)
{
    for (int i = 0; i < PLOT_PICTURES; i++)
        plot_files_remove(plots_fd, name, plot_suffixes[i]);
}

void plot_files_remove_all(int plots_fd, const char *name)
{
    plot_files_remove(plots_fd, name, ".dat");
    plot_files_remove_pictures(plots_fd, name);
}

int plot_files_write_data(int plots_fd, const char *name, plot_writer *write, const void *arg,
                          struct err *err)
{
    int fd = plot_files_memory(err);
    if (fd < 0)
        return fd;
    FILE *out = fdopen(fd, "w");
    if (!out) {
        (void)close(fd);
        return err_set(err, -ENOMEM, "no memory for plots/%s.dat", name);
    }
    int rc = write(arg, out, err);
    if (!rc && (fflush(out) || ferror(out)))
        rc = err_set(err, -ENOMEM, "no memory for plots/%s.dat", name);
    if (!rc)
        rc = plot_files_put(plots_fd, name, ".dat", fd, err);
    (void)fclose(out);
    return rc;
}

#define FIRST_WORDS "# contend "

static const char *const kinds[] = {
    [FIGURE_LINES] = "line_chart",
    [FIGURE_BARS] = "bar_chart",
    [FIGURE_HEAT] = "heat_map",
    [FIGURE_DOTS] = "dot_chart",
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), LINE_MOST = 40 };

void found_put_kind(enum figure_kind kind, FILE *out)
{
    (void)fprintf(out, FIRST_WORDS "%s\n", kinds[kind]);
}

/* "loss" for "loss.dat"; false if the file is not named like a figure. */
static bool take_name(const char *file, char name[static FIGURE_NAME_MAX])
{
    size_t length = strspn(file, "abcdefghijklmnopqrstuvwxyz0123456789_");
    if (length == 0 || length >= FIGURE_NAME_MAX || strcmp(file + length, ".dat") != 0)
        return false;
    (void)snprintf(name, FIGURE_NAME_MAX, "%.*s", (int)length, file);
    return true;
}

/* Returns the kind that the first line names; KINDS: none. */
static size_t read_kind(int plots_fd, const char *file)
{
    char line[LINE_MOST], wanted[LINE_MOST];
    struct stat status;
    size_t kind = KINDS;
    /* O_NONBLOCK: opening a FIFO must not wait for a writer. */
    int fd = openat(plots_fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return KINDS;
    ssize_t n = fstat(fd, &status) || !S_ISREG(status.st_mode) ? -1 : pread(fd, line, LINE_MOST, 0);
    for (size_t i = 0; i < KINDS && n > 0; i++) {
        int length = snprintf(wanted, sizeof(wanted), FIRST_WORDS "%s\n", kinds[i]);
        if (n >= length && memcmp(line, wanted, (size_t)length) == 0)
            kind = i;
    }
    (void)close(fd);
    return kind;
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct found *)a)->name, ((const struct found *)b)->name);
}

size_t found_list(int plots_fd, struct found found[static FOUND_MOST])
{
    size_t n = 0;
    int fd = openat(plots_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (!directory) {
        if (fd >= 0)
            (void)close(fd);
        return 0;
    }
    for (const struct dirent *entry; n < FOUND_MOST && (entry = readdir(directory));) {
        size_t kind = KINDS;
        if (take_name(entry->d_name, found[n].name))
            kind = read_kind(plots_fd, entry->d_name);
        if (kind < KINDS)
            found[n++].kind = (enum figure_kind)kind;
    }
    (void)closedir(directory);
    qsort(found, n, sizeof(*found), compare);
    return n;
}
