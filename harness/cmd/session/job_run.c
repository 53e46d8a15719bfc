#include "harness/cmd/session/job_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/engine/cpus.h"
#include "harness/engine/job_plans.h"
#include "harness/lib/sys/log.h"
#include "version.h"

void job_run_mute_other_ranks(const struct job_env *env)
{
    if (!env->launcher || env->rank == 0)
        return;
    int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null_fd >= 0) {
        (void)dup2(null_fd, STDOUT_FILENO);
        (void)close(null_fd);
    }
    log_set_quiet(true);
}

/* Joins version and arguments into one text, cut at `size`: a difference after that is unlikely. */
static void join_arguments(int argc, char **argv, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s", CONTEND_VERSION);
    for (int i = 0; i < argc && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, " %s", argv[i]);
}

int job_run_open(struct job *job, const struct job_env *env, struct signals *signals, int argc,
                 char **argv, struct run_options *options, struct err *err)
{
    char arguments[4096];
    if (!env->launcher)
        return 0;
    log_set_quiet(false); /* a rank that cannot join must report it itself */
    int rc = job_open(job, env, signals, err);
    if (!rc)
        rc = job_share_cpus(job, err);
    if (rc)
        return rc;
    log_set_quiet(!job_is_first(job));
    join_arguments(argc, argv, arguments, sizeof(arguments));
    options->ranks = job->world.size;
    options->ranks_here = job->plan_size;
    if (job->cpus_note[0])
        log_warn("%s", job->cpus_note);
    return job_require_same(job, "version and arguments", arguments, err);
}

/*
 * Takes rank 0's seed, run id, and times, which depend on the number of arms. If another machine
 * has to skip some arms, its own times would differ, and ranks would count different numbers of
 * operations.
 */
static int take_identity(struct job *job, struct run_setup *setup, struct err *err)
{
    struct identity {
        uint64_t seed;
        double measure_s, limit_s, expected_s;
        char run_id[sizeof(setup->result.run_id)];
    } mine = {.seed = setup->result.seed,
              .measure_s = setup->config.measure_s,
              .limit_s = setup->config.limit_s,
              .expected_s = setup->expected_s},
      *all = calloc(job->world.size, sizeof(*all));
    memcpy(mine.run_id, setup->result.run_id, sizeof(mine.run_id));
    int rc = job_gather(job, &mine, all, sizeof(mine), err);
    if (!rc) {
        setup->result.seed = all[0].seed;
        setup->config.measure_s = all[0].measure_s;
        setup->config.limit_s = all[0].limit_s;
        setup->expected_s = all[0].expected_s;
        memcpy(setup->result.run_id, all[0].run_id, sizeof(setup->result.run_id));
    }
    free(all);
    return rc;
}

int job_run_join(struct job *job, const struct topo *topo, int rc, struct run_setup *setup,
                 struct err *err)
{
    rc = job_agree(job, rc, err);
    if (rc || !job->mpi)
        return rc;
    setup->config.job = job;
    job->answer_limit_s = setup->config.setup_s + 10;
    rc = take_identity(job, setup, err);
    if (!rc)
        rc = job_require_same(job, "GPUs, or the lack of them,",
                              device_name(setup->result.transport), err);
    return rc ? rc : job_plan_spread(job, topo, &setup->result, err);
}

int job_run_round(struct job *job, int rc, struct err *err)
{
    rc = job_agree(job, rc, err);
    if (!rc && job->end)
        return err_set(err, -ESTALE, "%s", job->why);
    return rc;
}

char *job_run_describe(const struct job *job, char *buf, size_t size)
{
    size_t used = (size_t)snprintf(buf, size,
                                   "%u ranks started by %s, %s (on device mpi rounds share "
                                   "their processes), on hosts",
                                   job->world.size, job->launcher, job->world.library);
    for (unsigned r = 0; r < job->world.size && used < size; r++) {
        bool first = true;
        for (unsigned before = 0; before < r; before++)
            first &= strcmp(job->ranks[before].host, job->ranks[r].host) != 0;
        if (first)
            used += (size_t)snprintf(buf + used, size - used, "%s %s", r ? "," : "",
                                     job->ranks[r].host);
    }
    return buf;
}
