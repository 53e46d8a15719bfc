/*
 * Was this process started as one of several, by mpirun, srun or their kin? What the launchers say
 * about it in the environment, before MPI itself is asked.
 */
#ifndef CONTEND_RANKS_JOB_LAUNCHER_H
#define CONTEND_RANKS_JOB_LAUNCHER_H

#include <stdbool.h>

struct job_env {
    const char *launcher; /* "mpirun" or "srun"; NULL = started alone, or as the only one */
    unsigned rank, size;
    bool wired; /* the launcher offers what MPI needs to find the others: PMI, PMIx, or its own */
};

/*
 * Reads Open MPI's OMPI_COMM_WORLD_*, the PMI_* of MPICH and its kin, and the SLURM_* of a job step
 * of several tasks. A shell inside an allocation, and a job of one task, are not a job to us.
 * `get` is getenv, or a test's own.
 */
void job_env_read(char *(*get)(const char *name), struct job_env *env);

#endif
