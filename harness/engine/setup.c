#include "harness/engine/setup.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "harness/engine/times.h"
#include "harness/engine/worker/command_bench.h"
#include "harness/lib/similar.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"
#include "harness/machine/env.h"

enum { MAX_COUNTS = 16 };

#ifdef CONTEND_HAVE_CUDA
static const bool have_cuda = true;
#else
static const bool have_cuda = false;
#endif

/* With device cuda a user must not get rows without a GPU, even if the benchmark needs none. */
static int refuse_cuda(const struct topo *topo, const struct bench *bench, struct err *err)
{
    bool has_model = bench->needs & NEED_DEVICE;
    if (!have_cuda)
        return err_set(err, -ENOTSUP,
                       "device 'cuda' is not possible: this program was built without nvcc; "
                       "%sbuild it where the CUDA toolkit is",
                       has_model ? "use --device sim, or " : "");
    return err_set(err, -ENOTSUP, "device 'cuda' is not possible: %s (see 'contend info')%s",
                   topo->gpu_note[0] ? topo->gpu_note : "CUDA finds no GPU here",
                   has_model ? "; use --device sim" : "");
}

/* A run has one device for all arms that need a device, and one transport for all collectives. */
static int choose_device(const struct run_options *options, const struct topo *topo,
                         const struct bench *bench, struct result *result, struct err *err)
{
    unsigned visible = options->topo.fake_gpus ? 0 : topo_visible_gpus(topo);
    unsigned gpus = topo->driver_too_old ? 0 : visible;
    result->transport =
        gpus && have_cuda && options->device != DEVICE_SIM ? DEVICE_NCCL : DEVICE_MPI;
    if (options->device == DEVICE_CUDA && (!gpus || !have_cuda))
        return refuse_cuda(topo, bench, err);
    if (!(bench->needs & NEED_DEVICE))
        return 0;
    result->device =
        options->device == DEVICE_SIM || !gpus || !have_cuda ? DEVICE_SIM : DEVICE_CUDA;
    if (!options->device && gpus && !have_cuda)
        log_warn("%u GPUs are here, but this program was built without nvcc: device sim", gpus);
    else if (!options->device && !gpus && topo->ngpus && !options->topo.fake_gpus)
        log_warn("%s: device sim", topo->gpu_note);
    return 0;
}

/* One per GPU, at least 2; for collectives at least 1, as two ranks cannot share a GPU. */
static unsigned default_workers(const struct topo *topo, const struct bench *bench)
{
    unsigned gpus = topo_visible_gpus(topo);
    return bench->needs & NEED_COLLECTIVE ? (gpus ? gpus : 1) : plan_default_workers(topo);
}

static bool has_count(const unsigned *counts, int n, unsigned count)
{
    while (n > 0 && counts[n - 1] != count)
        n--;
    return n > 0;
}

/* Parses "4", "1..4" or "1-4" at *text, and moves *text after it. False: not a count. */
static bool parse_counts(const char **text, unsigned long *first, unsigned long *last)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    *first = *last = strtoul(*text, &end, 10);
    size_t dash = *end == '-' ? 1 : strncmp(end, "..", 2) == 0 ? 2 : 0;
    if (dash) {
        if (end[dash] < '0' || end[dash] > '9')
            return false;
        *last = strtoul(end + dash, &end, 10);
    }
    *text = end;
    return *first >= 1 && *first <= *last && *last <= RUN_WORKERS_MAX;
}

/* "2,4,8", "1..4" or "auto" -> counts, each once. Returns how many, or a negative errno. */
static int parse_workers(const char *text, const struct topo *topo, const struct bench *bench,
                         unsigned counts[MAX_COUNTS], struct err *err)
{
    int n = 0;
    if (strcmp(text, "auto") == 0) {
        counts[0] = default_workers(topo, bench);
        return 1;
    }
    for (const char *at = text; n <= MAX_COUNTS; at++) {
        unsigned long first, last;
        if (!parse_counts(&at, &first, &last))
            break;
        for (; first <= last && n <= MAX_COUNTS; first++)
            if (!has_count(counts, n, (unsigned)first) &&
                n++ < MAX_COUNTS) /* equal counts have equal keys */
                counts[n - 1] = (unsigned)first;
        if (!*at && n <= MAX_COUNTS)
            return n;
        if (*at != ',')
            break;
    }
    return err_set(err, -EINVAL,
                   "workers '%.60s' is not auto or a list of up to %d counts 1 to %d, such as "
                   "1,2,4 or 1..4",
                   text, MAX_COUNTS, RUN_WORKERS_MAX);
}

/* Sets the pairs that the benchmark has options for, and marks these in `used`. */
static int set_pairs(const struct bench *bench, const char *const *pairs, size_t n, bool *used,
                     void *params, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        const char *name = str_fmt("%.*s", (int)strcspn(pairs[i], "="), pairs[i]);
        if (!opts_find(bench->opts, name))
            continue;
        int rc = opts_set_pair(bench->opts, params, pairs[i], err);
        if (rc)
            return rc;
        used[i] = true;
    }
    return 0;
}

/* Defaults of the benchmark, then the scenario's. */
static int set_defaults(const struct bench *bench, const char *scenario_params, void *params,
                        struct err *err)
{
    opts_set_defaults(bench->opts, params);
    char *save = NULL;
    char *copy = str_fmt("%s", scenario_params ? scenario_params : "");
    for (char *pair = strtok_r(copy, ";", &save); pair; pair = strtok_r(NULL, ";", &save)) {
        int rc = opts_set_pair(bench->opts, params, pair, err);
        if (rc)
            return rc;
    }
    return 0;
}

int run_setup_find_bench(const struct bench *const *benches, const char *name,
                         const struct bench **bench, struct err *err)
{
    *bench = bench_find(benches, name);
    if (*bench)
        return 0;
    struct similar near = similar_to(name, strlen(name));
    for (; *benches; benches++)
        similar_offer(&near, (*benches)->name);
    return err_set(err, -EINVAL, "unknown benchmark '%.60s'%s see 'contend info'", name,
                   similar_hint(&near, ""));
}

/*
 * The user's placements, else the part's. Returns how many. A refused plan is an error if the user
 * named the placement, but a skipped arm if the part named it (such as `partition` on one CPU).
 */
static int choose_placements(const struct scenario_part *part, const char *text,
                             enum placement *placements, bool *optional, struct err *err)
{
    int n = placement_parse_list(text ? text : part->placements, placements, err);
    for (int i = 0; i < n; i++)
        optional[i] = !text;
    return n;
}

/*
 * The default of ab: one placement, so that rounds are short. `partition` if the part has it, since
 * unbound workers vary more from launch to launch; else the part's first.
 */
static int choose_simplest(const struct scenario_part *part, enum placement *placements,
                           bool *optional, struct err *err)
{
    int n = choose_placements(part, NULL, placements, optional, err);
    for (int i = 0; i < n; i++)
        if (placements[i] == PLACE_PARTITION)
            placements[0] = PLACE_PARTITION;
    return n < 1 ? n : 1;
}

static uint64_t draw_seed(void)
{
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed))
        seed = (uint64_t)time(NULL);
    return (seed & ((UINT64_C(1) << 48) - 1)) | 1; /* short enough to type back with --seed */
}

/* In a job each rank is a worker, and this machine plans its own ranks. */
static int count_ranks(const struct run_options *options, const struct bench *bench,
                       unsigned counts[MAX_COUNTS], int ncounts, struct err *err)
{
    if (!bench_is_team(bench))
        return err_set(err, -EINVAL,
                       "%s does not run as a job of %u ranks, as collectives do: start it without "
                       "mpirun or srun",
                       bench->name, options->ranks);
    if (strcmp(options->workers, "auto") != 0 && (ncounts != 1 || counts[0] != options->ranks))
        return err_set(err, -EINVAL, "workers '%.60s', but the job has %u ranks: leave it out",
                       options->workers, options->ranks);
    counts[0] = options->ranks_here;
    return 1;
}

/* True if a variant sets a placement. Arms of variants are paired by their order, so each variant
 * must have equally many. */
static bool any_placement(const struct variants *variants)
{
    for (size_t i = 0; variants && i < variants->n; i++)
        if (variants->all[i].placement)
            return true;
    return false;
}

static int plan_part(const struct run_options *options, const struct topo *topo,
                     const struct scenario_part *part, const struct arms_request *common,
                     struct result *result, struct err *err)
{
    enum placement placements[PLACEMENTS];
    bool optional[PLACEMENTS];
    unsigned counts[MAX_COUNTS] = {part->workers};
    const struct variant *variant = common->variant;
    const char *told = variant && variant->placement ? variant->placement : options->placements;
    int nplacements = variant && !told ? choose_simplest(part, placements, optional, err)
                                       : choose_placements(part, told, placements, optional, err);
    if (nplacements < 0)
        return nplacements;
    if (nplacements > 1 && any_placement(result->variants))
        return err_set(err, -EINVAL, "placements '%.60s': one alone, where a variant has its own",
                       told);
    int ncounts =
        part->workers ? 1 : parse_workers(options->workers, topo, common->bench, counts, err);
    if (ncounts > 0 && options->ranks)
        ncounts = count_ranks(options, common->bench, counts, ncounts, err);
    if (ncounts < 0)
        return ncounts;
    struct arms_request request = *common;
    if (variant && !told && common->bench->runs_command && !request.plan.threads)
        request.plan.threads = openmp_threads(getenv); /* nobody asked for a placement's number */
    request.placements = placements;
    request.nplacements = (size_t)nplacements;
    request.optional = optional;
    request.workers = counts;
    request.nworkers = (size_t)ncounts;
    const struct arrange *arrange = options->arrange;
    if (!arrange)
        return arms_add(topo, &request, result, err);
    request.baselines = false;
    result->purpose = arrange->purpose;
    return arrange->add(arrange->arg, topo, &request, result, err);
}

/* Refuses a pair that no benchmark knows, by the benchmark with the most similar option. */
static int refuse_pair(const struct bench *const *benches, struct run_setup *setup,
                       const char *pair, struct err *err)
{
    struct similar near = similar_to(pair, strcspn(pair, "="));
    const struct opt *opts = NULL;
    for (const struct scenario_part *part = setup->scenario->parts; part->foreground; part++) {
        const char *nearest = near.name;
        const struct bench *bench = bench_find(benches, part->foreground);
        for (const struct opt *opt = bench->opts; opt && opt->name; opt++)
            similar_offer(&near, opt->name);
        if (near.name != nearest || !near.name)
            opts = bench->opts;
    }
    return opts_set_pair(opts, setup->background_params, pair, err);
}

/* What is needed to add the scenario's parts. */
struct parts {
    const struct bench *const *benches;
    const struct run_options *options;
    const struct cli *cli;
    struct run_setup *setup;
    struct arms_request request; /* common to all parts */
    bool used[CLI_LIST_MAX];     /* by index in cli->pairs */
};

static int add_part(struct parts *parts, size_t index, const struct variant *variant, void *params,
                    bool *used, struct err *err)
{
    const struct scenario_part *part = &parts->setup->scenario->parts[index];
    struct result *result = &parts->setup->result;
    const struct topo *topo = parts->setup->config.topo;
    const struct bench *bench = setup_command_bench(parts->options, part->foreground, parts->setup);
    int rc = bench ? 0 : run_setup_find_bench(parts->benches, part->foreground, &bench, err);
    if (!rc)
        rc = set_defaults(bench, part->params, params, err);
    if (!rc)
        rc = set_pairs(bench, parts->cli->pairs, parts->cli->npairs, parts->used, params, err);
    if (!rc && variant)
        rc = set_pairs(bench, variant->params.text, variant->params.n, used, params, err);
    if (!rc && bench->validate)
        rc = bench->validate(params, err);
    if (!rc)
        rc = choose_device(parts->options, topo, bench, result, err);
    if (!rc)
        rc = background_check_dose(&parts->request.dose, result, err);
    if (rc)
        return rc;
    struct arms_request request = parts->request;
    request.bench = bench;
    request.params = params;
    request.variant = variant;
    if (variant && variant->plan.threads)
        request.plan.threads = (unsigned)variant->plan.threads;
    if (variant && variant->cpu_max > 0)
        request.cpu_max = variant->cpu_max;
    for (unsigned role = 0; role < 2 && variant; role++)
        cpu_priority_take(&request.priority[role], &variant->priority[role]);
    return plan_part(parts->options, topo, part, &request, result, err);
}

/* Adds all parts for one variant; NULL = no ab. */
static int add_variant(struct parts *parts, size_t index, const struct variant *variant,
                       struct err *err)
{
    bool used[OPT_TEXTS_MOST] = {0};
    const struct scenario_part *part = parts->setup->scenario->parts;
    int rc = 0;
    for (size_t i = 0; !rc && part[i].foreground; i++)
        rc = i < SCENARIO_PARTS_MAX
                 ? add_part(parts, i, variant, parts->setup->params[index][i], used, err)
                 : -E2BIG;
    for (size_t i = 0; variant && !rc && i < variant->params.n; i++)
        if (!used[i])
            rc = refuse_pair(parts->benches, parts->setup, variant->params.text[i], err);
    return rc;
}

/* Clients have the same CPUs in all arms. */
static int set_client_cpus(const struct run_options *options, struct plan_request *request,
                           struct run_setup *setup, struct err *err)
{
    struct result *result = &setup->result;
    struct plan_request of = *request;
    unsigned counts[MAX_COUNTS] = {0};
    int n = parse_workers(options->workers, setup->config.topo, command_bench_find("command"),
                          counts, err);
    for (int i = 0; i < n; i++)
        of.workers = counts[i] > of.workers ? counts[i] : of.workers;
    int rc = n < 0 ? n
                   : plan_set_apart(setup->config.topo, (unsigned)options->command.load_cores, &of,
                                    &result->client_cpus, err);
    if (rc || bitset_empty(&of.cpus) || bitset_equal(&of.cpus, &request->cpus))
        return rc;
    request->cpus = of.cpus;
    text_set(setup->server_cpus, "%s", bitset_format(&of.cpus));
    result->plan.cpus = setup->server_cpus;
    return 0;
}

static int add_parts(const struct bench *const *benches, const struct run_options *options,
                     const struct cli *cli, unsigned background_workers, struct run_setup *setup,
                     struct err *err)
{
    struct result *result = &setup->result;
    const struct variants *variants = result->variants;
    struct parts parts = {
        .benches = benches,
        .options = options,
        .cli = cli,
        .setup = setup,
        .request = {.baselines = !options->no_baselines && !variants && !options->command.keep,
                    .few_baselines =
                        options->profile == PROFILE_QUICK && !options->rounds && !options->ranks,
                    .cpu_max = options->cpu_max,
                    .priority = {options->priority[0], options->priority[1]},
                    .background_as_workers = result->background && !background_workers,
                    .plan = {.background = background_workers}},
    };
    int rc = background_parse_dose(options, &parts.request.dose, err);
    if (!rc)
        rc = plan_options_apply(&options->plan, &parts.request.plan, err);
    result->plan = options->plan;
    if (!rc && options->ncommands && options->command.load)
        rc = set_client_cpus(options, &parts.request.plan, setup, err);
    if (!rc && !variants)
        rc = add_variant(&parts, 0, NULL, err);
    for (size_t v = 0; variants && !rc && v < variants->n; v++)
        rc = add_variant(&parts, v, &variants->all[v], err);
    for (size_t i = 0; !rc && i < cli->npairs; i++)
        if (!parts.used[i])
            rc = refuse_pair(benches, setup, cli->pairs[i], err);
    return rc;
}

static int set_variants(const struct run_options *options, struct run_setup *setup, struct err *err)
{
    int rc = variants_parse(&options->variants, &setup->variants, err);
    for (size_t i = 0; !rc && options->ncommands > 1 && i < setup->variants.n; i++)
        setup->variants.all[i].argv = options->commands[i];
    if (!rc)
        rc = variants_check_libraries(&setup->variants, err);
    setup->variants.threshold = options->threshold / 100;
    setup->variants.clock_s = (double)clock_cost_ns() * 1e-9;
    setup->result.variants = &setup->variants;
    return rc;
}

static void set_run_id(struct result *result)
{
    char utc[32];
    struct tm tm;
    time_t now = time(NULL);
    (void)strftime(utc, sizeof(utc), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
    (void)snprintf(result->run_id, sizeof(result->run_id), "%s-%.24s-%llx", utc, result->scenario,
                   (unsigned long long)(result->seed & 0xffffff));
}

static int set_cgroups(const struct run_options *options, struct run_setup *setup, struct err *err)
{
    const struct result *result = &setup->result;
    setup->cgroups = (struct cgroups){.cpuset = options->bind == 1};
    for (size_t i = 0; i < result->narms; i++) {
        const bool throttled = arm_is_throttled(&result->arms[i]),
                   quota = result->arms[i].cpu_max > 0;
        if (throttled && quota)
            return err_set(err, -EINVAL,
                           "--dose throttle sets the CPU quota of workers: leave --cpu-max out");
        setup->cgroups.cpu = setup->cgroups.cpu || throttled || quota ||
                             result->arms[i].priority[0].weight ||
                             result->arms[i].priority[1].weight;
    }
    if (!setup->cgroups.cpuset && !setup->cgroups.cpu)
        return 0;
    if (options->ncommands && options->command.load)
        return err_set(err, -EINVAL,
                       "--load is not for cgroups (--bind cgroup, --cpu-max, --dose throttle): "
                       "they would hold the client, too");
    if (options->ranks)
        return err_set(err, -EINVAL,
                       "--bind cgroup, --cpu-max and weights are not for jobs of several ranks");
    setup->config.cgroups = &setup->cgroups;
    return 0;
}

int run_setup_make(const struct bench *const *benches, const struct scenario *scenario,
                   const struct run_options *options, const struct cli *cli,
                   const struct topo *topo, struct run_setup *setup, struct err *err)
{
    unsigned background_workers = 0;
    setup->scenario = scenario;
    setup->config.topo = topo;
    int rc = options->variants.n ? set_variants(options, setup, err) : 0;
    if (!rc)
        rc = setup_commands(options, setup, err);
    if (!rc)
        rc = background_set(benches, options, setup, &background_workers, err);
    if (!rc)
        rc = add_parts(benches, options, cli, background_workers, setup, err);
    if (!rc && options->ncommands && options->command.keep)
        rc = setup_keep(setup, err);
    if (!rc)
        rc = background_set_dose(benches, &setup->result, err);
    if (!rc)
        rc = set_cgroups(options, setup, err);
    if (!rc)
        rc = controls_add(benches, options, topo, &setup->result, err);
    if (rc)
        return rc;
    struct result *result = &setup->result;
    result->scenario = scenario->name;
    result->seed = options->seed ? (uint64_t)options->seed : draw_seed();
    setup->config.run = result;
    set_run_id(result);
    times_set(options, setup);
    return 0;
}

void run_setup_free(struct run_setup *setup)
{
    arms_free(&setup->result);
}
