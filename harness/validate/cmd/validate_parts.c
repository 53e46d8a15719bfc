#include "harness/validate/cmd/validate_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmd/common/program.h"
#include "harness/engine/run/setup.h"
#include "harness/rows/row.h"
#include "harness/verdict/runs/pairing.h"

static void add_word(char *list, size_t size, const char *word)
{
    size_t length = strlen(word), used = strlen(list);
    for (const char *at = list; *word && (at = strstr(at, word)); at++)
        if ((at == list || at[-1] == ',') && (!at[length] || at[length] == ','))
            return;
    if (*word)
        (void)snprintf(list + used, size - used, "%s%s", used ? "," : "", word);
}

struct validate_part *validate_parts_of(struct validate_parts *parts, const char *key)
{
    char name[VALIDATE_NAME_MOST];
    (void)fleet_key_column(key, FLEET_SCENARIO, name, sizeof(name));
    for (size_t i = 0; i < parts->n; i++)
        if (strcmp(parts->all[i].name, name) == 0)
            return &parts->all[i];
    struct validate_part *part = &parts->all[parts->n++];
    (void)snprintf(part->name, sizeof(part->name), "%s", name);
    return part;
}

int validate_parts_find(struct validate_parts *parts, struct err *err)
{
    const struct bounds *bounds = parts->bounds;
    parts->all = calloc(bounds->n + 1, sizeof(*parts->all));
    parts->foreign = calloc(bounds->n + 1, sizeof(*parts->foreign));
    if (!parts->all || !parts->foreign)
        return err_set(err, -ENOMEM, "no memory for %zu bounds", bounds->n);
    for (size_t i = 0; i < bounds->n; i++) {
        char word[VALIDATE_NAME_MOST];
        const char *key = bounds->all[i].key;
        struct validate_part *part = validate_parts_of(parts, key);
        add_word(part->placements, sizeof(part->placements),
                 fleet_key_column(key, FLEET_PLACEMENT, word, sizeof(word)));
        add_word(part->workers, sizeof(part->workers),
                 fleet_key_column(key, FLEET_WORKERS, word, sizeof(word)));
    }
    return 0;
}

void validate_parts_free(struct validate_parts *parts)
{
    free(parts->all);
    free(parts->foreign);
    parts->all = NULL;
    parts->foreign = NULL;
    parts->n = 0;
}

/* The scenario as it would be run. *command: by which one. */
static int plan(const struct validate_parts *parts, const struct validate_part *part,
                const char **command, struct run_setup *setup, struct err *err)
{
    const struct cmd_env *env = parts->env;
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
    struct cli cli = {0};
    *command = scenario ? "run" : "bench";
    if (!scenario && !bench_find(env->benches, part->name))
        return err_set(err, -EINVAL, "this contend has no scenario or benchmark '%s'", part->name);
    for (size_t i = 0; i < part->nparams; i++)
        cli.pairs[cli.npairs++] = part->params[i];
    return run_setup_make(env->benches, scenario ? scenario : &alone, &options, &cli, parts->topo,
                          setup, err);
}

/* What of the bound's parameters the arm's are not; `other` (or NULL) gets the first ones. */
static size_t differ(const char *bound, const char *arm, struct validate_part *other)
{
    size_t n = 0, length;
    for (const char *at = bound; *at && strncmp(at, "slots=", strlen("slots=")) != 0;
         at += length + (at[length] == ';')) {
        char pair[VALIDATE_NAME_MOST];
        length = strcspn(at, ";");
        (void)snprintf(pair, sizeof(pair), "%.*s", (int)length, at);
        if (row_params_have(arm, pair))
            continue;
        n++;
        if (other && other->nparams < VALIDATE_PARAMS_MOST)
            (void)snprintf(other->params[other->nparams++], sizeof(pair), "%s", pair);
    }
    return n;
}

static bool is_of(const struct result *result, const struct arm *arm, const char *key)
{
    char bench[VALIDATE_NAME_MOST], device[VALIDATE_NAME_MOST];
    return strcmp(fleet_key_column(key, FLEET_BENCH, bench, sizeof(bench)), arm->bench->name) ==
               0 &&
           strcmp(fleet_key_column(key, FLEET_DEVICE, device, sizeof(device)),
                  device_name(arm_device(result, arm))) == 0;
}

/*
 * Whether an arm gives that figure. If not, and with `other`, that gets the parameters that would
 * make the nearest arm give it.
 */
static bool is_given(const struct result *result, const char *key, struct validate_part *other)
{
    char bound[FLEET_KEY_MAX], params[ROW_PARAMS_MAX], nearest[ROW_PARAMS_MAX] = "";
    char plain[FLEET_KEY_MAX], plain_bound[FLEET_KEY_MAX];
    size_t least = SIZE_MAX;
    (void)fleet_key_column(key, FLEET_PARAMS, bound, sizeof(bound));
    if (strstr(bound, ";variant=")) /* in the baseline of an earlier version */
        return false;
    for (size_t i = 0; i < result->narms; i++) {
        if (!is_of(result, &result->arms[i], key))
            continue;
        const struct opt *opts = result->arms[i].bench->opts;
        row_put_params(result, &result->arms[i], row_key(bound), params);
        if (strcmp(new_params_without_defaults(opts, params, plain, sizeof(plain)),
                   new_params_without_defaults(opts, bound, plain_bound, sizeof(plain_bound))) == 0)
            return true;
        size_t n = differ(bound, params, NULL);
        if (n && n < least) {
            least = n;
            (void)snprintf(nearest, sizeof(nearest), "%s", params);
        }
    }
    if (other && nearest[0])
        (void)differ(bound, nearest, other);
    return false;
}

/* Of all its bounds; where `find`, up to the first that asks for other parameters. */
static void find_foreign(struct validate_parts *parts, struct validate_part *part,
                         const struct result *result, bool find)
{
    for (size_t i = 0; i < parts->bounds->n && !(find && part->nparams); i++) {
        const char *key = parts->bounds->all[i].key;
        if (validate_parts_of(parts, key) == part)
            parts->foreign[i] = !is_given(result, key, find ? part : NULL);
    }
}

bool validate_part_expect(struct validate_parts *parts, struct validate_part *part, struct err *err)
{
    struct run_setup setup = {0};
    part->nparams = 0;
    int rc = plan(parts, part, &part->command, &setup, err);
    if (!rc)
        find_foreign(parts, part, &setup.result, true);
    if (!rc && part->nparams) {
        run_setup_free(&setup);
        setup = (struct run_setup){0};
        rc = plan(parts, part, &part->command, &setup, err);
        if (!rc)
            find_foreign(parts, part, &setup.result, false);
    }
    part->expected_s = setup.expected_s;
    run_setup_free(&setup);
    return !rc;
}

void validate_part_command(const struct cmd_env *env, const struct validate_part *part,
                           const char *host, const char *dir, struct child_run *child)
{
    char core[PROGRAM_PATH_MAX] = CHILD_RUN_SELF;
    if (env->core)
        (void)program_beside(env->core, core, sizeof(core), NULL);
    *child = (struct child_run){0};
    child_run_add(child, "%s", core);
    child_run_add(child, "%s", part->command);
    child_run_add(child, "%s", part->name);
    for (size_t i = 0; i < part->nparams; i++) {
        child_run_add(child, "-p");
        child_run_add(child, "%s", part->params[i]);
    }
    child_run_add(child, "--placement=%s", part->placements);
    child_run_add(child, "--workers=%s", part->workers);
    child_run_add(child, "--no-baselines");
    child_run_add(child, "--no-plots");
    child_run_add(child, "--host=%s", host);
    child_run_add(child, "--out=%s", dir);
}
