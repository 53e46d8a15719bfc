#include "harness/plan/emit/script.h"

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
    strbuf_addf(out, "%s# Inherited, these would undo the plan.\n%sunset", indent, indent);
    inherited_add(out, emit->job->plan, " ", NULL);
    strbuf_addc(out, '\n');
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

void script_signals(struct strbuf *out, const char *more)
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

void script_worker_begin(struct strbuf *out, const struct emit *emit, unsigned w)
{
    strbuf_addc(out, '\n');
    emit_title(out, emit, w);
    strbuf_adds(out, "(\n");
}

void script_worker_end(struct strbuf *out)
{
    strbuf_adds(out, "\n) &\npids=\"$pids $!\"\n");
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

void script_end(struct strbuf *out)
{
    strbuf_adds(out, "\nworst=0\n"
                     "for pid in $pids; do\n"
                     "    wait \"$pid\"\n"
                     "    code=$?\n"
                     "    [ \"$code\" -le \"$worst\" ] || worst=$code\n"
                     "done\n"
                     "exit \"$worst\"\n");
}
