/* Jobs whose ranks are threads of this test and exchange messages in memory. */
#include "harness/engine/job.h"

#include <pthread.h>

#include "harness/engine/arms.h"
#include "harness/engine/job_plans.h"
#include "harness/engine/job_results.h"
#include "harness/engine/worker/shared.h"
#include "tests/lib/unit.h"

enum { RANKS = 3, LETTERS = 64 };

/* ---- MPI: what a job's messages need ---- */

/* What each rank gave to its gathers; ranks are at most LETTERS gathers apart. */
static struct letter {
    size_t bytes;
    unsigned char *data;
} letters[RANKS][LETTERS];
static unsigned posted[RANKS];
static pthread_mutex_t post_office = PTHREAD_MUTEX_INITIALIZER;

static _Thread_local unsigned my_rank;
static _Thread_local bool my_all;
static _Thread_local unsigned char *my_into;

static int fake_begin(const void *mine, size_t bytes, void *all, bool spread, struct err *err)
{
    unsigned char *copy = malloc(bytes + 1);
    memcpy(copy, mine, bytes);
    (void)pthread_mutex_lock(&post_office);
    struct letter *letter = &letters[my_rank][posted[my_rank]++ % LETTERS];
    free(letter->data);
    *letter = (struct letter){.bytes = bytes, .data = copy};
    (void)pthread_mutex_unlock(&post_office);
    my_all = spread || !my_rank;
    my_into = all;
    return 0;
}

static int fake_test(bool *done, unsigned *awaited, struct err *err)
{
    (void)pthread_mutex_lock(&post_office);
    const unsigned now = posted[my_rank];
    *done = true;
    *awaited = 0;
    for (unsigned r = 0; r < RANKS && my_all && *done; r++)
        if (posted[r] < now) {
            *done = false;
            *awaited = my_rank ? 0 : r;
        }
    for (unsigned r = 0; r < RANKS && my_all && *done; r++) {
        const struct letter *letter = &letters[r][(now - 1) % LETTERS];
        assert_int_equal(letter->bytes, letters[my_rank][(now - 1) % LETTERS].bytes);
        memcpy(my_into + r * letter->bytes, letter->data, letter->bytes);
    }
    (void)pthread_mutex_unlock(&post_office);
    return 0;
}

static const struct mpi_ops fake_mpi = {
    .abi = MPI_OPS_ABI, .gather_begin = fake_begin, .gather_test = fake_test};

/* ---- ranks: 0 and 1 on machine a, 2 on machine b ---- */

struct rank {
    unsigned number;
    void (*body)(struct rank *);
    struct job job;
    struct signals signals;
    struct job_rank ranks[RANKS];
    int rc;
    struct err err;
    char text[300]; /* result that the test checks */
};

static void *live(void *arg)
{
    struct rank *rank = arg;
    my_rank = rank->number;
    rank->body(rank);
    return NULL;
}

static void make_job(struct rank *rank)
{
    static const char *const hosts[RANKS] = {"a", "a", "b"};
    for (unsigned r = 0; r < RANKS; r++) {
        put_text(rank->ranks[r].host, "%s", hosts[r]);
        put_text(rank->ranks[r].machine, "%s", hosts[r]);
    }
    rank->signals = (struct signals){.fd = -1};
    rank->job = (struct job){
        .mpi = &fake_mpi,
        .launcher = "mpirun",
        .world = {.rank = rank->number, .size = RANKS},
        .ranks = rank->ranks,
        .plan_rank = rank->number == 1,
        .plan_size = rank->number == 2 ? 1 : 2,
        .leaders = 2,
        .leaders_before = rank->number > 0,
        .signals = &rank->signals,
        .answer_limit_s = 60,
    };
}

/* Runs `body` in every rank. */
static struct rank *run_ranks(void (*body)(struct rank *))
{
    static struct rank ranks[RANKS];
    pthread_t threads[RANKS];
    memset(ranks, 0, sizeof(ranks));
    memset(posted, 0, sizeof(posted));
    for (unsigned r = 0; r < RANKS; r++) {
        ranks[r].number = r;
        ranks[r].body = body;
        make_job(&ranks[r]);
        assert_int_equal(pthread_create(&threads[r], NULL, live, &ranks[r]), 0);
    }
    for (unsigned r = 0; r < RANKS; r++)
        (void)pthread_join(threads[r], NULL);
    return ranks;
}

static void gather_many(struct rank *rank)
{
    unsigned all[RANKS];
    for (unsigned i = 0; i < 200 && !rank->rc; i++) {
        unsigned mine = rank->number * 1000 + i;
        rank->rc = job_gather(&rank->job, &mine, all, sizeof(mine), &rank->err);
        for (unsigned r = 0; r < RANKS; r++)
            rank->rc = rank->rc ? rank->rc : all[r] == r * 1000 + i ? 0 : -EBADMSG;
    }
}

TEST(job_gather)
{
    struct rank *ranks = run_ranks(gather_many);
    for (unsigned r = 0; r < RANKS; r++)
        assert_int_equal(ranks[r].rc, 0);
}

static void agree_on_third(struct rank *rank)
{
    int mine = rank->number == 2 ? err_set(&rank->err, -ENOSPC, "no room") : 0;
    rank->rc = job_agree(&rank->job, mine, &rank->err);
}

static void agree_on_all(struct rank *rank)
{
    rank->rc = job_agree(&rank->job, err_set(&rank->err, -EINVAL, "no such thing"), &rank->err);
}

TEST(job_agree)
{
    struct rank *ranks = run_ranks(agree_on_third);
    for (unsigned r = 0; r < RANKS; r++) {
        assert_int_equal(ranks[r].rc, -ENOSPC);
        assert_string_equal(ranks[r].err.msg, "rank 2 (host b): no room");
    }
    ranks = run_ranks(agree_on_all);
    assert_int_equal(ranks[1].rc, -EINVAL);
    assert_string_equal(ranks[1].err.msg, "no such thing");
}

static void differ(struct rank *rank)
{
    rank->rc = job_require_same(&rank->job, "arguments", rank->number == 1 ? "x" : "y", &rank->err);
}

TEST(job_require_same)
{
    struct rank *ranks = run_ranks(differ);
    for (unsigned r = 0; r < RANKS; r++) {
        assert_int_equal(ranks[r].rc, -EINVAL);
        assert_string_equal(ranks[r].err.msg,
                            "arguments of rank 1 (host a) differ from those of rank 0");
    }
}

static void second_is_dead(struct rank *rank)
{
    unsigned mine = 1, all[RANKS];
    rank->job.answer_limit_s = 0.1;
    if (rank->number != 1)
        rank->rc = job_gather(&rank->job, &mine, all, sizeof(mine), &rank->err);
}

TEST(job_names_the_lost_rank)
{
    struct rank *ranks = run_ranks(second_is_dead);
    assert_int_equal(ranks[0].rc, -EIO);
    assert_string_equal(ranks[0].err.msg, "rank 1 (host a) does not answer");
    assert_int_equal(ranks[0].job.end, JOB_LOST);
    assert_int_equal(ranks[2].rc, -EIO);
    assert_string_equal(ranks[2].err.msg, "rank 0 (host a) does not answer");
    int rc = job_gather(&ranks[0].job, &rc, ranks[0].text, 4, &ranks[0].err);
    assert_int_equal(rc, -EIO); /* after an error no call is tried */
}

static void collect_texts(struct rank *rank)
{
    char mine[9] = "four", all[RANKS][9];
    if (rank->number == 2)
        put_text(mine, "bytes: 9");
    rank->rc = job_collect(&rank->job, mine, rank->number ? NULL : all, sizeof(mine), &rank->err);
    if (rank->number == 0 && !rank->rc)
        put_text(rank->text, "%s, %s", all[1], all[2]);
}

TEST(job_collect)
{
    struct rank *ranks = run_ranks(collect_texts);
    assert_string_equal(ranks[0].text, "four, bytes: 9");
    assert_int_equal(ranks[2].rc, 0);
}

/* ---- plans of different machines ---- */

static const struct bench team = {.name = "team", .gang = true};

/* Machine a has eight cores, b five; each plans for its own ranks and one background worker. */
static void spread_with(struct rank *rank, bool background_as_workers)
{
    static const char *const machines[] = {"package:1 core:8 pu:1", "package:1 core:5 pu:1"};
    const struct topo_options options = {.xml = machines[rank->number == 2]};
    enum placement placement = PLACE_PARTITION;
    const struct arms_request request = {.bench = &team,
                                         .placements = &placement,
                                         .nplacements = 1,
                                         .workers = &rank->job.plan_size,
                                         .nworkers = 1,
                                         .background_as_workers = background_as_workers,
                                         .plan = {.background = 1}};
    AUTO(topo) topo = {0};
    ENDED_BY(arms_free) struct result result = {0};
    (void)pthread_mutex_lock(&post_office); /* hwloc is not thread-safe */
    rank->rc = topo_load(&options, &topo, &rank->err);
    (void)pthread_mutex_unlock(&post_office);
    if (!rank->rc)
        rank->rc = arms_add(&topo, &request, &result, &rank->err);
    rank->rc = job_agree(&rank->job, rank->rc, &rank->err);
    if (!rank->rc)
        rank->rc = job_plan_spread(&rank->job, &topo, &result, &rank->err);
    for (unsigned w = 0; !rank->rc && w < result.arms[0].plan.nworkers; w++) {
        const struct plan_worker *worker = &result.arms[0].plan.workers[w];
        size_t used = strlen(rank->text);
        (void)snprintf(rank->text + used, sizeof(rank->text) - used, "%s%s:%s%s", w ? " " : "",
                       worker->host, bitset_format(&worker->cpus), worker->background ? "b" : "");
    }
    if (!rank->rc) {
        unsigned first, n = job_plan_background(&rank->job, &result.arms[0], &first);
        size_t used = strlen(rank->text);
        (void)snprintf(rank->text + used, sizeof(rank->text) - used, "; %u slots, own %u at %u",
                       result.arms[0].planned_workers, n, n ? first : 0);
    }
}

static void spread(struct rank *rank)
{
    spread_with(rank, false);
}

static void spread_as_workers(struct rank *rank)
{
    spread_with(rank, true);
}

/* Each rank has watched GPU 1 of its host, and the last rank also GPU 2. */
static void join_gpus(struct rank *rank)
{
    const struct arm arm = {
        .bench = &team, .workers = RANKS, .planned_workers = RANKS, .plan = {.nworkers = RANKS}};
    const struct job_readings readings = {0};
    AUTO(observation) out = {.nworkers = 1, .ngpus = rank->number == 2 ? 2 : 1};
    out.workers = calloc(1, sizeof(*out.workers));
    out.gpus = calloc(2, sizeof(*out.gpus));
    assert_true(out.workers && out.gpus);
    put_text(out.gpus[0].pci_bdf, "gpu1");
    put_text(out.gpus[1].pci_bdf, "gpu2");
    out.gpus[0].xid = out.gpus[1].xid = 40 + (int)rank->number;
    rank->rc = job_results_join(&rank->job, &arm, &readings, 0, &out, &rank->err);
    for (unsigned i = 0; i < out.ngpus && rank->number == 0; i++) {
        size_t used = strlen(rank->text);
        (void)snprintf(rank->text + used, sizeof(rank->text) - used, "%s of %s: %d; ",
                       out.gpus[i].pci_bdf, out.gpus[i].host, out.gpus[i].xid);
    }
}

TEST(job_joins_what_gpus_met)
{
    struct rank *ranks = run_ranks(join_gpus);
    for (unsigned r = 0; r < RANKS; r++)
        assert_int_equal(ranks[r].rc, 0);
    assert_string_equal(ranks[0].text, "gpu1 of a: 40; gpu1 of b: 42; gpu2 of b: 42; ");
}

/* What a rank read about its CPUs over 10 s, in which each of its workers used 4 s and itself 0.5
 * s. */
static struct job_readings readings_of(const char *cpus, unsigned ncpus, double busy_s)
{
    struct job_readings readings = {.workers_s = 4, .helpers_s = 0.5};
    assert_int_equal(bitset_parse(cpus, &readings.cpus, NULL), 0);
    readings.end = (struct usage_machine){
        .cpu_s = 10.0 * ncpus, .busy_s = busy_s, .at_ns = 10 * UINT64_C(1000000000)};
    return readings;
}

static void join_readings(struct rank *rank, const struct job_readings *readings,
                          enum placement placement, double waited)
{
    struct plan_worker planned[RANKS] = {{.threads = 1}, {.threads = 1}, {.threads = 1}};
    const struct arm arm = {.bench = &team,
                            .placement = placement,
                            .workers = RANKS,
                            .planned_workers = RANKS,
                            .plan = {.workers = planned, .nworkers = RANKS}};
    AUTO(observation) out = {.nworkers = 1};
    for (unsigned r = 0; r < RANKS; r++)
        bitset_set(&planned[r].cpus, r);
    out.workers = calloc(1, sizeof(*out.workers));
    assert_non_null(out.workers);
    out.workers[0].usage.wall_s = 10;
    out.workers[0].usage.runqueue_s = rank->number == 1 ? 10 * waited : 0;
    rank->rc = job_results_join(&rank->job, &arm, readings, 0, &out, &rank->err);
    if (rank->number == 0)
        put_text(rank->text, "%s, %.2f foreign: %s", status_name(out.status), out.foreign_cpu,
                 out.reason);
}

/* Only rank 1 shares its CPU with another process, which would hardly show in the whole machine's
 * load. */
static void join_apart(struct rank *rank)
{
    static const char *const cpus[RANKS] = {"0", "1", "0"};
    const struct job_readings readings =
        readings_of(cpus[rank->number], 1, rank->number == 1 ? 7 : 4);
    join_readings(rank, &readings, PLACE_PARTITION, 0);
}

/* Each rank sees the workers of both ranks on the CPUs of both. */
static void join_shared(struct rank *rank)
{
    const struct job_readings readings =
        rank->number == 2 ? readings_of("0", 1, 4) : readings_of("0-1", 2, 9);
    join_readings(rank, &readings, PLACE_NONE, 0);
}

static void join_waiting(struct rank *rank)
{
    const struct job_readings readings = readings_of("0", 1, 4);
    join_readings(rank, &readings, PLACE_PARTITION, 0.05);
}

static void join_waiting_unpinned(struct rank *rank)
{
    const struct job_readings readings = readings_of("0", 1, 4);
    join_readings(rank, &readings, PLACE_NONE, 0.05);
}

TEST(job_noise_is_of_each_ranks_own_cpus)
{
    /* 7 s, of which the rank's worker used 4 s, and the two ranks of its machine 0.5 s each. */
    assert_string_equal(run_ranks(join_apart)[0].text,
                        "noisy, 0.20 foreign: 20% of the CPU time went to other processes");
    assert_string_equal(run_ranks(join_shared)[0].text, "ok, 0.00 foreign: ");
}

TEST(job_waits_for_ones_own_cpus_are_noise)
{
    assert_string_equal(run_ranks(join_waiting)[0].text,
                        "noisy, 0.00 foreign: rank 1 (host a) waited 5% of its time for CPUs that "
                        "are its own");
    assert_string_equal(run_ranks(join_waiting_unpinned)[0].text, "ok, 0.00 foreign: ");
}

TEST(job_plan_needs_equal_backgrounds)
{
    struct rank *ranks = run_ranks(spread_as_workers);
    for (unsigned r = 0; r < RANKS; r++) {
        assert_int_equal(ranks[r].rc, -EINVAL);
        assert_string_equal(ranks[r].err.msg,
                            "rank 2 (host b) plans another number of background workers, 1, than "
                            "rank 0, 2: say --background-workers N, or start as many ranks on each "
                            "host");
    }
}

TEST(job_plan_spread)
{
    struct rank *ranks = run_ranks(spread);
    for (unsigned r = 0; r < RANKS; r++)
        assert_int_equal(ranks[r].rc, 0);
    const char *plan = "a:0-2 a:3-5 b:0-2 a:6-7b b:3-4b; 3 slots, own ";
    for (unsigned r = 0; r < RANKS; r++)
        assert_memory_equal(ranks[r].text, plan, strlen(plan));
    assert_string_equal(ranks[0].text + strlen(plan), "1 at 3");
    assert_string_equal(ranks[1].text + strlen(plan), "0 at 0");
    assert_string_equal(ranks[2].text + strlen(plan), "1 at 4");
}

/* ---- watching an arm ---- */

/* Watches until all ranks are done, or one is lost; rank 1 is slow, and then ends as `lost`
 * says. */
static void watch_until(struct rank *rank, bool lost)
{
    struct job *job = &rank->job;
    struct barrier *barrier = calloc(1, sizeof(*barrier));
    rank->rc = barrier ? job_watch_open(job, barrier, &rank->err) : -ENOMEM;
    struct job_report mine = {.foreground = WORKER_DONE, .all = WORKER_DONE};
    unsigned steps = 0;
    while (!rank->rc && !job_reached(job, false, WORKER_DONE) && !job->watch.together.lost) {
        bool slow = rank->number == 1 && steps < 20;
        mine.foreground = slow ? WORKER_RUNNING : WORKER_DONE;
        mine.lost = rank->number == 1 && !slow && lost;
        rank->rc = job_watch_step(job, &mine, true, &rank->err);
        (void)usleep(1000);
        steps++;
    }
    put_text(rank->text, "%s", job->watch.together.lost ? "lost" : "done");
    job_watch_close(job);
    free(barrier);
}

static void watch_all_done(struct rank *rank)
{
    watch_until(rank, false);
}

static void watch_one_lost(struct rank *rank)
{
    watch_until(rank, true);
}

TEST(job_watch)
{
    struct rank *ranks = run_ranks(watch_all_done);
    for (unsigned r = 0; r < RANKS; r++) {
        assert_int_equal(ranks[r].rc, 0);
        assert_string_equal(ranks[r].text, "done");
    }
    ranks = run_ranks(watch_one_lost);
    for (unsigned r = 0; r < RANKS; r++)
        assert_string_equal(ranks[r].text, "lost");
}

/* A signal at one rank ends all of them after the same exchange. */
static void watch_signal(struct rank *rank)
{
    struct job *job = &rank->job;
    struct barrier *barrier = calloc(1, sizeof(*barrier));
    rank->rc = barrier ? job_watch_open(job, barrier, &rank->err) : -ENOMEM;
    struct job_report mine = {.foreground = WORKER_RUNNING, .all = WORKER_RUNNING};
    for (unsigned steps = 0; !rank->rc; steps++) {
        mine.interrupted = rank->number == 2 && steps > 10;
        rank->rc = job_watch_step(job, &mine, false, &rank->err);
        (void)usleep(1000);
    }
    job_watch_close(job);
    free(barrier);
}

TEST(job_watch_interrupt)
{
    struct rank *ranks = run_ranks(watch_signal);
    for (unsigned r = 0; r < RANKS; r++)
        assert_int_equal(ranks[r].rc, -EINTR);
}

/* A hundred barriers of workers, whose data their parents exchange. */
static void *meet(void *arg)
{
    struct peers *peers = arg;
    unsigned all[RANKS], sum = 0;
    for (unsigned i = 0; i < 100; i++) {
        unsigned mine = peers->rank + i;
        if (peers_gather(peers, &mine, all, sizeof(mine), NULL))
            return NULL;
        for (unsigned r = 0; r < RANKS; r++)
            sum += all[r] - i;
    }
    return sum == 300 ? peers : NULL;
}

static void wake_nobody(void *arg)
{
}

static void relay(struct rank *rank)
{
    struct job *job = &rank->job;
    struct peers peers;
    struct barrier_rank view = {.wake = wake_nobody};
    struct barrier *barrier = calloc(1, sizeof(*barrier));
    pthread_t worker;
    void *met = NULL;
    barrier->relay = 1;
    barrier_join(barrier, &view, rank->number, RANKS, &peers);
    rank->rc = job_watch_open(job, barrier, &rank->err);
    assert_int_equal(pthread_create(&worker, NULL, meet, &peers), 0);
    while (!rank->rc && job->watch.completed < 100) {
        struct job_report mine = {.foreground = WORKER_RUNNING};
        mine.posted = barrier_posted(barrier, &mine.bytes);
        rank->rc = job_watch_step(job, &mine, true, &rank->err);
    }
    (void)pthread_join(worker, &met);
    put_text(rank->text, "%s", met ? "met" : "not met");
    job_watch_close(job);
    free(barrier);
}

TEST(job_watch_holds_barriers)
{
    struct rank *ranks = run_ranks(relay);
    for (unsigned r = 0; r < RANKS; r++) {
        assert_int_equal(ranks[r].rc, 0);
        assert_string_equal(ranks[r].text, "met");
    }
}
