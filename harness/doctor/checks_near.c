/* What should be near and is not: CPUs of a GPU, pages of memory. */
#include <stdio.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/base/units.h"
#include "harness/doctor/check.h"

enum { COMMAND_MAX = sizeof(((struct finding *)0)->command) };

/* Calls `tell` for each GPU of a watched process that has CPUs of its own, and none of them is its.
 */
static void each_far_gpu(struct checker *checker, bool reachable,
                         void (*tell)(struct checker *checker, const struct view_process *process,
                                      const struct view_gpu *gpu, const struct bitset *near))
{
    const struct view *view = checker->view;
    const struct view_process *process;
    for (size_t at = 0; (process = view_next_watched(view, &at));) {
        struct bitset cpus = {0}, allowed;
        if (!process->gpus)
            continue;
        view_add_cpus(view, process, &cpus);
        view_allowed_cpus(view, process, &allowed);
        for (size_t g = 0; g < view->ngpus; g++) {
            const struct view_gpu *gpu = &view->gpus[g];
            struct bitset near = gpu->cpus;
            bitset_and(&near, &view->online);
            if (!(process->gpus >> g & 1) || bitset_empty(&near) ||
                bitset_subset(&view->online, &near) || bitset_intersects(&cpus, &near))
                continue;
            bitset_and(&near, &allowed);
            if (bitset_empty(&near) != reachable)
                tell(checker, process, gpu, &near);
        }
    }
}

static void tell_far(struct checker *checker, const struct view_process *process,
                     const struct view_gpu *gpu, const struct bitset *near)
{
    char evidence[160], command[COMMAND_MAX] = "", list[BITSET_LIST_MAX], is[BITSET_LIST_MAX];
    struct bitset cpus = {0};
    view_add_cpus(checker->view, process, &cpus);
    (void)snprintf(evidence, sizeof(evidence), "it runs on CPUs %.40s, near %.31s are %.40s",
                   bitset_format(&cpus, is, sizeof(is)), gpu->pci_bdf,
                   bitset_format(&gpu->cpus, list, sizeof(list)));
    (void)check_append(command, sizeof(command), "%staskset -acp %s %d",
                       check_sudo(checker->view, process), bitset_format(near, list, sizeof(list)),
                       (int)process->pid);
    const struct said said = said_bad(&process, evidence, command);
    checker_say(checker, &said,
                "it is far from its GPU: %s. Memory that it has stays where it is; started there, "
                "it has that near, too. 'contend run numa_matrix' measures what it costs.",
                evidence);
}

void check_far_from_gpu(struct checker *checker)
{
    each_far_gpu(checker, true, tell_far);
}

static void tell_shut_out(struct checker *checker, const struct view_process *process,
                          const struct view_gpu *gpu, const struct bitset *near)
{
    char evidence[160], list[BITSET_LIST_MAX], is[BITSET_LIST_MAX];
    struct bitset allowed;
    (void)near;
    view_allowed_cpus(checker->view, process, &allowed);
    (void)snprintf(evidence, sizeof(evidence), "its cgroup has CPUs %.40s, near %.31s are %.40s",
                   bitset_format(&allowed, is, sizeof(is)), gpu->pci_bdf,
                   bitset_format(&gpu->cpus, list, sizeof(list)));
    const struct said said = said_bad(&process, evidence, NULL);
    checker_say(checker, &said,
                "it may use no CPU near its GPU: %s. Whoever gave it these CPUs (a scheduler, a "
                "container) has to give it others.",
                evidence);
}

void check_shut_out_of_gpu(struct checker *checker)
{
    each_far_gpu(checker, false, tell_shut_out);
}

/* os_nodes whose CPUs its threads may use. */
static void find_nodes(const struct view *view, const struct view_process *process,
                       struct bitset *nodes)
{
    struct bitset cpus = {0};
    view_add_cpus(view, process, &cpus);
    for (size_t node = 0; node < view->nnodes; node++)
        if (bitset_intersects(&cpus, &view->node_cpus[node]))
            bitset_set(nodes, (unsigned)node);
}

static void tell_pages(struct checker *checker, const struct view_process *process,
                       const struct bitset *nodes, double far_bytes, double share)
{
    const struct view *view = checker->view;
    struct bitset others = process->about->mems;
    bool is_wider = !bitset_subset(&process->about->mems, nodes);
    char evidence[160], command[COMMAND_MAX] = "", from[BITSET_LIST_MAX], to[BITSET_LIST_MAX];
    char percent[16], size[32];
    for (size_t node = 0; bitset_empty(&process->about->mems) && node < view->nnodes; node++)
        bitset_set(&others, (unsigned)node);
    bitset_andnot(&others, nodes);
    (void)bitset_format(nodes, to, sizeof(to));
    (void)snprintf(evidence, sizeof(evidence), "%s of its memory (%s) is not on node %.40s",
                   text_percent(share, percent, sizeof(percent)),
                   units_format_bytes((uint64_t)far_bytes, size, sizeof(size)), to);
    if (!bitset_empty(&others))
        (void)check_append(command, sizeof(command), "%smigratepages %d %s %s",
                           check_sudo(view, process), (int)process->pid,
                           bitset_format(&others, from, sizeof(from)), to);
    const struct said said = said_bad(&process, evidence, command);
    checker_say(checker, &said,
                "it runs on one node and has memory on another: %s.%s migratepages is of the "
                "package numactl.",
                evidence,
                is_wider ? " It may take memory from nodes of which it has no CPU (cpuset.mems)."
                         : "");
}

void check_far_pages(struct checker *checker)
{
    static const double least_share = 0.2, least_bytes = 64 << 20;
    const struct view *view = checker->view;
    const struct view_process *process;
    for (size_t at = 0; (process = view_next_watched(view, &at));) {
        struct bitset nodes = {0};
        double far_bytes = 0, all_bytes = 0;
        if (!process->about || !process->about->pages_known)
            continue;
        find_nodes(view, process, &nodes);
        for (size_t node = 0; node < view->nnodes; node++) {
            double bytes = (double)process->about->node_bytes[node];
            all_bytes += bytes;
            far_bytes += bitset_test(&nodes, (unsigned)node) ? 0 : bytes;
        }
        if (!bitset_empty(&nodes) && far_bytes >= least_bytes &&
            far_bytes >= least_share * all_bytes)
            tell_pages(checker, process, &nodes, far_bytes, far_bytes / all_bytes);
    }
}
