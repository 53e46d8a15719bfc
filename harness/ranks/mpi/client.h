/*
 * A rank's interface to its MPI process. A program has one.
 *
 * MPI may end any process that has called it, at any moment: Open MPI does, by _exit, when a peer's
 * connection breaks (ompi/mca/pml/ob1, mca_pml_ob1_error_handler; as of 4.1 and 5.0 without ULFM).
 * So the process that holds the results never calls MPI. It starts this program again as its MPI
 * process, which calls MPI on its behalf; the death of that process is an error value here.
 */
#ifndef CONTEND_RANKS_MPI_CLIENT_H
#define CONTEND_RANKS_MPI_CLIENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "harness/contract/mpi_ops.h"
#include "harness/lib/base/err.h"
#include "harness/lib/sys/signals.h"

/*
 * Starts the MPI process, and MPI in it; waits for all ranks. Once a signal has asked to stop, no
 * call waits longer than stop_grace_s for an answer. -ENOENT: no module; -EIO, ...
 */
int mpi_client_start(struct signals *signals, double stop_grace_s, struct mpi_ops_world *world,
                     struct err *err);

/*
 * The calls of a job to that process; tests replace them. Errors in addition to the module's:
 * -ECHILD: the process was killed or crashed; -ECONNABORTED: it ended by itself, as MPI does when
 * another rank is lost; -ETIME: it did not answer in time.
 */
struct mpi_calls {
    /* Begins an exchange (exchange.h): rank r's data go to all[r * bytes], at rank 0 or, with
     * `spread`, at all ranks. */
    int (*begin)(const void *mine, size_t bytes, void *all, bool spread, char *msg, size_t size);
    /* *rank: the rank that an error concerns, or that is waited for. */
    int (*test)(bool *done, unsigned *rank, char *msg, size_t size);
    void (*end)(void);       /* waits for all ranks */
    void (*abort)(int code); /* ends all ranks */
};
extern const struct mpi_calls mpi_client_calls;

/* Binds its calling thread to our CPUs; the worker's thread is bound by its plan. */
void mpi_client_share_cpus(void);

/* While this file descriptor is readable, calls wait no longer than stop_grace_s either. */
void mpi_client_watch(int fd);

/*
 * Starts a thread of the process as worker `index` of the shared memory, one at a time. Rounds
 * share the process, as MPI can be started only once for a rank.
 */
int mpi_client_serve(int shared_fd, int event_fd, unsigned index, struct err *err);

/* True when that worker or the whole process has ended. */
bool mpi_client_joined(void);

/* True when the process has ended; *status is for waitpid's macros. */
bool mpi_client_ended(int *status);

/* Sends SIGKILL to its process group, unless it has ended. */
void mpi_client_kill(void);

/* Its pid, for /proc; 0 = it has ended. */
pid_t mpi_client_pid(void);

#endif
