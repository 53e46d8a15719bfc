/*
 * The product of a run, before any statistics: arms, and one observation per arm and round.
 * run.c fills these; lib/stats.c, record/row.c and the writers only read them.
 */
#ifndef CONTEND_ENGINE_RESULT_H
#define CONTEND_ENGINE_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/engine/contract/bench.h"
#include "harness/engine/contract/device.h"
#include "harness/engine/contract/neighbours.h"
#include "harness/engine/worker/usage.h"
#include "harness/lib/bitset.h"
#include "harness/lib/dose.h"
#include "harness/lib/err.h"
#include "harness/lib/opt.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/task.h"
#include "harness/machine/gpu_watch.h"
#include "harness/plan/options.h"
#include "harness/plan/plan.h"

/*
 * Variants: changes between arms that are otherwise the same. Pure.
 *
 * A variant of `contend ab` comes from one or more texts such as
 * "patient=env:OMP_WAIT_POLICY=passive" with the same name; a name alone changes nothing. The first
 * variant is the base of all comparisons. A search makes variants of its own, which set `plan`.
 */
enum {
    VARIANTS_MAX = 8,
    VARIANT_NAME_MAX = 32,
    VARIANT_READ_BACK_MAX = 200,
    VARIANT_THREADS_MAX = 4096
};

struct variant {
    /*
     * Letters, digits, '_', '-', '+' and '.'; a user's name is shorter than VARIANT_NAME_MAX. That
     * of a search says what `plan`, `fewer` and `is_fresh` are, and is for files and people only.
     */
    char name[VARIANT_NAME_MAX + 16];
    /* Of an ab only threads, also from OMP_NUM_THREADS; of a search all options of its plans. */
    struct plan_options plan;
    unsigned fewer;          /* of plan.reserve: cores that only the fresh rounds keep free */
    bool is_fresh;           /* measured again to confirm it (verdict/runs/tune.h) */
    struct opt_texts env;    /* "VAR=VALUE" for its workers, before the plan's; "VAR" = unset */
    char library[512];       /* one of env, from lib:nccl=PATH; "" = none */
    struct opt_texts params; /* "K=V" */
    const char *placement;   /* NULL = as the other variants */
    double cpu_max;          /* quota of each worker, in CPUs; 0 = as the others */
    struct cpu_priority priority[2]; /* of foreground and background; 0 = as the others */
    const char *before, *after;      /* for /bin/sh -c, around each observation; or NULL */
    const char *check;               /* the same: prints the state that they change; or NULL */
    const char *build;               /* path of another program; NULL = this one */
    unsigned given;                  /* kinds of change, as bits */
    char **argv; /* words of a command, borrowed; NULL = the same for all, or none */
};

/*
 * The variants that are compared, and the least change that counts. Zeroed = none. Borrows the
 * texts.
 */
struct variants {
    size_t n;
    struct variant all[VARIANTS_MAX];
    double threshold; /* a smaller change than this share is SAME */
    double clock_s;   /* cost of a clock reading: a smaller change of a time is SAME */
    /* First line of `check`: at first, after `before`, and at the end. "" = none. */
    struct variant_state {
        char initial[VARIANT_READ_BACK_MAX], during[VARIANT_READ_BACK_MAX],
            final[VARIANT_READ_BACK_MAX];
    } state[VARIANTS_MAX];
};

/* -EINVAL: one message that names the text, or that a second variant is needed. */
int variants_parse(const struct opt_texts *texts, struct variants *variants, struct err *err);

/*
 * Refuses a library that is no readable file: most benchmarks load none, and would never report a
 * wrong path. A name without '/' is left to the loader, which searches its directories.
 */
int variants_check_libraries(const struct variants *variants, struct err *err);

bool variants_any_build(const struct variants *variants);
/* True if it changes nothing, or the placement alone. */
bool variant_only_places(const struct variant *variant);

/*
 * Names a variant of a search: "fresh.partition+4t+r2+passive+3w-4" is measured again, has teams of
 * 4 threads, keeps 2 cores free and 4 more, its threads wait asleep, and there are 3 workers (0:
 * not part of the name). The reverse, for names in files; it also reads "cores-4".
 */
void variant_put_name(struct variant *variant, enum placement placement, unsigned workers);
void variant_take_name(struct variant *variant, enum placement placement, const char *name);
/* The name without "fresh.". */
const char *variant_setting(const struct variant *variant);

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
    char library[BENCH_LIBRARY_MAX]; /* loaded at run time, "NCCL 2.28.9"; "" = none */
    int64_t pid;
    char host[64];                  /* of a rank of a job; "" = this host, no job */
    struct bitset cpus_actual;      /* read back in the worker: union over its threads */
    struct bitset cpus_threads;     /* read back again at the end, if OpenMP was told to bind
                                       threads and narrowed their masks; else empty */
    unsigned least_team;            /* threads in its smallest OpenMP team; 0 = no team */
    struct bitset mem_nodes_actual; /* read back by get_mempolicy; empty = default policy */
    enum mem_policy mem_policy_actual;
    uint64_t go_ns, end_ns; /* end of its last measured step */
    size_t nsamples;
    struct sample *samples; /* owned; of the background: from go on. A censored last sample has
                               elapsed_ns = time until the limit */
    bool censored;          /* the last sample is a lower bound */
    /*
     * For a user's command: threads whose binding differs from the plan, bytes of output that were
     * dropped, and runs that were killed because they did not end.
     */
    unsigned nmasks;
    struct tree_mask masks[TREE_MASKS];
    uint64_t cut_bytes;
    unsigned killed;
    unsigned repeated; /* of a client: metrics that matched several times (command_numbers.h) */
    struct usage usage;
    struct stage_sums stages;
    size_t nstaged;
    struct stage_step *staged; /* owned: stages of the first samples, with a trace; not in a job */
    uint64_t pages_on_node[BENCH_NODES]; /* of the published buffer, by os_node */
    uint64_t pages_elsewhere;            /* not present, or unknown */
    size_t nvalues;
    struct value *values; /* owned: values of a scan, in the order of emission */
    size_t nreasons;
    struct err *reasons; /* owned: why some values are absent */
    size_t ncpu_samples;
    struct cpu_sample_point {
        uint64_t at_ns;
        unsigned thread;
        unsigned os_cpu;
    } * cpu_samples; /* owned, sorted by time; only of the first round */
};

/* Consecutive parts of an observation's time; each lasts until the last worker has left it. */
enum phase {
    PHASE_START,   /* create processes, load their programs */
    PHASE_SETUP,   /* inputs, buffers, the GPU */
    PHASE_WARM_UP, /* uncounted steps, one worker after the other if they share CPUs */
    PHASE_SETTLE,  /* uncounted steps of all workers together */
    PHASE_MEASURE,
    PHASE_CHECK, /* verify results */
    PHASE_END,   /* free memory, end processes */
    PHASES
};
const char *phase_name(enum phase phase);

/* One arm in one round. */
struct observation {
    double took_s;          /* from before the first worker's start until all have ended */
    double phase_s[PHASES]; /* 0 = no such phase */
    unsigned round, order;  /* order: position of the arm in this round's shuffle */
    unsigned slot;      /* plan index of its first worker: whose slice a baseline used; else 0 */
    enum status status; /* the worst of its workers, or noisy */
    char reason[256];
    unsigned nworkers; /* foreground, then background */
    struct worker_result *workers;
    double steal;                     /* share of the arm's CPU time stolen; NaN = unknown */
    double foreign_cpu;               /* share used by processes that are not our workers; or NaN */
    double psi_cpu_some;              /* share of wall time in which a task waited; or NaN */
    double gpu_clock_mhz, gpu_temp_c; /* means over the GPUs in use at the end; NaN = unknown */
    uint64_t gpu_throttle_reasons;    /* NVML bits, ORed over the GPUs in use */
    unsigned ngpus;
    struct gpu_change *gpus; /* owned: changes of the GPUs in use */
    uint64_t start_ns;       /* of the go signal */
};

/* One (scenario, params, workers, placement, variant) cell. */
struct arm {
    const struct bench *bench; /* borrowed, as params; equal pointers mean equal parameters */
    const void *params;
    const struct variant *variant; /* borrowed; NULL = none */
    enum placement placement;
    unsigned workers; /* foreground: planned_workers, or 1 for a baseline of independent workers */
    unsigned planned_workers; /* the machine is planned for this many foreground workers */
    bool is_baseline; /* on the idle machine: one worker of the plan for `planned_workers`, in
                   turns (arms_slot); of a scan `gang`, all workers without the background */
    bool idle;        /* not measured in the next round: a search or the verdict does not need it */
    double limit_s;   /* a step is cut off after this time, if the run's limit is not shorter; 0 =
                         only the run's limit */
    double cpu_max;   /* quota of CPU time of each worker, in CPUs; 0 = no quota */
    struct cpu_priority priority[2]; /* of foreground and background workers */
    struct dose dose; /* of contention, applied by the last worker of its plan; idle = none */
    bool is_control;  /* it shows the state of the machine; after all other arms */
    unsigned alone;   /* of neighbours: 1 + the only job that runs; 0 = all of them */
    int same_as;      /* index of an earlier baseline with the identical plans, else -1 */
    struct plan plan; /* for all `planned_workers`, background included */
    size_t nobservations;
    struct observation *observations; /* finished ones, in round order */
    size_t norders;
    unsigned *orders; /* observation.order by round, of an arm from files; owned by its reader */
};

/* What chose the arms; reports differ by it. */
enum purpose {
    PURPOSE_RUN,     /* a scenario's placements, or variants: `contend run`, `bench`, `ab` */
    PURPOSE_TUNE,    /* settings under search, and fresh rounds of a few: verdict/runs/tune.h */
    PURPOSE_SIZING,  /* the same workers with more and more cores: verdict/runs/sizing.h */
    PURPOSE_DOSE,    /* the same under more and more contention: verdict/runs/dosing.h */
    PURPOSE_MIX,     /* unlike jobs at once, on more and fewer cores: verdict/runs/mix.h */
    PURPOSE_PREDICT, /* one and two workers, then what was predicted: verdict/runs/predict.h */
    PURPOSES
};
/* "run", "tune", "sizing", "dose", "mix", "predict"; PURPOSE_RUN for an unknown name. */
const char *purpose_name(enum purpose purpose);
enum purpose purpose_find(const char *name);
/* After each round it decides whether there is another, and which arms that has. */
bool purpose_decides(enum purpose purpose);

/* A process that is not ours, and its share of the time of all CPUs during the run. */
#define RESULT_OTHERS_LEAST 0.02
enum { RESULT_OTHERS = 3 };
struct other_process {
    int64_t pid;
    double share;
    char command[TASK_NAME_MAX]; /* the kernel's name of it; may hold any character */
};

struct result {
    enum purpose purpose;
    char run_id[64];
    const char *scenario;           /* name */
    const char *program;            /* contend, as a shell finds it; NULL = "contend" */
    enum device device;             /* of arms whose benchmark needs a device or its simulation */
    enum device transport;          /* of the arms of collectives: nccl or mpi */
    const struct bench *background; /* that only generates load; NULL = none */
    struct variants *variants;      /* of an ab, borrowed; NULL = none */
    const struct slo *slo;          /* a bound on one of its numbers, borrowed; NULL = none */
    const struct neighbours
        *neighbours;           /* whose workers differ, borrowed; NULL = all do the same */
    char **command;            /* the user's, which all arms run, borrowed; or NULL */
    struct plan_options plan;  /* of all plans; borrows its text */
    struct bitset client_cpus; /* of programs that load the command; empty = none */
    struct bitset kept_cpus;   /* on which servers start that are kept; empty = none are */
    unsigned kept_deaths;      /* failed observations of these */
    bool on_nodes;             /* the machine has several NUMA nodes */
    unsigned rounds_planned, rounds_done;
    unsigned rounds_least; /* after these, no round is begun that would end after rounds_s */
    double rounds_s;       /* from the start, and fewer are planned; 0 = all are measured */
    double rounds_most_s;  /* nor one of these that would end after it; 0 = all are measured */
    bool solo_turns;       /* a round measures only one of the baselines of a worker count */
    bool until_clear;      /* rounds end when the result is clear (verdict/recommend.h) */
    uint64_t seed;
    double within; /* a setting within this share of the best is as good; 0 = RESULT_WITHIN */
    unsigned nothers;
    struct other_process others[RESULT_OTHERS]; /* the largest share first */
    size_t narms;
    struct arm *arms;
};

/* Names of arms in which one of several jobs runs alone begin so. */
#define ARM_ALONE "alone-"

/* A search measures it again to confirm it (verdict/runs/tune.h). */
bool arm_is_fresh(const struct arm *arm);
/* Its setting: "partition", or the name of its variant without "fresh.". */
const char *arm_name(const struct arm *arm);

/* The jobs of the arm, if its workers have different ones; else NULL, as of a control. */
const struct neighbours *arm_jobs(const struct result *result, const struct arm *arm);

/* The arm's observation of a round, or NULL. */
struct observation *arm_observation(const struct arm *arm, unsigned round);

/* The arm's position in the order of the round; 0 if it was not measured in it. */
unsigned arm_order(const struct arm *arm, unsigned round);

/* Seconds that observing the arms took, from that round on. */
double result_spent_s(const struct result *result, unsigned from);

/* How many workers generate background load or apply a dose: 0 for a baseline. */
unsigned arm_background(const struct arm *arm);

/* True if its dose is a quota of CPU time, for which its workers need cgroups. */
bool arm_is_throttled(const struct arm *arm);

/* The plan of one of the observation's workers; NULL if it is beyond the plan. */
const struct plan_worker *
observation_planned(const struct arm *arm, const struct observation *observation, unsigned worker);

/* True if arms have doses: the background is then the benchmark that applies them. */
bool result_has_doses(const struct result *result);

/* The dose of all measured arms except baselines; NULL if they have none or several. */
const struct dose *result_dose(const struct result *result);

#define RESULT_WITHIN 0.05
double result_within(const struct result *result);

/* How many arms are the run's own; the controls come after them. */
size_t result_measured(const struct result *result);

/* The smallest worker count above `after` among arms that are no scans; 0 = none. */
unsigned result_next_workers(const struct result *result, unsigned after);

void observation_free(struct observation *observation);

/* The device column of an arm: see bench_device. */
enum device arm_device(const struct result *result, const struct arm *arm);

#endif
