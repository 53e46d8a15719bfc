/* Formats that start the workers from a shell: lines to paste, and scripts. */
#include <string.h>

#include "harness/plan/emit/quote.h"
#include "harness/plan/emit/script.h"

/* MKL and OpenBLAS fall back to OMP_NUM_THREADS; leaving out their own keeps the line short. */
static bool is_fallback(const char *name)
{
    return !strcmp(name, inherited_teams[1]) || !strcmp(name, inherited_teams[2]);
}

static void add_command(struct strbuf *out, const struct emit *emit,
                        const struct emit_worker *worker)
{
    struct strbuf unset = {0};
    strbuf_addc(out, ' ');
    for (unsigned i = 0; i < worker->nvariables; i++)
        if (!is_fallback(worker->variable[i].name))
            strbuf_addf(out, " %s=%s", worker->variable[i].name, worker->variable[i].value);
    if (emit->job->get)
        inherited_add(&unset, emit->job->plan, " -u ", emit->job->get);
    if (unset.length)
        strbuf_addf(out, " env%s", unset.text);
    strbuf_free(&unset);
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

int emit_sh(const struct emit *emit, struct strbuf *out, struct err *err)
{
    (void)err;
    script_begin(out, emit, "");
    if (emit->binds_memory)
        strbuf_adds(out, "# taskset binds no memory: pages lie where they are touched first. "
                         "--emit numactl binds it.\n");
    script_allowed(out, emit, true);
    script_unset(out, emit, "");
    script_signals(out, "");
    for (unsigned w = 0; w < emit->nworkers; w++) {
        const struct emit_worker *worker = &emit->worker[w];
        script_worker_begin(out, emit, w);
        script_export(out, worker, NULL);
        strbuf_adds(out, "    exec setsid --");
        if (worker->cpus[0])
            strbuf_addf(out, " taskset -c %s", worker->cpus);
        emit_words(out, worker, quote_shell);
        script_worker_end(out);
    }
    script_end(out);
    return 0;
}

int emit_numactl(const struct emit *emit, struct strbuf *out, struct err *err)
{
    (void)err;
    script_begin(out, emit, "");
    script_allowed(out, emit, true);
    script_unset(out, emit, "");
    script_bound(out, "setsid -- ");
    script_signals(out, "");
    for (unsigned w = 0; w < emit->nworkers; w++) {
        const struct emit_worker *worker = &emit->worker[w];
        script_worker_begin(out, emit, w);
        script_export(out, worker, NULL);
        strbuf_addf(out, "    bound \"%s\" \"", worker->cpus);
        emit_numactl_option(out, worker);
        strbuf_addc(out, '"');
        emit_words(out, worker, quote_shell);
        script_worker_end(out);
    }
    script_end(out);
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
    script_signals(out, "");
    for (unsigned w = 0; w < emit->nworkers; w++) {
        const struct emit_worker *worker = &emit->worker[w];
        script_worker_begin(out, emit, w);
        script_export(out, worker, NULL);
        add_binding(out, emit, worker);
        strbuf_adds(out, "    exec setsid --");
        emit_words(out, worker, quote_shell);
        script_worker_end(out);
    }
    script_end(out);
    return 0;
}
