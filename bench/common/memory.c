#include "bench/common/memory.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/lib/sys/cgroup.h"
#include "harness/lib/sys/proc.h"
#include "harness/lib/text.h"

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

/* Maps 2 MiB more, and unmaps the parts before and after the aligned block. */
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
    /* Fails on kernels without transparent huge pages; memory_page_share detects that. */
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

static void unmap(void *block)
{
    memory_unmap(block);
}

int memory_unmap_at_close(struct bench_ctx *ctx, struct memory_block *block)
{
    return bench_at_close(ctx, unmap, block);
}

int memory_open(struct bench_ctx *ctx, struct memory_block *block, size_t bytes,
                enum memory_pages pages)
{
    int rc = memory_map(block, bytes, pages, ctx->err);
    return rc ? rc : memory_unmap_at_close(ctx, block);
}

/* The kilobytes after "name:" if `line` is that line, else 0. */
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

uint64_t memory_available_bytes(void)
{
    struct cgroup_limits cgroup;
    char text[32];
    uint64_t available = UINT64_MAX;
    if (proc_read_field("", "/proc/meminfo", "MemAvailable", ':', text, sizeof(text)))
        available = strtoull(text, NULL, 10) * 1024;
    cgroup_read("", &cgroup);
    return cgroup.memory_available_bytes < (double)available
               ? (uint64_t)cgroup.memory_available_bytes
               : available;
}

int memory_check_fits(uint64_t bytes, const char *what, struct err *err)
{
    uint64_t available = memory_available_bytes();
    if (bytes <= available / 10 * 9)
        return 0;
    return err_set(err, -ENOTSUP, "%s needs %s of memory, but only 9/10 of %s can be taken", what,
                   units_bytes(bytes), units_bytes(available));
}

/* The index of the deepest cache, the largest one if sizes differ, as with two kinds of cores. */
static int deepest_cache(const struct bench_machine *machine)
{
    int found = -1, level = 0;
    uint64_t size = 0;
    for (unsigned i = 0; i < machine->ncaches; i++) {
        const struct bench_cache *cache = &machine->caches[i];
        if (cache->size_bytes &&
            (cache->level > level || (cache->level == level && cache->size_bytes > size))) {
            found = (int)i;
            level = cache->level;
            size = cache->size_bytes;
        }
    }
    return found;
}

static int llc_of(const struct bench_machine *machine, const unsigned *cpus, unsigned i)
{
    return machine->cpus[cpus ? cpus[i] : i].llc;
}

uint64_t memory_llc_reached(const struct bench_machine *machine, const unsigned *cpus, unsigned n)
{
    const uint64_t unknown_bytes = 32ull << 20;
    int cache = deepest_cache(machine);
    if (cache < 0)
        return unknown_bytes;
    unsigned distinct = 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned before = 0;
        while (before < i && llc_of(machine, cpus, before) != llc_of(machine, cpus, i))
            before++;
        distinct += before == i;
    }
    return machine->caches[cache].size_bytes * (distinct ? distinct : 1);
}

uint64_t memory_llc_bytes(const struct bench_machine *machine)
{
    return memory_llc_reached(machine, NULL, machine->ncpus);
}

const char *memory_doubt(const char *what, uint64_t bytes, const char *caches, uint64_t cache_bytes)
{
    if (bytes < 2 * cache_bytes)
        return str_fmt("%s of %s below twice the %s of %s: in part the speed of caches", what,
                       units_bytes(bytes), units_bytes(cache_bytes), caches);
    return "";
}

size_t memory_page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

size_t memory_round_down(uint64_t bytes, size_t multiple)
{
    return (size_t)(bytes & ~(uint64_t)(multiple - 1));
}
