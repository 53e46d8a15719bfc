/*
 * A Windows batch file that starts the workers through wsl.exe. A batch file, Windows' command
 * lines and wsl.exe each have quoting of their own, and no two agree: a command of plain words is
 * written as it is, any other one in base64, for a shell on the other side.
 */
#include <errno.h>
#include <stdlib.h>

#include "harness/emit/parts.h"
#include "harness/emit/quote.h"

static bool is_plain(const struct emit_worker *worker)
{
    for (char **word = worker->words; *word; word++)
        if (!quote_is_plain_everywhere(*word))
            return false;
    return true;
}

static void add_plain(struct strbuf *out, const struct emit_worker *worker, const char *bind)
{
    strbuf_adds(out, " env");
    for (unsigned i = 0; i < worker->nvariables; i++)
        strbuf_addf(out, " %s=%s", worker->variable[i].name, worker->variable[i].value);
    strbuf_adds(out, bind);
    emit_words(out, worker, quote_shell);
}

/* Between double quotes that a batch file and Windows see alike, as there are none within. */
static void add_base64(struct strbuf *out, const char *script, size_t length)
{
    strbuf_adds(out, " sh -c \"set -f; IFS=; eval $(echo ");
    quote_base64(out, script, length);
    strbuf_adds(out, "|base64 -d)\"");
}

static void add_encoded(struct strbuf *out, const struct emit_worker *worker, const char *bind)
{
    struct strbuf script = {0};
    strbuf_adds(&script, "unset IFS; set +f\n");
    for (unsigned i = 0; i < worker->nvariables; i++)
        strbuf_addf(&script, "export %s=%s\n", worker->variable[i].name, worker->variable[i].value);
    strbuf_addf(&script, "exec%s", bind);
    emit_words(&script, worker, quote_shell);
    size_t length = script.length;
    char *text = strbuf_take(&script);
    out->failed = out->failed || !text;
    add_base64(out, text ? text : "", text ? length : 0);
    free(text);
}

/* By numactl where the nodes of the plan are there, else by taskset alone. */
static int add_worker(struct strbuf *out, const struct emit *emit, unsigned w, bool nodes,
                      struct err *err)
{
    enum { MOST = 8000 }; /* characters of a line that cmd.exe reads: 8191 */
    size_t before = out->length;
    const struct emit_worker *worker = &emit->worker[w];
    struct strbuf bind = {0};
    if (nodes && worker->nodes[0]) {
        strbuf_adds(&bind, " numactl");
        if (worker->cpus[0])
            strbuf_addf(&bind, " --physcpubind=%s", worker->cpus);
        strbuf_addc(&bind, ' ');
        emit_numactl_option(&bind, worker);
    } else if (worker->cpus[0]) {
        strbuf_addf(&bind, " taskset -c %s", worker->cpus);
    }
    char *text = strbuf_take(&bind);
    out->failed = out->failed || !text;
    strbuf_addf(out, "start \"worker %u\" wsl.exe --exec", w);
    (is_plain(worker) ? add_plain : add_encoded)(out, worker, text ? text : "");
    strbuf_adds(out, "\r\n");
    free(text);
    return out->length - before <= MOST
               ? 0
               : err_set(err, -EINVAL,
                         "the command is too long for a batch file: put it into a "
                         "script of its own");
}

static int last_of(const struct emit *emit, bool nodes)
{
    int last = -1;
    for (unsigned w = 0; w < emit->nworkers; w++) {
        const struct plan_worker *plan = emit->worker[w].plan;
        const struct bitset *set = nodes ? &plan->mem_nodes : &plan->cpus;
        for (int i = bitset_next(set, 0); i >= 0; i = bitset_next(set, (unsigned)i + 1))
            last = i > last ? i : last;
    }
    return last;
}

int emit_wsl_bat(const struct emit *emit, struct strbuf *out, struct err *err)
{
    int rc = 0;
    strbuf_addf(out,
                "@echo off\r\n"
                "rem %u workers, placement %s, by contend place: each in a window of its "
                "own.\r\n"
                "rem The CPUs and nodes are those that Linux has in WSL.\r\n",
                emit->nworkers, placement_infos[emit->job->plan->placement].name);
    emit_findings(out, emit, "rem ", "\r\n");
    strbuf_addf(out,
                "setlocal DisableDelayedExpansion\r\n"
                "wsl.exe --exec test -d /sys/devices/system/cpu/cpu%d\r\n"
                "if errorlevel 1 goto too_few\r\n",
                last_of(emit, false));
    if (emit->binds_memory)
        strbuf_addf(out,
                    "wsl.exe --exec test -d /sys/devices/system/node/node%d\r\n"
                    "if errorlevel 1 goto one_node\r\n"
                    "wsl.exe --exec sh -c \"numactl --membind=%d true\" >nul 2>nul\r\n"
                    "if errorlevel 1 goto one_node\r\n",
                    last_of(emit, true), last_of(emit, true));
    for (unsigned w = 0; w < emit->nworkers && emit->binds_memory && !rc; w++)
        rc = add_worker(out, emit, w, true, err);
    if (emit->binds_memory)
        strbuf_adds(out, "exit /b 0\r\n"
                         ":one_node\r\n"
                         "echo WSL has not the nodes of the plan, no package numactl, or refuses "
                         "memory policies: no memory is bound.\r\n");
    for (unsigned w = 0; w < emit->nworkers && !rc; w++)
        rc = add_worker(out, emit, w, false, err);
    strbuf_addf(out,
                "exit /b 0\r\n"
                ":too_few\r\n"
                "echo WSL has no CPU %d: see processors= in .wslconfig.\r\n"
                "exit /b 2\r\n",
                last_of(emit, false));
    return rc;
}
