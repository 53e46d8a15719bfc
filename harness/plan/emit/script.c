#include "harness/plan/emit/script.h"

#include <stdlib.h>
#include <string.h>

#include "harness/plan/emit/quote.h"

/* Has no single quotes, so that the text can stand between single quotes. */
static const char allowed[] =
    "# The CPUs of a list such as 0-3,8, with blanks around each.\n"
    "cpus_of() (\n"
    "    IFS=,\n"
    "    for part in $1; do\n"
    "        cpu=${part%-*}\n"
    "        while [ \"$cpu\" -le \"${part#*-}\" ]; do\n"
    "            printf \" %s \" \"$cpu\"\n"
    "            cpu=$((cpu + 1))\n"
    "        done\n"
    "    done\n"
    ")\n"
    "# Never a CPU that we were not given.\n"
    "given=$(sed -n \"s/^Cpus_allowed_list:[[:space:]]*//p\" /proc/self/status)\n"
    "allowed=$(cpus_of \"$given\")\n"
    "may() {\n"
    "    for cpu in $(cpus_of \"$1\"); do\n"
    "        case $allowed in\n"
    "        *\" $cpu \"*) ;;\n"
    "        *)\n"
    "            echo \"refused: CPU $cpu is not among those allowed here, $given\" >&2\n"
    "            exit 2\n"
    "            ;;\n"
    "        esac\n"
    "    done\n"
    "}\n";

void script_begin(struct strbuf *out, const struct emit *emit, const char *usage)
{
    const struct plan *plan = emit->job->plan;
    strbuf_addf(out, "#!/bin/sh\n# %u workers, placement %s, by contend place.\n%s", emit->nworkers,
                placement_infos[plan->placement].name, usage);
    emit_findings(out, emit, "# ", "\n");
}

void script_unset(struct strbuf *out, const struct emit *emit, const char *indent)
{
    strbuf_addf(out, "%s# Inherited, these would undo the plan.\n%sunset%s\n", indent, indent,
                inherited_list(emit->job->plan, " ", NULL));
}

void script_allowed(struct strbuf *out, const struct emit *emit, bool calls)
{
    if (!emit->binds_cpus)
        return;
    strbuf_adds(out, allowed);
    for (unsigned w = 0; calls && w < emit->nworkers; w++)
        if (emit->worker[w].cpus[0])
            strbuf_addf(out, "may %s\n", emit->worker[w].cpus);
}

/* numactl may be missing, or a sandbox may refuse it: the script tries it before it execs it. */
void script_bound(struct strbuf *out, const char *session)
{
    static const char options[] = "${cpus:+\"--physcpubind=$cpus\"} ${memory:+\"$memory\"} --";
    strbuf_addf(out,
                "# bound CPUS MEMORY COMMAND...: CPUS and MEMORY may be empty\n"
                "bound() {\n"
                "    cpus=$1 memory=$2\n"
                "    shift 2\n"
                "    if ! [ \"$cpus$memory\" ]; then\n"
                "        exec %s\"$@\"\n"
                "    elif ! command -v numactl >/dev/null; then\n"
                "        said=\"it is in the package numactl\"\n"
                "    elif said=$(numactl %s true 2>&1); then\n"
                "        exec %snumactl %s \"$@\"\n"
                "    fi\n"
                "    [ -z \"$memory\" ] ||\n"
                "        echo \"numactl $memory does not work here (${said%%%%\n*}): memory is not "
                "bound, pages lie where they are touched first\" >&2\n"
                "    [ -z \"$cpus\" ] || exec %staskset -c \"$cpus\" \"$@\"\n"
                "    exec %s\"$@\"\n"
                "}\n",
                *session ? session : "env -- ", options, session, options, session,
                *session ? session : "env -- ");
}

static void add_signals(struct strbuf *out, const char *more)
{
    strbuf_addf(
        out,
        "pids=\n"
        "signal() {\n"
        "%s"
        "    for pid in $pids ${!:-}; do\n"
        "        kill -s \"$1\" -- \"-$pid\" 2>/dev/null || kill -s \"$1\" \"$pid\" 2>/dev/null\n"
        "    done\n"
        "}\n"
        "# Ctrl-C tells all workers to end; a second one ends those that do not.\n"
        "stop() {\n"
        "    trap \"signal KILL\" INT TERM HUP\n"
        "    signal TERM\n"
        "    for pid in $pids ${!:-}; do\n"
        "        while kill -0 \"$pid\" 2>/dev/null; do\n"
        "            wait \"$pid\"\n"
        "        done\n"
        "    done\n"
        "    exit \"$1\"\n"
        "}\n"
        "trap \"stop 130\" INT\n"
        "trap \"stop 143\" TERM\n"
        "trap \"stop 129\" HUP\n",
        more);
}

void script_export(struct strbuf *out, const struct emit_worker *worker, const char *without)
{
    strbuf_adds(out, "    export");
    for (unsigned i = 0; i < worker->nvariables; i++) {
        if (without && !strcmp(without, worker->variable[i].name))
            continue;
        strbuf_addf(out, " %s=", worker->variable[i].name);
        quote_shell(out, worker->variable[i].value);
    }
    strbuf_addc(out, '\n');
}

void script_workers(struct strbuf *out, const struct emit *emit, const char *more,
                    void (*add)(struct strbuf *out, const struct emit *emit, unsigned w))
{
    add_signals(out, more);
    for (unsigned w = 0; w < emit->nworkers; w++) {
        strbuf_addc(out, '\n');
        emit_title(out, emit, w);
        strbuf_adds(out, "(\n");
        add(out, emit, w);
        strbuf_adds(out, "\n) &\npids=\"$pids $!\"\n");
    }
    strbuf_adds(out, "\nworst=0\n"
                     "for pid in $pids; do\n"
                     "    wait \"$pid\"\n"
                     "    code=$?\n"
                     "    [ \"$code\" -le \"$worst\" ] || worst=$code\n"
                     "done\n"
                     "exit \"$worst\"\n");
}

/* Formats that start the workers from a shell: lines to paste, and scripts. */

/* MKL and OpenBLAS fall back to OMP_NUM_THREADS; leaving out their own keeps the line short. */
static bool is_fallback(const char *name)
{
    return !strcmp(name, inherited_teams[1]) || !strcmp(name, inherited_teams[2]);
}

static void add_command(struct strbuf *out, const struct emit *emit,
                        const struct emit_worker *worker)
{
    const char *unset =
        emit->job->get ? inherited_list(emit->job->plan, " -u ", emit->job->get) : "";
    strbuf_addc(out, ' ');
    for (unsigned i = 0; i < worker->nvariables; i++)
        if (!is_fallback(worker->variable[i].name))
            strbuf_addf(out, " %s=%s", worker->variable[i].name, worker->variable[i].value);
    if (*unset)
        strbuf_addf(out, " env%s", unset);
    if (worker->nodes[0] && !emit->job->memory_refused) {
        strbuf_addf(out, " numactl%s%s ", worker->cpus[0] ? " --physcpubind=" : "", worker->cpus);
        emit_numactl_option(out, worker);
    } else if (worker->cpus[0]) {
        strbuf_addf(out, " taskset -c %s", worker->cpus);
    }
    emit_words(out, worker, quote_shell);
    strbuf_adds(out, " &\n");
}

/* To be pasted as one block: the workers run side by side, and `wait` ends when all have ended. */
int emit_commands(const struct emit *emit, struct strbuf *out, struct err *err)
{
    (void)err;
    for (unsigned w = 0; w < emit->nworkers; w++)
        add_command(out, emit, &emit->worker[w]);
    strbuf_adds(out, "  wait\n");
    return 0;
}

static void add_sh(struct strbuf *out, const struct emit *emit, unsigned w)
{
    const struct emit_worker *worker = &emit->worker[w];
    script_export(out, worker, NULL);
    strbuf_adds(out, "    exec setsid --");
    if (worker->cpus[0])
        strbuf_addf(out, " taskset -c %s", worker->cpus);
    emit_words(out, worker, quote_shell);
}

int emit_sh(const struct emit *emit, struct strbuf *out, struct err *err)
{
    (void)err;
    script_begin(out, emit, "");
    if (emit->binds_memory)
        strbuf_adds(out, "# taskset binds no memory: pages lie where they are touched first. "
                         "--emit numactl binds it.\n");
    script_allowed(out, emit, true);
    script_unset(out, emit, "");
    script_workers(out, emit, "", add_sh);
    return 0;
}

void script_add_bound(struct strbuf *out, const struct emit_worker *worker)
{
    strbuf_addf(out, "    bound \"%s\" \"", worker->cpus);
    emit_numactl_option(out, worker);
    strbuf_addc(out, '"');
    emit_words(out, worker, quote_shell);
}

static void add_numactl(struct strbuf *out, const struct emit *emit, unsigned w)
{
    script_export(out, &emit->worker[w], NULL);
    script_add_bound(out, &emit->worker[w]);
}

int emit_numactl(const struct emit *emit, struct strbuf *out, struct err *err)
{
    (void)err;
    script_begin(out, emit, "");
    script_allowed(out, emit, true);
    script_unset(out, emit, "");
    script_bound(out, "setsid -- ");
    script_workers(out, emit, "", add_numactl);
    return 0;
}

/* For OMP_PLACES. With `each`, one place per CPU: "{0}:4,{8}:2"; else one place of all CPUs, within
 * which threads move: "{0:4,8:2}". */
static void add_places(struct strbuf *out, const struct bitset *cpus, bool each)
{
    const char *before = each ? "" : "{";
    for (int first = bitset_next(cpus, 0), last; first >= 0;
         first = bitset_next(cpus, (unsigned)last + 1)) {
        last = first;
        while (bitset_next(cpus, (unsigned)last + 1) == last + 1)
            last++;
        strbuf_addf(out, each ? "%s{%d}:%d" : "%s%d:%d", before, first, last - first + 1);
        before = ",";
    }
    strbuf_adds(out, each ? "" : "}");
}

/*
 * Keeps the threads of a worker on its CPUs: all CPUs are one place, which forked processes and
 * plain threads inherit too. One CPU per thread is up to the user: OPENMP=each.
 */
static void add_binding(struct strbuf *out, const struct emit *emit,
                        const struct emit_worker *worker)
{
    if (!worker->cpus[0])
        return;
    strbuf_adds(out, emit->pinned ? "    bind \"" : "    export OMP_PROC_BIND=true OMP_PLACES=\"");
    add_places(out, &worker->plan->cpus, false);
    if (emit->pinned) {
        strbuf_addf(out, "\" %s \"", worker->cpus);
        add_places(out, &worker->plan->cpus, true);
    }
    strbuf_adds(out, "\"\n");
}

static const char bind_usage[] =
    "# OpenMP keeps its threads on the worker's CPUs, and once it has started, what the worker\n"
    "# forks and its plain threads, too. A program without OpenMP is not bound at all: --emit sh\n"
    "# binds any program.\n"
    "#   OPENMP=each sh FILE   one CPU a thread (gomp, kmp: by the own variables of GNU's and of\n"
    "#   Intel's and LLVM's runtime). The first thread then has one CPU, and all processes that "
    "it\n"
    "#   forks, such as data loaders, and all plain threads that it starts share that CPU.\n";

/* OpenMP gives no error when it may not bind threads, so the script warns. */
static const char refused[] =
    "if command -v taskset >/dev/null && ! taskset -c \"$given\" true 2>/dev/null; then\n"
    "    echo \"CPUs cannot be bound here: workers run on all CPUs allowed, $given\" >&2\n"
    "fi\n";

static const char bind_function[] =
    "# bind PLACE CPUS PLACES: all CPUs as one place, a list, a place for each\n"
    "bind() {\n"
    "    case ${OPENMP:-slice} in\n"
    "    slice) export OMP_PROC_BIND=true OMP_PLACES=\"$1\" ;;\n"
    "    each) export OMP_PROC_BIND=true OMP_PLACES=\"$3\" ;;\n"
    "    gomp) export GOMP_CPU_AFFINITY=\"$2\" ;;\n"
    "    kmp) export KMP_AFFINITY=\"granularity=fine,proclist=[$2],explicit\" ;;\n"
    "    *)\n"
    "        echo \"OPENMP is slice, each, gomp or kmp\" >&2\n"
    "        exit 2\n"
    "        ;;\n"
    "    esac\n"
    "}\n";

static void add_env(struct strbuf *out, const struct emit *emit, unsigned w)
{
    script_export(out, &emit->worker[w], NULL);
    add_binding(out, emit, &emit->worker[w]);
    strbuf_adds(out, "    exec setsid --");
    emit_words(out, &emit->worker[w], quote_shell);
}

int emit_env(const struct emit *emit, struct strbuf *out, struct err *err)
{
    (void)err;
    bool binds = emit->pinned && emit->binds_cpus;
    script_begin(out, emit,
                 binds ? bind_usage
                       : "# No thread is bound to one CPU; those of OpenMP stay on the CPUs of the "
                         "plan, where it has not all.\n");
    if (emit->binds_memory)
        strbuf_adds(out, "# No memory is bound: pages lie where they are touched first.\n");
    script_allowed(out, emit, true);
    script_unset(out, emit, "");
    if (emit->binds_cpus)
        strbuf_adds(out, refused);
    if (binds)
        strbuf_adds(out, bind_function);
    script_workers(out, emit, "", add_env);
    return 0;
}

/* systemd: transient units that run now, and unit files to install. */

static const char *numa_policy(const struct emit_worker *worker)
{
    return mem_policy_name(worker->plan->mem_policy);
}

/* Tests whether the manager may bind memory, with the policy of the first worker that has one. */
static void add_probe(struct strbuf *out, const struct emit *emit)
{
    unsigned w = 0;
    while (!emit->worker[w].nodes[0])
        w++;
    strbuf_addf(out,
                "numa=yes\n"
                "systemd-run ${user:+\"$user\"} --quiet --collect --wait -p NUMAPolicy=%s "
                "-p NUMAMask=%s -- true || {\n"
                "    numa=\n"
                "    echo \"NUMAPolicy does not work here: memory is not bound, pages lie where "
                "they are touched first\" >&2\n"
                "}\n",
                numa_policy(&emit->worker[w]), emit->worker[w].nodes);
}

static void add_unit(struct strbuf *out, const struct emit *emit, unsigned w)
{
    const struct emit_worker *worker = &emit->worker[w];
    strbuf_addf(out,
                "    unit %u <<\"UNIT\"\n"
                "[Unit]\n"
                "Description=worker %u of %u, placed by contend\n"
                "\n"
                "[Install]\n"
                "WantedBy=multi-user.target\n"
                "\n"
                "[Service]\n",
                w, w, emit->nworkers);
    if (worker->cpus[0])
        strbuf_addf(out, "CPUAffinity=%s\n", worker->cpus);
    if (worker->nodes[0])
        strbuf_addf(out,
                    "# Exit status 242/NUMA_POLICY: refused here, as in a container. Delete both "
                    "lines.\n"
                    "NUMAPolicy=%s\nNUMAMask=%s\n",
                    numa_policy(worker), worker->nodes);
    for (unsigned i = 0; i < worker->nvariables; i++)
        strbuf_addf(out, "Environment=%s=%s\n", worker->variable[i].name,
                    worker->variable[i].value);
    strbuf_addf(out, "UnsetEnvironment=%s\nExecStart=/bin/sh -c \"exec \\\"$$@\\\"\" sh",
                inherited_list(emit->job->plan, " ", NULL) + 1);
    emit_words(out, worker, quote_unit);
    strbuf_adds(out, "\nUNIT\n");
}

static void add_units(struct strbuf *out, const struct emit *emit)
{
    strbuf_adds(out, "unit() {\n"
                     "    {\n"
                     "        cat\n"
                     "        printf \"WorkingDirectory=%s\\n\" "
                     "\"$(pwd | sed \"s/%/%%/g\")\"\n"
                     "    } >\"$directory/contend-worker-$1.service\"\n"
                     "}\n"
                     "if [ \"${1:-}\" = units ]; then\n"
                     "    directory=${2:?a directory for the units}\n");
    for (unsigned w = 0; w < emit->nworkers; w++)
        add_unit(out, emit, w);
    strbuf_adds(out, "    exit\nfi\n");
}

/* The unit's program is a shell, which accepts relative names and finds the command in PATH. */
static void add_run(struct strbuf *out, const struct emit *emit, unsigned w)
{
    const struct emit_worker *worker = &emit->worker[w];
    strbuf_addf(
        out,
        "    exec setsid -- systemd-run ${user:+\"$user\"} --quiet --collect --wait --pipe \\\n"
        "        --unit=\"contend-$$-%u\" --working-directory=\"$PWD\"",
        w);
    if (worker->cpus[0])
        strbuf_addf(out, " -p CPUAffinity=%s", worker->cpus);
    if (worker->nodes[0])
        strbuf_addf(out, " ${numa:+-p NUMAPolicy=%s -p NUMAMask=%s}", numa_policy(worker),
                    worker->nodes);
    strbuf_addf(out, " -p UnsetEnvironment=\"%s\"", inherited_list(emit->job->plan, " ", NULL) + 1);
    for (unsigned i = 0; i < worker->nvariables; i++)
        strbuf_addf(out, " --setenv=%s=%s", worker->variable[i].name, worker->variable[i].value);
    strbuf_adds(out, " \\\n        -- /bin/sh -c 'exec \"$$@\"' sh");
    emit_words(out, worker, quote_systemd_run);
}

int emit_systemd(const struct emit *emit, struct strbuf *out, struct err *err)
{
    (void)err;
    script_begin(out, emit,
                 "#   sh FILE            runs them now, as transient units\n"
                 "#   sh FILE units DIR  writes a unit for each into DIR, such as "
                 "/etc/systemd/system\n");
    script_allowed(out, emit, true);
    add_units(out, emit);
    strbuf_adds(out, "user=\n[ \"$(id -u)\" = 0 ] || user=--user\n");
    if (emit->binds_memory)
        add_probe(out, emit);
    script_workers(
        out, emit,
        "    systemctl ${user:+\"$user\"} kill --signal=\"$1\" \"contend-$$-*\" 2>/dev/null\n",
        add_run);
    return 0;
}
