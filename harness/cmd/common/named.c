#include "harness/cmd/common/named.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "harness/engine/setup.h"
#include "harness/lib/similar.h"
#include "harness/lib/str.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/sys/log.h"
#include "harness/plan/plan.h"

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
