/* systemd: transient units that run now, and unit files to install. */
#include <stdlib.h>

#include "harness/plan/emit/quote.h"
#include "harness/plan/emit/script.h"

static const char *numa_policy(const struct emit_worker *worker)
{
    return mem_policy_name(worker->plan->mem_policy);
}

/* Appends the names, separated by blanks. */
static void add_unset(struct strbuf *out, const struct emit *emit)
{
    struct strbuf names = {0};
    inherited_add(&names, emit->job->plan, " ", NULL);
    char *text = strbuf_take(&names);
    out->failed = out->failed || !text;
    strbuf_adds(out, text ? text + 1 : "");
    free(text);
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
    strbuf_adds(out, "UnsetEnvironment=");
    add_unset(out, emit);
    strbuf_adds(out, "\nExecStart=/bin/sh -c \"exec \\\"$$@\\\"\" sh");
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
    strbuf_adds(out, " -p UnsetEnvironment=\"");
    add_unset(out, emit);
    strbuf_adds(out, "\"");
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
    script_signals(
        out,
        "    systemctl ${user:+\"$user\"} kill --signal=\"$1\" \"contend-$$-*\" 2>/dev/null\n");
    for (unsigned w = 0; w < emit->nworkers; w++) {
        script_worker_begin(out, emit, w);
        add_run(out, emit, w);
        script_worker_end(out);
    }
    script_end(out);
    return 0;
}
