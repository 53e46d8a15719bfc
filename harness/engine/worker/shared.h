/*
 * The memory that a parent and its workers share for one observation: orders down, samples up.
 *
 * A memfd, inherited by file descriptor: it has no name, so nothing is left behind, no matter how
 * the processes end. Sparse: only pages that are written exist. Everything is plain data.
 */
#ifndef CONTEND_ENGINE_WORKER_SHARED_H
#define CONTEND_ENGINE_WORKER_SHARED_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/engine/contract/bench.h"
#include "harness/engine/contract/device.h"
#include "harness/engine/contract/peers.h"
#include "harness/engine/worker/command_bench.h"
#include "harness/engine/worker/usage.h"
#include "harness/lib/bitset.h"
#include "harness/lib/err.h"
#include "harness/plan/plan.h"

/*
 * A barrier for the workers of one role, in shared memory: the implementation of struct peers.
 *
 * The last rank to arrive releases the others. In a job (relay) each parent has one rank: the rank
 * posts its block and wakes its parent, which gathers the blocks of all ranks and then releases the
 * rank with barrier_release.
 */

enum { BARRIER_RANKS = 1024 };

/* Zeroed = empty. Sparse: pages of ranks that do not exist are never touched. */
struct barrier {
    uint32_t relay;
    _Atomic uint32_t arrived;   /* ranks that wait in the current barrier */
    _Atomic uint32_t completed; /* futex: number of completed barriers */
    _Atomic uint32_t posted;    /* relay: barriers for which our rank posted its block */
    uint32_t bytes;             /* relay: block size in the last of these */
    _Atomic uint32_t entered[BARRIER_RANKS]; /* by rank: barriers that it has entered */
    /* Two, alternating: a slow rank may still read the blocks of one while the next fills. */
    unsigned char block[2][BARRIER_RANKS][PEERS_BLOCK_MAX];
};

/* A rank's view of the barrier. */
struct barrier_rank {
    struct barrier *barrier;
    uint32_t next;           /* number of the barrier that this rank enters next */
    void (*wake)(void *arg); /* relay: tells the parent that a block is posted */
    void *wake_arg;
};

/* Fills *peers for the rank; *view stays in use. `size` is at most BARRIER_RANKS. */
void barrier_join(struct barrier *barrier, struct barrier_rank *view, unsigned rank, unsigned size,
                  struct peers *peers);

/* Parent: true while the rank waits for other ranks in a barrier. */
bool barrier_waits(const struct barrier *barrier, unsigned rank);

/*
 * For the parent, with relay. barrier_posted returns for how many barriers our rank has posted its
 * block; *bytes is the block size in the last one. barrier_block is where a rank's block is, our
 * own or one to be filled in before barrier_release.
 */
uint32_t barrier_posted(const struct barrier *barrier, uint32_t *bytes);
unsigned char *barrier_block(struct barrier *barrier, unsigned rank);
void barrier_release(struct barrier *barrier);

/*
 * How ranks that meet in every step agree on the last step without a barrier. A barrier between
 * steps would align the ranks and hide which ranks enter the next step late.
 *
 * Rank 0 decides before it begins a step whether that step is the last; all ranks ask after the
 * step. All get the same answer: no rank ends a step before rank 0 has entered it.
 *
 *   for (uint64_t step = 1;; step++) {
 *       if (rank == 0 && it is enough)
 *           step_limit_end_with(step_limit, step);
 *       run a step in which all ranks meet;
 *       if (step_limit_ends(step_limit, step))
 *           break;
 *   }
 */

/* In shared memory; zeroed = not decided. */
struct step_limit {
    _Atomic uint64_t last; /* 0 = not decided */
};

/* Rank 0, before it begins step `step` (from 1 on). */
static inline void step_limit_end_with(struct step_limit *step_limit, uint64_t step)
{
    atomic_store(&step_limit->last, step);
}

/* Any rank, after step `step`. */
static inline bool step_limit_ends(const struct step_limit *step_limit, uint64_t step)
{
    return atomic_load(&step_limit->last) == step;
}

enum { SHARED_SAMPLES = 1 << 18, SHARED_STAGED = 1 << 14, SHARED_BENCH_NAME_MAX = 64 };

/*
 * A worker's life. Only the worker writes its state. Ends that it cannot report are its parent's,
 * in struct worker_end: WORKER_FAILED when it died, WORKER_HUNG when it made no progress.
 */
enum worker_state {
    WORKER_LAUNCHED, /* forked; not yet in its main */
    WORKER_SETUP,    /* bound and read back; setting up */
    WORKER_PRIMED,   /* set up; waits for permission to warm up */
    WORKER_WARMING,  /* steps that do not count */
    WORKER_READY,    /* waits for go */
    WORKER_SETTLING, /* first steps of all together, which do not count */
    WORKER_RUNNING,  /* measured steps */
    WORKER_DONE,     /* measured; keeps the load up for the others */
    WORKER_CHECKING, /* told to stop; verifies the result */
    WORKER_FINISHED, /* all went well; about to exit */
    WORKER_SKIPPED,  /* cannot run here; err says why */
    WORKER_FAILED,   /* err says why */
    WORKER_HUNG,     /* no progress within the time limit */
    WORKER_STATES
};
const char *worker_state_name(enum worker_state state);

enum orders {
    ORDERS_NONE, /* wait, with the server */
    ORDERS_NEXT, /* here are those of another observation */
    ORDERS_END
};

struct shared_worker {
    /* Orders, written before the launch. */
    char bench[SHARED_BENCH_NAME_MAX];
    unsigned char params[BENCH_PARAMS_MAX];
    struct plan_worker plan;
    unsigned index, team;     /* index among `team` workers of the same role */
    unsigned planned_workers; /* worker count of the whole plan */
    enum device device;
    char pci_bdf[PCI_BDF_MAX];
    uint64_t seed, round_seed;
    struct bitset start_cpus; /* of a server that is kept */
    _Atomic uint32_t warm;    /* futex: 1 = may warm up */
    _Atomic uint32_t orders;  /* to a kept worker that has finished: enum orders */

    /* Report: written by the worker alone, which may end in the middle of a write. */
    _Atomic uint32_t state;                 /* enum worker_state */
    uint64_t since_ns[WORKER_FINISHED + 1]; /* when it entered each; 0 = never */
    struct err err;                         /* why SKIPPED or FAILED */
    struct bitset cpus_actual, mem_nodes_actual;
    struct bitset cpus_first;   /* of the first thread, when main began */
    struct bitset cpus_threads; /* of all threads, at the end */
    unsigned least_team;        /* as in struct worker_result */
    enum mem_policy mem_policy_actual;
    uint64_t go_ns, end_ns;
    uint64_t step_ops;             /* of the latest step, also in warm-up */
    _Atomic uint64_t step_started; /* start of the current measured call; 0 = none */
    _Atomic uint64_t nsamples;
    struct usage_snapshot at_go, at_end;
    char library[BENCH_LIBRARY_MAX];
    uint64_t pages_on_node[BENCH_NODES], pages_elsewhere;
    int64_t pid; /* as the worker sees it */
    struct command_report command;
    struct stage_sums stages;
    struct value_log values;
    struct cpu_samples cpu_samples;
    struct sample samples[SHARED_SAMPLES];
    uint32_t nstaged;
    struct stage_step staged[SHARED_STAGED]; /* of the first samples, where record_stages */
};

struct shared {
    uint32_t magic; /* identifies the layout of this build */
    uint32_t nworkers;
    uint32_t record_cpu_samples, record_stages;
    double warmup_s, least_warmup_s, settle_s, measure_s, limit_s; /* as in struct observe_config */
    struct bench_machine machine;
    char groups[PATH_MAX / 2]; /* the directory of the workers' cgroups; "" = they have none */
    _Atomic uint32_t go;       /* futex: 1 = measure */
    _Atomic uint32_t stop;     /* 1 = end the load, check the result, exit */
    _Atomic int event_fd;      /* a worker writes here when its state changes */
    struct barrier barrier[2]; /* where foreground [0] and background [1] workers meet */
    struct step_limit step_limit[2]; /* of the same */
    struct step_limit settled;       /* of the foreground's first steps */
    struct shared_worker worker[];
};

/* Maps new memory for nworkers; *fd is the memfd, close-on-exec. NULL with err. */
struct shared *shared_create(unsigned nworkers, int *fd, struct err *err);

/* Worker: maps inherited shared memory and checks that it is of this build. NULL with err. */
struct shared *shared_attach(int fd, struct err *err);

/* Parent: empties it for another observation by workers that wait for orders. */
int shared_clear(struct shared *shared, int fd, struct err *err);

void shared_destroy(struct shared *shared);

/* Worker: moves to `state` and tells the parent. */
void shared_set_state(struct shared *shared, struct shared_worker *worker, enum worker_state state);

/* Worker: wakes the parent. */
void shared_wake(const struct shared *shared);

static inline enum worker_state shared_state(const struct shared_worker *worker)
{
    uint32_t state = atomic_load_explicit(&worker->state, memory_order_acquire);
    return state < WORKER_STATES ? (enum worker_state)state : WORKER_FAILED;
}

#endif
