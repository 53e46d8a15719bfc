/* Turns options, topology and scenario into the arms and times of a run. */
#ifndef CONTEND_ENGINE_SETUP_H
#define CONTEND_ENGINE_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/engine/arms.h"
#include "harness/engine/contract/command_load.h"
#include "harness/engine/contract/scenario.h"
#include "harness/engine/observe.h"
#include "harness/lib/opt.h"
#include "harness/machine/topo.h"
#include "harness/plan/options.h"

enum { RUN_WORKERS_MAX = 1024 }; /* the largest worker count */

enum profile { PROFILE_QUICK, PROFILE_STANDARD, PROFILE_FULL };

struct run_options {
    const char *workers;    /* list of counts, or "auto" */
    const char *placements; /* list, or NULL = the scenario's */
    int profile;            /* enum profile */
    int64_t rounds;         /* 0 = the profile's */
    double time_s;          /* measured per arm; 0 = the profile's */
    double warmup_s, limit_s;
    double setup_limit_s;
    int64_t seed;                     /* 0 = drawn */
    int device;                       /* 0 auto, 1 sim, 2 cuda */
    const char *begin, *end, *factor; /* sizes, as parameters of the measured benchmark */
    const char *background;
    int64_t background_workers;
    const char *dose; /* "cpu=20%", for all arms; with `arrange` a list; NULL = none */
    const char *out, *host;
    unsigned ranks, ranks_here; /* of a job: all, and those on this machine; 0 = no job */
    bool no_baselines, no_control, no_plots, json, dry_run;
    struct opt_texts variants; /* ab: its variants; there are no baselines then */
    double threshold;          /* ab: in percent */
    double max_time_s;         /* ab, tune: of all rounds; run: of all scenarios, 0 = the
                                  profile's */
    double budget_s;     /* run: its longest time, roughly, figures included; 0 = the profile's */
    const char *fail_on; /* ab: "slower,missing" */
    const char *junit;   /* ab: a file, or NULL */
    bool markdown;       /* ab */
    bool verbose;        /* print details at the end */
    bool force;          /* --out may replace a run of another command */
    bool strict;         /* a busy machine has an exit code of its own */
    int bind;            /* 0 mask, 1 cgroup */
    double cpu_max;      /* quota of each worker, in CPUs; 0 = no quota */
    struct cpu_priority priority[2]; /* of foreground and background workers */
    const char *trace;               /* a file; or NULL */
    struct plan_options plan;
    struct topo_options topo;
    const char *try_threads, *try_reserve, *try_wait; /* tune: lists; NULL = its defaults */
    bool verify;                                      /* predict: measure what was predicted */
    bool cores;                    /* tune: find how many cores workers need, without a search */
    const char *try_cores;         /* list of core counts; NULL = tune chooses */
    const struct arrange *arrange; /* chooses the arms of the scenario's only part; or NULL */
    /*
     * The user's commands, borrowed: none, one that all arms run, or in an ab one per variant. If
     * there are any, a part's benchmark is one of engine/worker/command_bench.h.
     */
    char **commands[VARIANTS_MAX];
    size_t ncommands;
    struct command_options command;      /* of all commands */
    bool sample;                         /* the sample worker is the command */
    struct opt_texts jobs;               /* run: unlike jobs in place of one command */
    const char *protect;                 /* with jobs: "server_p99 10%" */
    const struct neighbours *neighbours; /* these jobs, parsed; NULL = none */
};

/* One scenario, resolved: everything a run needs. Zeroed = empty; free with run_setup_free. */
struct run_setup {
    const struct scenario *scenario;
    struct variants variants; /* n = 0: no ab */
    /* By variant (0 if there are none) and part; the arms borrow these. */
    unsigned char params[VARIANTS_MAX][SCENARIO_PARTS_MAX][BENCH_PARAMS_MAX];
    unsigned char background_params[BENCH_PARAMS_MAX];
    struct user_command command; /* its options, and the first of options->commands */
    struct slo slo;              /* that result borrows, if there is one */
    struct bench command_bench;  /* its benchmark, if the user names a unit or metrics */
    struct bench_metric command_metrics[COMMAND_BENCH_METRICS];
    char server_cpus[BITSET_BITS * 5]; /* list of those that its clients leave */
    struct cgroups cgroups;            /* config borrows it, and `kept` */
    struct kept kept;
    struct observe_config config;
    struct result result; /* arms planned, nothing observed */
    double expected_s;    /* estimate for the whole run */
};

/* -EINVAL: no benchmark has that name. */
int run_setup_find_bench(const struct bench *const *benches, const char *name,
                         const struct bench **bench, struct err *err);

/*
 * Decides device, worker counts, placements, parameters and times, and plans every arm. Uses only
 * the -p parameters of `cli`. -EINVAL and similar errors: one message that names the value; nothing
 * was started.
 */
int run_setup_make(const struct bench *const *benches, const struct scenario *scenario,
                   const struct run_options *options, const struct cli *cli,
                   const struct topo *topo, struct run_setup *setup, struct err *err);

/* Checks commands, if there are any, and their options. -EINVAL: a message that names the value. */
int setup_commands(const struct run_options *options, struct run_setup *setup, struct err *err);

/*
 * With --keep: refuses what a server that runs on cannot follow (-EINVAL), and skips arms that are
 * more than CPUs. Needs all arms but controls.
 */
int setup_keep(struct run_setup *setup, struct err *err);

/* Their benchmark, with the user's unit and metrics; NULL: `name` is no such benchmark. */
const struct bench *setup_command_bench(const struct run_options *options, const char *name,
                                        struct run_setup *setup);

void run_setup_free(struct run_setup *setup);

#endif
