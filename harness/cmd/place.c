#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/cmd/cmd.h"
#include "harness/discover/scans.h"
#include "harness/json/plan.h"
#include "harness/machine/topo.h"
#include "harness/plan/check.h"
#include "harness/plan/options.h"
#include "harness/plan/plan.h"
#include "harness/say/log.h"
#include "harness/table/findings.h"

struct place_args {
    int64_t workers, background;
    const char *placement, *xml, *fake_gpus;
    int topology; /* 0 reported, 1 measured */
    struct plan_options plan;
    bool json;
    char *job; /* the user's command, quoted for a shell, and a blank; owned; NULL = not given */
};

static const char *const topologies[] = {"reported", "measured", NULL};

static const struct opt place_opts[] = {
    OPT_INT("workers", place_args, workers, NULL, 1, BITSET_BITS, "N",
            "how many workers share the machine (default: one a GPU, at least 2)", .letter = 'n'),
    OPT_TEXT("placement", place_args, placement, "partition", "P[,P..]",
             "placements, see 'contend list'", .letter = 'P'),
    OPT_INT("background-workers", place_args, background, "0", 0, BITSET_BITS, "M",
            "further workers that only make load"),
    PLAN_OPTIONS(place_args, plan),
    OPT_TEXT("xml", place_args, xml, NULL, "FILE|DESC",
             "plan for the machine of an hwloc XML file, or of a description such as "
             "'package:2 l3:1 core:4 pu:2'"),
    OPT_CHOICE(
        "topology", place_args, topology, "reported", topologies, "T",
        "plan on what the system reports, or measure first (about 15 s, on an idle machine)"),
    OPT_FLAG("json", place_args, json, NULL,
             "print JSON: one object, or an array for several placements"),
    OPT_TEXT("fake-gpus", place_args, fake_gpus, NULL, "LIST",
             "for tests: add GPUs, as 0000:01:00.0@0 (PCI address, NUMA node)"),
    {.name = NULL}};

/* Columns of the table; the last one wraps. */
#define ROW_FORMAT "  %-8s %7s  %-16s %-17s "
enum { CPUS_COLUMN = 2 + 8 + 1 + 7 + 2 + 16 + 1 + 17 + 1 };

static void print_row(const struct topo *topo, unsigned index, const struct plan_worker *worker)
{
    char name[16], threads[16], nodes[64], memory[96], gpu[48] = "-", list[BITSET_LIST_MAX];
    (void)snprintf(name, sizeof(name), "%u%s", index, worker->background ? " (bg)" : "");
    (void)snprintf(threads, sizeof(threads), "%u", worker->threads);
    (void)snprintf(memory, sizeof(memory), "%s%s%s", mem_policy_name(worker->mem_policy),
                   bitset_empty(&worker->mem_nodes) ? "" : " ",
                   bitset_format(&worker->mem_nodes, nodes, sizeof(nodes)));
    if (worker->gpu >= 0)
        (void)snprintf(gpu, sizeof(gpu), "%d %s", topo->gpus[worker->gpu].cuda_ordinal,
                       topo->gpus[worker->gpu].pci_bdf);
    int column = printf(ROW_FORMAT, name, threads, memory, gpu);
    text_wrap(bitset_format(&worker->cpus, list, sizeof(list)), column, CPUS_COLUMN, stdout);
}

/*
 * How a shell selects the worker's GPU: by its place on the bus, as CUDA's own order may be another
 * in another environment. Once CUDA_VISIBLE_DEVICES is set, not all GPUs are known here, and only
 * the UUID still means the same one.
 */
static void print_gpu_choice(const struct topo *topo, const struct topo_gpu *gpu)
{
    static const char safe[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-";
    bool renumbered = getenv("CUDA_VISIBLE_DEVICES") != NULL;
    if (renumbered && gpu->uuid[0] && strspn(gpu->uuid, safe) == strlen(gpu->uuid))
        (void)printf("CUDA_VISIBLE_DEVICES=%s ", gpu->uuid);
    else
        (void)printf("CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=%u ",
                     topo_gpu_bus_number(topo, gpu));
}

/* One line for a shell: numbers, lists of numbers, fixed words, and what the user gave, quoted. */
static void print_command(const struct topo *topo, const struct bitset *allowed,
                          const struct plan_worker *worker, const char *job)
{
    static const char *const mem_options[] = {[MEM_DEFAULT] = "",
                                              [MEM_BIND] = " --membind=",
                                              [MEM_PREFERRED] = " --preferred=",
                                              [MEM_INTERLEAVE] = " --interleave="};
    char list[BITSET_LIST_MAX];
    bool binds = !bitset_equal(&worker->cpus, allowed);
    (void)printf("  ");
    if (worker->gpu >= 0)
        print_gpu_choice(topo, &topo->gpus[worker->gpu]);
    (void)printf("OMP_NUM_THREADS=%u %s", worker->threads,
                 worker->passive ? "OMP_WAIT_POLICY=passive " : "");
    bitset_format(&worker->cpus, list, sizeof(list));
    if (worker->mem_policy != MEM_DEFAULT) {
        (void)printf("numactl");
        if (binds)
            (void)printf(" --physcpubind=%s", list);
        (void)printf("%s%s ", mem_options[worker->mem_policy],
                     bitset_format(&worker->mem_nodes, list, sizeof(list)));
    } else if (binds) {
        (void)printf("taskset -c %s ", list);
    }
    if (job && !worker->background)
        (void)printf("%s", job);
    else
        (void)printf("./%s ", worker->background ? "your_background_load" : "your_command");
    (void)printf("&\n");
}

/* To be pasted as one block: they run side by side, and it ends when all have ended. */
static void print_commands(const struct topo *topo, const struct plan *plan, const char *job)
{
    struct bitset allowed = {0};
    bool needs_numactl = false;
    topo_allowed_cpus(topo, &allowed);
    for (unsigned w = 0; w < plan->nworkers; w++)
        needs_numactl = needs_numactl || plan->workers[w].mem_policy != MEM_DEFAULT;
    (void)printf("\nCommands that place a job of your own like this%s:\n",
                 needs_numactl ? " (needs the package numactl)" : "");
    for (unsigned w = 0; w < plan->nworkers; w++)
        print_command(topo, &allowed, &plan->workers[w], job);
    (void)printf("  wait\n");
}

static int print_findings(const struct topo *topo, const struct plan *plan, struct err *err)
{
    struct findings findings = {0};
    int rc = plan_check(topo, plan, &findings, err);
    if (!rc)
        findings_print(&findings, stdout, false);
    findings_free(&findings);
    return rc;
}

static int print_plan(const struct topo *topo, const struct plan *plan, const char *job,
                      struct err *err)
{
    const struct placement_info *info = &placement_infos[plan->placement];
    int column = printf("%s: ", info->name);
    if (plan->status == PLAN_SKIPPED) {
        (void)printf("skipped: ");
        text_wrap(plan->reason, column + 9, 2, stdout);
        return 0;
    }
    text_wrap(info->summary, column, 2, stdout);
    (void)printf(ROW_FORMAT "%s\n", "worker", "threads", "memory", "GPU", "CPUs");
    for (unsigned w = 0; w < plan->nworkers; w++)
        print_row(topo, w, &plan->workers[w]);
    int rc = print_findings(topo, plan, err);
    if (!rc)
        print_commands(topo, plan, job);
    return rc;
}

static int print_json(const struct topo *topo, const struct plan *plans, int n)
{
    const struct plan *all[PLACEMENTS];
    for (int i = 0; i < n; i++)
        all[i] = &plans[i];
    return cmd_print_json(
        n == 1 ? plan_to_json(topo, &plans[0], NULL, 0) : plans_to_json(topo, all, (size_t)n), 2);
}

static int print_plans(const struct topo *topo, const struct plan *plans, int n, const char *job)
{
    int rc = 0;
    struct err err;
    for (int i = 0; i < n && !rc; i++) {
        if (i)
            (void)putchar('\n');
        rc = print_plan(topo, &plans[i], job, &err);
    }
    if (rc)
        log_error("%s", err.msg);
    return rc ? EXIT_NOT_RUN : cmd_finish();
}

/* Of several placements some may be impossible, and are told beside the others. */
static bool any_is_possible(const struct plan *plans, int n)
{
    for (int i = 0; i < n; i++)
        if (plans[i].status == PLAN_OK)
            return true;
    return false;
}

static int print(const struct topo *topo, const struct plan *plans, int n,
                 const struct place_args *args)
{
    bool any = any_is_possible(plans, n);
    int code = args->json ? print_json(topo, plans, n)
               : any      ? print_plans(topo, plans, n, args->job)
                          : EXIT_GOOD;
    for (int i = 0; i < n && !any; i++)
        log_error("no plan for %s: %s", placement_infos[plans[i].placement].name, plans[i].reason);
    return any || code ? code : EXIT_USAGE;
}

/* All plans are made before the first is printed: an error leaves nothing half-written. */
static int make_plans(const struct topo *topo, const struct place_args *args,
                      const enum placement *placements, int n, struct plan *plans, struct err *err)
{
    struct plan_request request = {.workers = args->workers ? (unsigned)args->workers
                                                            : plan_default_workers(topo),
                                   .background = (unsigned)args->background};
    int rc = plan_options_apply(&args->plan, &request, err);
    for (int i = 0; i < n && !rc; i++) {
        request.placement = placements[i];
        rc = plan_make_or_skip(topo, &request, &plans[i], err);
    }
    return rc;
}

/* The topology to plan on: as reported, or with cores and clusters as measured. *code: of an error.
 */
static int load(const struct cmd_env *env, const struct place_args *args, struct topo *topo,
                int *code, struct err *err)
{
    struct measured measured = {0};
    struct topo_options options = {
        .xml = args->xml, .fake_gpus = args->fake_gpus, .probe_gpus = true};
    int rc = topo_load(&options, topo, err);
    if (rc || !args->topology)
        return rc;
    if (!topo->is_this_machine)
        return err_set(err, -EINVAL, "--topology measured is for this machine, and not with --xml");
    rc = scans_measure(env->benches, topo, false, &measured, err);
    if (!rc && measured.floating)
        log_warn("the hypervisor moves virtual CPUs: what was measured may not last");
    if (!rc)
        rc = measured_apply(&measured, topo, err);
    measured_free(&measured);
    if (rc)
        *code = cmd_not_measured(rc);
    return rc;
}

static int place(const struct cmd_env *env, const struct place_args *args)
{
    struct err err = {0};
    enum placement placements[PLACEMENTS];
    struct plan plans[PLACEMENTS] = {0};
    struct topo topo = {0};
    int code = EXIT_USAGE;
    int n = placement_parse_list(args->placement, placements, &err);
    int rc = n < 0 ? n : load(env, args, &topo, &code, &err);
    if (!rc)
        rc = make_plans(&topo, args, placements, n, plans, &err);
    if (rc)
        log_error("%s", err.msg);
    else
        code = print(&topo, plans, n, args);
    for (int i = 0; i < n; i++)
        plan_free(&plans[i]);
    topo_free(&topo);
    return code;
}

/* Each word with a blank behind it; NULL: no memory. */
static char *quote_job(char *const *words)
{
    size_t size = 1, used = 0;
    for (char *const *word = words; *word; word++)
        size += text_shell_word(*word, NULL, 0) + 1;
    char *job = malloc(size);
    for (; job && *words; words++) {
        used += text_shell_word(*words, job + used, size - used);
        used += (size_t)snprintf(job + used, size - used, " ");
    }
    return job;
}

static int place_main(const struct cmd_env *env, int argc, char **argv)
{
    struct place_args args = {0};
    struct cli cli;
    int code, options = 0;
    while (options < argc && strcmp(argv[options], "--") != 0)
        options++;
    if (!cmd_parse(env, &place_command, options, argv, &args, &cli, &code))
        return code;
    if (options + 1 < argc && !(args.job = quote_job(&argv[options + 1]))) {
        log_error("no memory for the command");
        return EXIT_NOT_RUN;
    }
    code = place(env, &args);
    free(args.job);
    return code;
}

const struct command place_command = {
    .name = "place",
    .main = place_main,
    .summary = "the plan for N workers, and the commands that apply it",
    .about =
        "Prints the plan for N workers, and the commands that apply it to a job of one's own: the "
        "one behind '--', if any, as in 'contend place -- ./train'.",
    .opts = place_opts,
};
