/*
 * The MPI process of a rank: loads contend_mpi.so, starts MPI, and carries out the calls of the
 * rank's harness (client.h says why it is a process of its own). Its first thread sleeps between
 * calls; the worker is another thread, bound as the plan says.
 */
#ifndef CONTEND_RANKS_MPI_SERVER_H
#define CONTEND_RANKS_MPI_SERVER_H

#include "harness/contract/bench.h"

/* Main of a process that launch_mpi started; returns its exit code. */
int mpi_server_main(const struct bench *const *benches, int argc, char **argv);

#endif
