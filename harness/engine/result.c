#include "harness/engine/result.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/lib/text.h"
#include "harness/machine/env.h"

const char *status_name(enum status status)
{
    static const char *const names[STATUSES] = {"ok",      "noisy",  "censored",
                                                "skipped", "failed", "hung"};
    return names[status];
}

enum status status_find(const char *name)
{
    for (int i = 0; i < STATUSES; i++)
        if (strcmp(status_name((enum status)i), name) == 0)
            return (enum status)i;
    return STATUS_FAILED;
}

const char *phase_name(enum phase phase)
{
    static const char *const names[PHASES] = {"start",   "setup", "warm-up", "settle",
                                              "measure", "check", "end"};
    return names[phase];
}

bool arm_is_fresh(const struct arm *arm)
{
    return arm->variant && arm->variant->is_fresh;
}

const char *arm_name(const struct arm *arm)
{
    return arm->variant ? variant_setting(arm->variant) : placement_infos[arm->placement].name;
}

double result_within(const struct result *result)
{
    return result->within > 0 ? result->within : RESULT_WITHIN;
}

const struct neighbours *arm_jobs(const struct result *result, const struct arm *arm)
{
    const struct neighbours *jobs = result->neighbours;
    return jobs && arm->bench == &jobs->bench ? jobs : NULL;
}

struct observation *arm_observation(const struct arm *arm, unsigned round)
{
    /* An arm that takes turns has fewer observations than rounds. */
    size_t i = round < arm->nobservations ? round + 1 : arm->nobservations;
    while (i && arm->observations[i - 1].round > round)
        i--;
    return i && arm->observations[i - 1].round == round ? &arm->observations[i - 1] : NULL;
}

unsigned arm_order(const struct arm *arm, unsigned round)
{
    const struct observation *seen = arm_observation(arm, round);
    if (seen)
        return seen->order;
    return round < arm->norders ? arm->orders[round] : 0;
}

static const char *const purposes[PURPOSES] = {
    [PURPOSE_RUN] = "run",   [PURPOSE_TUNE] = "tune", [PURPOSE_SIZING] = "sizing",
    [PURPOSE_DOSE] = "dose", [PURPOSE_MIX] = "mix",   [PURPOSE_PREDICT] = "predict"};

const char *purpose_name(enum purpose purpose)
{
    return purposes[purpose];
}

enum purpose purpose_find(const char *name)
{
    for (int i = 0; i < PURPOSES; i++)
        if (strcmp(purposes[i], name) == 0)
            return (enum purpose)i;
    return PURPOSE_RUN;
}

bool purpose_decides(enum purpose purpose)
{
    return purpose == PURPOSE_TUNE || purpose == PURPOSE_PREDICT;
}

enum device arm_device(const struct result *result, const struct arm *arm)
{
    return bench_device(arm->bench, result->device, result->transport);
}

double result_spent_s(const struct result *result, unsigned from)
{
    double sum_s = 0;
    for (size_t i = 0; i < result->narms; i++)
        for (size_t o = 0; o < result->arms[i].nobservations; o++)
            if (result->arms[i].observations[o].round >= from)
                sum_s += result->arms[i].observations[o].took_s;
    return sum_s;
}

unsigned arm_background(const struct arm *arm)
{
    return arm->is_baseline || arm->plan.nworkers < arm->planned_workers
               ? 0
               : arm->plan.nworkers - arm->planned_workers;
}

bool arm_is_throttled(const struct arm *arm)
{
    return arm->dose.kind == DOSE_THROTTLE && !dose_is_idle(&arm->dose);
}

bool result_has_doses(const struct result *result)
{
    return result->background && strcmp(result->background->name, DOSE_BENCH) == 0;
}

const struct dose *result_dose(const struct result *result)
{
    const struct dose *dose = NULL;
    for (size_t i = 0; i < result_measured(result); i++) {
        const struct arm *arm = &result->arms[i];
        if (arm->is_baseline)
            continue;
        if (dose_is_idle(&arm->dose) || (dose && !dose_is_same(dose, &arm->dose)))
            return NULL;
        dose = &arm->dose;
    }
    return dose;
}

const struct plan_worker *
observation_planned(const struct arm *arm, const struct observation *observation, unsigned worker)
{
    unsigned slot = observation->slot + worker;
    return slot < arm->plan.nworkers ? &arm->plan.workers[slot] : NULL;
}

unsigned result_next_workers(const struct result *result, unsigned after)
{
    unsigned next = 0;
    for (size_t i = 0; i < result->narms; i++) {
        unsigned planned_workers =
            result->arms[i].bench->scan ? 0 : result->arms[i].planned_workers;
        if (planned_workers > after && (!next || planned_workers < next))
            next = planned_workers;
    }
    return next;
}

size_t result_measured(const struct result *result)
{
    size_t n = result->narms;
    while (n && result->arms[n - 1].is_control)
        n--;
    return n;
}

void observation_free(struct observation *observation)
{
    if (!observation)
        return;
    for (unsigned i = 0; observation->workers && i < observation->nworkers; i++) {
        free(observation->workers[i].samples);
        free(observation->workers[i].values);
        free(observation->workers[i].reasons);
        free(observation->workers[i].cpu_samples);
        free(observation->workers[i].staged);
    }
    free(observation->workers);
    free(observation->gpus);
    memset(observation, 0, sizeof(*observation));
}

static const struct opt kinds[] = {
    OPT_TEXTS("env", variant, env, NULL, NULL),
    OPT_TEXTS("unset", variant, env, NULL, NULL),
    OPT_TEXTS("param", variant, params, NULL, NULL),
    OPT_TEXT("placement", variant, placement, NULL, NULL, NULL),
    OPT_INT("threads", variant, plan.threads, NULL, 1, VARIANT_THREADS_MAX, NULL, NULL),
    OPT_DOUBLE("cpu-max", variant, cpu_max, NULL, 0.01, VARIANT_THREADS_MAX, NULL, NULL),
    OPT_INT("nice", variant, priority[0].nice, NULL, -20, 19, NULL, NULL),
    OPT_INT("weight", variant, priority[0].weight, NULL, 1, 10000, NULL, NULL),
    OPT_CHOICE("sched", variant, priority[0].policy, NULL, cpu_policy_names, NULL, NULL),
    OPT_INT("background-nice", variant, priority[1].nice, NULL, -20, 19, NULL, NULL),
    OPT_INT("background-weight", variant, priority[1].weight, NULL, 1, 10000, NULL, NULL),
    OPT_CHOICE("background-sched", variant, priority[1].policy, NULL, cpu_policy_names, NULL, NULL),
    OPT_TEXTS("lib", variant, env, NULL, NULL),
    OPT_TEXT("before", variant, before, NULL, NULL, NULL),
    OPT_TEXT("after", variant, after, NULL, NULL, NULL),
    OPT_TEXT("check", variant, check, NULL, NULL, NULL),
    OPT_TEXT("build", variant, build, NULL, NULL, NULL),
    {.name = NULL}};
static const char kind_names[] =
    "env, unset, param, placement, threads, cpu-max, nice, weight, sched, background-nice, "
    "background-weight, background-sched, lib, before, after, check, build";

static struct variant *find_or_add(struct variants *variants, const char *text, size_t length,
                                   struct err *err)
{
    const char *wrong = NULL;
    if (!length || length >= VARIANT_NAME_MAX)
        wrong = "has 1 to 31 characters";
    for (size_t i = 0; i < length && !wrong; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("_-+.", text[i]))
            wrong = "is of letters, digits, '_', '-', '+' and '.'";
    if (wrong) {
        (void)err_set(err, -EINVAL, "variant '%.80s': a name %s", text, wrong);
        return NULL;
    }
    for (size_t i = 0; i < variants->n; i++)
        if (strlen(variants->all[i].name) == length &&
            !strncmp(text, variants->all[i].name, length))
            return &variants->all[i];
    if (variants->n == VARIANTS_MAX) {
        (void)err_set(err, -EINVAL, "variant '%.80s' is one too many (at most %d)", text,
                      VARIANTS_MAX);
        return NULL;
    }
    struct variant *variant = &variants->all[variants->n++];
    memcpy(variant->name, text, length);
    return variant;
}

/* The variable by which bench/ finds the library. */
#define LIBRARY_VARIABLE "CONTEND_LIBNCCL="

/* Makes a variable of nccl=PATH. */
static int take_library(struct variant *variant, const char **value, struct err *err)
{
    static const char nccl[] = "nccl=";
    if (strncmp(*value, nccl, strlen(nccl)) != 0 || !(*value)[strlen(nccl)])
        return err_set(err, -EINVAL, "known is lib:nccl=PATH");
    if (variant->library[0])
        return err_set(err, -EINVAL, "has two of 'lib'");
    int length = snprintf(variant->library, sizeof(variant->library), LIBRARY_VARIABLE "%s",
                          *value + strlen(nccl));
    *value = variant->library;
    return length < 0 || (size_t)length >= sizeof(variant->library)
               ? err_set(err, -ENAMETOOLONG, "too long a path")
               : 0;
}

static int set(struct variant *variant, const char *kind, const char *value, struct err *err)
{
    static const char team[] = "OMP_NUM_THREADS=", outside[] = OPENMP_NOT_FOR_WORKERS "=";
    const bool is_env = !strcmp(kind, "env");
    const struct opt *opt = opts_find(kinds, kind);
    char threads[32];
    if (!opt)
        return err_set(err, -EINVAL, "unknown kind '%.40s'; known: %s", kind, kind_names);
    const unsigned bit = 1u << (opt - kinds);
    if (opt->kind != OPT_TEXTS && variant->given & bit)
        return err_set(err, -EINVAL, "has two of '%s'", kind);
    variant->given |= bit;
    if ((is_env || !strcmp(kind, "param")) && (!strchr(value, '=') || value[0] == '='))
        return err_set(err, -EINVAL, "'%.60s' is not of the form NAME=VALUE", value);
    if (!strcmp(kind, "unset") && strchr(value, '='))
        return err_set(err, -EINVAL, "unset takes a name, such as OMP_PROC_BIND");
    if (is_env && !strncmp(value, outside, strlen(outside)))
        return err_set(err, -EINVAL,
                       OPENMP_NOT_FOR_WORKERS
                       " binds threads outside of their placement; use placement:NAME");
    int rc = strcmp(kind, "lib") ? 0 : take_library(variant, &value, err);
    if (!rc)
        rc = opt_set(opt, variant, value, err);
    if (rc || !is_env || strncmp(value, team, strlen(team)) != 0)
        return rc;
    /* The plan follows a variable that sets the size of teams. A list has a size for each level. */
    value += strlen(team);
    text_set(threads, "%.*s", (int)strcspn(value, ","), value);
    return set(variant, "threads", threads, err);
}

/* Adds the change that follows "NAME=". */
static int add_change(struct variant *variant, const char *text, const char *change,
                      struct err *err)
{
    const size_t length = strcspn(change, ":");
    char kind[41];
    struct err why;
    if (!change[length] || !change[length + 1])
        return err_set(err, -EINVAL,
                       "variant '%.80s' is not of the form NAME=KIND:VALUE; kinds: %s", text,
                       kind_names);
    text_set(kind, "%.*s", (int)(length < 40 ? length : 40), change);
    int rc = set(variant, kind, change + length + 1, &why);
    return rc ? err_set(err, rc, "variant '%.80s': %s", text, why.msg) : 0;
}

int variants_parse(const struct opt_texts *texts, struct variants *variants, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < texts->n && !rc; i++) {
        const char *text = texts->text[i];
        size_t length = strcspn(text, "=");
        struct variant *variant = find_or_add(variants, text, length, err);
        if (!variant)
            return -EINVAL;
        if (text[length] && text[length + 1])
            rc = add_change(variant, text, text + length + 1, err);
    }
    if (!rc && variants->n < 2)
        return err_set(err, -EINVAL,
                       "variant '%s' has nothing to be compared with: name another by -V NAME",
                       variants->all[0].name);
    for (size_t i = 0; i < variants->n && !rc; i++)
        if (variants->all[i].before && !variants->all[i].after)
            rc = err_set(err, -EINVAL, "variant '%s' has before: but no after: that undoes it",
                         variants->all[i].name);
    return rc;
}

static int check_library(const struct variant *variant, struct err *err)
{
    const char *path = variant->library + strlen(LIBRARY_VARIABLE);
    struct stat found;
    if (access(path, R_OK) || stat(path, &found))
        return err_sys(err, -errno, "variant '%s': cannot read the library '%.150s'", variant->name,
                       path);
    if (!S_ISREG(found.st_mode))
        return err_set(err, -EINVAL, "variant '%s': the library '%.150s' is no regular file",
                       variant->name, path);
    return 0;
}

int variants_check_libraries(const struct variants *variants, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < variants->n && !rc; i++)
        if (strchr(variants->all[i].library, '/'))
            rc = check_library(&variants->all[i], err);
    return rc;
}

bool variants_any_build(const struct variants *variants)
{
    for (size_t i = 0; i < variants->n; i++)
        if (variants->all[i].build)
            return true;
    return false;
}

bool variant_only_places(const struct variant *variant)
{
    return !variant->argv && !(variant->given & ~(1u << (opts_find(kinds, "placement") - kinds)));
}

#define FRESH "fresh."
#define CORES "cores-"

void variant_put_name(struct variant *variant, enum placement placement, unsigned workers)
{
    const struct plan_options *plan = &variant->plan;
    const long long reserve = plan->reserve - variant->fewer;
    if (plan->cores_each) {
        text_set(variant->name, CORES "%lld", (long long)plan->cores_each);
        return;
    }
    text_set(variant->name, "%s%s", variant->is_fresh ? FRESH : "",
             placement_infos[placement].name);
    if (plan->threads)
        text_add(variant->name, "+%lldt", (long long)plan->threads);
    if (reserve)
        text_add(variant->name, "+r%lld", reserve);
    if (plan->wait)
        text_add(variant->name, "+%s", plan_wait_choices[plan->wait]);
    if (workers)
        text_add(variant->name, "+%uw", workers);
    if (variant->fewer)
        text_add(variant->name, "-%u", variant->fewer);
}

void variant_take_name(struct variant *variant, enum placement placement, const char *name)
{
    struct plan_options *plan = &variant->plan;
    text_set(variant->name, "%s", name);
    variant->is_fresh = !strncmp(name, FRESH, strlen(FRESH));
    if (!strncmp(name, CORES, strlen(CORES)))
        plan->cores_each = strtoll(name + strlen(CORES), NULL, 10);
    name = variant_setting(variant);
    const size_t length = strlen(placement_infos[placement].name);
    if (strncmp(name, placement_infos[placement].name, length) != 0)
        return;
    for (const char *at = name + length; *at; at += 1 + strcspn(at + 1, "+-")) {
        char *end;
        const bool is_reserve = at[1] == 'r';
        const long long number = strtoll(at + 1 + is_reserve, &end, 10);
        if (*at == '-')
            variant->fewer = (unsigned)number;
        else if (is_reserve)
            plan->reserve = number;
        else if (*end == 't')
            plan->threads = number;
        else if (*end != 'w')
            plan->wait = 1;
    }
    plan->reserve += variant->fewer;
}

const char *variant_setting(const struct variant *variant)
{
    return variant->name + (variant->is_fresh ? strlen(FRESH) : 0);
}
