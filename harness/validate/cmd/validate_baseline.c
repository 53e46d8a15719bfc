#include "harness/validate/cmd/validate_baseline.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/say/log.h"
#include "harness/lib/sys/clock.h"
#include "harness/store/files/directory.h"
#include "harness/validate/cmd/fleet.h"
#include "harness/validate/cmd/validate_parts.h"
#include "harness/validate/files/fleet_read.h"
#include "harness/validate/fleet/say.h"

enum { NAME_MOST = VALIDATE_NAME_MOST };

struct work {
    const struct validate_baseline *request;
    char dir[PATH_MAX];
    bool is_temporary;
    uint64_t start_ns;
    struct signals signals;
    struct child_run *child; /* owned */
    struct validate_parts parts;
    struct bounds judged; /* those of what was looked at */
    unsigned doubted;     /* measurements for the rules, as bits: they are made again */
    struct fleet_look first, second;
};

static double left_s(const struct work *work)
{
    return work->request->limit_s - (double)(clock_now_ns() - work->start_ns) / 1e9;
}

/* Where its run goes: each look has its own. Returns dir. */
static char *directory_of(const struct work *work, const struct validate_part *part, bool again,
                          char dir[static PATH_MAX])
{
    (void)snprintf(dir, PATH_MAX, "%.3900s/%s%s", work->dir, part->name, again ? ".again" : "");
    return dir;
}

static int run_part(struct work *work, const struct validate_part *part, const char *dir,
                    struct err *err)
{
    struct err why = {0};
    int rc;
    log_info("measuring %s for the baseline, about %.0f s", part->name, part->expected_s);
    do {
        validate_part_command(work->request->env, part, work->request->validation->facts->host, dir,
                              work->child);
        rc = child_run(work->child, &work->signals, &why);
    } while (rc == -ERESTART);
    return rc == -EINTR ? err_set(err, rc, "interrupted while measuring for the baseline") : rc;
}

/* Why it cannot be run now; false: it can. */
static bool is_left_out(struct work *work, struct validate_part *part)
{
    struct err why = {0};
    if (!validate_part_expect(&work->parts, part, &why))
        (void)snprintf(part->reason, sizeof(part->reason), "%.250s", why.msg);
    else if (!work->request->measures)
        (void)snprintf(part->reason, sizeof(part->reason),
                       "'%s' needs a measurement, and --no-measure leaves it out", part->name);
    else if (part->expected_s > left_s(work))
        (void)snprintf(part->reason, sizeof(part->reason),
                       "'%s' takes %.0f s, and %.0f s were left: raise --max-time", part->name,
                       part->expected_s, fmax(left_s(work), 0));
    return part->reason[0];
}

/* What went wrong in its run is a reason, and no error of ours. */
static int measure_part(struct work *work, struct validate_part *part, struct err *err)
{
    char dir[PATH_MAX];
    struct err why = {0};
    if (is_left_out(work, part))
        return 0;
    int code = run_part(work, part, directory_of(work, part, false, dir), err);
    if (code == -EINTR)
        return code;
    int rc = fleet_read_gating(work->request->env, dir, &work->first.fleet, &why);
    if (rc && rc != -ENOMEM)
        (void)snprintf(part->reason, sizeof(part->reason),
                       "its run ended with exit code %d: %.200s", code,
                       work->child->said[0] ? work->child->said : why.msg);
    return rc == -ENOMEM ? err_set(err, rc, "%s", why.msg) : 0;
}

/* Again where it is doubted; else what its first run gave. */
static int measure_part_again(struct work *work, const struct validate_part *part, struct err *err)
{
    char dir[PATH_MAX];
    struct err why = {0};
    (void)directory_of(work, part, part->doubted, dir);
    int code = part->doubted ? run_part(work, part, dir, err) : 0;
    if (code == -EINTR)
        return code;
    int rc = fleet_read_gating(work->request->env, dir, &work->second.fleet, &why);
    if (rc && rc != -ENOMEM)
        log_warn("the second look at %s: %s", part->name, why.msg);
    return rc == -ENOMEM ? err_set(err, rc, "%s", why.msg) : 0;
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

static const char *why_not(struct work *work, size_t bound, char *buf, size_t size)
{
    const char *key = work->request->bounds->all[bound].key;
    const struct validate_part *part = validate_parts_of(&work->parts, key);
    if (strcmp(part->name, FLEET_VALIDATE) == 0)
        return why_not_measured(work, key, buf, size);
    if (part->reason[0])
        return part->reason;
    return work->parts.foreign[bound]
               ? "its bounds are of other parameters, of a variant or of another device"
               : NULL;
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

/* Of what is not looked at: what may not be skipped is an error. */
static enum finding_outcome outcome_of_skipped(const struct work *work, bool required)
{
    return required || work->request->required ? OUTCOME_ERROR : OUTCOME_SKIP;
}

/* The bounds that are judged; one finding a reason for the others, an error where one of them is.
 */
static int split(struct work *work, struct findings *findings, struct err *err)
{
    const struct bounds *bounds = work->request->bounds;
    char last[300] = "nothing", buf[120];
    int rc = 0;
    for (size_t i = 0; i < bounds->n && !rc; i++) {
        const struct bound *bound = &bounds->all[i];
        const char *why = why_not(work, i, buf, sizeof(buf));
        struct finding finding;
        if (!why) {
            rc = bounds_add(&work->judged, bound, err);
            continue;
        }
        init(&finding, outcome_of_skipped(work, bound->required));
        if (strcmp(why, last) == 0) {
            struct finding *said = &findings->all[findings->n - 1];
            said->outcome = finding.outcome == OUTCOME_ERROR ? OUTCOME_ERROR : said->outcome;
            said->severity = said->outcome == OUTCOME_ERROR ? FINDING_BAD : said->severity;
            continue;
        }
        (void)snprintf(last, sizeof(last), "%s", why);
        (void)fleet_key_column(bound->key, FLEET_SCENARIO, finding.subject, NAME_MOST);
        (void)snprintf(finding.sentence, sizeof(finding.sentence), "not looked at: %s", why);
        rc = findings_add(findings, &finding, err);
    }
    return rc;
}

/* What was measured for the rules, as its file would have it. */
static int add_measured(const struct validation *validation, struct fleet *fleet, struct err *err)
{
    json_t *json = validation_to_json(validation);
    (void)json_object_del(json, "verdict"); /* there is none yet */
    int rc = json ? fleet_add_validation(json, fleet, err)
                  : err_set(err, -ENOMEM, "no memory for what was measured");
    json_decref(json);
    return rc;
}

int validate_baseline_kind(const struct validation *validation, char *kind, size_t size,
                           struct err *err)
{
    struct fleet fleet = {0};
    int rc = add_measured(validation, &fleet, err);
    if (!rc)
        (void)snprintf(kind, size, "%s", intern_text(&fleet.kinds, fleet.machines[0].kind));
    fleet_free(&fleet);
    return rc;
}

static void doubt(struct work *work, const char *key)
{
    struct validate_part *part = validate_parts_of(&work->parts, key);
    if (strcmp(part->name, FLEET_VALIDATE) == 0)
        work->doubted |= 1u << probe_of(key);
    else
        part->doubted = true;
}

static bool is_of(const struct work *work, const struct fleet_offence *offence, size_t bound)
{
    const struct fleet_look *first = &work->first;
    if (offence->kind == OFFENCE_LACKS)
        return work->judged.all[bound].required &&
               !fleet_judged_cell(&first->fleet, &first->judgement, bound, offence->machine);
    return offence->kind == OFFENCE_OVERALL || offence->bound == bound;
}

/* Marks what is measured again: each figure that is off, or lacks; all where all are worse. */
static bool has_doubts(struct work *work)
{
    const struct fleet_judgement *judgement = &work->first.judgement;
    for (size_t i = 0; i < judgement->noffences; i++)
        for (size_t b = 0; b < work->judged.n; b++)
            if (is_of(work, &judgement->offences[i], b))
                doubt(work, work->judged.all[b].key);
    return judgement->noffences;
}

static int judge_look(const struct work *work, struct fleet_look *look, struct err *err)
{
    int rc = fleet_arrange(&look->fleet, err);
    return rc ? rc : fleet_judge(&look->fleet, &work->judged, NULL, &look->judgement, err);
}

static void free_look(struct fleet_look *look)
{
    fleet_judgement_free(&look->judgement);
    fleet_free(&look->fleet);
}

/* What was measured for the rules, and again as far as it is doubted. */
static int add_measured_again(struct work *work, struct err *err)
{
    const struct validate_baseline *request = work->request;
    struct validation validation = *request->validation;
    struct facts facts = *validation.facts;
    struct facts_probe again[PROBES] = {0};
    int rc =
        work->doubted ? request->measure_again(request->arg, work->doubted, again, err) : -ETIME;
    for (int i = 0; i < PROBES && !rc; i++)
        if (work->doubted & (1u << i))
            facts.probes[i] = again[i];
    validation.facts = &facts;
    if (!rc || rc == -ETIME)
        rc = add_measured(&validation, &work->second.fleet, err);
    for (int i = 0; i < PROBES; i++)
        free(again[i].values);
    return rc;
}

static bool has_time_again(const struct work *work)
{
    double needed_s = 0;
    for (size_t i = 0; i < work->parts.n; i++)
        needed_s += work->parts.all[i].doubted ? work->parts.all[i].expected_s : 0;
    if (needed_s <= left_s(work))
        return true;
    log_warn("no time to look a second time at what is beyond the baseline: raise --max-time");
    return false;
}

/*
 * Once more what is beyond the bounds, in the other order; what is not, is what it was. *looked:
 * whether there was anything, and time.
 */
static int look_again(struct work *work, bool *looked, struct err *err)
{
    int rc = 0;
    *looked = work->request->measures && has_doubts(work) && has_time_again(work);
    if (!*looked)
        return 0;
    for (size_t i = work->parts.n; i-- > 0 && !rc;)
        if (strcmp(work->parts.all[i].name, FLEET_VALIDATE) != 0 && !work->parts.all[i].reason[0])
            rc = measure_part_again(work, &work->parts.all[i], err);
    if (!rc)
        rc = add_measured_again(work, err);
    return rc ? rc : judge_look(work, &work->second, err);
}

/* Of the bounds, how many have a figure. */
static size_t count_looked_at(const struct work *work)
{
    size_t n = 0;
    for (size_t i = 0; i < work->judged.n; i++)
        n += work->first.judgement.metric_of[i] != INTERN_NONE;
    return n;
}

/* Nothing is off: but was anything looked at? */
static int add_good(const struct work *work, struct findings *findings, struct err *err)
{
    size_t n = count_looked_at(work);
    struct finding finding;
    init(&finding, n ? OUTCOME_PASS : outcome_of_skipped(work, false));
    if (n)
        (void)snprintf(finding.sentence, sizeof(finding.sentence),
                       "%zu figure%s within the bounds of %u machines", n, n == 1 ? " is" : "s are",
                       work->judged.machines);
    else
        (void)snprintf(finding.sentence, sizeof(finding.sentence),
                       "none of the figures that were measured has a bound");
    return findings_add(findings, &finding, err);
}

static int tell(const struct work *work, bool looked_again, struct findings *findings,
                struct err *err)
{
    struct findings told = {0}, again = {0};
    int rc = fleet_look_findings(&work->first, NULL, &work->judged, &told, err);
    if (!rc && looked_again)
        rc = fleet_look_findings(&work->second, &work->first, &work->judged, &again, err);
    if (!rc && looked_again)
        rc = rules_second_look(&told, &again, RULES_RUNS, err);
    if (!rc && !told.n)
        rc = add_good(work, findings, err);
    for (size_t i = 0; i < told.n && !rc; i++)
        rc = findings_add(findings, &told.all[i], err);
    findings_free(&told);
    findings_free(&again);
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
    int rc = add_measured(work->request->validation, &work->first.fleet, err);
    for (size_t i = 0; i < work->parts.n && !rc; i++)
        if (strcmp(work->parts.all[i].name, FLEET_VALIDATE) != 0)
            rc = measure_part(work, &work->parts.all[i], err);
    return rc;
}

/* Both looks, with what they need around them. */
static int judge(struct work *work, struct findings *findings, struct err *err)
{
    bool looked_again = false;
    int rc = signals_open(&work->signals, err);
    if (rc)
        return rc;
    rc = make_directory(work, err);
    if (!rc)
        rc = measure_all(work, err);
    if (!rc)
        rc = split(work, findings, err);
    if (!rc && work->judged.n)
        rc = judge_look(work, &work->first, err);
    if (!rc && work->judged.n)
        rc = look_again(work, &looked_again, err);
    if (!rc && work->judged.n)
        rc = tell(work, looked_again, findings, err);
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
    struct work work = {.request = request,
                        .start_ns = clock_now_ns(),
                        .parts = {.env = request->env,
                                  .bounds = request->bounds,
                                  .topo = request->validation->facts->topo},
                        .judged = {.machines = request->bounds->machines}};
    work.child = calloc(1, sizeof(*work.child));
    work.judged.kind = strdup(request->bounds->kind ? request->bounds->kind : "");
    int rc = !request->bounds->n              ? err_set(err, -EINVAL, "the baseline has no bounds")
             : work.child && work.judged.kind ? 0
                                              : err_set(err, -ENOMEM, "no memory for the baseline");
    forget_skip(findings);
    if (!rc)
        rc = validate_parts_find(&work.parts, err);
    if (!rc)
        rc = judge(&work, findings, err);
    free_look(&work.first);
    free_look(&work.second);
    bounds_free(&work.judged);
    validate_parts_free(&work.parts);
    free(work.child);
    return rc;
}
