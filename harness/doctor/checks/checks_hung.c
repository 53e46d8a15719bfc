/* Processes in which every thread waits for another one. Declared in host_checks.h. Pure. */
#include <stdio.h>

#include "harness/doctor/checks/host_checks.h"
#include "harness/doctor/reader/host.h"
#include "harness/lib/str.h"

void check_hung(struct checker *checker)
{
    const struct host *host = checker->view->host;
    for (size_t i = 0; host && i < host->hung.n; i++) {
        const struct hung_process *hung = &host->hung.found[i];
        const struct view_process *who = view_find(checker->view, hung->pid);
        char threads[48] = "its only thread waits";
        if (!who)
            continue;
        const char *py_spy = hung->is_python ? str_fmt("py-spy dump --pid %d; ", hung->pid) : "";
        const char *command =
            str_fmt("%sgdb -p %d -batch -ex 'thread apply all bt'", py_spy, hung->pid);
        const char *evidence =
            str_fmt("no thread ran for %.1f s", checker->view->now_s - hung->then_s);
        if (hung->threads > 1)
            (void)snprintf(threads, sizeof(threads), "all %u threads wait", hung->threads);
        struct finding_parts parts = finding_parts_bad(1, &who, 1, evidence, command);
        parts.severity = host->hung.named ? FINDING_BAD : FINDING_DOUBT;
        checker_report(
            checker, &parts,
            "hangs: %s in futex(2) without a time-out, and no other thread is left to wake %s "
            "(%s).%s The command shows where each thread waits; it stops the process briefly.",
            threads, hung->threads > 1 ? "one" : "it", evidence,
            host->hung.named ? "" : " A process that waits for a signal looks the same.");
    }
}
