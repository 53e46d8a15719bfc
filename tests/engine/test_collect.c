/* When a round of workers that own their CPUs counts as disturbed. */
#include "harness/engine/collect.h"

#include "harness/engine/worker/shared.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

/* The status of a round of two workers, of which the second waited in the run queue for `share`. */
static enum status judge(enum placement placement, unsigned threads, double share, const char *why)
{
    EMPTY_RESULT(result);
    size_t arm = fixture_add_arm(&result, placement, 2, false);
    struct observation *round = fixture_add_even_round(&result, arm, 0, 10, 4);
    fixture_set_shares(&round->workers[0], 1, 0, 0);
    fixture_set_shares(&round->workers[1], 1 - share, share, 0);
    result.arms[arm].plan.workers[1].threads = threads;
    collect_waits(&result.arms[arm], round);
    enum status status = round->status;
    assert_string_equal(round->reason, why);
    return status;
}

TEST(collect_waits_for_ones_own_cpus_are_noise)
{
    const char said[] = "worker 1 waited 5% of its time for CPUs that are its own";
    assert_int_equal(judge(PLACE_PARTITION, 4, 0.05, said), STATUS_NOISY);
    assert_int_equal(judge(PLACE_PARTITION, 4, 0.015, ""), STATUS_OK);
    assert_int_equal(judge(PLACE_PARTITION, 8, 0.5, ""), STATUS_OK); /* more threads than CPUs */
    assert_int_equal(judge(PLACE_NONE, 8, 0.5, ""),
                     STATUS_OK); /* `none` and `same` measure just that */
    assert_int_equal(judge(PLACE_SAME, 4, 0.5, ""), STATUS_OK);
}

/*
 * Workers continue while they are read and killed. A step that ended or began after that moment
 * does not count; it once lasted 584 years. The usage of a worker that ended before the first
 * reading is unknown.
 */
TEST(collect_no_step_behind_the_kill)
{
    static struct shared_worker worker;
    static const uint64_t started[] = {0, 5002, 4000};
    const struct worker_end end = {.killed_ns = 5000, .at_end.at_ns = 5000};
    for (size_t i = 0; i < 3; i++) {
        struct worker_result out = {0};
        atomic_store(&worker.nsamples, 1);
        worker.samples[0] = (struct sample){.start_ns = 1000, .elapsed_ns = 4001, .iters = 1};
        worker.go_ns = 1000;
        worker.end_ns = 5001;
        atomic_store(&worker.step_started, started[i]);
        assert_int_equal(collect_worker(&worker, 1000, &end, &out), 0);
        assert_true(out.censored);
        assert_int_equal(out.nsamples, i == 2 ? 2 : 1);
        assert_int_equal(out.samples[out.nsamples - 1].elapsed_ns, i == 2 ? 1000 : 4001);
        assert_true(isnan(out.usage.wall_s) && isnan(out.usage.minor_faults));
        free(out.samples);
    }
}

static void free_result(struct worker_result *out)
{
    free(out->samples);
    free(out->values);
    free(out->reasons);
    free(out->staged);
    free(out->cpu_samples);
}

/*
 * A worker that is cut off reads its own use in the same moment as its parent. Each has a reading
 * of its own: in one of both, threads were counted twice, beyond the array.
 */
TEST(collect_takes_the_parents_reading_of_a_cut_step)
{
    static struct shared_worker worker;
    static struct worker_end end;
    struct worker_result out = {0};
    atomic_store(&worker.nsamples, 1);
    worker.samples[0] = (struct sample){.start_ns = 1000, .elapsed_ns = 1000, .iters = 1};
    worker.go_ns = worker.at_go.at_ns = 1000;
    worker.end_ns = 2000;
    worker.at_go.nthreads = 1;
    worker.at_go.so_far.voluntary_switches = 10;
    worker.at_end = worker.at_go;
    worker.at_end.nthreads = 2 * CPU_SAMPLE_THREADS; /* half-written */
    worker.at_end.so_far.voluntary_switches = 0;
    atomic_store(&worker.step_started, 2000);
    end.killed_ns = end.at_end.at_ns = 5000;
    end.at_end.nthreads = 3;
    end.at_end.so_far.voluntary_switches = 17;
    assert_int_equal(collect_worker(&worker, 1000, &end, &out), 0);
    assert_int_equal(out.usage.voluntary_switches, 7);
    assert_int_equal(out.usage.team_threads, 3);
    free_result(&out);
}

/* A worker that a fault of its benchmark ends may have written anything. */
TEST(collect_reads_nothing_beyond_a_report)
{
    static struct shared_worker worker;
    static const struct worker_end end;
    struct worker_result out = {0};
    memset(&worker, 0x7f, sizeof(worker));
    worker.plan = (struct plan_worker){0}; /* orders are the parent's */
    memset(worker.cpu_samples.thread + 2, 0,
           sizeof(worker.cpu_samples.thread[0]) * (CPU_SAMPLE_THREADS - 2));
    assert_int_equal(collect_worker(&worker, 1000, &end, &out), 0);
    assert_int_equal(out.status, STATUS_FAILED);
    assert_int_equal(out.nsamples, SHARED_SAMPLES);
    assert_int_equal(out.nvalues, VALUES_MAX);
    assert_int_equal(out.nreasons, VALUE_REASONS_MAX);
    assert_int_equal(out.values[0].reason, VALUE_REASONS_MAX);
    assert_int_equal(out.nstaged, SHARED_STAGED);
    assert_int_equal(out.nmasks, TREE_MASKS);
    assert_int_equal(out.ncpu_samples, 2 * CPU_SAMPLE_MARKS);
    assert_int_equal(out.usage.team_threads, CPU_SAMPLE_THREADS);
    assert_true(isnan(out.usage.oncpu_s)); /* more threads than the list has */
    assert_true(memchr(out.err.msg, '\0', sizeof(out.err.msg)) &&
                memchr(out.library, '\0', sizeof(out.library)));
    free_result(&out);
}

/* The status of a round with a GPU that heat throttled for that share of the time. */
static enum status judge_heat(double heat, const char *why)
{
    EMPTY_RESULT(result);
    size_t arm = fixture_add_arm(&result, PLACE_PARTITION, 2, false);
    struct observation *round = fixture_add_even_round(&result, arm, 0, 10, 4);
    round->gpus = calloc(2, sizeof(*round->gpus));
    assert_non_null(round->gpus);
    round->ngpus = 2;
    round->gpus[0] = (struct gpu_change){.pci_bdf = "0000:01:00.0", .thermal_share = NAN};
    round->gpus[1] = (struct gpu_change){.pci_bdf = "0000:02:00.0", .thermal_share = heat};
    collect_verdict(round);
    enum status status = round->status;
    assert_string_equal(round->reason, why);
    return status;
}

TEST(collect_heat_of_a_gpu_is_noise)
{
    assert_int_equal(judge_heat(0, ""), STATUS_OK);
    assert_int_equal(judge_heat(0.005, ""), STATUS_OK);
    assert_int_equal(judge_heat(NAN, ""), STATUS_OK);
    assert_int_equal(
        judge_heat(0.25, "heat held back the clock of GPU 0000:02:00.0 for 25% of the time"),
        STATUS_NOISY);
}
