/*
 * GPUs and an NCCL made of threads, in one shared library: CUDA's runtime as fake_cuda/ declares it
 * and a libnccl for CONTEND_LIBNCCL, which share this state. A stream is a thread that does what is
 * queued; ranks are threads of one process.
 *
 * GPU g has PCI address "0000:0<g+1>:00.0" and ordinal g, as in fake_gpu_driver.c. Ranks in
 * separate processes do not meet; FAKE_NCCL_JOIN_FAILS=1 sets join_fails there.
 */
#ifndef CONTEND_TESTS_LIB_FAKE_GPUS_H
#define CONTEND_TESTS_LIB_FAKE_GPUS_H

#ifdef __cplusplus
extern "C" {
#endif

enum { FAKE_GPUS = 4, FAKE_PCI_MAX = 32 };

struct fake_gpus {
    /* What fails. Values are numbers of ranks or GPUs; -1 = none. */
    int closed_gpu;   /* cudaSetDevice refuses this GPU .. */
    int closes_after; /* .. after so many successful calls */
    int join_fails;   /* ncclCommInitRank refuses this rank */
    int call_fails;   /* every operation of this rank fails .. */
    int fails_after;  /* .. after so many successful ones */
    int sleeps;       /* this rank sleeps inside the host's call for an operation .. */
    unsigned sleep_us;
    int sleeps_behind;         /* .. after the launch instead of before it */
    unsigned graph_drops_from; /* graphs of so many nodes or more omit their last node; 0 = none */
    int copies_lost_from;      /* from this copy on a stream on, nothing arrives; 0: the first */
    int capability;            /* major compute capability */
    /* What happened. */
    int copies;                     /* queued on streams */
    int open_groups, open_captures; /* begun and not ended */
    int aborted;                    /* communicators */
    int registered;                 /* buffers registered .. */
    int registered_open;            /* .. and not yet deregistered */
    int waiting;                    /* ranks in ncclCommInitRank */
};

extern struct fake_gpus fake_gpus;

/* Resets all faults and counters. */
void fake_gpus_reset(void);

/* Ranks that wait for others in ncclCommInitRank return with an error. */
void fake_gpus_give_up(void);

#ifdef __cplusplus
}
#endif

#endif
