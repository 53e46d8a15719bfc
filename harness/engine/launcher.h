/*
 * Finds out from the environment, before MPI is started, whether mpirun, srun or a similar launcher
 * started this process as one of several.
 */
#ifndef CONTEND_ENGINE_LAUNCHER_H
#define CONTEND_ENGINE_LAUNCHER_H

#include <stdbool.h>

struct job_env {
    const char *launcher; /* "mpirun" or "srun"; NULL = started alone, or as the only task */
    unsigned rank, size;
    bool wired; /* the launcher offers what MPI needs to find other ranks: PMI, PMIx, or its own */
};

/*
 * Reads Open MPI's OMPI_COMM_WORLD_*, the PMI_* of MPICH and its relatives, and the SLURM_* of a
 * job step of several tasks. A shell inside an allocation, or a job of one task, does not count as
 * a job. `get` is getenv, or a test's substitute.
 */
void job_env_read(char *(*get)(const char *name), struct job_env *env);

#endif
