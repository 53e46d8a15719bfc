/* A round's values compared with sums worked out by hand, and the choice of each arm's baseline. */
#include "harness/record/rounds.h"

#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

static struct rounds rounds; /* of the last summarise() */

static const struct arm_rounds *summarise(size_t arm)
{
    rounds_free(&rounds); /* frees those of an earlier call */
    assert_int_equal(rounds_make(&by_hand.result, &rounds, NULL), 0);
    return &rounds.arms[arm];
}

TEST_OF_RESULT(rounds_round_by_hand)
{
    size_t arm = fixture_add_arm(&by_hand.result, PLACE_PARTITION, 2, false);
    struct observation *round =
        fixture_add_round(&by_hand.result, arm, 4, (double[]){10, 10, 20}, 3);
    fixture_set_steps(&round->workers[1], (double[]){20, 20}, 2);
    const struct arm_rounds *got = summarise(arm);
    assert_int_equal(got->n, 1);
    const struct round_fields *values = &got->fields[0];
    assert_int_equal(values->round, 4);
    assert_near(values->throughput, 300 / 0.040 + 200 / 0.040);
    assert_near(values->step_time, 0.015); /* 10 of 10 10 20, and 20 of 20 20 */
    double mean = (0.040 / 3 + 0.020) / 2; /* mean of the workers' means */
    assert_near(values->usage.wall_s, mean);
    assert_near(values->usage.oncpu_s, 0.5 * mean);
    assert_near(values->usage.runqueue_s, 0.3 * mean);
    assert_near(values->usage.blocked_s, 0.2 * mean);
    assert_near(values->usage.oncpu_s + values->usage.runqueue_s + values->usage.blocked_s,
                values->usage.wall_s);
    assert_near(values->usage.voluntary_switches, 2);
    assert_near(values->usage.involuntary_switches, 4);
    assert_near(values->usage.migrations, 1);
    assert_near(values->usage.minor_faults, 8);
    assert_near(values->usage.instructions, 4000); /* 4 threads in a slice of 8 CPUs */
    assert_near(values->thread_instructions, 1000);
    assert_true(isnan(values->usage.cache_misses));
    assert_near(values->usage.cpus_visited, 3);
    assert_near(values->gpu_busy, 0.25);
    assert_near(values->steal, 0.01);
    assert_true(isnan(values->gpu_clock_mhz));
    assert_true(isnan(values->pages_remote));
    assert_int_equal(got->nsteps, 5);
    assert_near(got->steps[0], 0.010);
    assert_near(got->steps[4], 0.020);
}

TEST_OF_RESULT(rounds_divides_batches_by_iters)
{
    size_t arm = fixture_add_arm(&by_hand.result, PLACE_NONE, 1, false);
    struct observation *round = fixture_add_even_round(&by_hand.result, arm, 0, 40, 2);
    for (int i = 0; i < 2; i++)
        round->workers[0].samples[i].iters = 4;
    const struct round_fields *values = &summarise(arm)->fields[0];
    assert_near(values->step_time, 0.010);
    assert_near(values->usage.wall_s, 0.010); /* 80 ms of wall time, 8 steps */
    assert_near(values->throughput, 200 / 0.080);
}

TEST_OF_RESULT(rounds_ignores_background)
{
    size_t arm = fixture_add_arm(&by_hand.result, PLACE_PARTITION, 2, false);
    struct observation *round = fixture_add_even_round(&by_hand.result, arm, 0, 10, 2);
    by_hand.result.arms[arm].workers = 1;
    round->workers[1].background = true;
    fixture_set_steps(&round->workers[1], (double[]){500}, 1);
    const struct arm_rounds *got = summarise(arm);
    assert_near(got->fields[0].throughput, 100 / 0.010);
    assert_near(got->fields[0].usage.wall_s, 0.010);
    assert_int_equal(got->nsteps, 2);
}

static void start_earlier(struct worker_result *worker, uint64_t by_ns)
{
    for (size_t i = 0; i < worker->nsamples; i++)
        worker->samples[i].start_ns -= by_ns;
}

/* The rate of whole steps within the 40 ms in which the foreground worker was measured. */
TEST_OF_RESULT(rounds_background_rate)
{
    size_t arm = fixture_add_arm(&by_hand.result, PLACE_NONE, 3, false);
    struct observation *round = fixture_add_even_round(&by_hand.result, arm, 0, 10, 4);
    struct worker_result *behind = &round->workers[1];
    assert_true(isnan(summarise(arm)->fields[0].background_rate));
    by_hand.result.arms[arm].workers = 1;
    behind[0].background = behind[1].background = true;
    fixture_set_steps(&behind[0], (double[]){15, 15, 10, 15}, 4);
    fixture_set_steps(&behind[1], (double[]){20, 30, 20}, 3);
    start_earlier(&behind[0], 5000000);
    start_earlier(&behind[1], 15000000);
    const struct round_fields *values = &summarise(arm)->fields[0];
    assert_near(values->background_rate, 200 / 0.025 + 100 / 0.030);
    assert_near(values->throughput, 400 / 0.040);
    fixture_set_steps(&behind[1], (double[]){50}, 1); /* the sum lacks this worker */
    assert_true(isnan(summarise(arm)->fields[0].background_rate));
}

/* Steps of 15 ms at doses 0.1, 0.4 and 0.2 begin 10 ms before the 25 ms that count. */
TEST_OF_RESULT(rounds_dose_is_weighted_by_time)
{
    size_t arm = fixture_add_arm(&by_hand.result, PLACE_PARTITION, 2, false);
    (void)fixture_add_even_round(&by_hand.result, arm, 0, 5, 5);
    assert_true(isnan(summarise(arm)->fields[0].dose));
    fixture_add_dose(&by_hand.result, arm, (struct dose){DOSE_CPU, 0.2}, 0.3);
    assert_near(summarise(arm)->fields[0].dose, 0.3);
    struct worker_result *behind = &by_hand.result.arms[arm].observations[0].workers[2];
    fixture_set_steps(behind, (double[]){15, 15, 15}, 3);
    start_earlier(behind, 10000000);
    for (size_t i = 0; i < 3; i++)
        behind->samples[i].rate = (double[]){0.1, 0.4, 0.2}[i];
    const struct round_fields *values = &summarise(arm)->fields[0];
    assert_near(values->dose, (5 * 0.1 + 15 * 0.4 + 5 * 0.2) / 25);
    assert_near(values->throughput, 2 * 500 / 0.025);
    behind->samples[1].rate = NAN; /* a probe that got no CPU */
    assert_near(summarise(arm)->fields[0].dose, (5 * 0.1 + 5 * 0.2) / 10);
}

TEST_OF_RESULT(rounds_censored_is_a_bound)
{
    size_t arm = fixture_add_arm(&by_hand.result, PLACE_NONE, 2, false);
    struct observation *round =
        fixture_add_round(&by_hand.result, arm, 0, (double[]){1000, 4200}, 2);
    fixture_censor(round, 0);
    const struct arm_rounds *got = summarise(arm);
    assert_int_equal(got->status, STATUS_CENSORED);
    assert_string_equal(got->reason,
                        "more than 4.20 s: some steps did not end within the limit; times are "
                        "lower bounds, rates upper bounds");
    /* Ops of two whole steps in the time until the limit: an upper bound. */
    assert_near(got->fields[0].throughput, 2 * 200 / 5.2);
    assert_near(got->fields[0].step_time, 2.6); /* of 1000 1000 4200 4200 ms */
}

TEST_OF_RESULT(rounds_drops_failed_rounds)
{
    size_t arm = fixture_add_arm(&by_hand.result, PLACE_NONE, 2, false);
    for (unsigned round = 0; round < 3; round++)
        (void)fixture_add_even_round(&by_hand.result, arm, round, 10 + round, 2);
    struct observation *bad = &by_hand.result.arms[arm].observations[1];
    bad->status = STATUS_FAILED;
    bad->workers[1].status = STATUS_FAILED;
    put_text(bad->reason, "worker 1: out\nof memory");
    const struct arm_rounds *got = summarise(arm);
    assert_int_equal(got->n, 2);
    assert_int_equal(got->nsteps, 8);
    assert_int_equal(got->fields[1].round, 2);
    assert_int_equal(got->status, STATUS_FAILED);
    assert_string_equal(got->reason, "1 of 3 rounds: worker 1: out of memory");
    assert_null(rounds_find(&rounds, (int)arm, 1));
    assert_non_null(rounds_find(&rounds, (int)arm, 2));
    assert_null(rounds_find(&rounds, -1, 0));
}

TEST_OF_RESULT(rounds_without_a_workers_steps)
{
    size_t arm = fixture_add_arm(&by_hand.result, PLACE_NONE, 2, false);
    struct observation *round = fixture_add_even_round(&by_hand.result, arm, 0, 10, 2);
    round->workers[1].nsamples = 0;
    const struct round_fields *values = &summarise(arm)->fields[0];
    /* Half a sum would look like a slow arm instead of a broken one. */
    assert_true(isnan(values->throughput));
    assert_true(isnan(values->usage.oncpu_s));
    assert_near(values->step_time, 0.010);
}

TEST_OF_RESULT(rounds_pages_remote)
{
    size_t arm = fixture_add_arm(&by_hand.result, PLACE_NUMA, 2, false);
    struct observation *round = fixture_add_even_round(&by_hand.result, arm, 0, 10, 1);
    for (unsigned w = 0; w < 2; w++) {
        struct plan_worker *planned = &by_hand.result.arms[arm].plan.workers[w];
        planned->mem_policy = MEM_BIND;
        bitset_set(&planned->mem_nodes, w);
        round->workers[w].pages_on_node[w] = 90;
        round->workers[w].pages_elsewhere = 1000; /* not counted, as their node is unknown */
    }
    round->workers[1].pages_on_node[0] = 20;
    assert_near(summarise(arm)->fields[0].pages_remote, 20.0 / 200);
}

static double stolen_of(enum placement placement, double steal)
{
    size_t arm = fixture_add_arm(&by_hand.result, placement, 2, false);
    fixture_add_even_round(&by_hand.result, arm, 0, 10, 1)->steal = steal;
    return summarise(arm)->fields[0].stolen_s;
}

/* Stolen CPU time is divided among the threads on those CPUs, and is part of blocked time. */
TEST_OF_RESULT(rounds_stolen_time_is_part_of_blocked)
{
    assert_near(stolen_of(PLACE_PARTITION, 0.05), 0.05 * 0.010);
    assert_near(stolen_of(PLACE_NONE, 0.05), 0.05 * 0.010 / 2); /* 16 threads, 8 CPUs */
    assert_near(stolen_of(PLACE_PARTITION, 0.9), 0.2 * 0.010);  /* all blocked time */
    assert_true(isnan(stolen_of(PLACE_PARTITION, NAN)));
}

/* A baseline is compared with the plan of the slot whose slice it had. */
TEST_OF_RESULT(rounds_baseline_has_the_plan_of_its_slot)
{
    size_t arm = fixture_add_arm(&by_hand.result, PLACE_NUMA, 2, true);
    struct observation *round = fixture_add_even_round(&by_hand.result, arm, 0, 10, 1);
    for (unsigned w = 0; w < 2; w++) {
        by_hand.result.arms[arm].plan.workers[w].mem_policy = MEM_BIND;
        bitset_set(&by_hand.result.arms[arm].plan.workers[w].mem_nodes, w);
    }
    round->slot = 1;
    round->workers[0].pages_on_node[1] = 90;
    round->workers[0].pages_on_node[0] = 10;
    assert_near(summarise(arm)->fields[0].pages_remote, 0.1);
}

TEST_OF_RESULT(rounds_gpu_busy_needs_a_gpu)
{
    by_hand.result.device = DEVICE_CUDA;
    size_t arm = fixture_add_arm(&by_hand.result, PLACE_NONE, 2, false);
    struct observation *round = fixture_add_even_round(&by_hand.result, arm, 0, 10, 1);
    round->workers[1].samples[0].device_ns = 8000000;
    by_hand.result.arms[arm].plan.workers[1].gpu = 0;
    assert_near(summarise(arm)->fields[0].gpu_busy, 0.8);
    by_hand.result.device = DEVICE_NONE;
    assert_true(isnan(summarise(arm)->fields[0].gpu_busy));
}

static void add_rounds(struct result *result, size_t arm, double step_ms)
{
    for (unsigned round = 0; round < 3; round++)
        (void)fixture_add_even_round(result, arm, round, step_ms, 2);
}

TEST_OF_RESULT(rounds_slice_is_the_fastest_slice)
{
    size_t none_alone = fixture_add_arm(&by_hand.result, PLACE_NONE, 2, true);
    size_t partition_alone = fixture_add_arm(&by_hand.result, PLACE_PARTITION, 2, true);
    size_t cores_alone = fixture_add_arm(&by_hand.result, PLACE_CORES, 2, true);
    size_t other_n = fixture_add_arm(&by_hand.result, PLACE_PARTITION, 4, true);
    size_t none = fixture_add_arm(&by_hand.result, PLACE_NONE, 2, false);
    size_t cores = fixture_add_arm(&by_hand.result, PLACE_CORES, 2, false);
    add_rounds(&by_hand.result, none_alone, 5); /* fastest, but with all CPUs */
    add_rounds(&by_hand.result, partition_alone, 12);
    add_rounds(&by_hand.result, cores_alone, 10);
    add_rounds(&by_hand.result, other_n, 1); /* a slice for another number of workers */
    add_rounds(&by_hand.result, none, 100);
    add_rounds(&by_hand.result, cores, 11);
    const struct arm_rounds *got = summarise(none);
    assert_int_equal(got->baseline[BASELINE_SLICE], cores_alone);
    assert_int_equal(got->baseline[BASELINE_SAME_PLACEMENT], none_alone);
    assert_int_equal(got->baseline[BASELINE_SINGLE], none_alone);
    got = &rounds.arms[cores];
    assert_int_equal(got->baseline[BASELINE_SLICE], cores_alone);
    assert_int_equal(got->baseline[BASELINE_SAME_PLACEMENT], cores_alone);
    assert_int_equal(got->baseline[BASELINE_SINGLE], none_alone);
    assert_int_equal(rounds_cpus(&by_hand.result, 2), FIXTURE_CPUS);
    assert_int_equal(rounds_cpus(&by_hand.result, 3), 0);
}

TEST_OF_RESULT(rounds_slice_owns_its_share_only)
{
    size_t greedy = fixture_add_arm(&by_hand.result, PLACE_NUMA, 2, true);
    size_t fair = fixture_add_arm(&by_hand.result, PLACE_SAME, 2, true);
    size_t numa = fixture_add_arm(&by_hand.result, PLACE_NUMA, 2, false);
    (void)fixture_add_arm(&by_hand.result, PLACE_NONE, 2, false);
    add_rounds(&by_hand.result, greedy, 5);
    add_rounds(&by_hand.result, fair, 12);
    add_rounds(&by_hand.result, numa, 5);
    bitset_set(&by_hand.result.arms[greedy].plan.workers[0].cpus,
               7); /* 5 of 8 CPUs for 1 of 2 workers */
    assert_int_equal(summarise(numa)->baseline[BASELINE_SLICE], fair);
}

/* 8 CPUs for 3 workers: a worker with 3 CPUs counts as one of three. */
TEST_OF_RESULT(rounds_slices_of_a_remainder)
{
    size_t alone = fixture_add_arm(&by_hand.result, PLACE_PARTITION, 3, true);
    size_t three = fixture_add_arm(&by_hand.result, PLACE_PARTITION, 3, false);
    (void)fixture_add_arm(&by_hand.result, PLACE_NONE, 3, false);
    add_rounds(&by_hand.result, alone, 5);
    add_rounds(&by_hand.result, three, 5);
    struct bitset *first = &by_hand.result.arms[alone].plan.workers[0].cpus;
    bitset_set(first, FIXTURE_CPUS - 1);
    assert_int_equal(bitset_count(first), 3);
    assert_near(summarise(three)->slices, 8.0 / 3);
    bitset_clear(first, FIXTURE_CPUS - 1);
    assert_near(summarise(three)->slices, 3); /* no worker has more than its share */
}

TEST_OF_RESULT(rounds_single_worker_is_its_own_baseline)
{
    size_t none = fixture_add_arm(&by_hand.result, PLACE_NONE, 1, false);
    size_t partition = fixture_add_arm(&by_hand.result, PLACE_PARTITION, 1, false);
    add_rounds(&by_hand.result, none, 10);
    add_rounds(&by_hand.result, partition, 8);
    const struct arm_rounds *got = summarise(none);
    assert_int_equal(got->baseline[BASELINE_SAME_PLACEMENT], none);
    assert_int_equal(got->baseline[BASELINE_SINGLE], none);
    assert_int_equal(got->baseline[BASELINE_SLICE], partition);
    assert_int_equal(rounds.arms[partition].baseline[BASELINE_SAME_PLACEMENT], partition);
}

/* Under background load a single worker is not alone. */
TEST_OF_RESULT(rounds_single_worker_under_load)
{
    size_t loaded = fixture_add_arm(&by_hand.result, PLACE_NONE, 1, false);
    size_t alone = fixture_add_arm(&by_hand.result, PLACE_NONE, 1, true);
    fixture_add_background(&by_hand.result, loaded);
    add_rounds(&by_hand.result, loaded, 70);
    add_rounds(&by_hand.result, alone, 10);
    const struct arm_rounds *got = summarise(loaded);
    assert_int_equal(got->baseline[BASELINE_SAME_PLACEMENT], alone);
    assert_int_equal(got->baseline[BASELINE_SINGLE], alone);
}

TEST_OF_RESULT(rounds_without_baselines)
{
    size_t none = fixture_add_arm(&by_hand.result, PLACE_NONE, 2, false);
    size_t empty = fixture_add_arm(&by_hand.result, PLACE_PARTITION, 2, true);
    size_t skipped = fixture_add_skipped(&by_hand.result, PLACE_LLC, 2, "one cache\tonly");
    add_rounds(&by_hand.result, none, 10);
    const struct arm_rounds *got = summarise(none);
    for (int i = 0; i < BASELINE_BEST; i++)
        assert_int_equal(got->baseline[i], -1);
    assert_int_equal(got->baseline[BASELINE_BEST], none);
    assert_int_equal(rounds.arms[empty].baseline[BASELINE_BEST], -1);
    assert_int_equal(rounds.arms[empty].status, STATUS_SKIPPED);
    assert_string_equal(rounds.arms[empty].reason, "no round of it was finished");
    assert_string_equal(rounds.arms[skipped].reason, "one cache only");
}

/* Ordered by throughput, not by the median step; failed arms, bounds and controls come last. */
TEST_OF_RESULT(rounds_best_does_most_work)
{
    size_t steady = fixture_add_arm(&by_hand.result, PLACE_NONE, 2, false);
    size_t uneven = fixture_add_arm(&by_hand.result, PLACE_CORES, 2, false);
    size_t control = fixture_add_arm(&by_hand.result, PLACE_SAME, 2, false);
    size_t other = fixture_add_arm(&by_hand.result, PLACE_PARTITION, 4, false);
    size_t alone = fixture_add_arm(&by_hand.result, PLACE_PARTITION, 2, true);
    for (unsigned round = 0; round < 3; round++) {
        (void)fixture_add_round(&by_hand.result, steady, round, (double[]){20, 20, 20}, 3);
        (void)fixture_add_round(&by_hand.result, uneven, round, (double[]){10, 10, 70}, 3);
        (void)fixture_add_even_round(&by_hand.result, control, round, 5, 2);
        (void)fixture_add_even_round(&by_hand.result, other, round, 1, 2);
        (void)fixture_add_even_round(&by_hand.result, alone, round, 1, 2);
    }
    assert_int_equal(summarise(uneven)->baseline[BASELINE_BEST], steady);
    assert_int_equal(rounds.arms[steady].baseline[BASELINE_BEST], steady);
    assert_int_equal(rounds.arms[other].baseline[BASELINE_BEST], other);
    assert_int_equal(rounds.arms[alone].baseline[BASELINE_BEST], -1);
    fixture_censor(&by_hand.result.arms[steady].observations[1], 0);
    assert_int_equal(summarise(uneven)->baseline[BASELINE_BEST], uneven);
    by_hand.result.arms[uneven].observations[0].status = STATUS_FAILED;
    assert_int_equal(summarise(uneven)->baseline[BASELINE_BEST], steady);
}
