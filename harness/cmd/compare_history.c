/* contend compare --history: the runs of one machine over time, and when its values changed. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/cmd/compare.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/sys/signals.h"
#include "harness/record/directory.h"
#include "harness/show/doc.h"
#include "harness/show/figures/history_figure.h"
#include "harness/show/json/comparable.h"
#include "harness/show/json/forms.h"
#include "harness/show/json/recorded.h"
#include "harness/verdict/runs/history.h"

/* Default threshold of a change in time, in percent. */
static const double threshold_percent = 2;

/* Machines whose runs were found. */
enum { MACHINES_MOST = 64 };
struct machines {
    size_t n;
    struct machine {
        struct machine_key key;
        unsigned runs;
        char first[80];
    } machine[MACHINES_MOST];
};

struct reading {
    const struct cmd_env *env;
    const struct compare_args *args;
    struct history history;
    struct machines machines;
    unsigned damaged;
    /* Runs in which an arm failed or hung, so that some values are missing. */
    unsigned failed;
    char newest[32], failed_at[32]; /* when the last run started, and the last that failed */
    char failed_what[400];
};

/* False: more than MACHINES_MOST machines. */
static bool count_machine(struct machines *machines, const struct machine_key *key,
                          const char *path)
{
    size_t i = 0;
    while (i < machines->n && strcmp(machines->machine[i].key.key, key->key) != 0)
        i++;
    if (i == MACHINES_MOST)
        return false;
    if (i == machines->n) {
        machines->machine[machines->n++] = (struct machine){.key = *key};
        (void)snprintf(machines->machine[i].first, sizeof(machines->machine[i].first), "%s", path);
    }
    machines->machine[i].runs++;
    return true;
}

/* The first row that should have a value but failed; NULL = none. */
static const struct row *find_failed(const struct rows *rows)
{
    for (size_t i = 0; i < rows->n; i++) {
        const struct row *row = &rows->row[i];
        bool counts = !strcmp(row->metric, VALUE_STATUS)
                          ? !row->arm->is_baseline && !row->arm->is_control
                          : row_is_gating(row);
        if (counts && row->status >= STATUS_FAILED)
            return row;
    }
    return NULL;
}

static void note_failed(struct reading *reading, const struct recorded *recorded)
{
    const struct row *row = find_failed(&recorded->analysis.rows);
    const char *started = recorded->started ? recorded->started : "";
    if (strcmp(started, reading->newest) > 0)
        (void)snprintf(reading->newest, sizeof(reading->newest), "%s", started);
    reading->failed += row != NULL;
    if (!row || strcmp(started, reading->failed_at) < 0)
        return;
    struct history_figure figure;
    history_name(row, &figure);
    (void)snprintf(reading->failed_at, sizeof(reading->failed_at), "%s", started);
    (void)snprintf(reading->failed_what, sizeof(reading->failed_what), "%.200s: %s: %.150s",
                   figure.arm, status_name(row->status), row->reason);
}

static bool failed_at_last(const struct reading *reading)
{
    return reading->failed && strcmp(reading->failed_at, reading->newest) >= 0;
}

/* A missing value cannot become slower, so failed runs have a finding of their own. */
static void report_failed(const struct reading *reading, struct findings *findings)
{
    struct finding finding = {.id = "history_failed",
                              .severity = failed_at_last(reading) ? FINDING_DOUBT : FINDING_NOTE,
                              .value = NAN,
                              .low = NAN,
                              .high = NAN};
    if (reading->failed)
        findings_putf(
            findings, &finding,
            "A benchmark failed in %u of %zu runs and has no figures there, the last time "
            "in the run of %s%s: %s.",
            reading->failed, reading->history.nruns, reading->failed_at,
            failed_at_last(reading) ? ", the latest" : "", reading->failed_what);
}

static int add_rows(struct history *history, const struct recorded *recorded, struct err *err)
{
    struct history_run run = {0};
    const struct rows *rows = &recorded->analysis.rows;
    uint32_t at;
    (void)snprintf(run.started, sizeof(run.started), "%s",
                   recorded->started ? recorded->started : "");
    (void)snprintf(run.run_id, sizeof(run.run_id), "%s", recorded->result.run_id);
    (void)snprintf(run.commit, sizeof(run.commit), "%s", recorded->commit ? recorded->commit : "");
    const char *measure = comparable_format_measure(recorded->record);
    int rc = history_add_run(history, &run, &at, err);
    for (size_t i = 0; i < rows->n && !rc; i++) {
        const struct row *row = &rows->row[i];
        if (!history_takes(row))
            continue;
        struct history_figure figure;
        history_name(row, &figure);
        size_t used = strlen(figure.params);
        (void)snprintf(figure.params + used, sizeof(figure.params) - used, "%s", measure);
        rc = history_add(history, &figure, at, row->median, err);
    }
    return rc;
}

/* Reads one result. A damaged result is logged and counted, and reading continues. */
static int read_one(void *arg, const char *path, int dir_fd, unsigned marks, struct err *err)
{
    struct reading *reading = arg;
    struct recorded recorded;
    struct err why = {0};
    (void)marks;
    int rc = recorded_read(dir_fd, reading->env->benches, &recorded, &why);
    const char *asked = reading->args->machine;
    if (rc == -ENOMEM)
        (void)err_set(err, rc, "%s", why.msg);
    else if (rc == -ENODATA)
        log_warn("'%.150s' is left out: %s", path, why.msg);
    else if (rc) {
        log_error("'%.150s': %s", path, why.msg);
        reading->damaged++;
    } else if ((!asked || !strcmp(asked, recorded.machine.key)) &&
               !history_has_run(&reading->history, recorded.result.run_id)) {
        note_failed(reading, &recorded);
        rc = add_rows(&reading->history, &recorded, err);
        if (!rc && !count_machine(&reading->machines, &recorded.machine, path))
            rc = err_set(err, -EINVAL, "runs of more than %d machines: choose one by --machine KEY",
                         MACHINES_MOST);
    } else
        rc = 0;
    recorded_free(&recorded);
    return rc == -ENOMEM || (rc && !why.msg[0]) ? rc : 0;
}

static int read_all(struct reading *reading, struct err *err)
{
    const struct below_request request = {
        .marks = BELOW_RUN, .depth = BELOW_DEPTH, .found = read_one, .arg = reading};
    const struct opt_texts *directories = &reading->args->history;
    int rc = 0;
    for (size_t i = 0; i < directories->n && !rc; i++)
        rc = below_find(directories->text[i], &request, err);
    return rc;
}

/* True if the results are undamaged and of one machine; else logs what is wrong. */
static bool is_usable(const struct reading *reading)
{
    const struct machines *machines = &reading->machines;
    if (reading->damaged)
        return false;
    if (!machines->n)
        log_error("no result%s%s below these directories",
                  reading->args->machine ? " of machine " : "",
                  reading->args->machine ? reading->args->machine : "");
    if (machines->n > 1)
        log_error("runs of %zu machines: choose one by --machine KEY", machines->n);
    for (size_t i = 0; machines->n > 1 && i < machines->n; i++)
        log_info("  %s: %u runs, such as %s", machines->machine[i].key.key,
                 machines->machine[i].runs, machines->machine[i].first);
    return machines->n == 1;
}

static int draw(const struct reading *reading, struct err *err)
{
    struct signals signals;
    int rc = directory_make_parents(reading->args->out, err);
    rc = rc ? rc : signals_open(&signals, err);
    if (rc)
        return rc;
    rc = history_figure_draw(&reading->history, reading->machines.machine[0].key.key,
                             reading->args->out, &signals, err);
    signals_close(&signals);
    return rc;
}

static int print(const struct reading *reading, const struct findings *findings)
{
    const char *key = reading->machines.machine[0].key.key;
    struct doc doc = {0};
    if (reading->args->json)
        return cmd_print_json(history_to_json(&reading->history, key, findings), 2);
    doc_findings(&doc, findings, DOC_LEADING);
    doc_gap(&doc);
    doc_text(&doc, "Machine %s", key);
    doc_findings(&doc, findings, DOC_REST);
    if (reading->args->markdown)
        doc_print_markdown(&doc, stdout);
    else
        doc_print(&doc, stdout, terminal_has_color(STDOUT_FILENO), reading->args->verbose);
    doc_free(&doc);
    return cmd_finish();
}

static int exit_code(const struct reading *reading, const struct findings *findings)
{
    const struct finding *whole = NULL;
    for (size_t i = 0; i < findings->n; i++)
        if (!strcmp(findings->all[i].id, "history"))
            whole = &findings->all[i];
    if (!whole || whole->outcome == OUTCOME_UNCLEAR)
        return EXIT_INCONCLUSIVE;
    bool slower = history_count(findings, OUTCOME_SLOWER) > 0;
    const char *fail_on = reading->args->fail_on;
    if (slower && fail_on && strcmp(fail_on, "slower") == 0)
        return EXIT_VERDICT;
    return failed_at_last(reading) ? EXIT_INCONCLUSIVE : EXIT_GOOD;
}

static int judge(struct reading *reading, struct err *err)
{
    struct findings findings = {0};
    double percent = reading->args->threshold > 0 ? reading->args->threshold : threshold_percent;
    int rc = history_judge(&reading->history, percent / 100, &findings, err);
    report_failed(reading, &findings);
    if (!rc && reading->args->out)
        rc = draw(reading, err);
    if (rc)
        log_error("%s", err->msg);
    int code = rc == -EINTR ? EXIT_INTERRUPTED : rc ? EXIT_NOT_RUN : exit_code(reading, &findings);
    int written = rc ? 0 : print(reading, &findings);
    findings_free(&findings);
    return written ? written : code;
}

/* Options of BASE and NEW only. */
static int check_args(const struct compare_args *args, struct err *err)
{
    if (args->allow || args->junit || args->html || args->verbose)
        return err_set(err, -EINVAL,
                       "--allow, --junit, --html and --verbose are for BASE and NEW, not for "
                       "--history alone");
    if (args->fail_on && strcmp(args->fail_on, "slower") != 0 && strcmp(args->fail_on, "none") != 0)
        return err_set(err, -EINVAL, "--fail-on of --history alone is slower or none, not '%.60s'",
                       args->fail_on);
    return 0;
}

int compare_history(const struct cmd_env *env, const struct compare_args *args)
{
    struct reading reading = {.env = env, .args = args};
    struct err err = {0};
    int rc = check_args(args, &err);
    if (!rc)
        rc = read_all(&reading, &err);
    if (rc)
        log_error("%s", err.msg);
    int code = rc || !is_usable(&reading) ? EXIT_USAGE : judge(&reading, &err);
    history_free(&reading.history);
    return code;
}
