/* `contend validate fleet DIR...` and `contend validate bounds DIR...`. */
#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"
#include "harness/record/json_value.h"
#include "harness/show/export.h"
#include "harness/validate/bounds.h"
#include "harness/validate/files.h"
#include "harness/validate/fleet_read.h"
#include "harness/validate/judge.h"
#include "harness/validate/options.h"
#include "harness/validate/tables.h"

/* With two machines, nothing shows which one is odd. */
enum { MACHINES_LEAST = 3 };

static void report(const char *line)
{
    log_error("%s", line);
}

/*
 * Reads all results at or below the directories into the fleet, and arranges the fleet. Returns
 * EXIT_GOOD, or another exit code after messages. A damaged result gives EXIT_USAGE, but all others
 * are read: `results` says how many.
 */
static int read_all(const char *const *directories, size_t n, struct fleet *fleet, size_t *results)
{
    struct fleet_found found = {0};
    struct err err = {0};
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++)
        rc = fleet_read(directories[i], report, fleet, &found, &err);
    if (!rc)
        rc = fleet_arrange(fleet, &err);
    *results = rc ? 0 : found.results;
    if (rc)
        log_error("%s", err.msg);
    return rc == -ENOMEM ? EXIT_NOT_RUN : rc || found.damaged ? EXIT_USAGE : EXIT_GOOD;
}

/* Reads the given bounds, or makes them from the fleet. EXIT_GOOD, or a code after a message. */
static int find_bounds(const struct fleet *fleet, const char *file, struct bounds *bounds)
{
    struct err err = {0};
    int rc;
    if (!file && fleet->names.n < MACHINES_LEAST) {
        log_error(
            "results of %u machine%s are too few to compare: give --bounds FILE, or more machines",
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
    const char *open = str_fmt("SKIP: %zu machine%s could not be judged", judged->nskip,
                               judged->nskip == 1 ? "" : "s");
    return junit_print_verdict("fleet", judged->findings, judged->nskip ? open : NULL, out, err);
}

/* Prints the judgement on stdout and into the requested files. Returns the exit code of the
 * verdict, or another one after a message. */
static int show(const struct fleet_judgement *judgement, const struct validate_args *args)
{
    struct err err = {0};
    struct findings findings = {0};
    struct doc doc = {0};
    const size_t *count = judgement->count;
    if (!count[OUTCOME_FAIL] && !judgement->nbounds) {
        log_error("these results have no figure of the bounds: nothing was judged");
        return EXIT_INCONCLUSIVE;
    }
    const struct judged_fleet judged = {&findings, count[OUTCOME_SKIP]};
    int code = EXIT_NOT_RUN;
    fleet_findings(judgement, &findings);
    int rc = findings_check(&findings, &err);
    fleet_add_to_doc(judgement, &doc);
    if (!rc) {
        code = args->json ? cmd_print_json(findings_to_json(&findings), 1)
                          : validate_print_doc(args, &doc);
        if (args->outputs.junit)
            rc = validate_write_file(args->outputs.junit, print_junit, &judged, &err);
        if (!rc && args->outputs.html)
            rc = validate_write_page(args->outputs.html, "contend validate fleet", &doc, &err);
        code = rc && !code ? EXIT_USAGE : code;
    }
    if (rc)
        log_error("%s", err.msg);
    doc_free(&doc);
    findings_free(&findings);
    return code                  ? code
           : count[OUTCOME_FAIL] ? EXIT_VERDICT
           : count[OUTCOME_SKIP] ? EXIT_INCONCLUSIVE
                                 : EXIT_GOOD;
}

static int judge(const struct fleet *fleet, const struct bounds *bounds,
                 const struct validate_args *args)
{
    struct err err = {0};
    struct fleet_judgement judgement = {0};
    int rc = fleet_judge(fleet, bounds, NULL, &judgement, &err);
    if (rc)
        log_error("%s", err.msg);
    int code = rc == -EINVAL ? EXIT_USAGE : rc ? EXIT_NOT_RUN : show(&judgement, args);
    fleet_judgement_free(&judgement);
    return code;
}

int fleet_main(const struct cmd_env *env, const struct validate_args *args,
               const char *const *directories, size_t n)
{
    struct fleet fleet = {.benches = env->benches};
    struct bounds bounds = {0};
    size_t results;
    int read = read_all(directories, n, &fleet, &results);
    int code = results ? find_bounds(&fleet, args->bounds, &bounds) : read;
    if (results && !code) {
        code = judge(&fleet, &bounds, args);
        /* An unreadable result counts as not judged. */
        bool judged = code == EXIT_GOOD || code == EXIT_VERDICT || code == EXIT_INCONCLUSIVE;
        code = judged && read ? read : code;
    }
    bounds_free(&bounds);
    fleet_free(&fleet);
    return code;
}

/* Refuses bounds without a figure, because any machine would pass them. */
static int refuse_empty(const struct fleet *fleet, const struct bounds *bounds, struct err *err)
{
    if (bounds->nleft_out == fleet->names.n)
        return err_set(err, -ENODATA, "all %u machines are left out, the first since %.160s",
                       fleet->names.n, bounds->left_out[0].reason);
    return err_set(err, -ENODATA,
                   "nothing to bound: no figure is common to half of the %zu machines; run the "
                   "same scenarios with the same parameters on all",
                   fleet->names.n - bounds->nleft_out);
}

static int make(const struct fleet *fleet, const struct validate_args *args)
{
    const char *path = args->outputs.dir;
    struct err err = {0};
    struct doc doc = {0};
    struct bounds bounds = {0};
    int rc = bounds_make(fleet, &bounds, &err);
    if (!rc && !bounds.n)
        rc = refuse_empty(fleet, &bounds, &err);
    int code = rc == -ENODATA ? EXIT_INCONCLUSIVE : EXIT_USAGE;
    if (!rc)
        rc = bounds_file_write(path, &bounds, time(NULL), &err);
    if (!rc)
        bounds_add_to_doc(&bounds, fleet->names.n, path, &doc);
    if (!rc && args->outputs.html)
        rc = validate_write_page(args->outputs.html, "contend validate bounds", &doc, &err);
    if (rc)
        log_error("%s", err.msg);
    else
        code = validate_print_doc(args, &doc);
    doc_free(&doc);
    bounds_free(&bounds);
    return code;
}

int bounds_main(const struct cmd_env *env, const struct validate_args *args,
                const char *const *directories, size_t n)
{
    struct fleet fleet = {.benches = env->benches};
    size_t results;
    if (!n || !args->outputs.dir) {
        log_error("%s: 'contend validate bounds DIR... --out FILE'",
                  n ? "no file to write" : "no result directories");
        return EXIT_USAGE;
    }
    int code = read_all(directories, n, &fleet, &results);
    if (!code)
        code = make(&fleet, args);
    else if (results)
        log_error("no bounds while results are damaged: fix or remove them");
    fleet_free(&fleet);
    return code;
}
