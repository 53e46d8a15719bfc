/* contend run incident: the command, from its arguments to its table and its exit code. */
#include "harness/cmd/incident.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/cmd/common/named.h"
#include "harness/cmd/common/page.h"
#include "harness/cmd/common/start.h"
#include "harness/lib/similar.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"
#include "harness/machine/env.h"
#include "harness/machine/topo.h"
#include "harness/record/directory.h"
#include "harness/show/figures/figures.h"
#include "harness/show/json/result_json.h"
#include "harness/show/json/runs.h"
#include "harness/show/result.h"

#define JSON_NAME "incidents.json"

struct incident_args {
    const char *out, *host;
    double max_time_s;
    bool no_doctor, json, dry_run;
};

static const struct opt incident_opts[] = {
    OPT_SECONDS("max-time", incident_args, max_time_s, "20", 5, 3600, "T",
                "Longest time of a comparison, and of the trial of a fix"),
    OPT_FLAG("no-doctor", incident_args, no_doctor, NULL, "Measure the cure alone; half the time"),
    OPT_TEXT("out", incident_args, out, NULL, "DIR",
             "Directory of the results, one folder an incident (default "
             "results/<host>/<utc>-incidents)",
             .letter = 'o'),
    OPT_TEXT("host", incident_args, host, NULL, "NAME",
             "Name of this machine in results (default: its host name)"),
    OPT_FLAG("json", incident_args, json, NULL, "Print JSON instead of the table"),
    OPT_FLAG("dry-run", incident_args, dry_run, NULL,
             "Print what was reported, and how it is measured; start nothing"),
    {.name = NULL}};

bool incident_is_named(const char *word)
{
    return !strcmp(word, "incident") || !strcmp(word, "incidents");
}

/* Measures an incident by a child ab, and stores the outcome or the reason. -EINTR, -ENOMEM. */
static int measure(const struct incident_work *work, struct incident_outcome *outcome,
                   struct err *err)
{
    const struct incident *incident = outcome->incident;
    struct child_run *run = calloc(1, sizeof(*run));
    struct runs runs = {0};
    struct err why = {0};
    if (!run)
        return err_set(err, -ENOMEM, "no memory for an incident");
    const char *dir = str_fmt("%.4000s/%s", work->dir, incident->scenario.name);
    child_run_add(run, CHILD_RUN_SELF);
    child_run_add(run, "ab");
    child_run_add(run, "%s", incident->scenario.name);
    child_run_add(run, "--max-time=%g",
                  fmax(work->max_time_s, incident->max_time_s) *
                      (incident->on_gpu && work->gpus ? 3 : 1));
    child_run_add(run, "--out=%s", dir);
    if (work->host)
        child_run_add(run, "--host=%s", work->host);
    int rc = child_run(run, work->signals, &why);
    bool ended = rc == EXIT_GOOD || rc == EXIT_VERDICT || rc == EXIT_INCONCLUSIVE;
    outcome->end = rc == EXIT_NOT_RUN ? INCIDENT_SKIPPED : INCIDENT_FAILED;
    text_set(outcome->reason, "%s", rc < 0 && why.msg[0] ? why.msg : run->last_line);
    if (ended && runs_read(dir, work->env->benches, figures_remove, &runs, &why))
        text_set(outcome->reason, "%s", why.msg);
    else if (ended)
        incident_judge(&runs.all[0].recorded->comparisons, &runs.all[0].recorded->analysis.rows,
                       outcome);
    runs_free(&runs);
    free(run);
    return rc == -EINTR ? rc : 0;
}

static int run_one(const struct incident_work *work, unsigned nodes, bool asks,
                   struct incident_outcome *outcome, struct err *err)
{
    const struct incident *incident = outcome->incident;
    const uint64_t start_ns = clock_now_ns();
    int rc = 0;
    outcome->speed_up = outcome->low = outcome->high = NAN;
    outcome->doctor.gain = outcome->doctor.low = outcome->doctor.high = NAN;
    outcome->end = INCIDENT_SKIPPED;
    text_set(outcome->reason, "%s", incident_not_here(incident, nodes));
    if (!outcome->reason[0])
        rc = measure(work, outcome, err);
    bool is_there = outcome->end != INCIDENT_SKIPPED && outcome->end != INCIDENT_FAILED;
    if (!rc && asks && is_there && incident->doctor)
        rc = incident_ask_doctor(work, incident, &outcome->doctor, err);
    outcome->took_s = (double)(clock_now_ns() - start_ns) * 1e-9;
    return rc;
}

/* 1: a cure does not cure; 3: an incident failed, or all are skipped; 4: an incident is unclear. */
static int code_of(const struct incident_outcome *all, size_t n)
{
    if (incidents_count(all, n, INCIDENT_NOT))
        return EXIT_VERDICT;
    if (incidents_count(all, n, INCIDENT_FAILED) || incidents_count(all, n, INCIDENT_SKIPPED) == n)
        return EXIT_NOT_RUN;
    return incidents_count(all, n, INCIDENT_UNCLEAR) ? EXIT_INCONCLUSIVE : EXIT_GOOD;
}

static int conclude(const struct incident_args *args, const struct directory *dir,
                    const struct incident_outcome *all, size_t n)
{
    struct doc doc = {0};
    struct err err = {0};
    incidents_add_to_doc(all, n, &doc);
    json_t *json = incidents_to_json(all, n);
    if (page_put_document("Published incidents on this machine", &doc, dir->fd, PAGE_NAME, &err))
        log_warn("no page: %s", err.msg);
    int rc =
        json_value_replace(json, JSON_INDENT(1) | JSON_REAL_PRECISION(6), dir->fd, JSON_NAME, &err);
    if (rc)
        log_error("%s", err.msg);
    if (args->json)
        rc = cmd_print_json(json, 1) || rc ? EXIT_NOT_RUN : 0;
    else {
        json_decref(json);
        doc_print(&doc, stdout, terminal_has_color(1), n == 1);
        (void)printf("\nResults: %s\n", dir->path);
        rc = cmd_finish() || rc ? EXIT_NOT_RUN : 0;
    }
    doc_free(&doc);
    return rc ? rc : code_of(all, n);
}

/* Chooses all incidents, or the named ones. Returns their number; 0 after an error. */
static size_t choose(const struct cmd_env *env, const struct cli *cli, bool all,
                     struct incident_outcome *outcomes, size_t most)
{
    size_t n = 0;
    for (size_t i = 0; all && env->incidents && env->incidents[i] && n < most; i++)
        outcomes[n++].incident = env->incidents[i];
    if (all && cli->npositional)
        log_error("'incidents' means all of them: type 'contend run incident %.80s'",
                  cli->positional[0]);
    else if (!all && !cli->npositional)
        log_error("no incident: 'contend run incidents --dry-run' lists them");
    if (all || !cli->npositional)
        return cli->npositional ? 0 : n;
    for (size_t i = 0; i < cli->npositional && n < most; i++) {
        const char *name = cli->positional[i];
        struct similar near = similar_to(name, strlen(name));
        for (size_t k = 0; env->incidents && env->incidents[k]; k++)
            similar_offer(&near, env->incidents[k]->scenario.name);
        outcomes[n].incident = incident_find(env->incidents, name);
        if (!outcomes[n++].incident) {
            log_error("unknown incident '%.80s'%s 'contend run incidents --dry-run' lists them",
                      name, similar_hint(&near, ""));
            return 0;
        }
    }
    return n;
}

static int open_directory(const struct incident_args *args, const char *host, struct directory *dir,
                          struct err *err)
{
    char path[DIRECTORY_PATH_MAX];
    if (args->out)
        (void)snprintf(path, sizeof(path), "%.4000s", args->out);
    else
        (void)directory_default(host, "incidents", time(NULL), path, sizeof(path));
    const struct directory_request place = {
        .path = path, .unique = !args->out, .command = "contend run incidents"};
    return directory_open(dir, &place, err);
}

static int run_all(struct incident_work *work, const struct incident_args *args, unsigned nodes,
                   struct incident_outcome *all, size_t n, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        log_info("incident %zu of %zu: %s", i + 1, n, all[i].incident->scenario.name);
        rc = run_one(work, nodes, !args->no_doctor, &all[i], err);
    }
    return rc;
}

static int measure_all(const struct cmd_env *env, const struct incident_args *args, unsigned cpus,
                       struct incident_outcome *all, size_t n)
{
    struct signals signals;
    struct topo topo = {0};
    struct directory dir = {0};
    struct err err = {0};
    char host[ENV_HOST_LABEL_MAX];
    named_host(args->host, host);
    if (signals_open(&signals, &err)) {
        log_error("%s", err.msg);
        return EXIT_NOT_RUN;
    }
    int rc = topo_load(&(struct topo_options){.probe_gpus = true}, &topo, &err);
    if (!rc)
        rc = open_directory(args, host, &dir, &err);
    struct incident_work work = {.env = env,
                                 .signals = &signals,
                                 .dir = dir.path,
                                 .host = args->host,
                                 .cpus = cpus,
                                 .gpus = topo_visible_gpus(&topo),
                                 .max_time_s = args->max_time_s};
    int code = EXIT_USAGE;
    if (!rc) {
        rc = run_all(&work, args, topo.nnodes, all, n, &err);
        code = rc == -EINTR ? EXIT_INTERRUPTED : rc ? EXIT_NOT_RUN : conclude(args, &dir, all, n);
    }
    if (rc && rc != -EINTR)
        log_error("%s", err.msg);
    directory_close(&dir);
    topo_free(&topo);
    signals_close(&signals);
    return code;
}

/* Prints the reported symptom, and the command that measures it. */
static void print_plan(const struct incident *incident, unsigned cpus)
{
    char text[200];
    (void)printf("%s: ", incident->scenario.name);
    text_wrap(incident->scenario.summary, (int)strlen(incident->scenario.name) + 2, 2, stdout);
    (void)printf("  contend ab %s", incident->scenario.name);
    for (size_t v = 0; incident->variants[v]; v++)
        (void)printf("%s -V %s", v ? "" : " #",
                     incident_expand(incident->variants[v], cpus, text, sizeof(text)));
    (void)printf("\n");
}

int incident_main(const struct cmd_env *env, int argc, char **argv)
{
    enum { MOST = 64 };
    struct incident_args args = {0};
    struct cli cli;
    struct bitset cpus = {0};
    int code;
    if (!cmd_parse(env, &incident_command, argc, argv, &args, &cli, &code))
        return code;
    struct incident_outcome *all = calloc(MOST, sizeof(*all));
    size_t n = all ? choose(env, &cli, !strcmp(argv[0], "incidents"), all, MOST) : 0;
    code = EXIT_USAGE;
    (void)affinity_get(0, &cpus);
    for (size_t i = 0; args.dry_run && i < n; i++)
        print_plan(all[i].incident, bitset_count(&cpus));
    if (n)
        code = args.dry_run ? cmd_finish() : measure_all(env, &args, bitset_count(&cpus), all, n);
    free(all);
    return code;
}

const struct command incident_command = {
    .name = "run incident",
    .main = incident_main,
    .summary = "published reports of contention, reproduced, with their cure",
    .operands = "NAME...",
    .about =
        "Reproduces published reports of contention: the sick setting against its cure, in the "
        "same rounds, beside what was reported. Then doctor looks at the sick one, and its fix is "
        "tried. 'contend run incidents' runs all of them. Exit code: 0 each that this machine can "
        "show is reproduced and cured, 1 a cure does not cure, 3 one failed or all were skipped, "
        "4 one is unclear.",
    .opts = incident_opts,
    .examples = {{"contend run incident thread_per_cpu", "one of them, in half a minute"},
                 {"contend run incidents", "all of them"}},
};
