#include "harness/cmd/common/named.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/engine/setup.h"
#include "harness/lib/similar.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"
#include "harness/machine/gpu_driver.h"
#include "harness/machine/key.h"
#include "harness/plan/plan.h"
#include "harness/show/export.h"
#include "harness/verdict/advice.h"

/* What a name is instead, and how to use it; NULL = unknown. */
static const char *what_it_is(const struct cmd_env *env, const char *name)
{
    for (int p = 0; p < PLACEMENTS; p++)
        if (strcmp(placement_infos[p].name, name) == 0)
            return "is a placement: name it by -P, such as -P none,partition";
    if (bench_find(env->benches, name))
        return "is a benchmark: 'contend bench' runs one alone";
    if (scenario_find(env->scenarios, name))
        return "is a scenario of several benchmarks: 'contend run' runs them";
    return NULL;
}

static bool is_command(const char *name)
{
    char path[4096];
    return strchr(name, '/') || !file_find_program(name, false, path, sizeof(path));
}

static void unknown_scenario(const struct cmd_env *env, const char *name)
{
    char known[200] = "";
    const char *other_use = what_it_is(env, name);
    if (other_use) {
        log_error("'%s' %s", name, other_use);
        return;
    }
    if (strchr(name, '=')) {
        log_error("'%.80s' is a parameter, not a scenario: -p %.80s", name, name);
        return;
    }
    if (is_command(name)) {
        log_error("'%.80s' is a command, not a scenario: it goes after '--', as in 'contend run -- "
                  "%.80s'",
                  name, name);
        return;
    }
    struct similar near = similar_to(name, strlen(name));
    for (const struct scenario *k = env->scenarios; k->name; k++) {
        (void)snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
                       known[0] ? ", " : "", k->name);
        similar_offer(&near, k->name);
    }
    log_error("unknown scenario '%.80s'%s known: %s; a command goes after '--'", name,
              similar_hint(&near, ""), known);
}

bool named_is_task(const struct cmd_env *env, const struct scenario *scenario)
{
    const struct scenario_part *parts = scenario->parts;
    const struct bench *bench = bench_find(env->benches, parts->foreground);
    return !parts[1].foreground && !parts->workers && !(bench && bench->scan);
}

int named_scenarios(const struct cmd_env *env, const struct cli *cli, const struct scenario **found)
{
    for (size_t i = 0; i < cli->npositional; i++) {
        found[i] = scenario_find(env->scenarios, cli->positional[i]);
        for (size_t earlier = 0; earlier < i; earlier++)
            if (found[earlier] == found[i]) {
                log_error("scenario '%s' is named twice", found[i]->name);
                return -1;
            }
        if (found[i])
            continue;
        unknown_scenario(env, cli->positional[i]);
        return -1;
    }
    if (cli->npositional)
        return (int)cli->npositional;
    found[0] = env->scenarios; /* the first one is the main job */
    return 1;
}

void named_host(const char *given, char label[ENV_HOST_LABEL_MAX])
{
    struct environment environment = {0};
    env_gather(&(struct env_request){0}, &environment);
    if (given)
        (void)snprintf(environment.hostname, sizeof(environment.hostname), "%s", given);
    (void)env_host_label(&environment, label);
    env_free(&environment);
}

const struct bench *named_bench(const struct cmd_env *env, const struct cli *cli)
{
    struct err err = {0};
    const struct bench *bench = NULL;
    const char *other_use = NULL;
    if (cli->npositional == 1 && !bench_find(env->benches, cli->positional[0]))
        other_use = what_it_is(env, cli->positional[0]);
    if (other_use)
        (void)err_set(&err, -EINVAL, "'%.80s' %s", cli->positional[0], other_use);
    else if (cli->npositional == 1)
        (void)run_setup_find_bench(env->benches, cli->positional[0], &bench, &err);
    else if (cli->npositional)
        (void)err_set(&err, -EINVAL, "one benchmark at a time: unexpected argument '%.80s'",
                      cli->positional[1]);
    else
        (void)err_set(&err, -EINVAL, "no benchmark: 'contend info' lists them");
    if (!bench)
        log_error("%s", err.msg);
    return bench;
}

const char *named_not_here(const struct topo *topo, const struct bench *bench)
{
    unsigned gpus = topo_visible_gpus(topo);
    if (bench->needs & NEED_GPU && !gpus)
        return str_fmt("%s", topo->gpu_note[0] ? topo->gpu_note : "no GPU");
    if (bench->needs & NEED_COLLECTIVE && gpus == 0)
        return str_fmt("no GPU for NCCL; over MPI: mpirun -n 2 contend bench %s", bench->name);
    if (bench->needs & NEED_COLLECTIVE && gpus == 1)
        return "one GPU only, and a collective needs two or more";
    return "";
}

const char *const compared_fail_on[] = {"slower", "unclear", "missing", "none", NULL};

/* The outcomes of compared_fail_on, in its order. */
static const enum finding_outcome failings[] = {OUTCOME_SLOWER, OUTCOME_UNCLEAR, OUTCOME_MISSING,
                                                OUTCOME_NONE};

/* The outcome of the list's first word; OUTCOMES: unknown word. */
static enum finding_outcome first_of(const char *list)
{
    size_t length = strcspn(list, ",");
    for (size_t i = 0; compared_fail_on[i]; i++)
        if (strlen(compared_fail_on[i]) == length && !strncmp(compared_fail_on[i], list, length))
            return failings[i];
    return OUTCOMES;
}

static const char *behind_first(const char *list)
{
    list += strcspn(list, ",");
    return list + (*list == ',');
}

int compared_check_fail_on(const char *fail_on, struct err *err)
{
    return similar_check_list("fail-on", fail_on, compared_fail_on, err);
}

int compared_code(const struct comparisons *comparisons, const char *fail_on)
{
    for (const char *at = fail_on; *at; at = behind_first(at)) {
        enum finding_outcome outcome = first_of(at);
        if (outcome != OUTCOME_NONE && comparisons_count(comparisons, outcome))
            return EXIT_VERDICT;
    }
    return comparisons_decided(comparisons) ? EXIT_GOOD : EXIT_INCONCLUSIVE;
}

int compared_write_junit(const struct comparisons *comparisons, const char *suite, const char *path,
                         struct err *err)
{
    struct findings findings = {0};
    for (size_t i = 0; i < comparisons->n; i++) {
        struct finding finding;
        comparison_to_finding(&comparisons->all[i], &finding);
        text_set(finding.subject, "%s", comparison_format_where(comparisons, &comparisons->all[i]));
        if (comparisons->all[i].gating)
            findings_put(&findings, &finding);
    }
    FILE *out = fopen(path, "we");
    int rc = out ? junit_print(suite, &findings, out, err)
                 : err_sys(err, -errno, "cannot write '%.150s'", path);
    if (out && fclose(out) && !rc)
        rc = err_sys(err, -errno, "cannot write '%.150s'", path);
    findings_free(&findings);
    return rc;
}

const char *compared_title(const char *const *paths, size_t n, size_t nbase)
{
    const char *title = "contend compare";
    for (size_t i = 0; i < n; i++)
        str_add(&title, i == nbase && n > 2 ? " -- " : " ", "%s", paths[i]);
    return title;
}

static const char results[] = "results"; /* output directory of runs without --out */

bool place_find_measured(const struct topo *topo, unsigned workers, const char *const *job,
                         struct recommended *found)
{
    struct environment env = {0};
    const struct env_request nothing = {0};
    struct machine_parts parts;
    struct machine_key key;
    struct err err;
    env_gather(&nothing, &env);
    machine_parts_of(&env, topo, &parts);
    machine_key_make(&parts, &key);
    const struct recommended_request request = {
        .path = results, .machine_key = key.key, .workers = workers, .job = job};
    if (recommended_find(&request, found, &err))
        log_warn("%s: earlier results are ignored", err.msg);
    env_free(&env);
    return found->path[0] != '\0';
}

const char *place_format_measured(const struct recommended *found)
{
    const char *text = "";
    const char *gain = "";
    if (!found->applies)
        text = str_fmt("measured by %s (%s): no gain over %s, leave it as it is", found->path,
                       found->workload, found->setting);
    else {
        if (found->load[0])
            gain = str_fmt(", at least %s the default, while %s", advice_format_ratio(found->low),
                           found->load);
        else if (!isnan(found->speed_up))
            gain = str_fmt(", %s the default", advice_format_ratio(found->speed_up));
        text = str_fmt("recommended by %s (%s): %s%s", found->path, found->workload, found->setting,
                       gain);
    }
    return text;
}

const char *place_format_nearest(const char *placement, const char *const *job)
{
    return str_fmt("placement %s is not measured: it is the first that fits this machine. %s "
                   "measures which is best. Only results below results/ are read",
                   placement,
                   job ? "'contend tune -- COMMAND'"
                       : "'contend run', or 'contend tune -- COMMAND' for a job of yours,");
}

void place_print_noted(const char *text, const char *note)
{
    bool batch = !strncmp(text, "@echo off", strlen("@echo off"));
    bool first = batch || !strncmp(text, "#!", 2);
    size_t head = first ? strcspn(text, "\n") + 1 : 0;
    if (head > strlen(text))
        head = strlen(text);
    (void)fwrite(text, 1, head, stdout);
    (void)printf("%s %s%s", batch ? "rem" : "#", note, batch ? "\r\n" : "\n");
    (void)fputs(text + head, stdout);
}
