#include <elf.h>
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/doctor/reader/reader_parts.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/proc.h"
#include "harness/machine/gpu_health.h"

/* Reads properties that take long to read and do not change: once per watched process. */

/* Listing the pages of a larger process would stop it for too long. */
static const uint64_t most_listed_bytes = UINT64_C(32) << 30;

/* Prefixes of library file names. */
static const struct library {
    const char *prefix;
    unsigned bit;
} libraries[] = {
    {"libgomp", LIBRARY_GOMP},         {"libiomp5", LIBRARY_IOMP},
    {"libomp", LIBRARY_IOMP},          {"libmkl_", LIBRARY_MKL},
    {"libopenblas", LIBRARY_OPENBLAS}, {"libscipy_openblas", LIBRARY_OPENBLAS},
    {"libcuda.so", LIBRARY_CUDA},      {"libnccl", LIBRARY_NCCL},
    {"libtorch_cpu", LIBRARY_TORCH},   {"libmpi.", LIBRARY_MPI},
    {"libmpi_", LIBRARY_MPI},          {"libmpich", LIBRARY_MPI},
    {"libopen-pal", LIBRARY_OPEN_MPI},
};

unsigned reader_library(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
        if (strncmp(name, libraries[i].prefix, strlen(libraries[i].prefix)) == 0)
            return libraries[i].bit;
    return 0;
}

/* Names, or prefixes, of variables that a check reads; view_carried adds more. */
static const char *const settings[] = {
    "OMP_",
    "KMP_",
    "GOMP_",
    "MKL_",
    "OPENBLAS_",
    "CUDA_",
    "NCCL_",
    "TORCH_",
    "PYTORCH_",
    "MALLOC_CHECK_",
    "MALLOC_PERTURB_",
    "LD_PRELOAD",
    "PYTHONDEVMODE",
    "PYTHONMALLOC",
    "PYTHONTRACEMALLOC",
    "TF_",
    "ASAN_",
    "NUMEXPR_",
    "GOTO_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "OPENCV_FOR_THREADS_NUM",
    "GOMAXPROCS",
    "JAVA_TOOL_OPTIONS",
    "DOTNET_PROCESSOR_COUNT",
    "JULIA_NUM_THREADS",
    "TOKIO_WORKER_THREADS",
    "UV_THREADPOOL_SIZE",
    "TORCHELASTIC_RUN_ID",
    "OMPI_COMM_WORLD_",
    "OMPI_MCA_mpi_yield_when_idle",
    "OMPI_MCA_mpi_oversubscribe",
    "PMI_",
    "MPI_LOCALRANKID",
    "CONTEND_WORKER",
    "PMIX_NAMESPACE",
    "PMIX_RANK",
    "SLURM_JOB_ID",
    "SLURM_LOCALID",
    "SLURM_PROCID",
    "SLURM_STEP_ID",
    "KUBERNETES_SERVICE_HOST",
};

static void add_runtime(struct view_about *about, const char *path)
{
    for (unsigned i = 0; i < about->nruntimes; i++)
        if (strcmp(about->runtimes[i], path) == 0)
            return;
    if (about->nruntimes < VIEW_RUNTIMES_MAX)
        proc_copy_text(about->runtimes[about->nruntimes++], VIEW_PATH_MAX, path);
}

/*
 * The interpreter's lock is in the data of the file that has the interpreter; its zeroed part is an
 * anonymous mapping behind the file's. A library comes after the program that uses it.
 */
static void note_python(const char *line, const char *path, const char **last,
                        struct view_about *about)
{
    char *end;
    const uint64_t start = strtoull(line, &end, 16);
    const char *name = path ? strrchr(path, '/') + 1 : "";
    const bool is_python = strncmp(name, "python", 6) == 0 || strncmp(name, "libpython", 9) == 0;
    if (is_python && (!*last || strcmp(*last, path) != 0)) {
        *last = path;
        about->python_start = start;
    }
    if (is_python || (!path && !strchr(line, '[') && start == about->python_end))
        about->python_end = strtoull(end + 1, NULL, 16);
}

static void read_maps(struct reader *reader, const struct view_process *process,
                      struct view_about *about)
{
    const char *python = NULL;
    char *rest = NULL, *text = reader_read_long(reader, process->source.dir_fd, "maps");
    about->maps_known = text && text[0];
    if (!about->maps_known)
        return;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        const char *path = strchr(line, '/');
        const unsigned library = path ? reader_library(path) : 0;
        about->libraries |= library;
        note_python(line, path, &python, about);
        if (library & (LIBRARY_GOMP | LIBRARY_IOMP))
            add_runtime(about, path);
    }
}

/* Returns the resident size in bytes, 0 = unknown. */
static uint64_t read_status(const struct view_process *process, struct view_about *about)
{
    char text[8192];
    int once = -1;
    if (!reader_read(process->source.dir_fd, "status", &once, text, sizeof(text)))
        return 0;
    (void)proc_find_list(text, "Mems_allowed_list", &about->mems);
    const char *kib = proc_find(text, "VmRSS");
    return kib ? strtoull(kib, NULL, 10) << 10 : 0;
}

/* "7f.. default anon=3 dirty=3 N0=2 N1=1 kernelpagesize_kB=4" */
static void add_pages(char *line, struct view_about *about)
{
    uint64_t pages[VIEW_NODES_MAX] = {0}, page_kib = 4, node;
    char *rest = NULL;
    for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (strncmp(word, "kernelpagesize_kB=", 18) == 0)
            page_kib = strtoull(word + 18, NULL, 10);
        if (word[0] != 'N' || word[1] < '0' || word[1] > '9')
            continue;
        char *at;
        node = strtoull(word + 1, &at, 10);
        if (*at == '=' && node < VIEW_NODES_MAX)
            pages[node] = strtoull(at + 1, NULL, 10);
    }
    for (int i = 0; i < VIEW_NODES_MAX; i++)
        about->node_bytes[i] += pages[i] * page_kib << 10;
}

static void read_pages(struct reader *reader, const struct view_process *process,
                       uint64_t resident_bytes, struct view_about *about)
{
    char *rest = NULL;
    if (reader->view.nnodes < 2)
        return;
    if (resident_bytes > most_listed_bytes) {
        reader->view.pages_skipped++;
        return;
    }
    char *text = reader_read_long(reader, process->source.dir_fd, "numa_maps");
    about->pages_known = text && text[0];
    for (char *line = about->pages_known ? strtok_r(text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest))
        add_pages(line, about);
}

static bool is_setting(const char *text)
{
    for (const char *const *name = view_carried; *name; name++)
        if (strncmp(text, *name, strlen(*name)) == 0)
            return true;
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        if (strncmp(text, settings[i], strlen(settings[i])) == 0)
            return true;
    return false;
}

/* Reads a file of words that end with a 0. NULL: out of memory. *size: 0 if it is not readable. */
static char *read_words(const struct reader *reader, const struct view_process *process,
                        const char *file, size_t most, size_t *size)
{
    char name[32], *text = malloc(most);
    (void)snprintf(name, sizeof(name), "%d/%s", process->pid, file);
    int fd = text ? reader_open_file(reader->proc_fd, name) : -1;
    ssize_t n = fd >= 0 ? 1 : 0;
    *size = 0;
    while (n > 0 && *size < most - 1) {
        n = pread(fd, text + *size, most - 1 - *size, (off_t)*size);
        *size += n > 0 ? (size_t)n : 0;
    }
    if (text)
        text[*size] = '\0';
    if (fd >= 0)
        (void)close(fd);
    return text;
}

/* Keeps only variables that is_setting knows; returns the new size. */
static size_t keep_settings(char *text, size_t size)
{
    size_t kept = 0, length;
    for (size_t at = 0; at < size; at += length) {
        length = strlen(text + at) + 1;
        if (!is_setting(text + at))
            continue;
        memmove(text + kept, text + at, length);
        kept += length;
    }
    return kept;
}

static char *fit(char *text, size_t size)
{
    char *smaller = realloc(text, size + 1);
    return smaller ? smaller : text;
}

int reader_read_starts(struct reader *reader, struct view_process *process, struct err *err)
{
    enum { COMMAND_MOST = 4096, ENVIRON_MOST = 1 << 20 };
    for (size_t hops = 0; process && !process->command && hops < reader->view.nprocesses; hops++) {
        process->command =
            read_words(reader, process, "cmdline", COMMAND_MOST, &process->command_size);
        errno = 0;
        process->settings =
            read_words(reader, process, "environ", ENVIRON_MOST, &process->settings_size);
        process->environ_refused = errno == EACCES || errno == EPERM;
        if (!process->command || !process->settings)
            return err_set(err, -ENOMEM, "out of memory for a process's arguments and environment");
        process->settings_size = keep_settings(process->settings, process->settings_size);
        process->command = fit(process->command, process->command_size);
        process->settings = fit(process->settings, process->settings_size);
        process = view_find(&reader->view, process->parent);
    }
    return 0;
}

int reader_read_about(struct reader *reader, struct view_process *process, struct err *err)
{
    struct view_about *about = calloc(1, sizeof(*about));
    if (!about)
        return err_set(err, -ENOMEM, "out of memory for a process");
    process->about = about;
    read_maps(reader, process, about);
    about->go_minor = reader_go_minor(process->source.dir_fd);
    uint64_t resident_bytes = read_status(process, about);
    process->gpu_device =
        about->libraries & LIBRARY_CUDA && gpu_has_device_open((unsigned)process->pid);
    read_pages(reader, process, resident_bytes, about);
    reader->view.environs_refused += process->environ_refused;
    return 0;
}

int reader_read_again(struct reader *reader, struct view_process *process, struct err *err)
{
    free(process->command);
    free(process->settings);
    free(process->about);
    process->command = process->settings = NULL;
    process->about = NULL;
    int rc = reader_read_starts(reader, process, err);
    return rc ? rc : reader_read_about(reader, process, err);
}

/* Finds processes that /proc does not show: hidepid of proc(5). */

/* The options in a line "66 28 0:39 / /proc rw,relatime shared:5 - proc proc rw,hidepid=2". */
static const char *options_of_proc(char *line)
{
    char *end = strstr(line, " - proc "), *at = line;
    for (int field = 0; end && field < 4; field++) {
        at = strchr(at, ' ');
        if (!at++)
            return NULL;
    }
    if (!end || strncmp(at, "/proc ", 6) != 0)
        return NULL;
    char *last = strrchr(end, ' ');
    return last ? last + 1 : NULL;
}

/* The value of NAME= in a comma-separated list of options; NULL if missing. */
static const char *option_of(const char *options, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = options; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    }
    return NULL;
}

static bool is_member(gid_t group)
{
    int n = getgroups(0, NULL);
    gid_t *groups = n > 0 ? calloc((size_t)n, sizeof(*groups)) : NULL;
    bool found = getegid() == group;
    n = groups ? getgroups(n, groups) : 0;
    for (int i = 0; i < n; i++)
        found = found || groups[i] == group;
    free(groups);
    return found;
}

/* Translates the numbers that older kernels show. */
static void name_how(const char *value, char *how, size_t size)
{
    static const char *const names[] = {"off", "noaccess", "invisible", NULL, "ptraceable"};
    size_t length = strcspn(value, ",");
    if (length == 1 && *value >= '0' && *value <= '4' && names[*value - '0'])
        proc_copy_text(how, size, names[*value - '0']);
    else
        (void)snprintf(how, size, "%.*s", (int)length, value);
    if (strcmp(how, "off") == 0)
        how[0] = '\0';
}

/* True if we are in the group that sees all. With hidepid=ptraceable, gid= has no effect. */
static bool read_group(const char *options, struct view_hidden *hidden)
{
    const char *value = option_of(options, "gid");
    gid_t group = value ? (gid_t)strtoul(value, NULL, 10) : 0;
    if (!group || strcmp(hidden->how, "ptraceable") == 0)
        return false;
    const struct group *entry = getgrgid(group);
    (void)snprintf(hidden->group, sizeof(hidden->group), "%.40s%s%u%s", entry ? entry->gr_name : "",
                   entry ? " (" : "", (unsigned)group, entry ? ")" : "");
    return is_member(group);
}

void reader_find_hidden(struct reader *reader)
{
    struct view_hidden *hidden = &reader->view.hidden;
    const struct view_process *first = view_find(&reader->view, 1);
    char *rest = NULL, *text = reader_read_long(reader, reader->proc_fd, "self/mountinfo");
    bool sees_all = reader->view.is_root;
    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest)) {
        const char *options = options_of_proc(line);
        if (!options)
            continue;
        const char *value =
            option_of(options, "hidepid"); /* the last mount on /proc is the visible one */
        name_how(value ? value : "", hidden->how, sizeof(hidden->how));
        hidden->group[0] = '\0';
        sees_all = reader->view.is_root || read_group(options, hidden);
    }
    /* In a container, process 1 may be ours, so seeing it proves nothing. */
    bool is_ours = first && first->uid == reader->view.uid;
    hidden->any = !first || (hidden->how[0] && is_ours && !sees_all);
}

bool reader_add_hidden(struct reader *reader, pid_t pid)
{
    struct view_hidden *hidden = &reader->view.hidden;
    struct bitset cpus;
    /* sched_getaffinity works for any pid, even if /proc hides it. */
    if (!hidden->any || reader->root[0] || affinity_get(pid, &cpus) == -ESRCH)
        return false;
    if (hidden->npids < VIEW_HIDDEN_MAX)
        hidden->pids[hidden->npids] = (int)pid;
    hidden->npids++;
    return true;
}

int reader_refuse_hidden(const struct reader *reader, struct err *err)
{
    const struct view_hidden *hidden = &reader->view.hidden;
    struct bitset cpus;
    const char *list = !affinity_get(hidden->pids[0], &cpus) ? bitset_format(&cpus) : "";
    return err_set(
        err, -EACCES,
        "process %d exists%s%.60s, but /proc hides it (hidepid%s%s): root%s%s could watch it",
        hidden->pids[0], list[0] ? " and may use CPUs " : "", list, hidden->how[0] ? "=" : "",
        hidden->how, hidden->group[0] ? " or a member of group " : "", hidden->group);
}

/*
 * Recognizes programs of Go by the section .go.buildinfo of their ELF file, and reads the version:
 * since Go 1.18, a string behind the first 32 bytes (debug/buildinfo of Go's library). Declared in
 * reader_parts.h.
 */

enum { HEAD = 32, INFO = HEAD + 16 };

static bool read_at(int fd, void *out, size_t size, uint64_t at)
{
    return pread(fd, out, size, (off_t)at) == (ssize_t)size;
}

/* Reads the start of the section of that name. */
static bool read_section(int fd, const char *name, char *out, size_t size)
{
    Elf64_Ehdr file;
    Elf64_Shdr names, section;
    char its[32];
    const size_t length = strlen(name) + 1;
    if (!read_at(fd, &file, sizeof(file), 0) || memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 ||
        file.e_ident[EI_CLASS] != ELFCLASS64 || file.e_shentsize != sizeof(section) ||
        !read_at(fd, &names, sizeof(names),
                 file.e_shoff + (uint64_t)file.e_shstrndx * sizeof(section)))
        return false;
    for (unsigned i = 0; i < file.e_shnum; i++) {
        if (!read_at(fd, &section, sizeof(section), file.e_shoff + (uint64_t)i * sizeof(section)))
            return false;
        if (length <= sizeof(its) && section.sh_size >= size &&
            read_at(fd, its, length, names.sh_offset + section.sh_name) &&
            memcmp(its, name, length) == 0)
            return read_at(fd, out, size, section.sh_offset);
    }
    return false;
}

unsigned reader_go_minor(int dir_fd)
{
    static const char magic[] = "\xff Go buildinf:";
    enum { FLAGS = 15, IS_INLINE = 2 };
    char info[INFO + 1] = "";
    unsigned minor = 0;
    int fd = reader_open_file(dir_fd, "exe");
    bool is_go = fd >= 0 && read_section(fd, ".go.buildinfo", info, INFO) &&
                 memcmp(info, magic, sizeof(magic) - 1) == 0;
    if (fd >= 0)
        (void)close(fd);
    if (is_go && info[FLAGS] & IS_INLINE && strncmp(info + HEAD + 1, "go1.", 4) == 0)
        minor = (unsigned)strtoul(info + HEAD + 5, NULL, 10);
    return is_go && !minor ? 1 : minor;
}
