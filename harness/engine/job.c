#include "harness/engine/job.h"

#include <dlfcn.h>
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness/engine/worker/launch.h"
#include "harness/lib/str.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/log.h"

/* A launcher sends SIGKILL a second after SIGTERM: messages and files must be done by then. */
static const double stop_grace_s = 0.3;
static const double default_answer_limit_s = 70;
static const long longest_pause_ns = 1000000;

const char *job_rank_name(const struct job *job, unsigned rank)
{
    if (job->ranks && job->ranks[rank].host[0])
        return str_fmt("rank %u (host %s)", rank, job->ranks[rank].host);
    return str_fmt("rank %u", rank);
}

/* ---- lost ranks ---- */

/* Marks the job as lost: nothing can be exchanged any more. job->why names the awaited rank and
 * `how`. Returns -EIO. */
static int set_lost(struct job *job, const char *how, struct err *err)
{
    job->end = JOB_LOST;
    (void)snprintf(job->why, sizeof(job->why), "%s%.150s", job_rank_name(job, job->awaited), how);
    return err_set(err, -EIO, "%s", job->why);
}

bool job_stop_grace_is_over(const struct job *job)
{
    return signals_take(job->signals) &&
           clock_now_ns() - job->signals->since_ns >= (uint64_t)(stop_grace_s * 1e9);
}

int job_find_lost(struct job *job, struct err *err)
{
    const char *how = " does not answer";
    if (job->signals->interrupted)
        how = str_fmt(" does not answer, and %s ends the run", job->launcher);
    return set_lost(job, how, err);
}

void job_fail(struct job *job, const char *why)
{
    if (job->end)
        return;
    job->end = JOB_FAILED;
    (void)snprintf(job->why, sizeof(job->why), "%s", why);
    log_set_quiet(false);
}

/* ---- exchange: through rank 0 ---- */

/* For a call that returned `rc`. */
static int fail_call(struct job *job, int rc, const struct err *why, struct err *err)
{
    const char *how = str_fmt(": %s", why->msg);
    return rc ? set_lost(job, how, err) : 0;
}

static int begin(struct job *job, const void *mine, void *all, size_t bytes, bool spread,
                 struct err *err)
{
    struct err why = {0};
    if (job_is_lost(job))
        return err_set(err, -EIO, "%s", job->why);
    job->awaited = job->world.rank;
    return fail_call(job, job->mpi->gather_begin(mine, bytes, all, spread, &why), &why, err);
}

int job_gather_begin(struct job *job, const void *mine, void *all, size_t bytes, struct err *err)
{
    if (!all)
        return err_set(err, -ENOMEM, "no memory for %u ranks", job->world.size);
    return begin(job, mine, all, bytes, true, err);
}

int job_gather_test(struct job *job, struct err *err)
{
    struct err why = {0};
    bool done = false;
    int rc = job->mpi->gather_test(&done, &job->awaited, &why);
    return rc ? fail_call(job, rc, &why, err) : done;
}

static void pause_longer(long *ns)
{
    const struct timespec ts = {.tv_nsec = *ns};
    (void)nanosleep(&ts, NULL);
    *ns = *ns * 2 < longest_pause_ns ? *ns * 2 : longest_pause_ns;
}

/* Sleeps until the gather is done. After a signal to end, other ranks get a moment to answer. */
static int await(struct job *job, struct err *err)
{
    long pause_ns = 20000;
    uint64_t until_ns = clock_now_ns() + (uint64_t)(job->answer_limit_s * 1e9);
    for (;;) {
        int done = job_gather_test(job, err);
        if (done)
            return done < 0 ? done : 0;
        if (clock_now_ns() >= until_ns || job_stop_grace_is_over(job))
            return job_find_lost(job, err);
        pause_longer(&pause_ns);
    }
}

int job_gather(struct job *job, const void *mine, void *all, size_t bytes, struct err *err)
{
    int rc = job_gather_begin(job, mine, all, bytes, err);
    return rc ? rc : await(job, err);
}

int job_collect(struct job *job, const void *mine, void *all, size_t bytes, struct err *err)
{
    int rc = begin(job, mine, all, bytes, false, err);
    return rc ? rc : await(job, err);
}

/* ---- agreement ---- */

int job_agree(struct job *job, int rc, struct err *err)
{
    struct err mine = {0};
    if (!job->mpi)
        return rc;
    if (rc)
        mine = err && err->code ? *err : (struct err){.code = rc, .msg = "failed"};
    struct err *all = calloc(job->world.size, sizeof(*all));
    int gathered = job_gather(job, &mine, all, sizeof(mine), err);
    for (unsigned r = 0; !gathered && r < job->world.size; r++) {
        if (!all[r].code)
            continue;
        bool everywhere = true;
        for (unsigned other = 0; other < job->world.size; other++)
            everywhere &= strcmp(all[other].msg, all[r].msg) == 0;
        gathered = everywhere
                       ? err_set(err, all[r].code, "%s", all[r].msg)
                       : err_set(err, all[r].code, "%s: %.150s", job_rank_name(job, r), all[r].msg);
    }
    free(all);
    return gathered;
}

/* FNV-1a, 64 bits (Fowler, Noll, Vo). */
static uint64_t hash_text(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

int job_require_same(struct job *job, const char *what, const char *text, struct err *err)
{
    if (!job->mpi)
        return 0;
    uint64_t mine = hash_text(text), *all = calloc(job->world.size, sizeof(*all));
    int rc = job_gather(job, &mine, all, sizeof(mine), err);
    for (unsigned r = 1; !rc && r < job->world.size; r++) {
        if (all[r] != all[0])
            rc = err_set(err, -EINVAL, "%s of %s differ from those of rank 0", what,
                         job_rank_name(job, r));
    }
    free(all);
    return rc;
}

/* ---- open and close ---- */

static const struct mpi_ops *load_from(const char *path, struct err *err)
{
    /* Global: MPI's own plugins look for its symbols. */
    void *module = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!module) {
        (void)err_set(err, -ENOENT, "the MPI module cannot be loaded: %.150s", dlerror());
        return NULL;
    }
    const struct mpi_ops *ops = dlsym(module, MPI_OPS_SYMBOL);
    if (ops && ops->abi == MPI_OPS_ABI)
        return ops;
    (void)err_set(err, -ENOENT, "contend_mpi.so is of another version of this program");
    return NULL;
}

static const struct mpi_ops *load_module(struct err *err)
{
    static const char *const places[] = {"contend_mpi.so", "lib/contend_mpi.so",
                                         "../lib/contend/contend_mpi.so"};
    char program[4096] = "", path[4200];
    const char *named = getenv("CONTEND_MPI_MODULE");
    if (named && *named)
        return load_from(named, err);
    (void)launch_find_program(program, sizeof(program), NULL);
    const char *folder = dirname(program);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, places[i]);
        if (!access(path, R_OK))
            return load_from(path, err);
    }
    (void)err_set(err, -ENOENT,
                  "contend_mpi.so is not beside this program: install MPI (Debian: "
                  "libopenmpi-dev) and build again, or name it by CONTEND_MPI_MODULE");
    return NULL;
}

static int start_mpi(struct job *job, const struct job_env *env, struct err *err)
{
    if (env->size > BARRIER_RANKS)
        return err_set(err, -EINVAL, "%s started %u tasks: at most %d can meet", env->launcher,
                       env->size, BARRIER_RANKS);
    if (!env->wired) /* MPI would only end with a page of errors */
        return err_set(err, -EINVAL,
                       "%s started %u tasks and no way for them to meet: try srun --mpi=pmix (or "
                       "pmi2; srun --mpi=list), or mpirun",
                       env->launcher, env->size);
    struct err why = {0};
    const struct mpi_ops *mpi = load_module(&why);
    /* UCX, below MPI, would log to stdout, where our results go. */
    (void)setenv("UCX_LOG_FILE", "stderr", 0);
    if (!mpi || mpi->start(&job->world, &why))
        return err_set(err, why.code, "%s started %u tasks, but %.190s", env->launcher, env->size,
                       why.msg);
    job->mpi = mpi;
    if (job->world.size != env->size)
        return err_set(err, -EINVAL,
                       "%s started %u tasks, but MPI sees %u: start it by the mpirun of %s, or by "
                       "srun --mpi=pmix (or pmi2)",
                       env->launcher, env->size, job->world.size, job->world.library);
    return 0;
}

int job_open(struct job *job, const struct job_env *env, struct signals *signals, struct err *err)
{
    struct bitset cpus;
    *job = (struct job){
        .launcher = env->launcher, .signals = signals, .answer_limit_s = default_answer_limit_s};
    (void)affinity_get(0, &cpus); /* before MPI, which may bind us */
    int rc = start_mpi(job, env, err);
    if (rc)
        return rc;
    job->ranks = calloc(job->world.size, sizeof(*job->ranks));
    if (!job->ranks)
        return err_set(err, -ENOMEM, "no memory for %u ranks", job->world.size);
    job->ranks[job->world.rank].cpus = cpus;
    return 0;
}

/*
 * Other ranks wait until rank 0 ends them: it may still wait for the lost rank, and has results to
 * write. If it does not, it is lost itself.
 */
static void abort_all(const struct job *job, int code)
{
    if (!job_is_first(job) && job->end != JOB_FAILED) {
        (void)sleep((unsigned)job->answer_limit_s);
        log_set_quiet(false);
        log_error("%s", job->why);
    }
    job->mpi->abort(code);
}

int job_close(struct job *job, int code)
{
    if (!job->mpi)
        return code;
    const bool broken = job->end != JOB_GOES_ON;
    (void)fflush(stdout);
    if (broken)
        abort_all(job, code);
    else
        job->mpi->end();
    free(job->ranks);
    job->ranks = NULL;
    return broken || job_is_first(job) ? code : 0;
}
