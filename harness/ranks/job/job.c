#include "harness/ranks/job/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness/engine/worker/barrier.h"
#include "harness/lib/sys/clock.h"

/* A launcher sends SIGKILL a second after SIGTERM: messages and files must be done by then. */
static const double stop_grace_s = 0.3;
static const double lifeline_news_s = 1; /* wait for news of a lost rank, unless asked to stop */
static const double default_answer_limit_s = 70, line_limit_s = 2;
static const double results_s = 2; /* time for rank 0 to write results */
static const long longest_pause_ns = 1000000;

char *job_rank_name(const struct job *job, unsigned rank, char *buf, size_t size)
{
    if (job->ranks && job->ranks[rank].host[0])
        (void)snprintf(buf, size, "rank %u (host %s)", rank, job->ranks[rank].host);
    else
        (void)snprintf(buf, size, "rank %u", rank);
    return buf;
}

/* ---- lost ranks ---- */

/* Marks the job as lost: nothing can be exchanged any more. job->why names the lost rank and `how`.
 * Returns -EIO. */
static int set_lost(struct job *job, unsigned rank, const char *how, struct err *err)
{
    char name[100];
    if (!job_is_lost(job))
        job->end = JOB_LOST;
    (void)snprintf(job->why, sizeof(job->why), "%s%.92s",
                   job_rank_name(job, rank, name, sizeof(name)), how);
    return err_set(err, -EIO, "%s", job->why);
}

/* The same, with the rank's own message. */
static int set_lost_message(struct job *job, unsigned rank, const char *message, struct err *err)
{
    char how[100];
    (void)snprintf(how, sizeof(how), ": %.90s", message);
    return set_lost(job, rank, how, err);
}

/* -EIO if a lifeline says that a rank is lost. */
static int check_lines(struct job *job, struct err *err)
{
    enum lifeline_end end;
    const char *message;
    int rank = lifeline_lost(&job->lines, &end, &message);
    if (rank < 0)
        return 0;
    return end == LIFELINE_CLOSED ? set_lost(job, (unsigned)rank, " is gone", err)
                                  : set_lost_message(job, (unsigned)rank, message, err);
}

/* If no cause is known, names a rank that ended because another one did. 0: no such rank. */
static int take_follower(struct job *job, struct err *err)
{
    const char *message;
    int rank = lifeline_follower(&job->lines, &message);
    return rank < 0 ? 0 : set_lost_message(job, (unsigned)rank, message, err);
}

bool job_stop_grace_is_over(const struct job *job)
{
    return signals_take(job->signals) &&
           clock_now_ns() - job->signals->since_ns >= (uint64_t)(stop_grace_s * 1e9);
}

/* MPI has ended or hangs, as it does when a rank is lost: at rank 0 a lifeline may tell which. */
static int await_lines(struct job *job, struct err *err)
{
    uint64_t until_ns = clock_now_ns() + (uint64_t)(lifeline_news_s * 1e9);
    int rc = check_lines(job, err);
    while (!rc && job_is_first(job) && job->lines.n && clock_now_ns() < until_ns &&
           !job_stop_grace_is_over(job)) {
        (void)usleep(5000);
        rc = check_lines(job, err);
    }
    return rc ? rc : take_follower(job, err);
}

/* Handles a failed call that concerned `rank`. */
static int fail_call(struct job *job, unsigned rank, int rc, const char *msg, struct err *err)
{
    bool gone = rc == -ECHILD || rc == -ECONNABORTED;
    if (gone)
        job->end = JOB_CUT_OFF;
    if (!job_is_first(job))
        lifeline_report(&job->lines, rc == -ECHILD ? LIFELINE_FAILED : LIFELINE_FOLLOWS, msg);
    else if (rc != -ECHILD && await_lines(job, err))
        return -EIO;
    return set_lost_message(job, gone || rc == -ETIME ? job->world.rank : rank, msg, err);
}

/* ---- exchange: through rank 0 ---- */

static int begin(struct job *job, const void *mine, void *all, size_t bytes, bool spread,
                 struct err *err)
{
    char msg[200] = "";
    if (job_is_lost(job))
        return err_set(err, -EIO, "%s", job->why);
    job->awaited = 0;
    if (job_is_first(job)) /* a failure below names ranks by job->ranks, which may be `all` */
        memcpy(all, mine, bytes);
    int rc = job->calls->begin(mine, bytes, all, spread, msg, sizeof(msg));
    return rc ? fail_call(job, 0, rc, msg, err) : 0;
}

int job_gather_begin(struct job *job, const void *mine, void *all, size_t bytes, struct err *err)
{
    if (!all)
        return err_set(err, -ENOMEM, "no memory for %u ranks", job->world.size);
    return begin(job, mine, all, bytes, true, err);
}

int job_gather_test(struct job *job, struct err *err)
{
    char msg[200] = "";
    bool done = false;
    int rc = check_lines(job, err);
    if (rc)
        return rc;
    rc = job->calls->test(&done, &job->awaited, msg, sizeof(msg));
    return rc ? fail_call(job, job->awaited, rc, msg, err) : done;
}

int job_find_lost(struct job *job, struct err *err)
{
    char how[100] = " does not answer";
    const unsigned not_answering = job_is_first(job) ? job->awaited : 0;
    if (check_lines(job, err) || take_follower(job, err))
        return -EIO;
    if (job->signals->interrupted) {
        if (not_answering && lifeline_is_open(&job->lines, not_answering))
            job->end = JOB_SIGNALED;
        (void)snprintf(how, sizeof(how), " does not answer, and %s ends the run", job->launcher);
    }
    return set_lost(job, not_answering, how, err);
}

void job_fail(struct job *job, const char *why)
{
    if (job->calls && job->end < JOB_OVER)
        lifeline_report(&job->lines, LIFELINE_FAILED, why);
}

static void pause_longer(long *ns)
{
    const struct timespec ts = {.tv_nsec = *ns};
    (void)nanosleep(&ts, NULL);
    *ns = *ns * 2 < longest_pause_ns ? *ns * 2 : longest_pause_ns;
}

/* Sleeps until the requests are done. After a signal to end, other ranks get a moment to answer. */
static int await(struct job *job, int (*test)(struct job *, struct err *), struct err *err)
{
    long pause_ns = 20000;
    uint64_t until_ns = clock_now_ns() + (uint64_t)(job->answer_limit_s * 1e9);
    for (;;) {
        int done = test(job, err);
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
    return rc ? rc : await(job, job_gather_test, err);
}

int job_collect(struct job *job, const void *mine, void *all, size_t bytes, struct err *err)
{
    int rc = begin(job, mine, all, bytes, false, err);
    return rc ? rc : await(job, job_gather_test, err);
}

/* ---- agreement ---- */

int job_agree(struct job *job, int rc, struct err *err)
{
    struct err mine = {0};
    if (!job->calls)
        return rc;
    if (rc)
        mine = err && err->code ? *err : (struct err){.code = rc, .msg = "failed"};
    struct err *all = calloc(job->world.size, sizeof(*all));
    int gathered = job_gather(job, &mine, all, sizeof(mine), err);
    for (unsigned r = 0; !gathered && r < job->world.size; r++) {
        char name[100];
        if (!all[r].code)
            continue;
        bool everywhere = true;
        for (unsigned other = 0; other < job->world.size; other++)
            everywhere &= strcmp(all[other].msg, all[r].msg) == 0;
        gathered = everywhere ? err_set(err, all[r].code, "%s", all[r].msg)
                              : err_set(err, all[r].code, "%s: %.150s",
                                        job_rank_name(job, r, name, sizeof(name)), all[r].msg);
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
    if (!job->calls)
        return 0;
    uint64_t mine = hash_text(text), *all = calloc(job->world.size, sizeof(*all));
    int rc = job_gather(job, &mine, all, sizeof(mine), err);
    for (unsigned r = 1; !rc && r < job->world.size; r++) {
        char name[100];
        if (all[r] != all[0])
            rc = err_set(err, -EINVAL, "%s of %s differ from those of rank 0", what,
                         job_rank_name(job, r, name, sizeof(name)));
    }
    free(all);
    return rc;
}

/* ---- open and close ---- */

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
    int rc = mpi_client_start(job->signals, stop_grace_s, &job->world, &why);
    if (rc)
        return err_set(err, rc, "%s started %u tasks, but %.190s", env->launcher, env->size,
                       why.msg);
    job->calls = &mpi_client_calls;
    if (job->world.size != env->size)
        return err_set(err, -EINVAL,
                       "%s started %u tasks, but MPI sees %u: start it by the mpirun of %s, or by "
                       "srun --mpi=pmix (or pmi2)",
                       env->launcher, env->size, job->world.size, job->world.library);
    return 0;
}

static int take_lines(struct job *job, struct err *err)
{
    lifeline_take(&job->lines);
    return job_gather_test(job, err);
}

/* Rank 0 accepts lifelines until all ranks have said whether they have one. */
static int finish_lines(struct job *job, bool mine, struct err *err)
{
    bool *made = calloc(job->world.size, sizeof(*made));
    int rc = job_gather_begin(job, &mine, made, sizeof(mine), err);
    if (!rc)
        rc = await(job, job_is_first(job) ? take_lines : job_gather_test, err);
    if (!rc && job_is_first(job))
        lifeline_finish_accepting(&job->lines, made);
    free(made);
    return rc;
}

int job_make_lines(struct job *job, struct err *err)
{
    struct lifeline_offer mine = {.port = 0}, *all = calloc(job->world.size, sizeof(*all));
    bool made = false;
    if (job_is_first(job))
        lifeline_offer(&job->lines, job->world.size, &mine);
    int rc = job_gather(job, &mine, all, sizeof(mine), err);
    if (!rc && !job_is_first(job))
        made = lifeline_connect(&job->lines, &all[0], job->world.rank,
                                !strcmp(job->ranks[0].machine, job->ranks[job->world.rank].machine),
                                line_limit_s);
    if (!rc)
        rc = finish_lines(job, made, err);
    if (job->lines.n)
        mpi_client_watch(job->lines.poll_fd);
    free(all);
    return rc;
}

int job_open(struct job *job, const struct job_env *env, struct signals *signals, struct err *err)
{
    *job = (struct job){
        .launcher = env->launcher, .signals = signals, .answer_limit_s = default_answer_limit_s};
    int rc = start_mpi(job, env, err);
    if (rc)
        return rc;
    job->ranks = calloc(job->world.size, sizeof(*job->ranks));
    if (!job->ranks)
        return err_set(err, -ENOMEM, "no memory for %u ranks", job->world.size);
    return 0;
}

/*
 * Other ranks wait until rank 0 ends, which may still wait for the lost rank, and has results to
 * write. If our MPI process has ended, only the exit code remains to make the launcher end all.
 */
static void abort_all(struct job *job, int code)
{
    double limit_s = job->end == JOB_CUT_OFF ? results_s : job->answer_limit_s;
    lifeline_report(&job->lines, LIFELINE_FOLLOWS, job->why);
    if (!job_is_first(job) && !lifeline_await_first(&job->lines, limit_s))
        (void)sleep((unsigned)limit_s);
    if (job->end != JOB_CUT_OFF)
        job->calls->abort(code);
}

int job_close(struct job *job, int code)
{
    if (!job->calls)
        return code;
    (void)fflush(stdout);
    bool broken = job->end >= JOB_OVER;
    if (broken)
        abort_all(job, code);
    else if (job->end == JOB_STUCK)
        mpi_client_kill();
    else
        job->calls->end();
    lifeline_close(&job->lines);
    free(job->ranks);
    job->ranks = NULL;
    return broken || job_is_first(job) ? code : 0;
}
