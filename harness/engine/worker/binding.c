#include "harness/engine/worker/binding.h"

#include <errno.h>
#include <numaif.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/task.h"
#include "harness/machine/openmp.h"

static int compare_cpus(const struct bitset *planned, const struct bitset *actual, const char *when,
                        struct err *err)
{
    if (bitset_equal(planned, actual))
        return 0;
    return err_set(err, -EXDEV, "bound to CPUs %s %s, planned %s", bitset_format(actual), when,
                   bitset_format(planned));
}

static int read_back_memory(struct shared_worker *slot)
{
    static const enum mem_policy policies[] = {
        [MPOL_DEFAULT] = MEM_DEFAULT,
        [MPOL_PREFERRED] = MEM_PREFERRED,
        [MPOL_BIND] = MEM_BIND,
        [MPOL_INTERLEAVE] = MEM_INTERLEAVE,
    };
    int mode = 0;
    if (get_mempolicy(&mode, slot->mem_nodes_actual.word, BITSET_BITS, NULL, 0)) {
        if (slot->plan.mem_policy == MEM_DEFAULT)
            return 0; /* no policy was planned, so none is checked */
        return err_sys(&slot->err, -ENOTSUP, "the memory policy cannot be read back");
    }
    bool is_known = mode >= 0 && (size_t)mode < sizeof(policies) / sizeof(policies[0]);
    if (slot->plan.mem_policy == MEM_DEFAULT) { /* inherited: any policy is right */
        slot->mem_policy_actual = is_known ? policies[mode] : MEM_DEFAULT;
        return 0;
    }
    if (!is_known)
        return err_set(&slot->err, -EXDEV, "the kernel reports unknown memory policy %d", mode);
    slot->mem_policy_actual = policies[mode];
    if (slot->mem_policy_actual == slot->plan.mem_policy &&
        bitset_equal(&slot->mem_nodes_actual, &slot->plan.mem_nodes))
        return 0;
    return err_set(&slot->err, -EXDEV, "memory policy is %s on nodes '%s', planned %s on '%s'",
                   mem_policy_name(slot->mem_policy_actual), bitset_format(&slot->mem_nodes_actual),
                   mem_policy_name(slot->plan.mem_policy), bitset_format(&slot->plan.mem_nodes));
}

int binding_read_back(struct shared_worker *slot, bool is_thread)
{
    int rc = affinity_get(0, &slot->cpus_first);
    if (rc)
        return err_sys(&slot->err, rc, "the CPU binding cannot be read back");
    slot->cpus_actual =
        is_thread || !openmp_binds(getenv) ? slot->cpus_first : *affinity_at_start();
    rc = compare_cpus(&slot->plan.cpus, &slot->cpus_actual, "at start", &slot->err);
    return rc ? rc : read_back_memory(slot);
}

int binding_read_back_threads(struct shared_worker *slot, bool all)
{
    struct bitset mask;
    int rc = affinity_get(0, &mask);
    if (!rc)
        rc = compare_cpus(&slot->cpus_first, &mask, "at the end", &slot->err);
    DIR *tasks = all ? task_open(getpid()) : NULL;
    for (pid_t tid; (tid = task_next(&tasks));) {
        if (rc || affinity_get(tid, &mask))
            continue;
        bitset_or(&slot->cpus_actual, &mask);
        bitset_or(&slot->cpus_threads, &mask);
        if (!bitset_subset(&mask, &slot->plan.cpus))
            rc = compare_cpus(&slot->plan.cpus, &mask, "in a thread", &slot->err);
    }
    return rc;
}

void binding_count_pages(const struct bench_ctx *ctx, struct shared_worker *slot)
{
    enum { MAX_PAGES = 4096 };
    static void *page[MAX_PAGES];
    static int node[MAX_PAGES];
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = ctx->buffer_bytes / page_bytes;
    size_t n = pages < MAX_PAGES ? pages : MAX_PAGES;
    if (!n)
        return;
    uintptr_t first = ((uintptr_t)ctx->buffer + page_bytes - 1) & ~(uintptr_t)(page_bytes - 1);
    for (size_t i = 0; i < n; i++) {
        page[i] = (void *)(first + i * (pages - 1) / n * page_bytes);
        /* NUMA balancing unmaps pages to see who uses them; move_pages then calls them absent. */
        (void)*(const volatile char *)page[i];
    }
    bool known = !move_pages(0, n, page, NULL, node, 0);
    for (size_t i = 0; i < n; i++)
        if (known && node[i] >= 0 && node[i] < BENCH_NODES)
            slot->pages_on_node[node[i]]++;
        else
            slot->pages_elsewhere++;
}
