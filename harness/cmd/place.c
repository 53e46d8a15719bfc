#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmd/common/cmd.h"
#include "harness/cmd/common/named.h"
#include "harness/engine/contract/neighbours.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/cgroup.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/sys/net.h"
#include "harness/lib/text.h"
#include "harness/machine/topo.h"
#include "harness/machine/topo_check.h"
#include "harness/plan/check.h"
#include "harness/plan/emit/emit.h"
#include "harness/plan/emit/quote.h"
#include "harness/plan/options.h"
#include "harness/plan/plan.h"
#include "harness/record/json_machine.h"
#include "harness/show/doc.h"

struct place_args {
    int64_t workers, background;
    const char *placement, *xml, *fake_gpus;
    struct plan_options plan;
    bool json;
    int emit;                            /* an enum emit_format */
    const char *const *job;              /* the user's command; NULL = not given */
    struct recommended measured;         /* the result that recommends, if no placement is named */
    struct opt_texts jobs;               /* unlike jobs in place of it */
    const char *job_cores;               /* of each, "4+12"; NULL = the placement's */
    const struct neighbours *neighbours; /* these jobs, parsed; NULL = none */
    char note[4400];                     /* why this placement, if none is named; else "" */
};

static const struct opt place_opts[] = {
    OPT_INT("workers", place_args, workers, NULL, 1, BITSET_BITS, "N",
            "How many workers share the machine (default: one a GPU, at least 2)", .letter = 'n',
            .group = "The job"),
    OPT_TEXT("placement", place_args, placement, NULL, "P[,P..]",
             "Placements (default: the recommended one); see 'contend info'; the newest result of "
             "this machine and command below results/ recommends; without one it is the first of "
             "gpu-local, numa, "
             "partition and sized that fits",
             .letter = 'P'),
    OPT_INT("background-workers", place_args, background, "0", 0, BITSET_BITS, "M",
            "Additional workers that only make load", .level = OPT_RARE),
    OPT_TEXTS("job", place_args, jobs, "NAME='[OPTIONS] -- COMMAND'",
              "Unlike jobs, as 'contend run --job' takes them", .level = OPT_RARE),
    OPT_TEXT("job-cores", place_args, job_cores, NULL, "C+C[+C..]",
             "With --job and partition: cores of each job, as 'contend run --job' names them",
             .level = OPT_RARE),
    OPT_CHOICE("emit", place_args, emit, "commands", emit_names, "FORMAT",
               "Print only the text that applies the plan, or the plan with lines to paste",
               .group = "Output"),
    OPT_FLAG("json", place_args, json, NULL,
             "Print JSON: one object, or an array for several placements"),
    PLAN_OPTIONS(place_args, plan),
    OPT_TEXT("xml", place_args, xml, NULL, "FILE|DESC",
             "Plan for the machine of an hwloc XML file, or of a description such as "
             "'package:2 l3:1 core:4 pu:2'",
             .group = "The machine"),
    PLAN_GPUS_OPTION(place_args, fake_gpus),
    {.name = NULL}};

/* Columns of the table; the text of the last column wraps. */
#define ROW_FORMAT "  %-8s %7s  %-16s %-17s "
enum { CPUS_COLUMN = 2 + 8 + 1 + 7 + 2 + 16 + 1 + 17 + 1 };

static void print_row(const struct topo *topo, unsigned index, const struct plan_worker *worker)
{
    const char *name = str_fmt("%u%s", index, worker->background ? " (bg)" : "");
    const char *threads = str_fmt("%u", worker->threads);
    const char *memory =
        str_fmt("%s%s%s", mem_policy_name(worker->mem_policy),
                bitset_empty(&worker->mem_nodes) ? "" : " ", bitset_format(&worker->mem_nodes));
    const char *gpu = worker->gpu >= 0 ? str_fmt("%d %s", topo->gpus[worker->gpu].cuda_ordinal,
                                                 topo->gpus[worker->gpu].pci_bdf)
                                       : "-";
    int column = printf(ROW_FORMAT, name, threads, memory, gpu);
    text_wrap(bitset_format(&worker->cpus), column, CPUS_COLUMN, stdout);
}

static bool memory_is_refused(const struct topo *topo)
{
    return topo->is_this_machine && affinity_check_memory() != 0;
}

/* What each worker of unlike jobs runs; NULL = all run the same. */
static const struct emit_own *find_own(const struct neighbours *jobs)
{
    static struct emit_own each[NEIGHBOURS_WORKERS];
    for (unsigned w = 0; jobs && w < neighbours_workers(jobs); w++) {
        const struct neighbour *job = neighbour_of(jobs, 0, w, &each[w].worker);
        each[w].words = (const char *const *)job->argv;
        each[w].workers = (unsigned)job->workers;
    }
    return jobs ? each : NULL;
}

static struct emit_job job_of(const struct topo *topo, const struct plan *plan,
                              const struct place_args *args)
{
    return (struct emit_job){.topo = topo,
                             .plan = plan,
                             .words = args->job,
                             .each = find_own(args->neighbours),
                             .renumbered = getenv("CUDA_VISIBLE_DEVICES") != NULL,
                             .get = getenv,
                             .free_port = net_free_port,
                             .memory_refused = memory_is_refused(topo)};
}

static bool binds_memory(const struct plan *plan)
{
    for (unsigned w = 0; w < plan->nworkers; w++)
        if (plan->workers[w].mem_policy != MEM_DEFAULT)
            return true;
    return false;
}

/* Adds findings about limits and settings of this process that would defeat the plan. */
static void find_here(const struct topo *topo, const struct plan *plan, struct findings *findings)
{
    static const struct finding refused = {
        .id = "memory_refused",
        .severity = FINDING_DOUBT,
        .subject = "memory",
        .sentence = "the kernel refuses memory policies here (a container "
                    "without CAP_SYS_NICE?): CPUs are bound, memory is not"};
    inherited_check(plan, getenv, findings);
    if (binds_memory(plan) && memory_is_refused(topo))
        findings_put(findings, &refused);
}

static void log_findings(const struct findings *findings)
{
    for (size_t i = 0; i < findings->n; i++)
        (findings->all[i].severity == FINDING_NOTE ? log_info : log_warn)(
            "%s: %s", findings->all[i].subject, findings->all[i].sentence);
}

static int print_commands(const struct topo *topo, const struct plan *plan,
                          const struct place_args *args, struct err *err)
{
    const struct emit_job job = job_of(topo, plan, args);
    char *text = emit_text(EMIT_COMMANDS, &job, err);
    if (!text)
        return err->code;
    bool needs_numactl = binds_memory(plan) && !job.memory_refused;
    (void)printf("\nCommands that place a job of your own like this%s:\n%s",
                 needs_numactl ? " (needs the package numactl)" : "", text);
    free(text);
    return 0;
}

static int print_plan(const struct topo *topo, const struct plan *plan,
                      const struct place_args *args, struct err *err)
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
    struct findings findings = {0};
    plan_check(topo, plan, &findings);
    find_here(topo, plan, &findings);
    doc_print_findings(&findings, stdout, false);
    int rc = findings_check(&findings, err);
    findings_free(&findings);
    return rc ? rc : print_commands(topo, plan, args, err);
}

static int print_json(const struct topo *topo, const struct plan *plans, int n)
{
    const struct plan *all[PLACEMENTS];
    struct findings here = {0};
    for (int i = 0; i < n; i++) {
        all[i] = &plans[i];
        if (plans[i].nworkers && !here.n)
            find_here(topo, &plans[i], &here);
    }
    log_findings(&here);
    findings_free(&here);
    return cmd_print_json(
        n == 1 ? plan_to_json(topo, &plans[0], NULL, 0) : plans_to_json(topo, all, (size_t)n), 2);
}

static int print_plans(const struct topo *topo, const struct plan *plans, int n,
                       const struct place_args *args)
{
    int rc = 0;
    struct err err = {0};
    for (int i = 0; i < n && !rc; i++) {
        if (i)
            (void)putchar('\n');
        rc = print_plan(topo, &plans[i], args, &err);
    }
    if (rc)
        log_error("%s", err.msg);
    return rc ? (rc == -EINVAL ? EXIT_USAGE : EXIT_NOT_RUN) : cmd_finish();
}

/* "4+12" -> cores of each worker. */
static int parse_job_cores(const struct place_args *args, unsigned *cores, struct err *err)
{
    unsigned of[NEIGHBOURS_MOST] = {0};
    const char *at = args->job_cores;
    char *end = NULL;
    bool good = args->neighbours && args->placement && !strcmp(args->placement, "partition");
    for (size_t j = 0; good && j < args->neighbours->n; j++, at = end + (*end == '+')) {
        const unsigned long n = strtoul(at, &end, 10);
        good = *at >= '0' && *at <= '9' && n >= (unsigned long)args->neighbours->all[j].workers &&
               n <= BITSET_BITS && *end == (j + 1 < args->neighbours->n ? '+' : '\0');
        of[j] = (unsigned)n;
    }
    if (!good)
        return err_set(err, -EINVAL,
                       "option '--job-cores': '%.60s' needs --job, -P partition, and for each job "
                       "at least a core a worker, as in 4+12",
                       args->job_cores);
    neighbours_spread(args->neighbours, of, cores);
    return 0;
}

/* Makes all plans before the first is printed, so that an error leaves no partial output. */
static int make_plans(const struct topo *topo, const struct place_args *args,
                      const enum placement *placements, int n, struct plan *plans, struct err *err)
{
    struct plan_request request = {.workers = args->workers ? (unsigned)args->workers
                                                            : plan_default_workers(topo),
                                   .background = (unsigned)args->background};
    struct cgroup_limits limits;
    unsigned cores[NEIGHBOURS_WORKERS];
    int rc = plan_options_apply(&args->plan, &request, err);
    if (!rc && args->job_cores) {
        rc = parse_job_cores(args, cores, err);
        request.cores = cores;
    }
    cgroup_read("", &limits);
    if (topo->is_this_machine && limits.cpus_limit > 0)
        request.cpu_quota = limits.cpus_limit;
    for (int i = 0; i < n && !rc; i++) {
        request.placement = placements[i];
        rc = plan_make_or_skip(topo, &request, &plans[i], err);
    }
    return rc;
}

static int report_machine(const struct topo *topo, struct err *err)
{
    struct findings findings = {0};
    topo_check(topo, &findings);
    log_findings(&findings);
    int rc = findings_check(&findings, err);
    findings_free(&findings);
    return rc;
}

static int load(const struct place_args *args, struct topo *topo, struct err *err)
{
    struct topo_options options = {
        .xml = args->xml, .fake_gpus = args->fake_gpus, .probe_gpus = true, .only_order = true};
    int rc = topo_load(&options, topo, err);
    return rc ? rc : report_machine(topo, err);
}

/* True if a result recommends a placement for this workload that is usable here. */
static bool take_measured(const struct topo *topo, struct place_args *args,
                          enum placement *placement)
{
    struct err err;
    char options[PLAN_OPTIONS_MAX];
    struct plan plan = {0};
    const unsigned workers = args->workers ? (unsigned)args->workers : plan_default_workers(topo);
    if (args->background || plan_options_format(&args->plan, options, sizeof(options))[0] ||
        !topo->is_this_machine || !place_find_measured(topo, workers, args->job, &args->measured))
        return false;
    struct place_args measured = *args;
    measured.background = args->measured.background;
    measured.plan = args->measured.plan;
    if (measured.plan.cpus)
        measured.plan.cpus = args->measured.cpus;
    *placement = args->measured.placement;
    const bool usable = !make_plans(topo, &measured, placement, 1, &plan, &err) &&
                        plan.status == PLAN_OK &&
                        (args->emit != EMIT_K8S || placement_infos[*placement].pinned);
    plan_free(&plan);
    if (!usable)
        return false;
    args->plan = measured.plan;
    args->background = measured.background;
    text_set(args->note, "%s", place_format_measured(&args->measured));
    return true;
}

/*
 * Without a named placement: the one recommended by a result, else the nearest, the first that this
 * machine supports: memory near CPUs and GPU before slices of CPUs before a limit on threads.
 */
static int take_default(const struct topo *topo, struct place_args *args, enum placement *placement,
                        struct err *err)
{
    static const enum placement nearest[] = {PLACE_GPU_LOCAL, PLACE_NUMA, PLACE_PARTITION,
                                             PLACE_SIZED};
    struct plan plan = {.status = PLAN_SKIPPED};
    int rc = 0;
    if (!take_measured(topo, args, placement)) {
        for (size_t i = 0; i < 4 && !rc && plan.status == PLAN_SKIPPED; i++) {
            plan_free(&plan);
            *placement = nearest[i];
            rc = make_plans(topo, args, placement, 1, &plan, err);
        }
        plan_free(&plan);
        text_set(args->note, "%s",
                 place_format_nearest(placement_infos[*placement].name, args->job));
    }
    if (!rc)
        log_info("%s", args->note);
    return rc;
}

/* A kubelet needs a core for the system. If the plan leaves no core free, reserves one. */
static void choose_for_kubelet(const struct topo *topo, const struct place_args *args,
                               struct plan *plan, struct findings *findings)
{
    static const struct finding finding = {
        .id = "core_reserved",
        .severity = FINDING_NOTE,
        .subject = "reserve",
        .sentence = "one core is reserved for the system, as with --reserve "
                    "1: a kubelet without one gives no pod exclusive CPUs"};
    struct place_args reserving = *args;
    struct plan smaller = {0};
    struct err why;
    if (args->emit != EMIT_K8S || args->plan.reserve || emit_leaves_core(topo, plan))
        return;
    reserving.plan.reserve = 1;
    if (make_plans(topo, &reserving, &plan->placement, 1, &smaller, &why) ||
        smaller.status != PLAN_OK) {
        plan_free(&smaller);
        return; /* emit_text says what is missing */
    }
    plan_free(plan);
    *plan = smaller;
    findings_put(findings, &finding);
}

/* The text contains findings about the plan. Findings about this process go only to stderr. */
static int print_text(const struct topo *topo, struct plan *plan, const struct place_args *args)
{
    struct err err = {0};
    struct findings findings = {0};
    choose_for_kubelet(topo, args, plan, &findings);
    struct emit_job job = job_of(topo, plan, args);
    plan_check(topo, plan, &findings);
    job.findings = &findings;
    char *text = emit_text((enum emit_format)args->emit, &job, &err);
    if (text && args->note[0])
        place_print_noted(text, args->note);
    else if (text)
        (void)fputs(text, stdout);
    if (text) {
        find_here(topo, plan, &findings);
        log_findings(&findings);
    }
    if (!text || findings_check(&findings, &err))
        log_error("%s", err.msg);
    free(text);
    findings_free(&findings);
    return err.code ? EXIT_USAGE : cmd_finish();
}

/* Impossible plans are printed, too, with the reason, if another is possible. */
static int print(const struct topo *topo, struct plan *plans, int n, const struct place_args *args)
{
    bool any = false;
    for (int i = 0; i < n; i++)
        any = any || plans[i].status == PLAN_OK;
    int code = args->json                    ? print_json(topo, plans, n)
               : !any                        ? EXIT_GOOD
               : args->emit != EMIT_COMMANDS ? print_text(topo, plans, args)
                                             : print_plans(topo, plans, n, args);
    for (int i = 0; i < n && !any; i++)
        log_error("no plan for %s: %s", placement_infos[plans[i].placement].name, plans[i].reason);
    return any || code ? code : EXIT_USAGE;
}

static int place(struct place_args *args)
{
    struct err err = {0};
    enum placement placements[PLACEMENTS] = {PLACE_NONE};
    struct plan plans[PLACEMENTS] = {0};
    struct topo topo = {0};
    int code = EXIT_USAGE;
    int n = args->placement ? placement_parse_list(args->placement, placements, &err) : 1;
    int rc = n < 0 ? n : 0;
    if (!rc && args->emit != EMIT_COMMANDS && (args->json || n > 1))
        rc = err_set(&err, -EINVAL, "%s",
                     args->json ? "--emit and --json exclude each other"
                                : "--emit takes one placement");
    if (!rc)
        rc = load(args, &topo, &err);
    if (!rc && !args->placement)
        rc = take_default(&topo, args, placements, &err);
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

static int place_main(const struct cmd_env *env, int argc, char **argv)
{
    struct place_args args = {0};
    struct cli cli;
    int code, options = 0;
    while (options < argc && strcmp(argv[options], "--") != 0)
        options++;
    if (!cmd_parse(env, &place_command, options, argv, &args, &cli, &code))
        return code;
    if (options + 1 < argc)
        args.job = (const char *const *)&argv[options + 1];
    struct neighbours jobs = {0};
    struct err err = {0};
    int rc = args.jobs.n ? neighbours_parse(&args.jobs, &jobs, &err) : 0;
    if (!rc && args.jobs.n && (args.job || args.workers || !args.placement))
        rc = err_set(&err, -EINVAL, "--job needs -P, and takes the place of -n and of a command");
    if (args.jobs.n) {
        args.neighbours = &jobs;
        args.workers = neighbours_workers(&jobs);
    }
    if (rc)
        log_error("%s", err.msg);
    code = rc ? EXIT_USAGE : place(&args);
    neighbours_free(&jobs);
    return code;
}

const struct command place_command = {
    .name = "place",
    .group = "Fix",
    .main = place_main,
    .summary = "the plan for N workers, and the commands that apply it",
    .about =
        "Prints the plan for N workers, and the commands that apply it to your job. Type the job "
        "after '--'; {worker}, {workers}, {threads}, {gpu}, {cpus}, {node} and {port}, a free "
        "port, in it are replaced.",
    .operands = "[-- COMMAND [ARGUMENT...]]",
    .opts = place_opts,
    .examples = {{"contend place -n 4 -P partition", "four workers on cores of their own"},
                 {"contend place --emit slurm -- ./train", "a batch file for your job"}},
};
