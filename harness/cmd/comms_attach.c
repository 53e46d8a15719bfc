#include "harness/cmd/comms_attach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness/cmd/cmd.h"
#include "harness/comms/ras_ask.h"
#include "harness/json/ras.h"
#include "harness/say/log.h"
#include "harness/sys/terminal.h"
#include "harness/table/findings.h"
#include "harness/table/ras.h"

enum { ENVIRONMENT_MOST = 1 << 20, ADDRESS_MAX = 256 };

/* NCCL gathers for 5 s among its processes, and some more where one does not answer. */
static const double limit_s = 20;

/* ---- where ---- */

/* The variable as the process was started with it. False: it has none, or it is not ours to see. */
static bool find_in_process(long pid, char address[static ADDRESS_MAX])
{
    static const char name[] = RAS_VARIABLE "=";
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%ld/environ", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *all = fd < 0 ? NULL : malloc(ENVIRONMENT_MOST + 1);
    size_t size = 0;
    ssize_t n = 1;
    while (all && size < ENVIRONMENT_MOST && n > 0) {
        n = read(fd, all + size, ENVIRONMENT_MOST - size);
        size += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        (void)close(fd);
    bool found = false;
    if (all)
        all[size] = '\0';
    for (size_t at = 0; all && at < size && !found; at += strlen(all + at) + 1) {
        found = !strncmp(all + at, name, sizeof(name) - 1);
        if (found)
            (void)snprintf(address, ADDRESS_MAX, "%s", all + at + sizeof(name) - 1);
    }
    free(all);
    return found;
}

static void find_address(long pid, char address[static ADDRESS_MAX])
{
    const char *own = getenv(RAS_VARIABLE);
    if (!pid || !find_in_process(pid, address))
        (void)snprintf(address, ADDRESS_MAX, "%s", own && *own ? own : RAS_ADDRESS);
}

/* ---- looks ---- */

struct look {
    bool json;
    char *answer; /* owned */
    size_t size;
    struct ras ras;
};

static int look(const char *address, struct look *look, struct err *err)
{
    int rc = ras_ask(address, limit_s, &look->json, &look->answer, &look->size, err);
    return rc || !look->json ? rc : ras_from_json(look->answer, look->size, &look->ras, err);
}

static void look_free(struct look *look)
{
    ras_free(&look->ras);
    free(look->answer);
    *look = (struct look){.json = false};
}

static void pause_for(double seconds)
{
    struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&left, &left) && errno == EINTR)
        continue;
}

/* ---- what is said ---- */

static int judge(const struct comms_attach_args *args, const struct look looks[static 2], long pid,
                 struct findings *findings, struct err *err)
{
    struct finding other = {.id = "ras_other_job", .severity = FINDING_DOUBT};
    int rc = ras_judge(&looks[0].ras, &looks[1].ras, args->seconds, findings, err);
    if (rc || !pid || ras_has_process(&looks[1].ras, pid))
        return rc;
    (void)snprintf(other.sentence, sizeof(other.sentence),
                   "No communicator here has process %ld: it is in a container with numbers of its "
                   "own, has not begun to use NCCL, or another job has the socket.",
                   pid);
    return findings_add(findings, &other, err);
}

static int show(const struct comms_attach_args *args, const struct look looks[static 2], long pid,
                struct err *err)
{
    struct findings findings = {0};
    bool color = terminal_has_color(STDOUT_FILENO), bad = false;
    int rc = judge(args, looks, pid, &findings, err);
    for (size_t i = 0; i < findings.n; i++)
        bad |= findings.all[i].severity == FINDING_BAD;
    if (!rc && args->json)
        rc = json_value_print(ras_to_json(&looks[1].ras, &findings), 1, err);
    else if (!rc) {
        ras_print(&looks[0].ras, &looks[1].ras, args->seconds, stdout);
        findings_print_first(&findings, stdout, color);
        findings_print(&findings, stdout, color);
    }
    findings_free(&findings);
    return rc ? rc : bad;
}

/* Before NCCL 2.28.7 there is text alone, for people. */
static int show_text(const struct comms_attach_args *args, const struct look *look, struct err *err)
{
    if (args->json)
        return err_set(err, -ENOTSUP,
                       "NCCL before 2.28.7 tells its state as text alone: leave --json out");
    ras_print_text(look->answer, stdout);
    log_info("NCCL before 2.28.7 tells its state as this text alone: who is missing from which "
             "collective stands under 'Warnings'");
    return 0;
}

static bool read_pid(const char *text, long *pid)
{
    char *end = NULL;
    *pid = text ? strtol(text, &end, 10) : 0;
    return !text || (*text >= '0' && *text <= '9' && !*end && *pid > 0 && *pid < 1L << 31);
}

int comms_attach(const struct comms_attach_args *args)
{
    struct look looks[2] = {{.json = false}, {.json = false}};
    struct err err = {0};
    char address[ADDRESS_MAX];
    long pid;
    if (!read_pid(args->pid, &pid)) {
        log_error("'%.40s' is no process", args->pid);
        return EXIT_USAGE;
    }
    find_address(pid, address);
    int rc = look(address, &looks[0], &err);
    if (!rc && looks[0].json) {
        pause_for(args->seconds);
        rc = look(address, &looks[1], &err);
    }
    if (!rc && looks[0].json && !looks[1].json)
        rc = err_set(&err, -EPROTO, "the job changed while it was looked at: try again");
    if (!rc)
        rc = looks[0].json ? show(args, looks, pid, &err) : show_text(args, &looks[0], &err);
    look_free(&looks[0]);
    look_free(&looks[1]);
    if (rc < 0)
        log_error("%s", err.msg);
    if (rc == -ECONNREFUSED || rc == -ENOENT)
        log_info("NCCL 2.24 and later has it where NCCL_RAS_ENABLE is not 0, in the first process "
                 "of a job on this machine; " RAS_VARIABLE " names another address");
    int written = cmd_finish();
    return rc < 0 ? EXIT_NOT_RUN : written ? written : rc ? EXIT_VERDICT : EXIT_GOOD;
}
