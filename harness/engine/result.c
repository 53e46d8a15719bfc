#include "harness/engine/result.h"

#include <stdlib.h>
#include <string.h>

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

static const char *const purposes[PURPOSES] = {[PURPOSE_RUN] = "run",
                                               [PURPOSE_TUNE] = "tune",
                                               [PURPOSE_SIZING] = "sizing",
                                               [PURPOSE_DOSE] = "dose"};

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

enum device arm_device(const struct result *result, const struct arm *arm)
{
    return bench_device(arm->bench, result->device, result->transport);
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
