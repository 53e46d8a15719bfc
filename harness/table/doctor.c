#include "harness/table/doctor.h"

#include <math.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/doctor/host.h"
#include "harness/table/findings.h"

static void tell_locks(const struct view *view, char *buf, size_t size)
{
    const struct locks *locks = view->host ? &view->host->locks : NULL;
    if (locks && locks->refused)
        (void)check_append(buf, size,
                           "%s would also see for which locks the threads of %u process%s wait. ",
                           view->is_root ? "With CAP_SYS_PTRACE root"
                                         : "Root (or who owns them, with "
                                           "kernel.yama.ptrace_scope=0)",
                           locks->refused, locks->refused == 1 ? "" : "es");
    if (locks && locks->skipped)
        (void)check_append(buf, size,
                           "For deadlocks there was no time to look at %u process%s, or not at all "
                           "their threads: watch for longer, or name them. ",
                           locks->skipped, locks->skipped == 1 ? "" : "es");
}

char *doctor_tell_unread(const struct view *view, char *buf, size_t size)
{
    buf[0] = '\0';
    if (!view->has_schedstat)
        (void)check_append(buf, size,
                           "This kernel does not tell how long tasks wait (no schedstat): the "
                           "checks of queues were not made. ");
    if (view->environs_refused)
        (void)check_append(buf, size,
                           "Root would also see the environment, the libraries and the pages of "
                           "%u process%s of other users. ",
                           view->environs_refused, view->environs_refused == 1 ? "" : "es");
    tell_locks(view, buf, size);
    if (view->hides)
        (void)check_append(buf, size,
                           "/proc hides the processes of others (hidepid); root would see them. ");
    if (view->pages_skipped)
        (void)check_append(buf, size,
                           "The pages of %u process%s too large to list were not looked at. ",
                           view->pages_skipped, view->pages_skipped == 1 ? "" : "es");
    size_t used = strlen(buf);
    if (used)
        buf[used - 1] = '\0';
    return buf;
}

static size_t count_watched(const struct view *view, size_t *tasks)
{
    size_t n = 0;
    *tasks = 0;
    for (size_t i = 0; i < view->nprocesses; i++)
        if (view->processes[i].watched) {
            n++;
            *tasks += view->processes[i].ntasks;
        }
    return n;
}

int doctor_print(const struct view *view, const struct diagnosis *diagnosis, FILE *out, bool color,
                 struct err *err)
{
    struct findings findings = {0};
    char unread[1024], percent[16];
    size_t tasks, n = count_watched(view, &tasks);
    int rc = diagnosis_findings(diagnosis, &findings, err);
    if (!rc) {
        (void)fprintf(out, "%zu process%s with %zu thread%s, watched for %.1f s\n", n,
                      n == 1 ? "" : "es", tasks, tasks == 1 ? "" : "s", view->wall_s);
        if (!diagnosis->n)
            (void)fputs("\nNothing was found that costs.\n", out);
        findings_print(&findings, out, color);
        (void)fputc('\n', out);
        if (doctor_tell_unread(view, unread, sizeof(unread))[0])
            text_wrap(unread, 0, 0, out);
        (void)fprintf(out, "Looking took %s of one CPU.\n",
                      text_percent(view->own_s / view->wall_s, percent, sizeof(percent)));
    }
    findings_free(&findings);
    return rc;
}

void doctor_print_checks(FILE *out)
{
    for (const struct check *check = checks; check->looks; check++) {
        int column = fprintf(out, "%3u %-22s ", check->number, check->id);
        text_wrap(check->looks, column, column, out);
        (void)fprintf(out, "%*s", column, "");
        text_wrap(check->reads, column, column, out);
    }
}

void doctor_print_checks_markdown(FILE *out)
{
    (void)fputs("| # | id | finds | reads |\n|---|---|---|---|\n", out);
    for (const struct check *check = checks; check->looks; check++)
        (void)fprintf(out, "| %u | `%s` | %s | %s |\n", check->number, check->id, check->looks,
                      check->reads);
}
