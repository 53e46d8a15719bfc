/* How the job was started, from the environment that launchers leave. */
#include "harness/engine/job.h"
#include "tests/lib/unit.h"

/* The environment of the running test: name, value, ..., NULL. */
static const char *const *variables;

static char *get(const char *name)
{
    for (const char *const *v = variables; *v; v += 2)
        if (strcmp(v[0], name) == 0)
            return (char *)(uintptr_t)v[1];
    return NULL;
}

#define ENVIRONMENT(...)                                                                           \
    struct job_env env;                                                                            \
    static const char *const set[] = {__VA_ARGS__, NULL};                                          \
    variables = set;                                                                               \
    job_env_read(get, &env)

TEST(job_env_alone)
{
    ENVIRONMENT("HOME", "/root");
    assert_null(env.launcher);
    assert_int_equal(env.rank, 0);
}

TEST(job_env_open_mpi)
{
    ENVIRONMENT("OMPI_COMM_WORLD_SIZE", "4", "OMPI_COMM_WORLD_RANK", "3", "SLURM_STEP_ID", "0",
                "SLURM_STEP_NUM_TASKS", "2", "SLURM_PROCID", "1");
    assert_string_equal(env.launcher, "mpirun");
    assert_int_equal(env.size, 4);
    assert_int_equal(env.rank, 3);
    assert_true(env.wired);
}

TEST(job_env_one_task_of_mpirun_in_a_larger_step)
{
    ENVIRONMENT("OMPI_COMM_WORLD_SIZE", "1", "OMPI_COMM_WORLD_RANK", "0", "SLURM_STEP_ID", "0",
                "SLURM_STEP_NUM_TASKS", "2", "SLURM_PROCID", "1");
    assert_null(env.launcher);
}

/* mpiexec.hydra -n 2 in a step of one shell; of one proxy a node; and srun's own PMI-2. */
TEST(job_env_hydra_in_a_step)
{
    ENVIRONMENT("SLURM_STEP_ID", "0", "SLURM_STEP_NUM_TASKS", "1", "SLURM_PROCID", "0", "PMI_SIZE",
                "2", "PMI_RANK", "1", "PMI_FD", "7");
    assert_string_equal(env.launcher, "mpirun");
    assert_int_equal(env.size, 2);
    assert_int_equal(env.rank, 1);
    assert_true(env.wired);
}

TEST(job_env_hydra_over_srun)
{
    ENVIRONMENT("SLURM_STEP_ID", "0", "SLURM_STEP_NUM_TASKS", "2", "SLURM_PROCID", "1", "PMI_SIZE",
                "8", "PMI_RANK", "5", "PMI_FD", "7");
    assert_string_equal(env.launcher, "mpirun");
    assert_int_equal(env.size, 8);
    assert_int_equal(env.rank, 5);
}

TEST(job_env_srun_with_pmi2)
{
    ENVIRONMENT("SLURM_STEP_ID", "0", "SLURM_STEP_NUM_TASKS", "8", "SLURM_PROCID", "5", "PMI_SIZE",
                "8", "PMI_RANK", "5", "PMI_FD", "7");
    assert_string_equal(env.launcher, "srun");
    assert_int_equal(env.size, 8);
    assert_true(env.wired);
}

TEST(job_env_mpich)
{
    ENVIRONMENT("PMI_SIZE", "2", "PMI_RANK", "0");
    assert_string_equal(env.launcher, "mpirun");
    assert_int_equal(env.size, 2);
}

TEST(job_env_srun)
{
    ENVIRONMENT("SLURM_STEP_ID", "0", "SLURM_STEP_NUM_TASKS", "8", "SLURM_PROCID", "7", "PMIX_RANK",
                "7");
    assert_string_equal(env.launcher, "srun");
    assert_int_equal(env.size, 8);
    assert_int_equal(env.rank, 7);
    assert_true(env.wired);
}

TEST(job_env_srun_without_pmi)
{
    ENVIRONMENT("SLURM_STEP_ID", "0", "SLURM_STEP_NUM_TASKS", "2", "SLURM_PROCID", "1");
    assert_string_equal(env.launcher, "srun");
    assert_false(env.wired);
}

/* sbatch's own script and salloc's shell: an allocation of many tasks, but no step of ours. */
TEST(job_env_shell_in_an_allocation)
{
    ENVIRONMENT("SLURM_JOB_ID", "12", "SLURM_NTASKS", "8", "SLURM_PROCID", "0");
    assert_null(env.launcher);
}

TEST(job_env_nonsense)
{
    ENVIRONMENT("OMPI_COMM_WORLD_SIZE", "two", "OMPI_COMM_WORLD_RANK", "0", "PMI_SIZE", "2",
                "PMI_RANK", "2");
    assert_null(env.launcher);
}
