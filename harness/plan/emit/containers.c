/* Containers: Docker, and pods of Kubernetes. A container sees its only GPU as number 0. */
#include <errno.h>
#include <string.h>

#include "harness/plan/emit/quote.h"
#include "harness/plan/emit/script.h"

static bool is_inside(const struct emit_variable *variable)
{
    return strcmp(variable->name, "CUDA_VISIBLE_DEVICES") != 0;
}

/* A Docker daemon refuses nodes that its own cgroup does not have. */
static const char mems_function[] =
    "# mems WORKER NODES: takes them where the daemon does\n"
    "mems() {\n"
    "    mems=$2\n"
    "    if said=$(docker create --name \"contend-$$-try-$1\" --cpuset-mems \"$2\" \"$IMAGE\" true "
    "2>&1); then\n"
    "        docker rm \"contend-$$-try-$1\" >/dev/null\n"
    "    else\n"
    "        mems=\n"
    "        echo \"docker --cpuset-mems $2 does not work here ($said): memory is not bound, pages "
    "lie where they are touched first\" >&2\n"
    "    fi\n"
    "}\n";

static void add_docker(struct strbuf *out, const struct emit_worker *worker, unsigned w)
{
    if (worker->plan->mem_policy == MEM_BIND)
        strbuf_addf(out, "    mems %u %s\n", w, worker->nodes);
    strbuf_addf(
        out,
        "    exec setsid -- docker run --rm --init --name \"contend-$$-%u\" \\\n"
        "        --shm-size \"${SHM:-8g}\" --ulimit \"memlock=${MEMLOCK:--1}\" --workdir /work "
        "--volume \"$PWD:/work\"",
        w);
    if (worker->cpus[0])
        strbuf_addf(out, " --cpuset-cpus %s", worker->cpus);
    if (worker->plan->mem_policy == MEM_BIND)
        strbuf_adds(out, " ${mems:+--cpuset-mems \"$mems\"}");
    if (worker->gpu[0] && worker->numbers_gpu)
        strbuf_adds(out, " --gpus all");
    else if (worker->gpu[0])
        strbuf_addf(out, " --gpus device=%s", worker->gpu);
    strbuf_adds(out, " \\\n        ");
    for (unsigned i = 0; i < worker->nvariables; i++)
        if (is_inside(&worker->variable[i]))
            strbuf_addf(out, "--env %s=%s ", worker->variable[i].name, worker->variable[i].value);
    strbuf_adds(out, "\\\n        \"$IMAGE\"");
    emit_words(out, worker, quote_shell);
}

/* A container that sees one GPU cannot copy to the other GPUs of its job. */
static bool hides_peers(const struct emit *emit)
{
    return emit->gpus && !emit->numbers_gpu && emit->nworkers > 1;
}

static bool binds_hard(const struct emit *emit)
{
    for (unsigned w = 0; w < emit->nworkers; w++)
        if (emit->worker[w].plan->mem_policy == MEM_BIND)
            return true;
    return false;
}

int emit_docker(const struct emit *emit, struct strbuf *out, struct err *err)
{
    (void)err;
    script_begin(out, emit,
                 "#   IMAGE=... sh FILE   the image; this directory is /work in the containers, "
                 "/dev/shm has SHM=8g,\n"
                 "#   and MEMLOCK=-1 bytes may be locked, no end: where the daemon may not, one "
                 "that it may give\n");
    if (emit_has_soft_memory(emit))
        strbuf_adds(out, "# Docker knows no preferred or interleaved memory: pages lie where they "
                         "are touched first.\n");
    if (hides_peers(emit))
        strbuf_adds(out,
                    "# A container sees its own GPU alone: workers cannot copy from GPU to GPU "
                    "(P2P, CUDA IPC), and NCCL\n# takes the network between them. A command "
                    "with {gpu} has all GPUs.\n");
    script_allowed(out, emit, true);
    strbuf_adds(out, ": \"${IMAGE:?is to name the image}\"\nnames=\"");
    for (unsigned w = 0; w < emit->nworkers; w++)
        strbuf_addf(out, "%scontend-$$-%u", w ? " " : "", w);
    strbuf_adds(out, "\"\n");
    if (binds_hard(emit))
        strbuf_adds(out, mems_function);
    script_signals(out, "    # shellcheck disable=SC2086\n"
                        "    [ \"$1\" != KILL ] || docker kill $names >/dev/null 2>&1\n");
    for (unsigned w = 0; w < emit->nworkers; w++) {
        script_worker_begin(out, emit, w);
        add_docker(out, &emit->worker[w], w);
        script_worker_end(out);
    }
    script_end(out);
    return 0;
}

/* The plan's CPUs, and the CPUs reserved for the system: all cores without a CPU of the plan. These
 * include cores that we may not use, as the kubelet gives pods every CPU that is not reserved. */
struct shares {
    struct bitset planned, reserved;
};

static void find_shares(const struct topo *topo, const struct plan *plan, struct shares *shares)
{
    struct bitset core;
    for (unsigned w = 0; w < plan->nworkers; w++)
        bitset_or(&shares->planned, &plan->workers[w].cpus);
    for (unsigned at = 0; topo_next_core(topo, &at, &core);)
        if (!bitset_intersects(&core, &shares->planned))
            bitset_or(&shares->reserved, &core);
}

bool emit_leaves_core(const struct topo *topo, const struct plan *plan)
{
    struct shares shares = {0};
    find_shares(topo, plan, &shares);
    return !bitset_empty(&shares.reserved);
}

/*
 * How many CPUs a pod requests. A core that no other worker uses counts with all its CPUs: the
 * kubelet fills cores, so a `cores` pod that requests one CPU a core gets half as many cores.
 */
static unsigned pod_cpus(const struct emit *emit, const struct shares *shares, unsigned w)
{
    const struct bitset *own = &emit->worker[w].plan->cpus;
    struct bitset others = shares->planned, core;
    unsigned n = 0;
    bitset_andnot(&others, own);
    for (unsigned at = 0; topo_next_core(emit->job->topo, &at, &core);) {
        bool alone = !bitset_intersects(&core, &others);
        if (!bitset_intersects(&core, own))
            continue;
        if (!alone)
            bitset_and(&core, own);
        n += bitset_count(&core);
    }
    return n;
}

/* True if all pods request whole cores: the kubelet rejects other pods under full-pcpus-only. */
static bool all_fill_cores(const struct emit *emit, const struct shares *shares)
{
    unsigned fewest, threads;
    topo_threads_per_core(emit->job->topo, &fewest, &threads);
    for (unsigned w = 0; w < emit->nworkers; w++)
        if (pod_cpus(emit, shares, w) % threads)
            return false;
    return true;
}

static int add_pod(struct strbuf *out, const struct emit *emit, const struct shares *shares,
                   unsigned w, struct err *err)
{
    const struct emit_worker *worker = &emit->worker[w];
    unsigned cpus = pod_cpus(emit, shares, w);
    strbuf_addf(out,
                "---\n"
                "apiVersion: v1\n"
                "kind: Pod\n"
                "metadata:\n"
                "  name: contend-worker-%u\n"
                "spec:\n"
                "  restartPolicy: Never\n"
                "  containers:\n"
                "    - name: worker\n"
                "      image: your-image\n"
                "      env:\n",
                w);
    for (unsigned i = 0; i < worker->nvariables; i++)
        if (is_inside(&worker->variable[i]))
            strbuf_addf(out, "        - {name: %s, value: \"%s\"}\n", worker->variable[i].name,
                        worker->variable[i].value);
    strbuf_addf(out,
                "      resources: # limits equal to requests, in whole CPUs: QoS Guaranteed\n"
                "        requests: {cpu: \"%u\", memory: 8Gi%s}\n"
                "        limits: {cpu: \"%u\", memory: 8Gi%s}\n"
                "      volumeMounts:\n"
                "        - {name: shm, mountPath: /dev/shm}\n"
                "      command:\n",
                cpus, worker->gpu[0] ? ", nvidia.com/gpu: 1" : "", cpus,
                worker->gpu[0] ? ", nvidia.com/gpu: 1" : "");
    for (char **word = worker->words; *word; word++) {
        strbuf_adds(out, "        - ");
        if (!quote_yaml_arg(out, *word))
            return err_set(err, -EINVAL, "word %d of the command is no UTF-8, as YAML has to be",
                           (int)(word - worker->words) + 1);
        strbuf_addc(out, '\n');
    }
    strbuf_adds(out, "  volumes:\n"
                     "    - {name: shm, emptyDir: {medium: Memory, sizeLimit: 2Gi}}\n");
    return 0;
}

/* --reserve helps only if there are more cores than workers. */
static int refuse_full(const struct emit *emit, struct err *err)
{
    unsigned cores = 0;
    struct bitset core;
    for (unsigned at = 0; topo_next_core(emit->job->topo, &at, &core);)
        cores++;
    if (cores > emit->nworkers)
        return err_set(err, -EINVAL,
                       "the plan leaves no whole core to the system, and the kubelet needs one "
                       "before it gives pods CPUs of their own: add --reserve 1");
    return err_set(err, -EINVAL,
                   "the kubelet needs a whole core for the system before it gives pods CPUs of "
                   "their own, and %u worker%s on %u core%s leave%s none: it takes fewer workers "
                   "(-n), or more cores",
                   emit->nworkers, emit->nworkers == 1 ? "" : "s", cores, cores == 1 ? "" : "s",
                   emit->nworkers == 1 ? "s" : "");
}

/* Refuses plans that a kubelet cannot follow. */
static int check_k8s(const struct emit *emit, const struct shares *shares, struct err *err)
{
    const char *name = placement_infos[emit->job->plan->placement].name;
    if (emit->numbers_gpu)
        return err_set(err, -EINVAL,
                       "a pod sees its own GPU alone, which is number 0 there: "
                       "write 0 in place of {gpu}");
    if (!emit->pinned)
        return err_set(
            err, -EINVAL,
            "placement %s binds no CPUs, and exclusive ones are what k8s gives: take one "
            "that does, such as -P partition",
            name);
    if (plan_overlaps(emit->job->plan))
        return err_set(
            err, -EINVAL,
            "placement %s gives several workers the same CPUs, and exclusive ones are what "
            "k8s gives: take another, such as -P partition",
            name);
    return bitset_empty(&shares->reserved) ? refuse_full(emit, err) : 0;
}

static void add_k8s_head(struct strbuf *out, const struct emit *emit)
{
    strbuf_addf(
        out,
        "# %u workers, placement %s, by contend place: their sizes. Which CPUs each gets is "
        "for the kubelet to say:\n"
        "# exclusive ones by its static CPU manager, near its GPU by its topology manager. "
        "The first document is what\n"
        "# that needs in the kubelet's own configuration (no `kubectl apply`), the others "
        "are pods. Image and memory\n"
        "# are yours to fill in.\n",
        emit->nworkers, placement_infos[emit->job->plan->placement].name);
    emit_findings(out, emit, "# ", "\n");
    if (hides_peers(emit))
        strbuf_adds(out,
                    "# A pod sees its own GPU alone: workers cannot copy from GPU to GPU (P2P, "
                    "CUDA IPC), and NCCL takes the\n# network between them. One pod with all "
                    "GPUs, that starts the workers itself, has no such limit.\n");
    if (emit->gpus && !emit->own_gpus)
        strbuf_adds(out,
                    "# Workers share GPUs, and each pod asks for one: the device plugin has to "
                    "share them (time slicing),\n# or pods stay pending.\n");
    strbuf_adds(out, "# A kubelet that has run with other policies does not start with these until "
                     "its state is removed:\n"
                     "#   kubectl drain NODE --ignore-daemonsets\n"
                     "#   systemctl stop kubelet\n"
                     "#   rm -f /var/lib/kubelet/cpu_manager_state "
                     "/var/lib/kubelet/memory_manager_state\n"
                     "#   (write the settings), systemctl start kubelet, kubectl uncordon NODE\n");
}

/* Source: kubernetes.io, "Control Topology Management Policies on a node" and "Utilizing the
 * NUMA-aware Memory Manager". reservedMemory must sum up to what the kubelet's other settings
 * reserve, of which evictionHard is 100Mi by default. */
static void add_k8s_nodes(struct strbuf *out, const struct emit *emit)
{
    enum { KUBELET_NODES = 8 };
    const struct topo *topo = emit->job->topo;
    unsigned node = 0;
    if (topo->nnodes > KUBELET_NODES)
        strbuf_addf(out,
                    "topologyManagerPolicyOptions: {max-allowable-numa-nodes: \"%u\"} # more than "
                    "%d NUMA nodes: since kubelet 1.31\n",
                    topo->nnodes, KUBELET_NODES);
    if (!binds_hard(emit))
        return;
    while (node + 1 < topo->nnodes && !(topo->nodes[node].allowed && topo_has_memory(topo, node)))
        node++;
    strbuf_addf(out,
                "memoryManagerPolicy: Static # since kubelet 1.21\n"
                "systemReserved: {memory: 924Mi} # with evictionHard, 100Mi by default: the sum is "
                "reservedMemory\n"
                "reservedMemory:\n"
                "  - {numaNode: %u, limits: {memory: 1Gi}}\n",
                topo->nodes[node].os_node);
}

int emit_k8s(const struct emit *emit, struct strbuf *out, struct err *err)
{
    struct shares shares = {0};
    find_shares(emit->job->topo, emit->job->plan, &shares);
    int rc = check_k8s(emit, &shares, err);
    if (rc)
        return rc;
    add_k8s_head(out, emit);
    strbuf_addf(
        out,
        "apiVersion: kubelet.config.k8s.io/v1beta1\n"
        "kind: KubeletConfiguration\n"
        "cpuManagerPolicy: static\n"
        "%s"
        "reservedSystemCPUs: \"%s\" # the cores that the plan leaves: no pod gets them for "
        "its own\n"
        "topologyManagerPolicy: %s\n",
        all_fill_cores(emit, &shares) ? "cpuManagerPolicyOptions: {full-pcpus-only: \"true\"}\n"
                                      : "",
        bitset_format(&shares.reserved), binds_hard(emit) ? "single-numa-node" : "best-effort");
    add_k8s_nodes(out, emit);
    for (unsigned w = 0; w < emit->nworkers && !rc; w++)
        rc = add_pod(out, emit, &shares, w, err);
    return rc;
}
