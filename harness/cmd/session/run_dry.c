#include "harness/cmd/session/run_dry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmd/common/cmd.h"
#include "harness/cmd/common/named.h"
#include "harness/engine/arms.h"
#include "harness/lib/str.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"
#include "harness/lib/units.h"
#include "harness/record/json_value.h"
#include "harness/record/plan.h"
#include "harness/verdict/odd.h"

/* With more workers than MOST, only the first FIRST are shown. */
enum { NAME_MAX_SHOWN = 96, MOST_WORKERS = 16, FIRST_WORKERS = 2 };

/* The name of an arm: its placement, or for scans what it measures. Returns name. */
static const char *name_arm(const struct result *result, const struct arm *arm, char *name,
                            size_t size)
{
    if (!arm->bench->scan)
        (void)snprintf(name, size, "%s", placement_infos[arm->placement].name);
    else
        (void)snprintf(name, size, "%s", statuses_name_arm(result, arm));
    return name;
}

static int widest_name(const struct result *result)
{
    char name[NAME_MAX_SHOWN];
    size_t widest = 10; /* fits nearly all names of placements */
    for (size_t i = 0; i < result_measured(result); i++) {
        size_t length = strlen(name_arm(result, &result->arms[i], name, sizeof(name)));
        widest = length > widest ? length : widest;
    }
    return (int)widest;
}

static void print_workers(const struct arm *arm, const char *name, int width)
{
    unsigned n = arm->plan.nworkers, shown = n > MOST_WORKERS ? FIRST_WORKERS : n;
    for (unsigned i = 0; i < shown; i++) {
        const struct plan_worker *worker = &arm->plan.workers[i];
        const bool gives_dose = i >= plan_requested(&arm->plan);
        const char *line =
            str_fmt("worker %u%s%s: CPUs %s, %u thread%s", i,
                    gives_dose           ? ", dose "
                    : worker->background ? " (background)"
                                         : "",
                    gives_dose ? dose_format(&arm->dose) : "", bitset_format(&worker->cpus),
                    worker->threads, worker->threads == 1 ? "" : "s");
        text_wrap(line, printf("  %-*s ", width, i ? "" : name), width + 3, stdout);
    }
    if (shown < n)
        (void)printf("  %-*s ... and %u more; --json has all\n", width, "", n - shown);
}

/*
 * Why an arm will not be measured; "" = it will. In a job of several machines only the plan counts,
 * as other machines decide, too. Returns buf.
 */
static char *explain(const struct run_setup *setup, const struct arm *arm, bool in_job,
                     char buf[static RUN_DRY_REASON])
{
    if (arm->plan.status == PLAN_SKIPPED)
        (void)snprintf(buf, RUN_DRY_REASON, "%s", arm->plan.reason);
    else if (in_job)
        buf[0] = '\0';
    else
        (void)snprintf(buf, RUN_DRY_REASON, "%s", named_not_here(setup->config.topo, arm->bench));
    return buf;
}

static void print_plan_line(const struct result *result, const struct arm *arm, const char *reason,
                            int width)
{
    char name[NAME_MAX_SHOWN];
    const char *same = arm->same_as >= 0 ? " (same plan as an earlier one, measured once)" : "";
    (void)name_arm(result, arm, name, sizeof(name));
    if (reason[0]) {
        text_wrap(reason, printf("  %-*s skipped: ", width, name), width + 3, stdout);
        return;
    }
    if (arm->variant)
        (void)printf("  variant %s:\n", arm->variant->name);
    const char *baseline;
    if (bench_is_team(arm->bench))
        baseline = str_fmt("solo run: %u worker%s without the background%s", arm->planned_workers,
                           arm->planned_workers == 1 ? "" : "s", same);
    else
        baseline = str_fmt("solo run: %s of %u alone%s",
                           arms_slices(arm) > 1 ? "in turn, one worker" : "worker 0",
                           arm->planned_workers, same);
    if (arm->is_baseline)
        text_wrap(baseline, printf("  %-*s ", width, name), width + 3, stdout);
    else
        print_workers(arm, name, width);
}

static int print_plans(const struct run_setup *setup)
{
    struct err err = {0};
    const struct result *result = &setup->result;
    const struct plan **plans = calloc(result->narms + 1, sizeof(const struct plan *));
    size_t n = 0;
    for (size_t i = 0; plans && i < result_measured(result); i++)
        if (!result->arms[i].is_baseline)
            plans[n++] = &result->arms[i].plan;
    int rc = plans ? json_value_print(plans_to_json(setup->config.topo, plans, n), 1, &err)
                   : err_set(&err, -ENOMEM, "no memory for the plans");
    free((void *)plans);
    if (rc)
        log_error("%s", err.msg);
    return rc ? EXIT_NOT_RUN : EXIT_GOOD;
}

bool run_dry_is_nothing(const struct run_setup *setup, const struct run_options *options,
                        char reason[static RUN_DRY_REASON])
{
    const struct result *result = &setup->result;
    const size_t n = result_measured(result);
    for (size_t i = n; i-- > 0;) /* backwards, so that the first arm's reason remains */
        if (!explain(setup, &result->arms[i], options->ranks > 0, reason)[0])
            return false;
    return n > 0;
}

int run_dry_print(struct run_setup *setup, const struct run_options *options)
{
    const struct result *result = &setup->result;
    char reason[RUN_DRY_REASON];
    const bool is_nothing = run_dry_is_nothing(setup, options, reason);
    if (is_nothing) {
        setup->expected_s = 0;
        log_warn("nothing of '%s' can run here: %s", setup->scenario->name, reason);
    }
    if (options->json)
        return print_plans(setup);
    text_field(2, "", "scenario %s, device %s, %u round%s%s, %s s a configuration, seed %llu",
               setup->scenario->name, device_name(result->device), result->rounds_planned,
               result->rounds_planned == 1 ? "" : "s",
               result->until_clear ? " or more, until it is clear" : "",
               units_plain(setup->config.measure_s, 3), (unsigned long long)result->seed);
    int width = widest_name(result);
    for (size_t i = 0; i < result_measured(result); i++)
        print_plan_line(result, &result->arms[i],
                        explain(setup, &result->arms[i], options->ranks > 0, reason), width);
    const char *tail = is_nothing ? ""
                       : result->until_clear
                           ? ", less once it is clear, more if a placement collapses"
                           : ", longer if a placement collapses";
    (void)printf("expected time: %.0f s%s\n", setup->expected_s, tail);
    return EXIT_GOOD;
}
