#include "harness/cmd/validate_baseline.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmd/child_run.h"
#include "harness/cmd/fleet.h"
#include "harness/fleet/judge.h"
#include "harness/fleet/say.h"
#include "harness/run/setup.h"
#include "harness/say/log.h"
#include "harness/store/directory.h"
#include "harness/store/fleet_read.h"
#include "harness/sys/clock.h"

enum { LIST_MOST = 512, NAME_MOST = 128 };

/* A scenario of the bounds, and why its figures are not looked at; "" = they are. */
struct part {
    char name[NAME_MOST];
    char placements[LIST_MOST], workers[LIST_MOST]; /* comma-separated */
    char reason[300];
};

struct work {
    const struct validate_baseline *request;
    char dir[PATH_MAX];
    bool is_temporary;
    uint64_t start_ns;
    struct signals signals;
    struct child_run *child; /* owned */
    size_t n;
    struct part *parts; /* owned; one a scenario, and at most as many as there are bounds */
    struct fleet fleet;
};

static void add_word(char *list, size_t size, const char *word)
{
    size_t length = strlen(word), used = strlen(list);
    for (const char *at = list; *word && (at = strstr(at, word)); at++)
        if ((at == list || at[-1] == ',') && (!at[length] || at[length] == ','))
            return;
    if (*word)
        (void)snprintf(list + used, size - used, "%s%s", used ? "," : "", word);
}

static struct part *find_part(struct work *work, const char *key)
{
    char name[NAME_MOST];
    (void)fleet_key_column(key, FLEET_SCENARIO, name, sizeof(name));
    for (size_t i = 0; i < work->n; i++)
        if (strcmp(work->parts[i].name, name) == 0)
            return &work->parts[i];
    struct part *part = &work->parts[work->n++];
    (void)snprintf(part->name, sizeof(part->name), "%s", name);
    return part;
}

static void find_parts(struct work *work)
{
    const struct bounds *bounds = work->request->bounds;
    for (size_t i = 0; i < bounds->n; i++) {
        char word[NAME_MOST];
        const char *key = bounds->all[i].key;
        struct part *part = find_part(work, key);
        add_word(part->placements, sizeof(part->placements),
                 fleet_key_column(key, FLEET_PLACEMENT, word, sizeof(word)));
        add_word(part->workers, sizeof(part->workers),
                 fleet_key_column(key, FLEET_WORKERS, word, sizeof(word)));
    }
}

/* The command that runs it, and how long that takes. False: there is none of that name. */
static bool expect(const struct work *work, const struct part *part, const char **command,
                   double *expected_s, struct err *err)
{
    const struct cmd_env *env = work->request->env;
    const struct scenario_part alone_parts[] = {{.foreground = part->name, .placements = "none"},
                                                {.foreground = NULL}};
    const struct scenario alone = {.name = part->name, .parts = alone_parts};
    const struct scenario *scenario = scenario_find(env->scenarios, part->name);
    const struct run_options options = {.workers = part->workers,
                                        .placements = part->placements,
                                        .profile = PROFILE_QUICK,
                                        .setup_limit_s = 60,
                                        .no_baselines = true,
                                        .no_plots = true};
    const struct cli cli = {0};
    struct run_setup setup = {0};
    *command = scenario ? "run" : "bench";
    if (!scenario && !bench_find(env->benches, part->name))
        return !err_set(err, -EINVAL, "this contend has no scenario or benchmark '%s'", part->name);
    int rc = run_setup_make(env->benches, scenario ? scenario : &alone, &options, &cli,
                            work->request->validation->facts->topo, &setup, err);
    *expected_s = setup.expected_s;
    run_setup_free(&setup);
    return !rc;
}

static void make_command(const struct work *work, const struct part *part, const char *command,
                         const char *dir)
{
    struct child_run *run = work->child;
    *run = (struct child_run){0};
    child_run_add(run, CHILD_RUN_SELF);
    child_run_add(run, "%s", command);
    child_run_add(run, "%s", part->name);
    child_run_add(run, "--placement=%s", part->placements);
    child_run_add(run, "--workers=%s", part->workers);
    child_run_add(run, "--no-baselines");
    child_run_add(run, "--no-plots");
    child_run_add(run, "--host=%s", work->request->validation->facts->host);
    child_run_add(run, "--out=%s", dir);
}

static double left_s(const struct work *work)
{
    return work->request->limit_s - (double)(clock_now_ns() - work->start_ns) / 1e9;
}

/* Reads what the run left; what went wrong in it is a reason, and no error of ours. */
static int read_run(struct work *work, struct part *part, const char *dir, int code)
{
    struct err why = {0};
    int rc = fleet_read_gating(work->request->env, dir, &work->fleet, &why);
    if (rc == -ENOMEM)
        return rc;
    if (rc)
        (void)snprintf(part->reason, sizeof(part->reason),
                       "its run ended with exit code %d: %.200s", code,
                       work->child->said[0] ? work->child->said : why.msg);
    return 0;
}

static int run_part(struct work *work, struct part *part, struct err *err)
{
    struct err why = {0};
    char dir[PATH_MAX];
    const char *command;
    double expected_s = 0;
    if (!expect(work, part, &command, &expected_s, &why)) {
        (void)snprintf(part->reason, sizeof(part->reason), "%.250s", why.msg);
        return 0;
    }
    if (!work->request->measures || expected_s > left_s(work)) {
        (void)snprintf(part->reason, sizeof(part->reason),
                       work->request->measures
                           ? "'%s' takes %.0f s, and %.0f s were left: raise --max-time"
                           : "'%s' needs a measurement, and --no-measure leaves it out",
                       part->name, expected_s, fmax(left_s(work), 0));
        return 0;
    }
    log_info("measuring %s for the baseline, about %.0f s", part->name, expected_s);
    (void)snprintf(dir, sizeof(dir), "%.3900s/%s", work->dir, part->name);
    int rc;
    do {
        make_command(work, part, command, dir);
        rc = child_run(work->child, &work->signals, &why);
    } while (rc == -ERESTART);
    if (rc == -EINTR)
        return err_set(err, rc, "interrupted while measuring for the baseline");
    rc = read_run(work, part, dir, rc);
    return rc ? err_set(err, rc, "no memory for the figures of '%s'", part->name) : 0;
}

/* Of a bound of FLEET_VALIDATE; PROBES: of none that is known. */
static int probe_of(const char *key)
{
    char name[NAME_MOST];
    int probe = 0;
    (void)fleet_key_column(key, FLEET_BENCH, name, sizeof(name));
    while (probe < PROBES && strcmp(facts_probe_names[probe], name) != 0)
        probe++;
    return probe;
}

unsigned validate_baseline_probes(const struct bounds *bounds)
{
    unsigned wanted = 0;
    for (size_t i = 0; i < bounds->n; i++) {
        char name[NAME_MOST];
        int probe = probe_of(bounds->all[i].key);
        (void)fleet_key_column(bounds->all[i].key, FLEET_SCENARIO, name, sizeof(name));
        if (strcmp(name, FLEET_VALIDATE) == 0 && probe < PROBES)
            wanted |= 1u << probe;
    }
    return wanted;
}

/* Why a bound of what is measured for the rules is not looked at; NULL = it is. */
static const char *why_not_measured(const struct work *work, const char *key, char *buf,
                                    size_t size)
{
    const struct validation *validation = work->request->validation;
    char params[FLEET_KEY_MAX], level[64];
    int probe = probe_of(key);
    (void)fleet_key_column(key, FLEET_PARAMS, params, sizeof(params));
    (void)snprintf(level, sizeof(level), "level=%s;", validation->level);
    if (probe == PROBES)
        return "this contend has no such measurement";
    if (validation->facts->probes[probe].status == PROBE_NOT_ASKED)
        return validation->facts->probes[probe].reason;
    if (!strncmp(params, level, strlen(level)))
        return NULL;
    (void)snprintf(buf, size, "its bounds are of another level: %.*s", (int)strcspn(params, ";"),
                   params);
    return buf;
}

static const char *why_not(struct work *work, const char *key, char *buf, size_t size)
{
    const struct part *part = find_part(work, key);
    if (strcmp(part->name, FLEET_VALIDATE) == 0)
        return why_not_measured(work, key, buf, size);
    return part->reason[0] ? part->reason : NULL;
}

static void init(struct finding *finding, enum finding_outcome outcome)
{
    *finding = (struct finding){.id = RULES_BASELINE_ID,
                                .outcome = outcome,
                                .severity = outcome == OUTCOME_ERROR  ? FINDING_BAD
                                            : outcome == OUTCOME_SKIP ? FINDING_DOUBT
                                                                      : FINDING_NOTE,
                                .value = NAN,
                                .low = NAN,
                                .high = NAN};
}

/* The bounds that are judged; one finding a reason for the others. */
static int split(struct work *work, struct bounds *judged, struct findings *findings,
                 struct err *err)
{
    const struct bounds *bounds = work->request->bounds;
    char last[300] = "nothing", buf[120];
    int rc = 0;
    for (size_t i = 0; i < bounds->n && !rc; i++) {
        const struct bound *bound = &bounds->all[i];
        const char *why = why_not(work, bound->key, buf, sizeof(buf));
        struct finding finding;
        if (!why) {
            rc = bounds_add(judged, bound, err);
            continue;
        }
        if (strcmp(why, last) == 0)
            continue;
        (void)snprintf(last, sizeof(last), "%s", why);
        init(&finding, bound->required ? OUTCOME_ERROR : OUTCOME_SKIP);
        (void)fleet_key_column(bound->key, FLEET_SCENARIO, finding.subject, NAME_MOST);
        (void)snprintf(finding.sentence, sizeof(finding.sentence), "not looked at: %s", why);
        rc = findings_add(findings, &finding, err);
    }
    return rc;
}

/* As a fleet of one machine. Its findings are of our rule, and of a figure, not of a machine. */
static int judge(const struct work *work, const struct bounds *bounds, struct findings *findings,
                 struct err *err)
{
    struct fleet_judgement judgement = {0};
    struct findings told = {0};
    int rc = fleet_judge(&work->fleet, bounds, NULL, &judgement, err);
    if (!rc)
        rc = fleet_findings(&work->fleet, bounds, &judgement, &told, err);
    for (size_t i = 0; i < told.n && !rc; i++) {
        struct finding finding = told.all[i];
        (void)snprintf(finding.id, sizeof(finding.id), RULES_BASELINE_ID);
        if (!finding.cause[0])
            (void)snprintf(finding.cause, sizeof(finding.cause), "hardware");
        finding.subject[0] = '\0';
        if (finding.outcome == OUTCOME_PASS)
            (void)snprintf(finding.sentence, sizeof(finding.sentence),
                           "%zu figures are within the bounds of %u machines", bounds->n,
                           bounds->machines);
        rc = findings_add(findings, &finding, err);
    }
    findings_free(&told);
    fleet_judgement_free(&judgement);
    return rc;
}

/* What was measured for the rules, as its file would have it. */
static int add_measured(struct work *work, struct err *err)
{
    json_t *json = validation_to_json(work->request->validation);
    char *text = json ? json_dumps(json, 0) : NULL;
    int rc = text ? fleet_add_validation_text(text, strlen(text), &work->fleet, err)
                  : err_set(err, -ENOMEM, "no memory for what was measured");
    free(text);
    json_decref(json);
    return rc;
}

static int make_directory(struct work *work, struct err *err)
{
    const char *temporary = getenv("TMPDIR");
    (void)snprintf(work->dir, sizeof(work->dir), "%.3900s/contend-XXXXXX",
                   temporary && temporary[0] ? temporary : "/tmp");
    work->is_temporary = mkdtemp(work->dir) != NULL;
    return work->is_temporary ? 0 : err_sys(err, -errno, "cannot make '%.150s'", work->dir);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status;
    (void)kind;
    (void)at;
    return remove(path);
}

static int measure_all(struct work *work, struct err *err)
{
    int rc = signals_open(&work->signals, err);
    if (rc)
        return rc;
    rc = make_directory(work, err);
    for (size_t i = 0; i < work->n && !rc; i++)
        if (strcmp(work->parts[i].name, FLEET_VALIDATE) != 0)
            rc = run_part(work, &work->parts[i], err);
    if (work->is_temporary && nftw(work->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS))
        log_warn("cannot remove '%s'", work->dir);
    signals_close(&work->signals);
    return rc;
}

/* Takes out that no file was given. */
static void forget_skip(struct findings *findings)
{
    size_t kept = 0;
    for (size_t i = 0; i < findings->n; i++)
        if (strcmp(findings->all[i].id, RULES_BASELINE_ID) != 0)
            findings->all[kept++] = findings->all[i];
    findings->n = kept;
}

int validate_by_baseline(const struct validate_baseline *request, struct findings *findings,
                         struct err *err)
{
    struct work work = {.request = request, .start_ns = clock_now_ns()};
    struct bounds judged = {.machines = request->bounds->machines};
    work.child = calloc(1, sizeof(*work.child));
    work.parts = calloc(request->bounds->n + 1, sizeof(*work.parts));
    int rc = !request->bounds->n        ? err_set(err, -EINVAL, "the baseline has no bounds")
             : work.child && work.parts ? 0
                                        : err_set(err, -ENOMEM, "no memory for the baseline");
    forget_skip(findings);
    if (!rc) {
        judged.kind = strdup(request->bounds->kind ? request->bounds->kind : "");
        rc = judged.kind ? 0 : err_set(err, -ENOMEM, "no memory for the baseline");
        find_parts(&work);
    }
    if (!rc)
        rc = add_measured(&work, err);
    if (!rc)
        rc = measure_all(&work, err);
    if (!rc)
        rc = split(&work, &judged, findings, err);
    if (!rc)
        rc = fleet_arrange(&work.fleet, err);
    if (!rc && judged.n)
        rc = judge(&work, &judged, findings, err);
    bounds_free(&judged);
    fleet_free(&work.fleet);
    free(work.parts);
    free(work.child);
    return rc;
}
