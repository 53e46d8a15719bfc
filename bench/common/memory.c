#include "bench/common/memory.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "harness/base/units.h"

#ifndef MAP_HUGE_2MB
#define MAP_HUGE_2MB (21 << 26)
#endif

enum { HUGE_BYTES = 2 << 20 };

const char *const memory_pages_names[] = {"4k", "thp", "hugetlb", NULL};

static int map_hugetlb(struct memory_block *block, struct err *err)
{
    void *base = mmap(NULL, block->bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_HUGE_2MB, -1, 0);
    if (base == MAP_FAILED)
        return err_sys(err, -errno, "cannot map %zu bytes of the pool of 2 MiB pages",
                       block->bytes);
    block->base = base;
    return 0;
}

/* Maps 2 MiB more and gives back what is in front of and behind the aligned part. */
static int map_aligned(struct memory_block *block, struct err *err)
{
    size_t room = block->bytes + HUGE_BYTES;
    char *start = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED)
        return err_sys(err, -errno, "cannot map %zu bytes", room);
    size_t head = (HUGE_BYTES - (uintptr_t)start % HUGE_BYTES) % HUGE_BYTES;
    if (head)
        (void)munmap(start, head);
    if (HUGE_BYTES - head)
        (void)munmap(start + head + block->bytes, HUGE_BYTES - head);
    block->base = start + head;
    /* Refused where the kernel knows no transparent huge pages: memory_page_share tells. */
    (void)madvise(block->base, block->bytes,
                  block->pages == MEMORY_THP ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return 0;
}

int memory_map(struct memory_block *block, size_t bytes, enum memory_pages pages, struct err *err)
{
    if (bytes == 0 || bytes > SIZE_MAX / 2)
        return err_set(err, -EINVAL, "cannot map %zu bytes", bytes);
    block->pages = pages;
    block->bytes = (bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
    int rc = pages == MEMORY_HUGETLB ? map_hugetlb(block, err) : map_aligned(block, err);
    if (rc)
        *block = (struct memory_block){0};
    return rc;
}

void memory_unmap(struct memory_block *block)
{
    if (block->base)
        (void)munmap(block->base, block->bytes);
    *block = (struct memory_block){0};
}

/* Kilobytes behind "name:" when `line` is that line, else 0. */
static uint64_t kilobytes(const char *line, const char *name)
{
    size_t length = strlen(name);
    if (strncmp(line, name, length) != 0 || line[length] != ':')
        return 0;
    return strtoull(line + length + 1, NULL, 10);
}

/* How much of line's mapping "start-end ..." lies in the block; 0 for other lines. */
static uint64_t overlap(const char *line, const struct memory_block *block)
{
    uint64_t start, end, base = (uintptr_t)block->base;
    char mode[8];
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &start, &end, mode) != 3)
        return 0;
    start = start < base ? base : start;
    end = end > base + block->bytes ? base + block->bytes : end;
    return end > start ? end - start : 0;
}

double memory_page_share(const struct memory_block *block)
{
    FILE *file = fopen("/proc/self/smaps", "re");
    if (!file)
        return NAN;
    char line[512];
    uint64_t resident = 0, huge = 0, pool = 0;
    bool inside = false;
    while (fgets(line, sizeof(line), file)) {
        if (isdigit((unsigned char)line[0]) || islower((unsigned char)line[0]))
            inside = overlap(line, block) > 0;
        if (!inside)
            continue;
        resident += kilobytes(line, "Rss");
        huge += kilobytes(line, "AnonHugePages");
        pool += kilobytes(line, "Private_Hugetlb");
    }
    (void)fclose(file);
    if (block->pages == MEMORY_HUGETLB)
        return (double)pool * 1024 / (double)block->bytes;
    if (resident == 0)
        return NAN;
    double share = (double)huge / (double)resident;
    return block->pages == MEMORY_THP ? share : 1 - share;
}

int memory_check_pages(enum memory_pages pages, struct err *err)
{
    struct memory_block block = {0};
    int rc = memory_map(&block, HUGE_BYTES, pages, err);
    if (rc || !block.base)
        return err ? (err->code = -ENOTSUP) : -ENOTSUP;
    memset(block.base, 0, block.bytes);
    double share = memory_page_share(&block);
    memory_unmap(&block);
    if (share < 1)
        return err_set(err, -ENOTSUP, "no %s pages: the system gave others",
                       memory_pages_names[pages]);
    return 0;
}

/* First number in a file; "max", or no such file: UINT64_MAX. */
static uint64_t read_number(const char *folder, const char *name)
{
    char path[4096];
    uint64_t value;
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) >= sizeof(path))
        return UINT64_MAX;
    FILE *file = fopen(path, "re");
    if (!file)
        return UINT64_MAX;
    if (fscanf(file, "%" SCNu64, &value) != 1)
        value = UINT64_MAX;
    (void)fclose(file);
    return value;
}

/* Of a "name value" file such as memory.stat; 0 where there is none. */
static uint64_t read_field(const char *folder, const char *name, const char *field)
{
    char path[4096], line[256];
    uint64_t value = 0, got;
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) >= sizeof(path))
        return 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    while (fgets(line, sizeof(line), file)) {
        char key[64];
        if (sscanf(line, "%63s %" SCNu64, key, &got) == 2 && strcmp(key, field) == 0)
            value = got;
    }
    (void)fclose(file);
    return value;
}

/* Where a version of cgroups keeps its figures. */
struct cgroup_files {
    const char *limit, *usage, *cache_field;
};

static uint64_t group_available(const char *folder, const struct cgroup_files *files)
{
    uint64_t limit = read_number(folder, files->limit);
    uint64_t used = read_number(folder, files->usage);
    if (limit == UINT64_MAX || used == UINT64_MAX)
        return UINT64_MAX;
    /* Inactive file pages count as used, but go first. */
    uint64_t cache = read_field(folder, "memory.stat", files->cache_field);
    used = used > cache ? used - cache : 0;
    return limit > used ? limit - used : 0;
}

/* The least of a group and all above it, up to `top`. */
static uint64_t chain_available(const char *top, const char *group,
                                const struct cgroup_files *files)
{
    char folder[3072];
    uint64_t least = UINT64_MAX;
    size_t root = strlen(top);
    if ((size_t)snprintf(folder, sizeof(folder), "%s%s", top, group) >= sizeof(folder))
        return UINT64_MAX;
    for (;;) {
        uint64_t here = group_available(folder, files);
        least = here < least ? here : least;
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < root)
            return least;
        *slash = '\0';
    }
}

uint64_t memory_cgroup_available_bytes(const char *groups, const char *mount)
{
    static const struct cgroup_files v1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                           "total_inactive_file"};
    static const struct cgroup_files v2 = {"memory.max", "memory.current", "inactive_file"};
    uint64_t least = UINT64_MAX;
    char controllers[256], path[2048], top[512];
    for (const char *line = groups; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        uint64_t here = UINT64_MAX;
        if (sscanf(line, "0::%2047[^\n]", path) == 1) {
            here = chain_available(mount, path, &v2);
        } else if (sscanf(line, "%*d:%255[^:\n]:%2047[^\n]", controllers, path) == 2 &&
                   strcmp(controllers, "memory") == 0) {
            (void)snprintf(top, sizeof(top), "%s/memory", mount);
            here = chain_available(top, path, &v1);
        }
        least = here < least ? here : least;
    }
    return least;
}

uint64_t memory_available_bytes(void)
{
    char text[4096] = "", line[256];
    uint64_t available = UINT64_MAX;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && fgets(line, sizeof(line), file))
        if (kilobytes(line, "MemAvailable"))
            available = kilobytes(line, "MemAvailable") * 1024;
    if (file)
        (void)fclose(file);
    file = fopen("/proc/self/cgroup", "re");
    if (file) {
        text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
        (void)fclose(file);
    }
    uint64_t groups = memory_cgroup_available_bytes(text, "/sys/fs/cgroup");
    return groups < available ? groups : available;
}

int memory_check_fits(uint64_t bytes, const char *what, struct err *err)
{
    char need[32], have[32];
    uint64_t available = memory_available_bytes();
    if (bytes <= available / 10 * 9)
        return 0;
    return err_set(err, -ENOTSUP, "%s needs %s of memory, but only 9/10 of %s can be taken", what,
                   units_format_bytes(bytes, need, sizeof(need)),
                   units_format_bytes(available, have, sizeof(have)));
}

static int deepest_cache(const struct bench_machine *machine)
{
    int found = -1, level = 0;
    for (unsigned i = 0; i < machine->ncaches; i++) {
        if (machine->caches[i].level > level && machine->caches[i].size_bytes) {
            found = (int)i;
            level = machine->caches[i].level;
        }
    }
    return found;
}

uint64_t memory_llc_bytes(const struct bench_machine *machine)
{
    const uint64_t unknown_bytes = 32ull << 20;
    int cache = deepest_cache(machine);
    if (cache < 0)
        return unknown_bytes;
    unsigned distinct = 0;
    for (unsigned i = 0; i < machine->ncpus; i++) {
        unsigned before = 0;
        while (before < i && machine->cpus[before].llc != machine->cpus[i].llc)
            before++;
        distinct += before == i;
    }
    return machine->caches[cache].size_bytes * (distinct ? distinct : 1);
}

size_t memory_round_down(uint64_t bytes, size_t multiple)
{
    return (size_t)(bytes & ~(uint64_t)(multiple - 1));
}
