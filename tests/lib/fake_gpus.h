/*
 * GPUs and an NCCL made of threads, in one shared library: CUDA's runtime as fake_cuda/ declares it
 * and a libnccl for CONTEND_LIBNCCL, which share this state. A stream is a thread that does what is
 * queued; ranks are threads of one process.
 *
 * GPU g has PCI address "0000:0<g+1>:00.0" and ordinal g; those of fake_gpu_driver.c do, too. In
 * processes of their own ranks do not meet; FAKE_NCCL_JOIN_FAILS=1 is join_fails there.
 */
#ifndef CONTEND_TESTS_LIB_FAKE_GPUS_H
#define CONTEND_TESTS_LIB_FAKE_GPUS_H

#ifdef __cplusplus
extern "C" {
#endif

enum { FAKE_GPUS = 4, FAKE_PCI_MAX = 32 };

struct fake_gpus {
    /* What goes wrong: numbers of ranks or GPUs, -1 = nowhere. */
    int closed_gpu;   /* cannot be made the current device, .. */
    int closes_after; /* .. when it was so often */
    int join_fails;   /* this rank's ncclCommInitRank is refused */
    int call_fails;   /* so is every operation of this rank, .. */
    int fails_after;  /* .. after so many */
    int sleeps;       /* this rank sleeps in the host's call for an operation, .. */
    unsigned sleep_us;
    int sleeps_behind;         /* .. when it is launched already */
    unsigned graph_drops_from; /* graphs of so many nodes or more leave out their last; 0 = none */
    int capability;            /* compute capability, its first number */
    /* What came of it. */
    int open_groups, open_captures; /* that have begun and not ended */
    int aborted;                    /* communicators */
    int registered;                 /* buffers, .. */
    int registered_open;            /* .. that still are */
    int waiting;                    /* ranks in ncclCommInitRank */
};

extern struct fake_gpus fake_gpus;

/* All is well, and nothing has been. */
void fake_gpus_reset(void);

/* Ranks that wait for others in ncclCommInitRank are sent home with an error. */
void fake_gpus_give_up(void);

#ifdef __cplusplus
}
#endif

#endif
