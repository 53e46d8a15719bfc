/* cpusets of cgroup v2, below the cgroup that the script was started in. */
#include "harness/plan/emit/quote.h"
#include "harness/plan/emit/script.h"

/*
 * A cgroup that hands controllers on may hold no process, so we move into one below it; whoever
 * else is in ours is why it is refused. The system's own root is an exception. Where ours was
 * handed no cpuset, and has no limit that one would leave, one beside it does as well.
 */
static const char tree[] =
    "refuse() {\n"
    "    echo \"refused: $*\" >&2\n"
    "    exit 2\n"
    "}\n"
    "mount=$(sed -n \"s/^[^ ]* \\([^ ]*\\) cgroup2 .*/\\1/p\" /proc/self/mounts | head -n 1)\n"
    "own=$mount$(sed -n \"s/^0:://p\" /proc/self/cgroup)\n"
    "own=${own%/}\n"
    "[ \"$mount\" ] || refuse \"no cgroup v2 is mounted here\"\n"
    "base=$own\n"
    "if ! grep -qw cpuset \"$own/cgroup.controllers\"; then\n"
    "    base=${own%/*}\n"
    "    grep -qw cpuset \"$base/cgroup.controllers\" 2>/dev/null && [ -w \"$base/cgroup.procs\" ] "
    "||\n"
    "        refuse \"$own has no cpuset to hand on: run it as\" \\\n"
    "            \"systemd-run --scope -p Delegate=yes sh FILE\"\n"
    "    for limit in cpu.max memory.max memory.high; do\n"
    "        grep -qv ^max \"$own/$limit\" 2>/dev/null &&\n"
    "            refuse \"$own has no cpuset to hand on, but a limit, $limit\"\n"
    "    done\n"
    "fi\n"
    "group=$base/contend-$$\n"
    "enabled=\n"
    "cleanup() {\n"
    "    rmdir \"$group\"/worker-* 2>/dev/null\n"
    "    echo -cpuset >\"$group/cgroup.subtree_control\"\n"
    "    [ -z \"$enabled\" ] || echo -cpuset >\"$base/cgroup.subtree_control\"\n"
    "    echo $$ >\"$own/cgroup.procs\"\n"
    "    rmdir \"$group/main\" \"$group\"\n"
    "}\n"
    "mkdir -p \"$group/main\" || refuse \"cannot make a cgroup below $base\"\n"
    "trap cleanup EXIT\n"
    "echo $$ >\"$group/main/cgroup.procs\" || refuse \"cannot move into $group\"\n"
    "if ! grep -qw cpuset \"$base/cgroup.subtree_control\"; then\n"
    "    echo +cpuset >\"$base/cgroup.subtree_control\" ||\n"
    "        refuse \"$base holds other processes: run it as\" \\\n"
    "            \"systemd-run --scope -p Delegate=yes sh FILE\"\n"
    "    enabled=yes\n"
    "fi\n"
    "echo +cpuset >\"$group/cgroup.subtree_control\" || refuse \"$group cannot have cpusets\"\n"
    "# cpuset WORKER CPUS NODES: makes it, and reads it back\n"
    "cpuset() {\n"
    "    mkdir \"$group/worker-$1\" || refuse \"cannot make $group/worker-$1\"\n"
    "    [ -z \"$2\" ] || echo \"$2\" >\"$group/worker-$1/cpuset.cpus\" || refuse \"cannot set "
    "CPUs $2\"\n"
    "    [ -z \"$3\" ] || echo \"$3\" >\"$group/worker-$1/cpuset.mems\" ||\n"
    "        echo \"worker $1: cpuset.mems is refused: memory is not bound to nodes $3, pages lie "
    "where they are touched first\" >&2\n"
    "    got=$(cat \"$group/worker-$1/cpuset.cpus.effective\")\n"
    "    [ -z \"$2\" ] || [ \"$got\" = \"$2\" ] || refuse \"worker $1 gets CPUs $got in place of "
    "$2\"\n"
    "}\n";

int emit_cgroup(const struct emit *emit, struct strbuf *out, struct err *err)
{
    (void)err;
    script_begin(
        out, emit,
        "# Each worker in a cpuset of its own, which it cannot leave; all are removed at the "
        "end.\n");
    if (emit_has_soft_memory(emit))
        strbuf_adds(out,
                    "# A cpuset knows no preferred or interleaved memory: pages lie where they "
                    "are touched first.\n");
    script_allowed(out, emit, true);
    script_unset(out, emit, "");
    strbuf_adds(out, tree);
    for (unsigned w = 0; w < emit->nworkers; w++)
        strbuf_addf(out, "cpuset %u \"%s\" \"%s\"\n", w, emit->worker[w].cpus,
                    emit->worker[w].plan->mem_policy == MEM_BIND ? emit->worker[w].nodes : "");
    script_signals(out, "");
    for (unsigned w = 0; w < emit->nworkers; w++) {
        const struct emit_worker *worker = &emit->worker[w];
        script_worker_begin(out, emit, w);
        script_export(out, worker, NULL);
        strbuf_addf(out,
                    "    exec setsid -- sh -c 'echo $$ >\"$0/cgroup.procs\" && exec \"$@\"' "
                    "\"$group/worker-%u\"",
                    w);
        emit_words(out, worker, quote_shell);
        script_worker_end(out);
    }
    script_end(out);
    return 0;
}
