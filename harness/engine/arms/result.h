/*
 * The product of a run, before any statistics: arms, and one observation per arm and round.
 * run.c fills these; lib/stats/stats.c, rows/row.c and the writers only read them.
 */
#ifndef CONTEND_ENGINE_ARMS_RESULT_H
#define CONTEND_ENGINE_ARMS_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/contract/bench.h"
#include "harness/contract/cpu_samples.h"
#include "harness/contract/dose.h"
#include "harness/engine/arms/variant.h"
#include "harness/engine/worker/usage.h"
#include "harness/lib/base/bitset.h"
#include "harness/lib/base/err.h"
#include "harness/lib/sys/tree.h"
#include "harness/machine/gpu/watch.h"
#include "harness/plan/placement/plan.h"

/* How a worker, an observation or a row ended; worse is larger. */
enum status {
    STATUS_OK,
    STATUS_NOISY,    /* measured, but the machine was disturbed: steal or GPU throttling */
    STATUS_CENSORED, /* a step did not end within the limit: times are lower bounds */
    STATUS_SKIPPED,  /* could not be measured here, for a stated reason */
    STATUS_FAILED,
    STATUS_HUNG, /* no progress outside of a step, such as in setup */
    STATUSES
};
const char *status_name(enum status status);
/* STATUS_FAILED for an unknown name. */
enum status status_find(const char *name);

struct worker_result {
    enum status status;
    struct err err; /* why not ok */
    bool background;
    char library[BENCH_LIBRARY_MAX]; /* that it loaded at run time, "NCCL 2.28.9"; "" = none */
    int64_t pid;
    char host[64];                  /* of a rank of a job; "" = this one, where there is no job */
    struct bitset cpus_actual;      /* read back in the worker, all its threads together */
    struct bitset cpus_threads;     /* the same once more at the end, where OpenMP was told to bind
                                       threads and left them only a part; else empty */
    unsigned least_team;            /* threads in its smallest OpenMP team; 0 = it made none */
    struct bitset mem_nodes_actual; /* read back by get_mempolicy; empty = default policy */
    enum mem_policy mem_policy_actual;
    uint64_t go_ns, end_ns; /* end of its last measured step */
    size_t nsamples;
    struct sample *samples; /* owned; of the background from go on; a censored last one has
                               elapsed_ns = time until the limit */
    bool censored;          /* the last sample is a lower bound */
    /*
     * For a user's command: threads bound as nobody planned, output that was cut, and runs that
     * were killed as they did not end.
     */
    unsigned nmasks;
    struct tree_mask masks[TREE_MASKS];
    uint64_t cut_bytes;
    unsigned killed;
    struct usage usage;
    struct stage_sums stages;
    size_t nstaged;
    struct stage_step *staged; /* owned: of its first samples, with a trace; not in a job */
    uint64_t pages_on_node[BENCH_NODES]; /* of the published buffer, by os_node */
    uint64_t pages_elsewhere;            /* not present, or the kernel would not say */
    size_t nvalues;
    struct value *values; /* owned: what a scan emitted, in that order */
    size_t nreasons;
    struct err *reasons; /* owned: why some of them are absent */
    size_t ncpu_samples;
    struct cpu_sample_point {
        uint64_t at_ns;
        unsigned thread;
        unsigned os_cpu;
    } * cpu_samples; /* owned, sorted by time; only of the first round */
};

/* One arm in one round. */
/* Where the time of an observation goes, one after the other; until the last worker is through. */
enum phase {
    PHASE_START,   /* processes are made, and their programs loaded */
    PHASE_SETUP,   /* inputs, buffers, the GPU */
    PHASE_WARM_UP, /* steps that do not count, and turns at that */
    PHASE_SETTLE,  /* the same together */
    PHASE_MEASURE,
    PHASE_CHECK, /* is the result right? */
    PHASE_END,   /* memory and processes go */
    PHASES
};
const char *phase_name(enum phase phase);

struct observation {
    double took_s;          /* from before its workers were started until all had ended */
    double phase_s[PHASES]; /* 0 = it had none */
    unsigned round, order;  /* order: position of the arm in this round's shuffle */
    unsigned slot;      /* in the plan, of its first worker: whose slice a baseline had; else 0 */
    enum status status; /* the worst of its workers, or noisy */
    char reason[256];
    unsigned nworkers; /* foreground, then background */
    struct worker_result *workers;
    double steal;                     /* share of the arm's CPU time stolen; NaN = unknown */
    double foreign_cpu;               /* share used by processes that are not our workers; or NaN */
    double psi_cpu_some;              /* share of wall time in which a task waited; or NaN */
    double gpu_clock_mhz, gpu_temp_c; /* means over the GPUs in use at the end; NaN = unknown */
    uint64_t gpu_throttle_reasons;    /* NVML bits, or of all GPUs in use */
    unsigned ngpus;
    struct gpu_change *gpus; /* owned: of the GPUs in use, what changed meanwhile */
    uint64_t start_ns;       /* of the go signal */
};

/* One (scenario, params, workers, placement, variant) cell. */
struct arm {
    const struct bench *bench; /* borrowed, as the params; equal pointers mean equal parameters */
    const void *params;
    const struct variant *variant; /* borrowed; NULL = none, as everywhere but in an ab */
    enum placement placement;
    unsigned workers; /* foreground: planned workers, or 1 for a baseline of workers that run by
                         themselves */
    unsigned planned_workers; /* the machine is planned for this many foreground workers */
    bool alone; /* baseline, on the idle machine: one worker of the plan for `planned_workers`, each
                   in its turn (arms_slot), or, where it is a scan `gang`, all of them without the
                   background */
    bool idle;  /* it is not measured in the coming round: a search has no use for it */
    double limit_s;   /* a step is cut off after so long, where the run's own limit is longer; 0 =
                         by that alone */
    double cpu_max;   /* CPUs whose time each of its workers gets; 0 = no quota */
    struct dose dose; /* of contention, which the last worker of its plan gives the others; idle =
                         none */
    bool canary; /* shows how the machine itself is, beside the arms of a run: behind them all */
    int same_as; /* index of an earlier baseline with the identical plans, else -1 */
    struct plan plan; /* whole plan for `planned_workers`, background included */
    size_t nobservations;
    struct observation *observations; /* finished ones, in round order */
    size_t norders;
    unsigned *orders; /* of an arm from files, by round: observation.order; owned by its reader */
};

/* Who chose the arms, and so what is said of them. */
enum purpose {
    PURPOSE_RUN,    /* a scenario's placements, or variants: `contend run`, `bench`, `ab` */
    PURPOSE_TUNE,   /* settings under search, and fresh rounds of a few: verdict/search/tune.h */
    PURPOSE_SIZING, /* the same workers with more and more cores: verdict/search/sizing.h */
    PURPOSE_DOSE,   /* the same under more and more contention: verdict/search/dosing.h */
    PURPOSES
};
/* "run", "tune", "sizing", "dose"; of another name PURPOSE_RUN. */
const char *purpose_name(enum purpose purpose);
enum purpose purpose_find(const char *name);

struct result {
    enum purpose purpose;
    char run_id[64];
    const char *scenario;           /* name */
    const char *program;            /* as a shell finds it from here; NULL = "contend" */
    enum device device;             /* of the arms whose benchmark needs one or its stand-in */
    enum device transport;          /* of the arms of collectives: nccl or mpi */
    const struct bench *background; /* that only makes load; NULL = none */
    struct variants *variants;      /* of an ab, borrowed; NULL = of none */
    char **command;                 /* of the user, that all arms run, borrowed; or NULL */
    char plan_options[300];         /* what all plans were told, as on a command line */
    unsigned rounds_planned, rounds_done;
    unsigned rounds_least; /* behind so many, none that would end more than rounds_s after the */
    double rounds_s;       /* start: fewer are planned then; 0 = all are measured */
    bool solo_turns;       /* in each round one of the baselines of as many workers */
    bool until_clear;      /* rounds end when what they show is clear (verdict/advice/clear.h): what
                              is told of them holds whenever that is */
    uint64_t seed;
    double within; /* a share: who is so near to the best is as good; 0 = RESULT_WITHIN */
    size_t narms;
    struct arm *arms;
};

/* In front of the name of a setting that a search measures again, for proof
 * (verdict/search/tune.h). */
#define ARM_FRESH "fresh."
bool arm_is_fresh(const struct arm *arm);
/* Its setting: "partition", or the name of its variant, without that mark. */
const char *arm_name(const struct arm *arm);

/* The place of the arm in the order of that round; 0 where it was not in it. */
unsigned arm_order(const struct arm *arm, unsigned round);

/* Workers that make load behind the arm's own, or give them a dose: 0 for a baseline. */
unsigned arm_background(const struct arm *arm);

/* Its dose is a quota of CPU time, which its workers have cgroups for. */
bool arm_is_throttled(const struct arm *arm);

/* The plan of one of its workers; NULL: the plan does not have it. */
const struct plan_worker *
observation_planned(const struct arm *arm, const struct observation *observation, unsigned worker);

/* Some of its arms have a dose: its background is the benchmark that gives them. */
bool result_has_doses(const struct result *result);

/* The dose that all of its measured arms but baselines have; NULL = none, or not one for all. */
const struct dose *result_dose(const struct result *result);

#define RESULT_WITHIN 0.05
double result_within(const struct result *result);

/* How many of the arms are the run's own: those that watch the machine stand behind them. */
size_t result_measured(const struct result *result);

/* The next larger number of workers among arms with steps; 0 = there is none. */
unsigned result_next_workers(const struct result *result, unsigned after);

void observation_free(struct observation *observation);

/* The device column of an arm: see bench_device. */
enum device arm_device(const struct result *result, const struct arm *arm);

#endif
