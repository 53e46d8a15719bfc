#include "harness/engine/launcher.h"

#include <stddef.h>
#include <stdlib.h>

static const struct source {
    const char *launcher;
    const char *size, *rank; /* both must be numbers */
    const char *needs;       /* this must be set too; NULL = nothing */
} sources[] = {
    {"mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", NULL},
    /* Before Slurm's: Hydra may run inside a step that has one task, or one task a node. */
    {"mpirun", "PMI_SIZE", "PMI_RANK", NULL},
    {"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_STEP_ID"},
};
static const struct source *const slurm = &sources[2];

static bool read_number(const char *text, unsigned *number)
{
    char *end;
    if (!text || *text < '0' || *text > '9')
        return false;
    *number = (unsigned)strtoul(text, &end, 10);
    return !*end;
}

/* True if PMI's rank and size are those of the Slurm step: srun itself then serves PMI. */
static bool is_step(char *(*get)(const char *name), unsigned rank, unsigned size)
{
    unsigned step_rank, step_size;
    return !get("OMPI_COMM_WORLD_SIZE") && get(slurm->needs) &&
           read_number(get(slurm->size), &step_size) && read_number(get(slurm->rank), &step_rank) &&
           step_size == size && step_rank == rank;
}

static bool has_pmi(char *(*get)(const char *name))
{
    return get("PMIX_RANK") || get("PMI_RANK") || get("PMI_FD");
}

void job_env_read(char *(*get)(const char *name), struct job_env *env)
{
    *env = (struct job_env){.launcher = NULL, .size = 1};
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        const struct source *source = &sources[i];
        unsigned rank, size;
        if ((source->needs && !get(source->needs)) || !read_number(get(source->size), &size) ||
            !read_number(get(source->rank), &rank) || rank >= size)
            continue;
        if (size > 1)
            *env = (struct job_env){is_step(get, rank, size) ? slurm->launcher : source->launcher,
                                    rank, size, source != slurm || has_pmi(get)};
        return;
    }
}
