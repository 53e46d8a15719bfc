/*
 * A rank's side of its MPI process, one a program.
 *
 * MPI may end any process that has called it, at any moment: Open MPI does, by _exit, when a peer's
 * connection breaks (ompi/mca/pml/ob1, mca_pml_ob1_error_handler; as of 4.1 and 5.0 without ULFM).
 * So the process that holds the results calls it nowhere. It starts this program again, and that
 * one calls MPI on its behalf; what happens to it is an error value here.
 */
#ifndef CONTEND_RANKS_MPI_CLIENT_H
#define CONTEND_RANKS_MPI_CLIENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "harness/contract/mpi_ops.h"
#include "harness/lib/base/err.h"
#include "harness/lib/sys/signals.h"

/*
 * Starts the MPI process, and MPI in it; waits for all ranks. `signals`: once one has asked to
 * stop, nothing waits longer than last_words_s for an answer. -ENOENT no module, -EIO, ...
 */
int mpi_client_start(struct signals *signals, double last_words_s, struct mpi_ops_world *world,
                     struct err *err);

/*
 * The calls of a job to that process; tests have others in its place. Errors beside the module's
 * own: -ECHILD somebody killed it, -ECONNABORTED it ended by itself, as MPI ends a process when
 * another rank is lost, -ETIME it did not answer in time.
 */
struct mpi_calls {
    /* An exchange (exchange.h): what rank r gives becomes all[r * bytes], at rank 0 or, spread, at
     * all of them. */
    int (*begin)(const void *mine, size_t bytes, void *all, bool spread, char *msg, size_t size);
    /* *rank: which one an error is about, or is waited for. */
    int (*test)(bool *done, unsigned *rank, char *msg, size_t size);
    void (*end)(void);       /* waits for all ranks */
    void (*abort)(int code); /* ends all ranks */
};
extern const struct mpi_calls mpi_client_calls;

/* Its calls for us may run where we may; the worker in it is bound by its plan. */
void mpi_client_share_cpus(void);

/* While this file descriptor is readable, answers are not waited for longer either. */
void mpi_client_watch(int fd);

/*
 * Makes a thread of it worker `index` of the shared memory: one at a time. Rounds share the
 * process, as MPI can be started only once for a rank.
 */
int mpi_client_serve(int shared_fd, int event_fd, unsigned index, struct err *err);

/* True when that worker has come to its end, or the process has. */
bool mpi_client_joined(void);

/* How the process ended, for waitpid's macros; false while it runs. */
bool mpi_client_ended(int *status);

/* SIGKILL to it and whatever it started; nothing where it has ended. */
void mpi_client_kill(void);

/* To read what it does; 0 where it has ended. */
pid_t mpi_client_pid(void);

#endif
