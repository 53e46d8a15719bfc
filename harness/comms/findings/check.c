#include "harness/comms/findings/findings.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "harness/comms/logs/names.h"

/* Interfaces from this one on tell calls, and which of them were captured. */
enum { TELLS_CALLS = 5 };

/* The calls of one function in one process. */
struct told {
    uint64_t calls, bytes;           /* not captured */
    uint64_t work_calls, work_bytes; /* the same */
};

struct check {
    const struct comms_logs *logs;
    int64_t pid;
    struct comms_checked *sum;
    struct findings_about about;
    bool tells_calls;
};

/* The first difference of each kind. */
static bool is_new(const struct check *check, const char *id)
{
    const struct findings *findings = check->about.findings;
    for (size_t i = 0; i < findings->n; i++)
        if (!strcmp(findings->all[i].id, id) &&
            !strcmp(findings->all[i].subject, check->about.subject))
            return false;
    return true;
}

static void add_log(const struct comms_log *log, struct told told[COMMS_FUNCS])
{
    for (size_t i = 0; i < log->ncounts; i++) {
        const struct comms_count *count = &log->count[i];
        bool is_call = count->key.algo == COMMS_CALLED;
        if (count->key.captured || count->key.func >= COMMS_FUNCS)
            continue;
        struct told *of = &told[count->key.func];
        *(is_call ? &of->calls : &of->work_calls) += count->calls;
        *(is_call ? &of->bytes : &of->work_bytes) += count->bytes;
    }
}

/* False: the process has left none. */
static bool add_logs(struct check *check, struct told told[COMMS_FUNCS])
{
    bool found = false;
    for (size_t i = 0; i < check->logs->n; i++) {
        const struct comms_log *log = &check->logs->log[i];
        if (log->header.pid != check->pid)
            continue;
        found = true;
        check->tells_calls = log->header.interface >= TELLS_CALLS;
        add_log(log, told);
    }
    return found;
}

static void compare(struct check *check, const char *name, const struct expected_sum *made,
                    const struct told *told)
{
    uint64_t calls = check->tells_calls ? told->calls : told->work_calls;
    uint64_t bytes = check->tells_calls ? told->bytes : told->work_bytes;
    if (made->captured && is_new(check, "comms_graphs"))
        findings_report(&check->about, "comms_graphs", FINDING_NOTE,
                        "%" PRIu64 " calls of %s were captured in CUDA graphs, whose replays NCCL "
                        "does not report: they are not compared",
                        made->captured, name);
    if (made->captured && !check->tells_calls)
        return; /* nobody says which of them those were */
    check->sum->calls += made->calls;
    check->sum->bytes += made->bytes;
    if (calls != made->calls || bytes != made->bytes) {
        check->sum->differ++;
        if (is_new(check, "comms_differs"))
            findings_report(&check->about, "comms_differs", FINDING_BAD,
                            "%s: the benchmark made %" PRIu64 " calls of %" PRIu64
                            " bytes in process %" PRId64 ", but NCCL reported %" PRIu64
                            " calls of %" PRIu64 " bytes",
                            name, made->calls, made->bytes, check->pid, calls, bytes);
    } else if ((told->work_calls != calls || told->work_bytes != bytes) &&
               is_new(check, "comms_no_work"))
        findings_report(&check->about, "comms_no_work", FINDING_DOUBT,
                        "%s: of %" PRIu64 " calls of %" PRIu64
                        " bytes NCCL reports the work of %" PRIu64 " calls of %" PRIu64
                        " bytes only: matrices are incomplete",
                        name, calls, bytes, told->work_calls, told->work_bytes);
}

/* Calls that the benchmark does not declare are not compared. */
static struct expected_sum made_of(const struct expected_calls *made, uint32_t func)
{
    for (size_t i = 0; i < made->n; i++)
        if (comms_name_find(&comms_funcs, made->func[i].name) == func)
            return made->func[i].sum;
    return (struct expected_sum){0};
}

int comms_check(const struct comms_logs *logs, int64_t pid, const struct expected_calls *made,
                const char *subject, struct comms_checked *sum, struct findings *findings,
                struct err *err)
{
    struct told told[COMMS_FUNCS] = {{0}};
    struct check check = {logs, pid, sum, {findings, err, subject}, false};
    bool found = add_logs(&check, told);
    if (!found && !made->n)
        return 0;
    if (!found) {
        sum->differ++;
        if (is_new(&check, "comms_no_log"))
            findings_report(&check.about, "comms_no_log", FINDING_BAD,
                            "process %" PRId64
                            " called NCCL but wrote no log: NCCL before 2.23, or it did not load "
                            "the plugin (NCCL_DEBUG=INFO says why)",
                            pid);
        return check.about.rc;
    }
    sum->processes++;
    for (uint32_t func = 0; func < COMMS_FUNCS; func++) {
        const struct expected_sum mine = made_of(made, func);
        compare(&check, comms_func_name(func), &mine, &told[func]);
    }
    return check.about.rc;
}

int comms_check_end(const struct comms_checked *sum, struct findings *findings, struct err *err)
{
    struct finding finding = {.id = "comms_equal",
                              .severity = FINDING_NOTE,
                              .subject = "NCCL's calls",
                              .outcome = OUTCOME_PASS};
    if (!sum->calls || sum->differ)
        return 0;
    (void)snprintf(finding.sentence, sizeof(finding.sentence),
                   "NCCL reported exactly the calls of the benchmark: %" PRIu64 " calls of %" PRIu64
                   " bytes by %" PRIu64 " process%s",
                   sum->calls, sum->bytes, sum->processes, sum->processes == 1 ? "" : "es");
    return findings_add(findings, &finding, err);
}
