#include "harness/validate/cmd/fleet.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/lib/say/log.h"
#include "harness/lib/say/terminal.h"
#include "harness/rows/row.h"
#include "harness/show/report/junit.h"
#include "harness/show/report/markdown.h"
#include "harness/store/json/findings.h"
#include "harness/validate/cmd/validate_outputs.h"
#include "harness/validate/files/bounds_file.h"
#include "harness/validate/files/fleet_read.h"
#include "harness/validate/fleet/bounds_make.h"
#include "harness/validate/fleet/judge.h"
#include "harness/validate/tables/fleet.h"

/* Which of two machines is the odd one nobody can say. */
enum { MACHINES_LEAST = 3 };

/* As for a comparison; of a benchmark that this version does not have, nothing. */
static bool gates(const void *benches, const char *name, const char *metric, const char *params)
{
    const struct bench *bench = bench_find(benches, name);
    const struct dims at = dims_parse(bench, row_key(params));
    return bench && metric_gates(bench, metric, &at);
}

static void tell(const char *line)
{
    log_error("%s", line);
}

int fleet_open(const struct cmd_env *env, const char *const *directories, size_t n,
               struct fleet *fleet, size_t *results)
{
    const struct fleet_request request = {gates, env->benches, tell};
    struct fleet_found found = {0};
    struct err err = {0};
    int rc = 0;
    fleet->benches = env->benches;
    for (size_t i = 0; i < n && !rc; i++)
        rc = fleet_read(directories[i], &request, fleet, &found, &err);
    if (!rc)
        rc = fleet_arrange(fleet, &err);
    *results = rc ? 0 : found.results;
    if (rc)
        log_error("%s", err.msg);
    return rc == -ENOMEM ? EXIT_NOT_RUN : rc || found.damaged ? EXIT_USAGE : EXIT_GOOD;
}

/* The bounds that were given, or those of the fleet itself. EXIT_GOOD, or after a message. */
static int find_bounds(const struct fleet *fleet, const char *file, struct bounds *bounds)
{
    struct err err = {0};
    int rc;
    if (!file && fleet->names.n < MACHINES_LEAST) {
        log_error("results of %u machine%s cannot be judged by each other: give --bounds FILE, or "
                  "more machines",
                  fleet->names.n, fleet->names.n == 1 ? "" : "s");
        return EXIT_INCONCLUSIVE;
    }
    rc = file ? bounds_file_read(file, bounds, &err) : bounds_make(fleet, bounds, &err);
    if (!rc)
        return EXIT_GOOD;
    log_error("%s", err.msg);
    return rc == -ENODATA ? EXIT_INCONCLUSIVE : file ? EXIT_USAGE : EXIT_NOT_RUN;
}

struct judged_fleet {
    const struct findings *findings;
    size_t nskip;
};

static int print_junit(const void *of, FILE *out, struct err *err)
{
    const struct judged_fleet *judged = of;
    char open[96];
    (void)snprintf(open, sizeof(open), "SKIP: %zu machine%s could not be judged", judged->nskip,
                   judged->nskip == 1 ? "" : "s");
    return junit_print_verdict("fleet", judged->findings, judged->nskip ? open : NULL, out, err);
}

/* On stdout, in the form that was asked for. */
static int print(const struct fleet_judgement *judgement, const struct findings *findings,
                 const struct fleet_options *options)
{
    if (options->json)
        return cmd_print_json(findings_to_json(findings), 1);
    if (options->markdown)
        markdown_print_findings(findings, stdout);
    else
        fleet_print(judgement, stdout, terminal_has_color(STDOUT_FILENO));
    return cmd_finish();
}

/* Whether any bound is of a figure of the fleet. */
static bool has_judged(const struct fleet_judgement *judgement)
{
    for (size_t i = 0; i < judgement->bounds->n; i++)
        if (judgement->metric_of[i] != INTERN_NONE)
            return true;
    return false;
}

static int show(const struct fleet_judgement *judgement, const struct fleet_options *options)
{
    struct err err = {0};
    struct findings findings = {0};
    const size_t *count = judgement->count;
    int rc = 0, code = EXIT_INCONCLUSIVE;
    if (!count[OUTCOME_FAIL] && !has_judged(judgement)) {
        log_error("no figure of the bounds is in these results: nothing was judged");
        return code;
    }
    if (options->json || options->markdown || options->junit)
        rc = fleet_findings(judgement, &findings, &err);
    code = rc ? EXIT_NOT_RUN : print(judgement, &findings, options);
    const struct judged_fleet judged = {&findings, count[OUTCOME_SKIP]};
    if (!rc && !code && options->junit) {
        rc = validate_write_file(options->junit, print_junit, &judged, &err);
        code = rc ? EXIT_USAGE : code;
    }
    if (rc)
        log_error("%s", err.msg);
    findings_free(&findings);
    return code                  ? code
           : count[OUTCOME_FAIL] ? EXIT_VERDICT
           : count[OUTCOME_SKIP] ? EXIT_INCONCLUSIVE
                                 : EXIT_GOOD;
}

static int judge(const struct fleet *fleet, const struct bounds *bounds,
                 const struct fleet_options *options)
{
    struct err err = {0};
    struct fleet_judgement judgement = {0};
    int rc = fleet_judge(fleet, bounds, NULL, &judgement, &err);
    if (rc)
        log_error("%s", err.msg);
    int code = rc == -EINVAL ? EXIT_USAGE : rc ? EXIT_NOT_RUN : show(&judgement, options);
    fleet_judgement_free(&judgement);
    return code;
}

int fleet_results(const struct cmd_env *env, const char *const *directories, size_t n,
                  const struct fleet_options *options)
{
    struct fleet fleet = {0};
    struct bounds bounds = {0};
    size_t results;
    int read = fleet_open(env, directories, n, &fleet, &results);
    int code = results ? find_bounds(&fleet, options->bounds, &bounds) : read;
    if (results && !code) {
        code = judge(&fleet, &bounds, options);
        /* What could not be read was not judged, whatever the others are. */
        bool judged = code == EXIT_GOOD || code == EXIT_VERDICT || code == EXIT_INCONCLUSIVE;
        code = judged && read ? read : code;
    }
    bounds_free(&bounds);
    fleet_free(&fleet);
    return code;
}
