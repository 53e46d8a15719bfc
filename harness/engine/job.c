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
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"

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

/*
 * True if a signal asked us to stop so long ago that we cannot wait for other ranks any longer: the
 * launcher kills us soon.
 */
static bool job_stop_grace_is_over(const struct job *job)
{
    return signals_take(job->signals) &&
           clock_now_ns() - job->signals->since_ns >= (uint64_t)(stop_grace_s * 1e9);
}

/* Call when job_gather_test took longer than answer_limit_s: names the lost rank. Returns -EIO. */
static int job_find_lost(struct job *job, struct err *err)
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

/* The same in two steps, without waiting. job_gather_test returns 1: done, 0: not yet, or -EIO. */
static int job_gather_begin(struct job *job, const void *mine, void *all, size_t bytes,
                            struct err *err)
{
    if (!all)
        return err_set(err, -ENOMEM, "no memory for %u ranks", job->world.size);
    return begin(job, mine, all, bytes, true, err);
}

static int job_gather_test(struct job *job, struct err *err)
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

static const uint64_t ms_ns = 1000000;
/* Pauses between reports, and between checks for answers, while our workers work or wait (IDLE). */
enum { BUSY_MS = 50, BUSY_POLL_MS = 10, IDLE_MS = 1 };

int job_watch_open(struct job *job, struct barrier *barrier, struct err *err)
{
    struct job_report *reports = calloc(job->world.size, sizeof(*reports));
    job->watch = (struct job_watch){.barrier = barrier, .reports = reports};
    return reports
               ? 0
               : err_set(err, -ENOMEM, "no memory for the reports of %u ranks", job->world.size);
}

void job_watch_close(struct job *job)
{
    free(job->watch.reports);
    job->watch = (struct job_watch){0};
}

int job_watch_pause_ms(const struct job *job)
{
    const struct job_watch *watch = &job->watch;
    uint64_t now_ns = clock_now_ns();
    if (watch->under_way)
        return watch->idle ? IDLE_MS : BUSY_POLL_MS;
    return watch->next_ns > now_ns ? (int)((watch->next_ns - now_ns) / ms_ns) + 1 : 0;
}

/* All workers wait in the next barrier: exchanges their blocks, and releases ours. */
static int complete_barrier(struct job *job, struct err *err)
{
    struct job_watch *watch = &job->watch;
    size_t bytes = watch->reports[0].bytes;
    for (unsigned r = 1; r < job->world.size; r++)
        if (watch->reports[r].bytes != bytes)
            return err_set(err, -EPROTO, "rank %u meets with %u bytes, rank 0 with %zu", r,
                           watch->reports[r].bytes, bytes);
    unsigned char *all = malloc(job->world.size * bytes + 1);
    if (!all)
        return err_set(err, -ENOMEM, "no memory for a barrier of %u ranks", job->world.size);
    int rc = 0;
    if (bytes)
        rc = job_gather(job, barrier_block(watch->barrier, job->world.rank), all, bytes, err);
    for (unsigned r = 0; r < job->world.size && bytes && !rc; r++)
        memcpy(barrier_block(watch->barrier, r), all + r * bytes, bytes);
    free(all);
    watch->completed++;
    if (!rc)
        barrier_release(watch->barrier);
    return rc;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static int take_reports(struct job *job, struct err *err)
{
    struct job_watch *watch = &job->watch;
    struct job_report together = watch->reports[0];
    bool all_wait = true;
    for (unsigned r = 0; r < job->world.size; r++) {
        const struct job_report *report = &watch->reports[r];
        together.foreground = least(together.foreground, report->foreground);
        together.all = least(together.all, report->all);
        together.lost |= report->lost;
        together.timed_out |= report->timed_out;
        together.interrupted |= report->interrupted;
        all_wait = all_wait && report->posted == watch->completed + 1;
    }
    watch->together = together;
    watch->under_way = false;
    if (together.interrupted)
        return -EINTR;
    return all_wait ? complete_barrier(job, err) : 0;
}

/* True if other ranks took too long to answer: answer_limit_s, or much less after a signal to end.
 */
static bool answer_timed_out(const struct job *job)
{
    return clock_now_ns() - job->watch.begun_ns > (uint64_t)(job->answer_limit_s * 1e9) ||
           job_stop_grace_is_over(job);
}

int job_watch_step(struct job *job, const struct job_report *mine, bool idle, struct err *err)
{
    struct job_watch *watch = &job->watch;
    watch->idle = idle;
    if (!watch->under_way) {
        if (clock_now_ns() < watch->next_ns && !memcmp(&watch->mine, mine, sizeof(*mine)))
            return 0;
        watch->mine = *mine;
        watch->begun_ns = clock_now_ns();
        int rc = job_gather_begin(job, mine, watch->reports, sizeof(*mine), err);
        if (rc)
            return rc;
        watch->under_way = true;
    }
    int done = job_gather_test(job, err);
    if (done < 0)
        return done;
    if (!done)
        return answer_timed_out(job) ? job_find_lost(job, err) : 0;
    watch->next_ns = clock_now_ns() + (idle ? IDLE_MS : BUSY_MS) * ms_ns;
    return take_reports(job, err);
}
