/*
 * The MPI process of a rank: the one that loads contend_mpi.so, starts MPI, and does for the rank's
 * harness what that asks for (client.h says why it is a process of its own). Its first thread
 * sleeps between calls; the worker is another thread, bound as the plan says.
 */
#ifndef CONTEND_RANKS_MPI_SERVER_H
#define CONTEND_RANKS_MPI_SERVER_H

#include "harness/contract/bench.h"

/* Main of a process that launch_mpi started; returns its exit code. */
int mpi_server_main(const struct bench *const *benches, int argc, char **argv);

#endif
