/* Options + topology + scenario -> arms and times: what a run is told, and what that means here. */
#ifndef CONTEND_ENGINE_RUN_SETUP_H
#define CONTEND_ENGINE_RUN_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/contract/scenario.h"
#include "harness/engine/arms/arms.h"
#include "harness/engine/run/observe.h"
#include "harness/lib/base/cli.h"
#include "harness/machine/topo/topo.h"
#include "harness/plan/placement/options.h"

enum { RUN_WORKERS_MAX = 1024 }; /* of one worker count */

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
    const char *dose; /* "cpu=20%": of all arms; of an arrangement a list; NULL = none */
    const char *out, *host;
    unsigned ranks, ranks_here; /* of a job, and of them on this machine; 0 = not in a job */
    bool no_baselines, no_canary, no_plots, json, dry_run;
    struct opt_texts variants; /* of an ab, which then has no baselines */
    double threshold;          /* of an ab, in percent */
    double max_time_s;         /* of an ab or a tune: of all its rounds; of a run: of all its
                                  scenarios, 0 = as the profile says */
    double budget_s; /* of a run: about so long it takes at most, its figures included; 0 = as the
                        profile says */
    const char *fail_on; /* of an ab: "slower,missing" */
    const char *junit;   /* a file, of an ab; or NULL */
    bool markdown;       /* of an ab */
    bool verbose;        /* details in what is printed at the end */
    bool strict;         /* a machine too busy for evidence has an exit code of its own */
    int bind;            /* 0 mask, 1 cgroup */
    double cpu_max;      /* CPUs whose time each worker gets; 0 = no quota */
    const char *trace;   /* a file; or NULL */
    struct plan_options plan;
    struct topo_options topo;
    const char *try_threads, *try_reserve, *try_wait; /* of a tune: lists; NULL = its own */
    bool cores;                    /* of a tune: how many cores workers need, and no search */
    const char *try_cores;         /* counts of those, a list; NULL = chosen */
    const struct arrange *arrange; /* or NULL; chooses the arms of the scenario's one part */
    /*
     * Commands of the user, borrowed: none, one that all arms run, or of an ab one a variant. With
     * them a part's benchmark is one of engine/command/command_bench.h.
     */
    char **commands[VARIANTS_MAX];
    size_t ncommands;
    struct command_options command; /* of all of them */
    bool sample;                    /* the sample worker is the command */
};

/* One scenario, resolved: everything a run needs. Zeroed = empty; free with run_setup_free. */
struct run_setup {
    const struct scenario *scenario;
    struct variants variants; /* n = 0: of none */
    /* By variant (the first alone where there are none) and part; the arms borrow them. */
    unsigned char params[VARIANTS_MAX][SCENARIO_PARTS_MAX][BENCH_PARAMS_MAX];
    unsigned char background_params[BENCH_PARAMS_MAX];
    struct user_command command; /* of options->commands, in part */
    struct bench command_bench;  /* and its benchmark, where that has the user's unit */
    char command_unit[COMMAND_UNIT_MAX];
    struct cgroups cgroups; /* the configuration borrows it */
    struct observe_config config;
    struct result result; /* arms planned, nothing observed */
    double expected_s;    /* estimate of the whole run */
};

/* -EINVAL: there is none of that name. */
int run_setup_find_bench(const struct bench *const *benches, const char *name,
                         const struct bench **bench, struct err *err);

/*
 * Decides device, worker counts, placements, parameters and times, and plans every arm. Of
 * `cli` only the -p parameters count. -EINVAL and kin: one message that names the value; nothing
 * was started.
 */
int run_setup_make(const struct bench *const *benches, const struct scenario *scenario,
                   const struct run_options *options, const struct cli *cli,
                   const struct topo *topo, struct run_setup *setup, struct err *err);
void run_setup_free(struct run_setup *setup);

#endif
