/*
 * A Windows batch file that starts the workers through wsl.exe. Batch files, Windows' command lines
 * and wsl.exe each have their own quoting, and no two agree. So a command of plain words is written
 * as it is, and any other command in base64, which a shell in WSL decodes.
 */
#include <errno.h>
#include <string.h>

#include "harness/plan/emit/parts.h"
#include "harness/plan/emit/quote.h"

static bool is_plain(const struct emit_worker *worker)
{
    for (char **word = worker->words; *word; word++)
        if (!quote_is_plain_everywhere(*word))
            return false;
    return true;
}

/* Undoes the IFS= and set -f under which eval gets the script; a plain command needs no shell. */
static const char prologue[] = "unset IFS; set +f\nexec ";

static void add_script(struct strbuf *out, const struct emit_worker *worker)
{
    strbuf_addf(out, "%senv", prologue);
    for (unsigned i = 0; i < worker->nvariables; i++)
        strbuf_addf(out, " %s=%s", worker->variable[i].name, worker->variable[i].value);
    if (worker->cpus[0])
        strbuf_addf(out, " taskset -c %s", worker->cpus);
    if (worker->nodes[0]) {
        strbuf_adds(out, " numactl ");
        emit_numactl_option(out, worker);
    }
    if (strchr(worker->words[0], '=')) /* env would take it for a variable */
        strbuf_adds(out, " nice -n 0");
    emit_words(out, worker, quote_shell);
}

/* Batch files and Windows parse these double quotes alike, as no quotes are nested. */
static void add_worker(struct strbuf *out, const struct emit_worker *worker, unsigned w)
{
    struct strbuf script = {0};
    add_script(&script, worker);
    strbuf_addf(out, "start \"worker %u\" wsl.exe --exec ", w);
    out->failed = out->failed || script.failed;
    if (!out->failed && is_plain(worker)) {
        strbuf_adds(out, script.text + strlen(prologue));
    } else if (!out->failed) {
        strbuf_adds(out, "sh -c \"set -f; IFS=; eval $(echo ");
        quote_base64(out, script.text, script.length);
        strbuf_adds(out, "|base64 -d)\"");
    }
    strbuf_adds(out, "\r\n");
    strbuf_free(&script);
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
    enum { MOST = 8000 }; /* characters of a line that cmd.exe reads: 8191 */
    strbuf_addf(out,
                "@echo off\r\n"
                "rem %u workers, placement %s, by contend place: each in a window of its own.\r\n"
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
                    "wsl.exe --exec sh -c \"numactl --membind=%d true\"\r\n"
                    "if errorlevel 1 goto too_few\r\n",
                    last_of(emit, true));
    for (unsigned w = 0; w < emit->nworkers; w++) {
        const size_t before = out->length;
        add_worker(out, &emit->worker[w], w);
        if (out->length - before > MOST)
            return err_set(err, -EINVAL,
                           "the command is too long for a batch file: put it into a script of its "
                           "own");
    }
    strbuf_addf(out,
                "exit /b 0\r\n"
                ":too_few\r\n"
                "echo WSL lacks CPUs%s of the plan: make it in WSL.\r\n"
                "exit /b 2\r\n",
                emit->binds_memory ? ", nodes or numactl" : "");
    return 0;
}
