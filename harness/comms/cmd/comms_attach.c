#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/comms/cmd/comms_driver.h"
#include "harness/comms/cmd/options.h"
#include "harness/comms/json/ras.h"
#include "harness/comms/logs/host.h"
#include "harness/comms/logs/ras_ask.h"
#include "harness/comms/tables/comms.h"
#include "harness/lib/base/text.h"
#include "harness/lib/say/log.h"
#include "harness/lib/say/terminal.h"
#include "harness/lib/sys/address.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/tree.h"

enum { ADDRESS_MAX = 256 };

/* NCCL gathers for 5 s among its processes, and some more where one does not answer. */
static const double limit_s = 20;

/* ---- where ---- */

/* The variable as the process was started with it. False: it has none, or it is not ours to see. */
static bool find_in_process(long pid, char address[static ADDRESS_MAX])
{
    static const char name[] = RAS_VARIABLE "=";
    char path[64], *word = NULL;
    size_t size = 0;
    bool found = false;
    (void)snprintf(path, sizeof(path), "/proc/%ld/environ", pid);
    FILE *words = fopen(path, "re");
    while (words && !found && getdelim(&word, &size, '\0', words) > 0)
        found = !strncmp(word, name, sizeof(name) - 1);
    if (found)
        (void)snprintf(address, ADDRESS_MAX, "%s", word + sizeof(name) - 1);
    free(word);
    if (words)
        (void)fclose(words);
    return found;
}

static void find_address(long pid, char address[static ADDRESS_MAX])
{
    const char *own = getenv(RAS_VARIABLE);
    if (!pid || !find_in_process(pid, address))
        (void)snprintf(address, ADDRESS_MAX, "%s", own && *own ? own : RAS_ADDRESS);
}

/* ---- what NVLink's counters do beside it: the driver is asked twice ---- */

/* Zeroed = it was not asked. */
struct beside {
    struct comms_driver *first, *second; /* owned */
    struct err why;                      /* with a code where nothing is counted */
};

/* Sets *why, where there are no counters. */
static struct comms_driver *ask(struct err *why)
{
    struct comms_driver *driver = comms_driver_ask(true, why);
    if (driver && driver->why.code)
        *why = driver->why;
    return driver;
}

/* False: nothing is counted, for the reason that count_beside gives. */
static bool begin_beside(struct beside *beside)
{
    beside->first = ask(&beside->why);
    if (beside->why.code)
        return false;
    const struct comms_counted counted = {.counts = beside->first->counts};
    const char *why = comms_counted_why(&counted);
    if (why[0])
        (void)err_set(&beside->why, -ENOTSUP, "%s", why);
    return !beside->why.code;
}

static void end_beside(struct beside *beside)
{
    if (!beside->why.code)
        beside->second = ask(&beside->why);
    if (!beside->why.code)
        nvlink_since(&beside->first->counts, &beside->second->counts);
}

/* The process, and what it has started: a launcher has no GPU open. */
static size_t list_pids(long pid, long pids[static TREE_PROCESSES + 1])
{
    struct tree_process below[TREE_PROCESSES];
    unsigned n = tree_list((pid_t)pid, below, TREE_PROCESSES);
    pids[0] = pid;
    for (unsigned i = 0; i < n; i++)
        pids[i + 1] = below[i].pid;
    return n + 1;
}

/* `ras`: the job, or NULL where nothing is told; `pid`: a process of it, or 0. */
static void count_beside(const struct beside *beside, const struct ras *ras, long pid,
                         struct comms_nvlink_delta *nvlink_delta)
{
    const struct comms_driver *first = beside->first, *second = beside->second;
    struct comms_nvlink_delta_job job = {.ras = ras, .is_here = address_is_own};
    long pids[TREE_PROCESSES + 1];
    *nvlink_delta = (struct comms_nvlink_delta){.seconds = 0};
    comms_host_find(nvlink_delta->counted.host);
    if (beside->why.code || !second) {
        (void)snprintf(nvlink_delta->counted.why, sizeof(nvlink_delta->counted.why), "%.159s",
                       beside->why.code ? beside->why.msg : "not asked");
        return;
    }
    nvlink_delta->counted.counts = second->counts;
    nvlink_delta->seconds = (double)(second->counted_ns - first->counted_ns) * 1e-9;
    job.users = second->users;
    job.nusers = second->nusers;
    job.npids = pid ? list_pids(pid, pids) : 0;
    job.pids = pids;
    comms_nvlink_delta_make(second->link, second->nlinks, &job, nvlink_delta);
}

/* ---- looks ---- */

struct look {
    bool json;
    char *answer; /* owned */
    size_t size;
    uint64_t at_ns; /* when the answer was there */
    struct ras ras;
};

static int look(const char *address, struct look *look, struct err *err)
{
    int rc = ras_ask(address, limit_s, &look->json, &look->answer, &look->size, err);
    look->at_ns = clock_now_ns();
    return rc || !look->json ? rc : ras_from_json(look->answer, look->size, &look->ras, err);
}

static void look_free(struct look *look)
{
    ras_free(&look->ras);
    free(look->answer);
}

/* ---- what is said ---- */

/* All that was seen of a job. */
struct seen {
    const struct comms_args *args;
    long pid; /* 0 = any */
    struct look looks[2];
    int rc;   /* of the job's state; 0 = it is told, as text alone where looks[0] is no JSON */
    bool off; /* there is no RAS service */
    struct err err;
    struct beside beside;
    struct comms_nvlink_delta nvlink_delta;
};

/* Longer than what was asked for: looking takes its time, too. */
static double seconds_between(const struct seen *seen)
{
    return (double)(seen->looks[1].at_ns - seen->looks[0].at_ns) / 1e9;
}

static int judge(const struct seen *seen, struct findings *findings, struct err *err)
{
    struct findings_about about = {findings, err};
    const struct ras *now = &seen->looks[1].ras;
    int rc = ras_judge(&seen->looks[0].ras, now, seconds_between(seen), findings, err);
    if (rc || !seen->pid || ras_has_process(now, seen->pid))
        return rc;
    findings_report(&about, "ras_other_job", FINDING_DOUBT,
                    "No communicator here has process %ld: it is in a container with its own PIDs, "
                    "has not used NCCL yet, or another job answers at this address.",
                    seen->pid);
    return about.rc;
}

static void print(const struct seen *seen, struct doc *doc)
{
    comms_nvlink_delta_add_to_doc(&seen->nvlink_delta, doc);
    doc_print(doc, stdout, terminal_has_color(STDOUT_FILENO), seen->args->verbose);
    doc_free(doc);
}

/* 1: something is wrong with the job. */
static int show_job(const struct seen *seen, struct err *err)
{
    struct findings findings = {0};
    struct doc doc = {0};
    bool bad = false;
    int rc = judge(seen, &findings, err);
    for (size_t i = 0; i < findings.n; i++)
        bad |= findings.all[i].severity == FINDING_BAD;
    if (!rc && seen->args->json)
        rc = json_value_print(
            ras_to_json(&seen->looks[1].ras, NULL, &seen->nvlink_delta, &findings), 1, err);
    else if (!rc) {
        ras_add_to_doc(&seen->looks[0].ras, &seen->looks[1].ras, seconds_between(seen), &findings,
                       &doc);
        print(seen, &doc);
    }
    findings_free(&findings);
    return rc ? rc : bad;
}

/* Where there is no state of the job in JSON, why. */
static int show_counters(const struct seen *seen, const char *not_told, struct err *err)
{
    const struct findings none = {0};
    struct doc doc = {0};
    if (seen->args->json)
        return json_value_print(ras_to_json(NULL, not_told, &seen->nvlink_delta, &none), 1, err);
    print(seen, &doc);
    return 0;
}

/* Before NCCL 2.28.7 there is text alone, for people. */
static int show_text(const struct seen *seen, struct err *err)
{
    static const char why[] = "NCCL before 2.28.7 reports its state only as text";
    if (seen->args->json && seen->nvlink_delta.counted.why[0])
        return err_set(err, -ENOTSUP, "%s: leave --json out", why);
    if (!seen->args->json) {
        ras_print_text(seen->looks[0].answer, stdout);
        log_info("%s: see 'Warnings' for who is missing from which collective", why);
    }
    return show_counters(seen, why, err);
}

/* Nothing is told of the job. That it has no such service is no error where there are counters. */
static int show_rest(const struct seen *seen, struct err *err)
{
    *err = seen->err;
    if (seen->beside.why.code)
        log_info("NVLink's counters: unknown, %s", seen->nvlink_delta.counted.why);
    if (seen->nvlink_delta.counted.why[0])
        return seen->rc;
    if (!seen->args->json) {
        text_wrapped(stdout, 0, 2,
                     "NCCL reports nothing of the job, so only NVLink's counters follow: %s",
                     seen->err.msg);
    }
    int rc = show_counters(seen, seen->err.msg, err);
    return rc ? rc : seen->off ? 0 : seen->rc;
}

/* ---- the two moments ---- */

static bool read_pid(const char *text, long *pid)
{
    char *end = NULL;
    *pid = text ? strtol(text, &end, 10) : 0;
    return !text || (*text >= '0' && *text <= '9' && !*end && *pid > 0 && *pid < 1L << 31);
}

static bool is_there(long pid)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%ld", pid);
    return access(path, F_OK) == 0;
}

/* The job is asked first and last, so that the counters are of the time between. */
static void watch(struct seen *seen)
{
    char address[ADDRESS_MAX];
    find_address(seen->pid, address);
    seen->rc = look(address, &seen->looks[0], &seen->err);
    bool is_told = !seen->rc && seen->looks[0].json;
    seen->off = seen->rc == -ECONNREFUSED || seen->rc == -ENOENT;
    if (seen->rc == -EINVAL || seen->rc == -ENOMEM)
        return;
    if (seen->off && seen->pid && !is_there(seen->pid)) {
        seen->rc =
            err_set(&seen->err, -ESRCH, "there is no process %ld, or it is hidden", seen->pid);
        return;
    }
    if (begin_beside(&seen->beside) || is_told)
        clock_sleep_until(clock_timer_ns() + (uint64_t)(seen->args->seconds * 1e9));
    end_beside(&seen->beside);
    if (is_told)
        seen->rc = look(address, &seen->looks[1], &seen->err);
    if (is_told && !seen->rc && !seen->looks[1].json)
        seen->rc = err_set(&seen->err, -EPROTO, "the job changed meanwhile: try again");
}

int comms_attach(const struct comms_args *args)
{
    struct seen seen = {.args = args};
    struct err err = {0};
    if (!read_pid(args->attach, &seen.pid)) {
        log_error("'%.40s' is no process number", args->attach);
        return EXIT_USAGE;
    }
    watch(&seen);
    bool is_told = !seen.rc && seen.looks[0].json;
    count_beside(&seen.beside, is_told ? &seen.looks[1].ras : NULL, seen.pid, &seen.nvlink_delta);
    int rc = seen.rc   ? show_rest(&seen, &err)
             : is_told ? show_job(&seen, &err)
                       : show_text(&seen, &err);
    if (rc < 0)
        log_error("%s", err.msg);
    if (seen.off)
        log_info("NCCL 2.24 and later has it unless NCCL_RAS_ENABLE is 0, in the first process of "
                 "a job on this machine; " RAS_VARIABLE " sets another address");
    comms_driver_free(seen.beside.first);
    comms_driver_free(seen.beside.second);
    look_free(&seen.looks[0]);
    look_free(&seen.looks[1]);
    int written = cmd_finish();
    return rc < 0 ? EXIT_NOT_RUN : written ? written : rc ? EXIT_VERDICT : EXIT_GOOD;
}
