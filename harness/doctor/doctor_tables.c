#include "harness/doctor/doctor_tables.h"

#include <string.h>

#include "harness/doctor/reader/host.h"
#include "harness/lib/str.h"
#include "harness/lib/text.h"
#include "harness/show/doc.h"

static void format_refused(const struct view *view, const char **text)
{
    const unsigned n = view->host ? view->host->hung.refused : 0;
    if (n)
        str_add(text, "", "%s would also see whether %u process%s hang%s. ",
                view->is_root ? "With CAP_SYS_PTRACE root"
                              : "Root (or the owner, with kernel.yama.ptrace_scope=0)",
                n, n == 1 ? " that slept" : "es that slept", n == 1 ? "s" : "");
}

static void format_hidden(const struct view *view, const char **text)
{
    const struct view_hidden *hidden = &view->hidden;
    const char *group = "";
    const char *pids = "";
    for (unsigned i = 0; i < hidden->npids && i < VIEW_HIDDEN_MAX; i++)
        str_add(&pids, "", "%s %d", i ? "," : "", hidden->pids[i]);
    if (hidden->group[0])
        group = str_fmt(" or a member of group %s", hidden->group);
    if (hidden->any)
        str_add(text, "",
                "/proc hides processes of other users%s%s (hidepid%s%s); hidden ones "
                "used up to %.1f of %u CPUs meanwhile. Root%s would see them. ",
                pids[0] ? ", also" : "", pids, hidden->how[0] ? "=" : "", hidden->how,
                view->wall_s > 0 ? view_unattributed_s(view) / view->wall_s : 0,
                bitset_count(&view->online), group);
}

const char *doctor_format_unread(const struct view *view)
{
    const char *text = "";
    if (!view->has_schedstat)
        str_add(&text, "",
                "This kernel does not report how long tasks wait (no schedstat): checks "
                "of the run queue were skipped. ");
    if (view->environs_refused && !view->is_root)
        str_add(&text, "",
                "Root would also see the environment, libraries and pages of "
                "%u process%s that this user may not read. ",
                view->environs_refused, view->environs_refused == 1 ? "" : "es");
    if (view->environs_refused && view->is_root)
        str_add(&text, "",
                "The environment, the libraries and the pages of %u "
                "process%s are not shown to this root: it lacks CAP_SYS_PTRACE (docker "
                "run --cap-add SYS_PTRACE). ",
                view->environs_refused, view->environs_refused == 1 ? "" : "es");
    format_refused(view, &text);
    format_hidden(view, &text);
    if (view->pages_skipped)
        str_add(&text, "", "The pages of %u process%s too large to list were skipped. ",
                view->pages_skipped, view->pages_skipped == 1 ? "" : "es");
    return str_fmt("%.*s", text[0] ? (int)strlen(text) - 1 : 0, text);
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

bool doctor_sees_no_process(const struct view *view, const struct diagnosis *diagnosis)
{
    size_t tasks;
    return view->hidden.any && !diagnosis->n && !count_watched(view, &tasks);
}

const char *doctor_format_none_found(const struct view *view)
{
    size_t tasks;
    return !view->hidden.any             ? "Nothing found that costs time."
           : count_watched(view, &tasks) ? "Nothing found that costs these time: others are hidden."
                                         : "No visible process was busy.";
}

int doctor_print(const struct view *view, const struct diagnosis *diagnosis, FILE *out, bool color,
                 struct err *err)
{
    struct findings findings = {0};
    size_t tasks, n = count_watched(view, &tasks), bad = 0;
    int rc = diagnosis_findings(diagnosis, &findings, err);
    if (!rc) {
        for (size_t i = 0; i < findings.n; i++)
            bad += findings.all[i].severity == FINDING_BAD;
        if (bad)
            (void)fprintf(out, "%zu problem%s", bad, bad == 1 ? "" : "s");
        (void)fprintf(out, "%s in %zu process%s with %zu thread%s, watched for %.1f s\n",
                      bad ? "" : "No problem", n, n == 1 ? "" : "es", tasks, tasks == 1 ? "" : "s",
                      view->wall_s);
        if (!diagnosis->n)
            (void)fprintf(out, "\n%s\n", doctor_format_none_found(view));
        doc_print_findings(&findings, out, color);
        (void)fputc('\n', out);
        const char *unread = doctor_format_unread(view);
        if (unread[0])
            text_wrap(unread, 0, 0, out);
        (void)fprintf(out, "Watching took %s of one CPU.\n",
                      text_percent(view->own_s / view->wall_s));
    }
    findings_free(&findings);
    return rc;
}

void doctor_print_checks(bool markdown, FILE *out)
{
    if (markdown)
        (void)fputs("| # | id | finds | reads |\n|---|---|---|---|\n", out);
    for (const struct check *check = checks; check->finds; check++) {
        if (markdown) {
            (void)fprintf(out, "| %u | `%s` | %s | %s |\n", check->number, check->id, check->finds,
                          check->reads);
            continue;
        }
        int column = fprintf(out, "%3u %-22s ", check->number, check->id);
        text_wrap(check->finds, column, column, out);
        (void)fprintf(out, "%*s", column, "");
        text_wrap(check->reads, column, column, out);
    }
}
