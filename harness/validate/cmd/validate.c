/* contend validate: acceptance of a server in one command. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness/cmd/common/cmd.h"
#include "harness/engine/discover/probes.h"
#include "harness/lib/base/similar.h"
#include "harness/lib/say/log.h"
#include "harness/lib/say/terminal.h"
#include "harness/lib/sys/clock.h"
#include "harness/validate/cmd/fleet.h"
#include "harness/validate/cmd/options.h"
#include "harness/validate/cmd/validate_baseline.h"
#include "harness/validate/files/bounds_file.h"
#include "harness/validate/files/waivers.h"
#include "harness/validate/rules/expect.h"
#include "harness/validate/rules/rules.h"
#include "harness/validate/rules/waive.h"
#include "harness/validate/tables/validation.h"

/* For what is measured, second look included. */
static const double level_s[] = {150, 900, 3600};

/* While it goes on. */
struct validate {
    const struct cmd_env *env;
    const struct validate_args *args;
    struct rules_request rules;
    struct waivers waivers;
    struct topo topo;
    struct facts facts;
    struct findings findings;
    struct bounds bounds; /* of --bounds */
    uint64_t start_ns;
};

static int unknown_rule(const char *name, struct err *err)
{
    char hint[SIMILAR_HINT_MAX];
    struct similar near = similar_to(name, strlen(name));
    for (size_t i = 0; rule_name(i); i++)
        similar_offer(&near, rule_name(i));
    return err_set(err, -EINVAL, "there is no rule '%.60s'%s see 'contend validate --list'", name,
                   similar_hint(&near, "", hint, sizeof(hint)));
}

/* "a,b" -> rules[0..*n-1] */
static int parse_rules(const char *text, const struct rule **rules, size_t *n, struct err *err)
{
    for (const char *at = text; at; at = strchr(at, ',')) {
        char name[64];
        at += *at == ',';
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, ","), at);
        const struct rule *rule = rule_find(name);
        if (!rule)
            return unknown_rule(name, err);
        if (*n < RULES_MAX)
            rules[(*n)++] = rule;
    }
    return 0;
}

static int check_args(struct validate *v, struct err *err)
{
    const struct validate_args *args = v->args;
    if (args->markdown && !args->list)
        return err_set(err, -EINVAL, "--markdown goes with --list or 'validate fleet'");
    int rc = args->bounds ? bounds_file_read(args->bounds, &v->bounds, err) : 0;
    if (!rc)
        rc = parse_rules(args->only, v->rules.only, &v->rules.nonly, err);
    if (!rc)
        rc = parse_rules(args->require, v->rules.required, &v->rules.nrequired, err);
    if (!rc)
        rc = expect_parse(args->expect, &v->rules, err);
    for (size_t i = 0; !rc && i < v->rules.nrequired; i++)
        if (!rules_asked(&v->rules, v->rules.required[i]))
            rc = err_set(err, -EINVAL, "rule '%s' is required, and --only leaves it out",
                         v->rules.required[i]->id);
    if (!rc && args->waivers)
        rc = waivers_read(args->waivers, &v->waivers, err);
    return rc;
}

static double gone_s(const struct validate *v)
{
    return (double)(clock_now_ns() - v->start_ns) / 1e9;
}

static double limit_s(const struct validate *v)
{
    return v->args->max_time_s > 0 ? v->args->max_time_s : level_s[v->args->level];
}

static struct probes_request probes_of(const struct validate *v, unsigned wanted)
{
    return (struct probes_request){.benches = v->env->benches,
                                   .topo = &v->topo,
                                   .wanted = wanted,
                                   .level = (enum probes_level)v->args->level,
                                   .limit_s = fmax(limit_s(v) - gone_s(v), 0)};
}

static void leave_out_probes(struct facts *facts)
{
    for (int i = 0; i < PROBES; i++)
        (void)snprintf(facts->probes[i].reason, sizeof(facts->probes[i].reason), "%s",
                       "needs a measurement, and --no-measure leaves it out");
}

/*
 * Once more, in the other order of the tests: what a test left behind for the next one, or a
 * moment's noise, does not show twice. The values are the caller's, also after an error; -ETIME
 * there is no time for it, which is said, and nothing was measured.
 */
static int measure_again(void *arg, unsigned doubted, struct facts_probe second[static PROBES],
                         struct err *err)
{
    const struct validate *v = arg;
    struct facts facts = v->facts;
    struct probes_request request = probes_of(v, doubted);
    request.backwards = true;
    double needed_s = probes_expect(&request);
    request.limit_s = INFINITY;
    memset(second, 0, PROBES * sizeof(*second));
    if (needed_s < probes_expect(&request)) {
        log_warn("no time to look a second time at what failed: raise --max-time");
        return -ETIME;
    }
    log_info("looking once more at what failed, in another order");
    memset(facts.probes, 0, sizeof(facts.probes));
    int rc = probes_measure(&request, &facts, err);
    memcpy(second, facts.probes, sizeof(facts.probes));
    return rc;
}

/* What fails or warns on what was measured. */
static int look_again(struct validate *v, struct err *err)
{
    struct findings second = {0};
    struct facts facts = v->facts;
    unsigned doubted = rules_doubted(&v->findings);
    if (!doubted || v->args->no_measure)
        return 0;
    int rc = measure_again(v, doubted, facts.probes, err);
    if (!rc)
        rc = rules_judge(&facts, &v->rules, &second, err);
    if (!rc)
        rc = rules_second_look(&v->findings, &second, doubted, err);
    for (int i = 0; i < PROBES; i++)
        free(facts.probes[i].values);
    findings_free(&second);
    return rc == -ETIME ? 0 : rc;
}

/* "2026-01-31T12:00:00Z" */
static void now_utc(char *buf, size_t size)
{
    struct tm tm;
    time_t now = time(NULL);
    (void)strftime(buf, size, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
}

static void waive(struct validate *v)
{
    char day[32];
    now_utc(day, sizeof(day));
    day[strlen("2026-01-31")] = '\0';
    waive_findings(&v->waivers, day, &v->findings);
    for (size_t i = 0; i < v->waivers.n; i++) {
        const struct waiver *waiver = &v->waivers.all[i];
        if (strcmp(waiver->until, day) < 0)
            log_warn("%s:%u: the waiver of %s expired on %s and does not count", v->args->waivers,
                     waiver->line, waiver->rule, waiver->until);
    }
}

static bool has_baseline(const struct validate *v)
{
    return v->args->bounds && rules_asked(&v->rules, rule_find(RULES_BASELINE_ID));
}

static unsigned wanted(const struct validate *v)
{
    return rules_probes(&v->rules) | (has_baseline(v) ? validate_baseline_probes(&v->bounds) : 0);
}

/* All that is known so far, with its verdict. */
struct verdict {
    struct rules_verdict rules;
    char utc[32];
    struct validation validation;
};

static void make_verdict(const struct validate *v, struct verdict *verdict)
{
    verdict->rules = rules_verdict(&v->findings, v->args->strict);
    now_utc(verdict->utc, sizeof(verdict->utc));
    verdict->validation =
        (struct validation){.facts = &v->facts,
                            .findings = &v->findings,
                            .verdict = &verdict->rules,
                            .level = v->args->no_measure ? "none" : validate_levels[v->args->level],
                            .utc = verdict->utc,
                            .took_s = gone_s(v)};
}

/* A baseline of other machines says nothing of this one. EXIT_GOOD, or after a message. */
static int check_kind(const struct validate *v)
{
    struct verdict verdict;
    struct err err = {0};
    char kind[512];
    make_verdict(v, &verdict);
    int rc = validate_baseline_kind(&verdict.validation, kind, sizeof(kind), &err);
    if (rc)
        log_error("%s", err.msg);
    else if (v->bounds.kind[0] && strcmp(v->bounds.kind, kind) != 0)
        log_error("%s: its bounds are of another kind of machine, '%.500s', and this is '%s'",
                  v->args->bounds, v->bounds.kind, kind);
    else
        return EXIT_GOOD;
    return rc ? (int)cmd_not_measured(rc) : EXIT_USAGE;
}

static bool is_required(const struct validate *v, const char *id)
{
    for (size_t i = 0; i < v->rules.nrequired; i++)
        if (strcmp(v->rules.required[i]->id, id) == 0)
            return true;
    return false;
}

static int judge_baseline(struct validate *v, struct err *err)
{
    struct verdict verdict;
    make_verdict(v, &verdict);
    const struct validate_baseline request = {.env = v->env,
                                              .bounds = &v->bounds,
                                              .validation = &verdict.validation,
                                              .limit_s = fmax(limit_s(v) - gone_s(v), 0),
                                              .measures = !v->args->no_measure,
                                              .required = is_required(v, RULES_BASELINE_ID),
                                              .measure_again = measure_again,
                                              .arg = v};
    return validate_by_baseline(&request, &v->findings, err);
}

static int read_machine(struct validate *v, struct err *err)
{
    const struct topo_options topo = {.probe_gpus = true};
    const struct facts_request facts = {
        .root = v->args->root, .topo = &v->topo, .sample_s = v->args->root ? 0 : 1};
    int rc = topo_load(&topo, &v->topo, err);
    return rc ? rc : facts_read(&facts, &v->facts, err);
}

static int judge(struct validate *v, struct err *err)
{
    const struct probes_request request = probes_of(v, wanted(v));
    int rc = 0;
    if (v->args->no_measure)
        leave_out_probes(&v->facts);
    else if (request.wanted) {
        log_info("measuring for about %.0f s", probes_expect(&request));
        rc = probes_measure(&request, &v->facts, err);
    }
    if (!rc)
        rc = rules_judge(&v->facts, &v->rules, &v->findings, err);
    if (!rc)
        rc = look_again(v, err);
    if (!rc && has_baseline(v))
        rc = judge_baseline(v, err);
    if (!rc)
        waive(v);
    rules_sort(&v->findings);
    return rc;
}

static int code_of(const struct rules_verdict *verdict)
{
    return verdict->outcome == OUTCOME_FAIL    ? EXIT_VERDICT
           : verdict->outcome == OUTCOME_ERROR ? EXIT_NOT_RUN
           : verdict->outcome == OUTCOME_SKIP  ? EXIT_INCONCLUSIVE
                                               : EXIT_GOOD;
}

static int say(struct validate *v)
{
    struct err err = {0};
    struct verdict verdict;
    make_verdict(v, &verdict);
    const struct validation *validation = &verdict.validation;
    int rc = validate_write(&v->args->outputs, validation, &err);
    int code = EXIT_GOOD;
    if (v->args->json) {
        code = cmd_print_json(validation_to_json(validation), 2);
    } else {
        (void)printf("%s, judged in %.0f s%s%s\n\n", v->facts.host, validation->took_s,
                     v->args->no_measure ? ", nothing measured" : ", level ",
                     v->args->no_measure ? "" : validation->level);
        validation_print(&v->findings, &verdict.rules, v->args->all, stdout,
                         terminal_has_color(STDOUT_FILENO));
        code = cmd_finish();
    }
    if (rc)
        log_error("%s", err.msg);
    return rc || code ? EXIT_NOT_RUN : code_of(&verdict.rules);
}

static int validate(struct validate *v)
{
    struct err err = {0};
    int code = EXIT_USAGE;
    int rc = check_args(v, &err);
    if (!rc && v->args->list) {
        if (v->args->markdown)
            validation_print_rules_markdown(stdout);
        else
            validation_print_rules(stdout);
        return cmd_finish();
    }
    if (!rc) {
        rc = read_machine(v, &err);
        code = rc ? (int)cmd_not_measured(rc) : has_baseline(v) ? check_kind(v) : EXIT_GOOD;
        v->rules.of_known_kind = has_baseline(v) && v->bounds.kind[0];
    }
    if (!rc && !code) {
        rc = judge(v, &err);
        code = rc ? (int)cmd_not_measured(rc) : say(v);
    }
    if (rc)
        log_error("%s", err.msg);
    return code;
}

/* What is said of this server alone. False: such an option is there, which was logged. */
static bool is_of_results(const struct validate_args *args)
{
    const struct {
        const char *name;
        bool given;
    } others[] = {{"--require", args->require},
                  {"--only", args->only},
                  {"--expect", args->expect},
                  {"--waivers", args->waivers},
                  {"--strict", args->strict},
                  {"--no-measure", args->no_measure},
                  {"--prometheus", args->outputs.prometheus}};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (others[i].given) {
            log_error("%s is for judging this server, not results", others[i].name);
            return false;
        }
    return true;
}

/* `validate fleet DIR...` and `validate bounds DIR...`: from results of many machines. */
static int judge_results(const struct cmd_env *env, const struct validate_args *args,
                         const struct cli *cli)
{
    const char *const *directories = cli->positional + 1;
    size_t n = cli->npositional - 1;
    const struct fleet_options options = {.bounds = args->bounds,
                                          .junit = args->outputs.junit,
                                          .plots = args->outputs.dir,
                                          .json = args->json,
                                          .markdown = args->markdown};
    if (!is_of_results(args))
        return EXIT_USAGE;
    if (strcmp(cli->positional[0], "bounds") == 0)
        return bounds_main(env, args, directories, n);
    if (strcmp(cli->positional[0], "fleet") == 0 && n)
        return fleet_results(env, directories, n, &options);
    log_error("'%.80s': 'contend validate fleet DIR...' judges results, 'contend validate bounds "
              "DIR...' makes bounds of them",
              cli->positional[0]);
    return EXIT_USAGE;
}

static int validate_main(const struct cmd_env *env, int argc, char **argv)
{
    struct validate_args args = {0};
    struct cli cli;
    int code;
    if (!cmd_parse(env, &validate_command, argc, argv, &args, &cli, &code))
        return code;
    if (cli.npositional)
        return judge_results(env, &args, &cli);
    struct validate v = {.env = env, .args = &args, .start_ns = clock_now_ns()};
    code = validate(&v);
    findings_free(&v.findings);
    facts_free(&v.facts);
    topo_free(&v.topo);
    waivers_free(&v.waivers);
    bounds_free(&v.bounds);
    return code;
}

const struct tool_command validate_tool[] = {{&validate_command, validate_main}, {NULL, NULL}};
