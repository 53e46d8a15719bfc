/* Distances that should be short: CPUs to their GPU, threads to their memory. */
#include <math.h>

#include "harness/doctor/checks/cpu_allocator.h"
#include "harness/lib/text.h"

/* A process that is far from its GPUs. */
struct far {
    const struct view_process *process;
    char gpus[64];      /* "0000:01:00.0", "2 GPUs" */
    struct bitset near; /* CPUs near any of its GPUs */
    struct bitset can;  /* those of `near` that its cgroup allows */
};

/* The CPUs near a GPU; empty = unknown, or all CPUs are near. */
static struct bitset near_cpus(const struct view *view, const struct view_gpu *gpu)
{
    struct bitset near = gpu->cpus;
    bitset_and(&near, &view->online);
    return bitset_subset(&view->online, &near) ? (struct bitset){0} : near;
}

/* False if it is near one of its GPUs: a process may have GPUs on both sockets. */
static bool is_far(const struct view *view, const struct view_process *process, struct far *far)
{
    struct bitset cpus = {0};
    unsigned n = 0;
    *far = (struct far){.process = process};
    view_add_cpus(view, process, &cpus);
    for (size_t g = 0; g < view->ngpus; g++) {
        if (!(process->gpus >> g & 1))
            continue;
        const struct bitset near = near_cpus(view, &view->gpus[g]);
        if (bitset_empty(&near) || bitset_intersects(&cpus, &near))
            return false;
        bitset_or(&far->near, &near);
        text_set(far->gpus, "%.31s", view->gpus[g].pci_bdf);
        n++;
    }
    if (n > 1)
        text_set(far->gpus, "its %u GPUs", n);
    view_allowed_cpus(view, process, &far->can);
    bitset_and(&far->can, &far->near);
    return n > 0;
}

static void for_each_far(struct checker *checker, bool reachable,
                         void (*tell)(struct checker *checker, const struct far *far))
{
    const struct view *view = checker->view;
    const struct view_process *process;
    for (size_t at = 0; (process = view_next_watched(view, &at));) {
        struct far far;
        if (process->gpus && is_far(view, process, &far) && bitset_empty(&far.can) != reachable)
            tell(checker, &far);
    }
}

static void report_far(struct checker *checker, const struct far *far)
{
    char command[COMMAND_MAX] = "";
    struct bitset cpus = {0}, can = far->can;
    int group = checker->group_of[far->process - checker->view->processes];
    view_add_cpus(checker->view, far->process, &cpus);
    allocate_spare(checker, group < 0 ? SIZE_MAX : (size_t)group,
                   group < 0 ? 1 : checker->groups[group].nrunnable, &can);
    const char *evidence = str_fmt("it runs on CPUs %.40s, near %.31s are %.40s",
                                   bitset_format(&cpus), far->gpus, bitset_format(&far->near));
    (void)check_bind(checker, far->process, 0, &can, command, sizeof(command));
    const struct finding_parts parts = finding_parts_bind(NAN, &far->process, 1, evidence, command);
    checker_report(
        checker, &parts,
        "it is far from its GPU: %s. Its memory stays where it is; started there, it has "
        "its memory near too. 'contend run numa_matrix' measures the cost.",
        evidence);
}

void check_far_from_gpu(struct checker *checker)
{
    for_each_far(checker, true, report_far);
}

static void report_shut_out(struct checker *checker, const struct far *far)
{
    char evidence[160];
    struct bitset allowed;
    view_allowed_cpus(checker->view, far->process, &allowed);
    text_set(evidence, "its cgroup has CPUs %.40s, near %.31s are %.40s", bitset_format(&allowed),
             far->gpus, bitset_format(&far->near));
    const struct finding_parts parts = finding_parts_bad(NAN, &far->process, 1, evidence, NULL);
    checker_report(
        checker, &parts,
        "it may use no CPU near its GPU: %s. The scheduler or container that gave it these "
        "CPUs must give it others.",
        evidence);
}

void check_shut_out_of_gpu(struct checker *checker)
{
    for_each_far(checker, false, report_shut_out);
}

/*
 * Nodes with CPUs. Memory on nodes without CPUs (a GPU's own, as on GH200; CXL) is near no CPU. It
 * was placed there on purpose: by the GPU that uses it, or by the kernel as the coldest.
 */
static struct bitset find_cpu_nodes(const struct view *view)
{
    struct bitset nodes = {0};
    for (size_t node = 0; node < view->nnodes; node++)
        if (!bitset_empty(&view->node_cpus[node]))
            bitset_set(&nodes, (unsigned)node);
    return nodes;
}

/* os_nodes whose CPUs its threads may use. */
static struct bitset find_nodes(const struct view *view, const struct view_process *process)
{
    struct bitset cpus = {0}, nodes = {0};
    view_add_cpus(view, process, &cpus);
    for (size_t node = 0; node < view->nnodes; node++)
        if (bitset_intersects(&cpus, &view->node_cpus[node]))
            bitset_set(&nodes, (unsigned)node);
    return nodes;
}

/* Removes nodes without memory, and those whose memory the process may not use. */
static void keep_memory(const struct view *view, const struct view_process *process,
                        struct bitset *nodes)
{
    if (!bitset_empty(&view->memory_nodes))
        bitset_and(nodes, &view->memory_nodes);
    if (!bitset_empty(&process->about->mems))
        bitset_and(nodes, &process->about->mems);
}

/* Its nodes have no memory for it. If CPUs of the node that has most of it idle, it can run there.
 */
static void report_no_memory(struct checker *checker, const struct view_process *process,
                             const struct bitset *nodes, double bytes)
{
    const struct view *view = checker->view;
    char command[COMMAND_MAX] = "";
    const struct bitset with_cpus = find_cpu_nodes(view);
    struct bitset can;
    int most = bitset_next(&with_cpus, 0);
    for (int node = most; node >= 0; node = bitset_next(&with_cpus, (unsigned)node + 1))
        if (process->about->node_bytes[node] > process->about->node_bytes[most])
            most = node;
    view_allowed_cpus(view, process, &can);
    bitset_and(&can, &view->node_cpus[most]);
    if (!bitset_empty(&can) && allocate_is_idle(view, &can))
        (void)check_append_bind(view, process, 0, &can, command, sizeof(command));
    const char *evidence = str_fmt("it runs on node %.40s, and its memory (%s) is on node %d",
                                   bitset_format(nodes), units_bytes((uint64_t)bytes), most);
    const struct finding_parts parts = finding_parts_bad(NAN, &process, 1, evidence, command);
    checker_report(checker, &parts, "no memory that it may use is near its CPUs: %s.%s", evidence,
                   command[0] ? " CPUs near that memory are idle." : "");
}

static void report_pages(struct checker *checker, const struct view_process *process,
                         const struct bitset *nodes, double far_bytes, double share)
{
    const struct view *view = checker->view;
    const struct bitset with_cpus = find_cpu_nodes(view);
    struct bitset others = process->about->mems;
    if (bitset_empty(&others))
        others = with_cpus;
    bitset_and(&others, &with_cpus);
    keep_memory(view, process, &others);
    bitset_andnot(&others, nodes);
    bool is_wider = !bitset_empty(&process->about->mems) && !bitset_empty(&others);
    const char *command = "", *to;
    to = bitset_format(nodes);
    const char *evidence = str_fmt("%s of its memory (%s) is not on node %.40s",
                                   text_percent(share), units_bytes((uint64_t)far_bytes), to);
    if (!bitset_empty(&others))
        str_add(&command, "", "%smigratepages %d %s %s", check_sudo(view, process),
                (int)process->pid, bitset_format(&others), to);
    const struct finding_parts parts = finding_parts_bad(NAN, &process, 1, evidence, command);
    checker_report(checker, &parts,
                   "it runs on one node and has memory on another: %s.%s migratepages is of the "
                   "package numactl.",
                   evidence,
                   is_wider ? " It may use memory of nodes without a CPU of its own (cpuset.mems)."
                            : "");
}

void check_far_pages(struct checker *checker)
{
    static const double least_share = 0.2, least_bytes = 64 << 20;
    const struct view *view = checker->view;
    const struct bitset with_cpus = find_cpu_nodes(view);
    const struct view_process *process;
    for (size_t at = 0; (process = view_next_watched(view, &at));) {
        double far_bytes = 0, all_bytes = 0;
        if (!process->about || !process->about->pages_known)
            continue;
        const struct bitset own = find_nodes(view, process);
        struct bitset nodes = own;
        keep_memory(view, process, &nodes);
        for (size_t node = 0; node < view->nnodes; node++) {
            double bytes = bitset_test(&with_cpus, (unsigned)node)
                               ? (double)process->about->node_bytes[node]
                               : 0;
            all_bytes += bytes;
            far_bytes += bitset_test(&nodes, (unsigned)node) ? 0 : bytes;
        }
        if (bitset_empty(&own) || far_bytes < least_bytes || far_bytes < least_share * all_bytes)
            continue;
        if (bitset_empty(&nodes))
            report_no_memory(checker, process, &own, far_bytes);
        else
            report_pages(checker, process, &nodes, far_bytes, far_bytes / all_bytes);
    }
}
