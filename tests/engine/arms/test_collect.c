/* When a round of workers that own their CPUs counts as disturbed. */
#include "harness/engine/arms/collect.h"

#include <math.h>

#include "harness/engine/worker/shared.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

/* The status of a round of two workers, of which the second waited in the run queue for `share`. */
static enum status judge(enum placement placement, unsigned threads, double share, const char *why)
{
    struct result result;
    fixture_result_init(&result);
    size_t arm = fixture_add_arm(&result, placement, 2, false);
    struct observation *round = fixture_add_even_round(&result, arm, 0, 10, 4);
    fixture_set_shares(&round->workers[0], 1, 0, 0);
    fixture_set_shares(&round->workers[1], 1 - share, share, 0);
    result.arms[arm].plan.workers[1].threads = threads;
    collect_waits(&result.arms[arm], round);
    enum status status = round->status;
    assert_string_equal(round->reason, why);
    fixture_result_free(&result);
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
    const uint64_t killed_ns = 5000;
    for (size_t i = 0; i < 3; i++) {
        struct worker_result out = {0};
        atomic_store(&worker.nsamples, 1);
        worker.samples[0] = (struct sample){.start_ns = 1000, .elapsed_ns = 4001, .iters = 1};
        worker.go_ns = 1000;
        worker.end_ns = 5001;
        worker.at_end.at_ns = 5000;
        atomic_store(&worker.step_started, started[i]);
        assert_int_equal(collect_worker(&worker, 1000, killed_ns, &out), 0);
        assert_true(out.censored);
        assert_int_equal(out.nsamples, i == 2 ? 2 : 1);
        assert_int_equal(out.samples[out.nsamples - 1].elapsed_ns, i == 2 ? 1000 : 4001);
        assert_true(isnan(out.usage.wall_s) && isnan(out.usage.minor_faults));
        free(out.samples);
    }
}

/* The status of a round with a GPU that heat throttled for that share of the time. */
static enum status judge_heat(double heat, const char *why)
{
    struct result result;
    fixture_result_init(&result);
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
    fixture_result_free(&result);
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
