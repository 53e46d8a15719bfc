/* contend validate: acceptance of a server in one command. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness/cmd/common/cmd.h"
#include "harness/lib/similar.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"
#include "harness/machine/gpu_health.h"
#include "harness/validate/files.h"
#include "harness/validate/options.h"
#include "harness/validate/outputs.h"
#include "harness/validate/probes.h"
#include "harness/validate/rules/rules.h"
#include "harness/validate/tables.h"

/* Seconds for all measurements of a profile, repetitions included. */
static const double profile_s[] = {150, 900, 3600};

/* The state of one `contend validate`. */
struct validate {
    const struct cmd_env *env;
    const struct validate_args *args;
    struct rules_request rules;
    struct machine_kind machine; /* as --machine names it */
    struct waivers waivers;
    struct topo topo;
    struct facts facts;
    struct topo topo_after_burn; /* read again after a burn-in */
    struct facts after_burn;
    struct findings findings, numbers;
    uint64_t start_ns;
};

static int unknown_rule(const char *name, struct err *err)
{
    struct similar near = similar_to(name, strlen(name));
    for (size_t i = 0; rule_name(i); i++)
        similar_offer(&near, rule_name(i));
    return err_set(err, -EINVAL, "there is no rule '%.60s'%s see 'contend validate --list'", name,
                   similar_hint(&near, ""));
}

/* Parses "a,b" into rules[0..*n-1]. */
static int parse_rules(const char *text, const struct rule **rules, size_t *n, struct err *err)
{
    for (const char *at = text; at; at = strchr(at, ',')) {
        at += *at == ',';
        const char *name = str_fmt("%.*s", (int)strcspn(at, ","), at);
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
    if (args->bounds)
        return err_set(err, -EINVAL,
                       "--bounds needs 'validate fleet': 'contend validate --out DIR', then "
                       "'contend validate fleet DIR --bounds %.60s'",
                       args->bounds);
    int rc = parse_rules(args->only, v->rules.only, &v->rules.nonly, err);
    if (!rc)
        rc = parse_rules(args->require, v->rules.required, &v->rules.nrequired, err);
    if (!rc && args->machine)
        rc = kinds_read(args->machine, &v->machine, err);
    if (!rc && args->machine) {
        v->rules.machine = &v->machine;
        rc = expect_parse(v->machine.expect, &v->rules, err);
    }
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

static double elapsed_s(const struct validate *v)
{
    return (double)(clock_now_ns() - v->start_ns) / 1e9;
}

static double limit_s(const struct validate *v)
{
    double of_rest_s = v->args->max_time_s > 0 ? v->args->max_time_s : profile_s[v->args->profile];
    return of_rest_s + v->args->burn_s;
}

static struct probes_request probes_of(const struct validate *v, unsigned wanted)
{
    return (struct probes_request){.benches = v->env->benches,
                                   .topo = &v->topo,
                                   .wanted = wanted,
                                   .level = (enum probes_level)v->args->profile,
                                   .burn_s = v->args->burn_s,
                                   .limit_s = fmax(limit_s(v) - elapsed_s(v), 0)};
}

static void leave_out_probes(struct facts *facts)
{
    for (int i = 0; i < PROBES; i++)
        (void)snprintf(facts->probes[i].reason, sizeof(facts->probes[i].reason), "%s",
                       "needs a measurement, and --no-measure leaves it out");
    facts->probes[PROBE_BURN].status = PROBE_ABSENT;
}

/* Repeats the requested measurements, and judges them together with the earlier ones. */
static int repeat_probes(struct validate *v, const struct probes_request *request, struct err *err)
{
    struct facts again = v->facts;
    memset(again.probes, 0, sizeof(again.probes));
    int rc = probes_measure(request, &again, err);
    for (int i = 0; i < PROBES && !rc; i++)
        rc = facts_join_repeats(&v->facts.probes[i], &again.probes[i], err);
    facts_free_probes(again.probes);
    findings_free(&v->findings);
    findings_free(&v->numbers);
    return rc ? rc : rules_judge(&v->facts, &v->rules, &v->findings, &v->numbers, err);
}

/*
 * Repeats rates that fail or warn, and judges each by its best value. Effects of an earlier test or
 * a short disturbance by a neighbour only reduce a rate. The order of measurements alternates.
 */
static int repeat_rates(struct validate *v, struct err *err)
{
    enum { ATTEMPTS_MOST = 4 };
    int rc = 0;
    for (unsigned attempt = 1; attempt < ATTEMPTS_MOST && !rc; attempt++) {
        struct probes_request request = probes_of(v, rules_to_repeat(&v->findings, &v->rules));
        if (!request.wanted || v->args->no_measure)
            break;
        request.reverse_order = attempt % 2;
        const double limit_s = request.limit_s, fits_s = probes_expect(&request);
        request.limit_s = INFINITY;
        if (fits_s < probes_expect(&request)) {
            log_warn("no time to repeat what failed: raise --max-time");
            break;
        }
        request.limit_s = limit_s;
        log_info("looking again at the rates that failed or warn (%u of %d)", attempt,
                 ATTEMPTS_MOST - 1);
        rc = repeat_probes(v, &request, err);
    }
    return rc;
}

static void waive(struct validate *v)
{
    const char *day = str_fmt("%.10s", text_utc(time(NULL))); /* 2026-01-31 */
    waive_findings(&v->waivers, day, &v->findings);
    for (size_t i = 0; i < v->waivers.n; i++) {
        const struct waiver *waiver = &v->waivers.all[i];
        if (strcmp(waiver->until, day) < 0)
            log_warn("%s line %u: the waiver of %s expired on %s and does not count",
                     v->args->waivers, waiver->line, waiver->rule, waiver->until);
    }
}

/* Reads a GPU a second later: a process that just ended or a short slowdown does not count. */
static void reread_gpu(struct topo_gpu *gpu)
{
    struct gpu_health *health = gpu->health, again;
    if (!health || (health->nprocesses < 1 && !health->throttle_reasons) ||
        gpu_health_read(gpu->pci_bdf, &again))
        return;
    health->throttle_reasons &= again.throttle_reasons;
    if (again.nprocesses < health->nprocesses) {
        health->nprocesses = again.nprocesses;
        memcpy(health->processes, again.processes, sizeof(health->processes));
    }
}

static int read_machine(struct validate *v, struct err *err)
{
    const struct topo_options topo = {.probe_gpus = true};
    const struct facts_request facts = {
        .root = v->args->root, .topo = &v->topo, .sample_s = v->args->root ? 0 : 1};
    int rc = topo_load(&topo, &v->topo, err);
    if (rc)
        return rc;
    if (!v->args->machine)
        text_set(v->rules.suggested, "%s", kinds_suggest(&v->topo));
    rc = facts_read(&facts, &v->facts, err);
    for (unsigned i = 0; i < v->topo.ngpus && !rc && !v->args->root; i++)
        reread_gpu(&v->topo.gpus[i]);
    return rc;
}

/* Reads the error counters again after a burn-in. */
static int reread_after_burn(struct validate *v, struct err *err)
{
    const struct topo_options topo = {.probe_gpus = true};
    const struct facts_request facts = {.root = v->args->root, .topo = &v->topo_after_burn};
    if (v->facts.probes[PROBE_BURN].status != PROBE_DONE)
        return 0;
    int rc = topo_load(&topo, &v->topo_after_burn, err);
    if (!rc)
        rc = facts_read(&facts, &v->after_burn, err);
    v->facts.after_burn = &v->after_burn;
    return rc;
}

static int judge(struct validate *v, struct err *err)
{
    const struct probes_request request = probes_of(v, rules_probes(&v->rules));
    int rc = 0;
    if (v->args->no_measure)
        leave_out_probes(&v->facts);
    else if (request.wanted) {
        log_info("measuring for about %.0f s", probes_expect(&request));
        rc = probes_measure(&request, &v->facts, err);
    }
    if (!rc)
        rc = reread_after_burn(v, err);
    if (!rc)
        rc = rules_judge(&v->facts, &v->rules, &v->findings, &v->numbers, err);
    if (!rc)
        rc = repeat_rates(v, err);
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

int validate_print_doc(const struct validate_args *args, const struct doc *doc)
{
    if (args->markdown)
        doc_print_markdown(doc, stdout);
    else
        doc_print(doc, stdout, terminal_has_color(STDOUT_FILENO), args->verbose);
    return cmd_finish();
}

/* What was judged: "2xh200-sxm", or without --machine "as found, 2x NVIDIA H200, 32 CPUs". */
static const char *format_subject(const struct validate *v)
{
    const struct topo *topo = &v->topo;
    if (v->args->machine)
        return v->machine.name;
    const char *gpus = topo->ngpus ? str_fmt("%ux %s", topo->ngpus, topo->gpus[0].name) : "no GPU";
    return str_fmt("as found, %s, %u CPU%s", gpus, topo->ncpus, topo->ncpus == 1 ? "" : "s");
}

static int print(const struct validate_args *args, const struct validation *validation,
                 const struct doc *doc)
{
    if (args->json)
        return cmd_print_json(validation_to_json(validation), 2);
    if (!args->brief)
        return validate_print_doc(args, doc);
    (void)printf("%s\n", validation_format_brief(validation));
    return cmd_finish();
}

static int report(struct validate *v)
{
    struct err err = {0};
    struct doc doc = {0};
    const struct rules_verdict verdict =
        rules_verdict(&v->findings, v->args->strict, format_subject(v));
    const struct validation validation = {
        .facts = &v->facts,
        .findings = &v->findings,
        .numbers = &v->numbers,
        .verdict = &verdict,
        .profile = v->args->no_measure ? "none" : validate_profiles[v->args->profile],
        .utc = text_utc(time(NULL)),
        .took_s = elapsed_s(v),
        .code = code_of(&verdict)};
    validation_add_to_doc(&validation, &doc);
    int rc = validate_write(&v->args->outputs, &validation, &doc, &err);
    int code = print(v->args, &validation, &doc);
    doc_free(&doc);
    if (rc)
        log_error("%s", err.msg);
    return rc || code ? EXIT_NOT_RUN : validation.code;
}

static int validate(struct validate *v)
{
    struct err err = {0};
    int code = EXIT_USAGE;
    int rc = check_args(v, &err);
    if (!rc && v->args->list) {
        struct doc doc = {0};
        validation_add_rules_to_doc(&doc);
        code = validate_print_doc(v->args, &doc);
        doc_free(&doc);
        return code;
    }
    if (!rc) {
        rc = read_machine(v, &err);
        int unwritable = rc ? 0 : validate_check_outputs(&v->args->outputs, v->facts.host, &err);
        rc = rc ? rc : unwritable;
        if (!rc)
            rc = judge(v, &err);
        code = unwritable ? EXIT_USAGE : rc ? (int)cmd_not_measured(rc) : report(v);
    }
    if (rc)
        log_error("%s", err.msg);
    return code;
}

/* Refuses, with a log line, options that apply only to this server. */
static bool is_of_results(const struct validate_args *args, bool writes)
{
    const struct {
        const char *name;
        bool given;
    } others[] = {{"--require", args->require},
                  {"--machine", args->machine},
                  {"--only", args->only},
                  {"--expect", args->expect},
                  {"--waivers", args->waivers},
                  {"--strict", args->strict},
                  {"--brief", args->brief},
                  {"--no-measure", args->no_measure},
                  {"--prometheus", args->outputs.prometheus},
                  {"--superbench", args->outputs.superbench},
                  {"--out", args->outputs.dir && !writes}};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (others[i].given) {
            log_error("%s is for this server, not for results", others[i].name);
            return false;
        }
    return true;
}

/* Runs `validate fleet DIR...` or `validate bounds DIR...` on the results of many machines. */
static int judge_results(const struct cmd_env *env, const struct validate_args *args,
                         const struct cli *cli)
{
    const char *const *directories = cli->positional + 1;
    size_t n = cli->npositional - 1;
    bool makes_bounds = strcmp(cli->positional[0], "bounds") == 0;
    if (!is_of_results(args, makes_bounds))
        return EXIT_USAGE;
    if (makes_bounds)
        return bounds_main(env, args, directories, n);
    if (strcmp(cli->positional[0], "fleet") == 0 && n)
        return fleet_main(env, args, directories, n);
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
    findings_free(&v.numbers);
    facts_free(&v.after_burn);
    topo_free(&v.topo_after_burn);
    facts_free(&v.facts);
    topo_free(&v.topo);
    waivers_free(&v.waivers);
    return code;
}

const struct tool_command validate_tool[] = {{&validate_command, validate_main}, {NULL, NULL}};
