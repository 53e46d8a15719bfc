/* What bounds a run: six cases with different bounds, and their texts. */
#include "harness/verdict/bound.h"

#include "harness/verdict/verdict.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

/* Facts about a step of 10 ms whose threads never wait; only its stages are known. */
static struct bound_facts facts_of(double cpu, double copy, double gpu, double wait)
{
    struct bound_facts facts = {
        .stage = {[STAGE_CPU] = cpu, [STAGE_COPY] = copy, [STAGE_GPU] = gpu, [STAGE_WAIT] = wait},
        .oncpu_s = cpu,
        .runqueue_s = 0,
        .more_instructions_s = NAN,
        .more_stalls_s = NAN,
        .instructions = NAN,
        .cycles = NAN,
        .cache_misses = NAN,
        .gpu_compute = NAN,
        .gpu_memory = NAN,
        .sharing = 1,
    };
    for (int kind = 0; kind < STAGE_KINDS; kind++)
        facts.solo[kind] = NAN;
    return facts;
}

static void assert_bound(const struct bound_facts *facts, enum bound bound, double least)
{
    struct bound_parts parts;
    bound_judge(facts, &parts);
    if (parts.most != bound)
        fail_msg("bound by %s, not by %s", bound_name(parts.most), bound_name(bound));
    double sum = facts->stage[STAGE_OTHER];
    for (int b = 0; b < BOUNDS; b++)
        sum += parts.s[b];
    assert_near(sum, parts.step_s);
    assert_true(parts.s[bound] >= least * parts.step_s);
    assert_true(parts.second != parts.most && parts.s[parts.second] <= parts.s[parts.most]);
}

TEST(bound_by_the_cpu)
{
    struct bound_facts facts = facts_of(8e-3, 1e-3, 1e-3, 0);
    assert_bound(&facts, BOUND_CPU, 0.79);
    facts.solo[STAGE_CPU] = 8e-3;
    assert_bound(&facts, BOUND_CPU, 0.79);
    facts.instructions = 2e7; /* many a cycle */
    facts.cycles = 1e7;
    facts.cache_misses = 1e3;
    assert_bound(&facts, BOUND_CPU, 0.79);
}

TEST(bound_by_the_cpus_memory)
{
    struct bound_facts counted = facts_of(8e-3, 1e-3, 1e-3, 0);
    counted.instructions = 3e6; /* few a cycle, with many cache misses */
    counted.cycles = 1e7;
    counted.cache_misses = 1e5;
    assert_bound(&counted, BOUND_MEMORY, 0.79);

    /* The same number of instructions takes five times as long as alone. */
    struct bound_facts stalled = facts_of(8e-3, 5e-4, 5e-4, 0);
    stalled.solo[STAGE_CPU] = 1.6e-3;
    stalled.more_instructions_s = 0;
    stalled.more_stalls_s = 6.4e-3;
    assert_bound(&stalled, BOUND_MEMORY, 0.69);

    /* Without counters: no thread waits for a CPU, and the same work takes five times as long. */
    struct bound_facts slower = facts_of(8e-3, 5e-4, 5e-4, 0);
    slower.solo[STAGE_CPU] = 1.6e-3;
    assert_bound(&slower, BOUND_MEMORY, 0.69);
}

TEST(bound_by_copies)
{
    struct bound_facts facts = facts_of(1e-3, 8e-3, 1e-3, 0);
    assert_bound(&facts, BOUND_COPY, 0.79);
}

TEST(bound_by_gpu_compute)
{
    struct bound_facts facts = facts_of(1e-3, 1e-3, 8e-3, 0);
    assert_bound(&facts, BOUND_GPU, 0.79); /* the best guess for the modelled device */
    facts.gpu_compute = 0.5;
    facts.gpu_memory = 0.1;
    assert_bound(&facts, BOUND_GPU, 0.79);
}

TEST(bound_by_gpu_memory)
{
    struct bound_facts facts = facts_of(1e-3, 1e-3, 8e-3, 0);
    facts.gpu_compute = 0.02;
    facts.gpu_memory = 0.8;
    assert_bound(&facts, BOUND_GPU_MEMORY, 0.79);
}

TEST(bound_by_others)
{
    struct bound_facts asleep = facts_of(1e-3, 5e-4, 5e-4, 8e-3);
    assert_bound(&asleep, BOUND_OTHERS, 0.79);

    struct bound_facts queued = facts_of(9e-3, 5e-4, 5e-4, 0);
    queued.oncpu_s = 1e-3;
    queued.runqueue_s = 8e-3;
    assert_bound(&queued, BOUND_OTHERS, 0.69);

    /* A quarter of the time in the run queue; the rest spins at barriers for queued threads. */
    struct bound_facts spinning = facts_of(9e-3, 5e-4, 5e-4, 0);
    spinning.oncpu_s = 6e-3;
    spinning.runqueue_s = 2e-3;
    spinning.solo[STAGE_CPU] = 1e-3;
    assert_bound(&spinning, BOUND_OTHERS, 0.69); /* without counters */
    spinning.more_instructions_s = 5e-3;
    spinning.more_stalls_s = 0;
    assert_bound(&spinning, BOUND_OTHERS, 0.69);

    struct bound_facts slices = facts_of(5e-4, 5e-4, 9e-3, 0);
    slices.solo[STAGE_GPU] = 1e-3;
    assert_bound(&slices, BOUND_GPU, 0.79); /* each worker has its own GPU */
    slices.sharing = 4;
    assert_bound(&slices, BOUND_OTHERS, 0.69);
}

/* Faster than alone, or more wait than time: no part is negative, and the parts add up to the
 * step. */
TEST(bound_parts_stay_a_whole)
{
    struct bound_facts facts = facts_of(8e-3, 1e-3, 1e-3, 0);
    facts.solo[STAGE_CPU] = 9e-3;
    facts.more_instructions_s = -1e-3;
    facts.more_stalls_s = -1e-3;
    facts.sharing = 2;
    facts.solo[STAGE_GPU] = 2e-3;
    assert_bound(&facts, BOUND_CPU, 0.79);
    facts.more_instructions_s = 1;
    facts.more_stalls_s = 1;
    facts.runqueue_s = 1;
    facts.stage[STAGE_OTHER] = 1e-3;
    assert_bound(&facts, BOUND_OTHERS, 0.69);
}

/* A benchmark with stages; tests make its arms by hand. */
static const struct bench_stage stages[] = {
    BENCH_STAGE("crunch", STAGE_CPU),  BENCH_STAGE("copy", STAGE_COPY),
    BENCH_STAGE("kernel", STAGE_GPU),  BENCH_STAGE("never", STAGE_WAIT),
    BENCH_STAGE("other", STAGE_OTHER), {.name = NULL},
};
enum { CRUNCH, COPY, KERNEL, NEVER, OTHER };

struct run {
    struct result result;
    struct bench bench;
};

/* An arm with one round of 10 steps of 10 ms; `shares` are those of its stages. */
static size_t add_arm(struct run *run, enum placement placement, bool solo, const double *shares)
{
    size_t arm = fixture_add_arm(&run->result, placement, 2, solo);
    run->result.arms[arm].bench = &run->bench;
    struct observation *seen = fixture_add_even_round(&run->result, arm, 0, 10, 10);
    for (unsigned w = 0; w < seen->nworkers; w++) {
        struct stage_sums *sums = &seen->workers[w].stages;
        sums->iters = 10;
        sums->cost_ns = 1e4;
        for (unsigned s = 0; shares && s <= OTHER; s++)
            sums->ns[s] = (uint64_t)(shares[s] * 1e8);
        fixture_set_shares(&seen->workers[w], 1, 0, 0);
    }
    return arm;
}

static void open_run(struct run *run)
{
    fixture_result_init(&run->result);
    run->bench = fixture_bench;
    run->bench.stages = stages;
}

static const struct finding *bound_of(const struct verdict *verdict)
{
    for (size_t i = 0; i < verdict->findings.n; i++)
        if (!strcmp(verdict->findings.all[i].id, "bound"))
            return &verdict->findings.all[i];
    return NULL;
}

TEST(bound_names_the_stages_alone_and_together)
{
    static struct run run;
    open_run(&run);
    add_arm(&run, PLACE_NONE, false, (const double[]){0.05, 0.85, 0.05, 0, 0.05});
    add_arm(&run, PLACE_PARTITION, true, (const double[]){0.5, 0.04, 0.36, 0, 0.1});
    JUDGED(verdict, &run.result);
    const struct finding *bound = bound_of(&verdict);
    assert_non_null(bound);
    assert_string_equal(bound->subject, "none, sim");
    assert_string_equal(bound->sentence,
                        "bound by copies to the device, 85% of a step; its largest stages: copy "
                        "85% (4% alone), crunch 5% (50% alone), kernel 5% (36% alone)");
    assert_string_equal(bound->evidence, "crunch 5% (50% alone), copy 85% (4% alone), kernel 5% "
                                         "(36% alone), other 5% (10% alone)");
    fixture_result_free(&run.result);
}

TEST(bound_says_two_that_are_alike)
{
    static struct run run;
    open_run(&run);
    add_arm(&run, PLACE_NONE, false, (const double[]){0, 0.45, 0.5, 0, 0.05});
    JUDGED(verdict, &run.result);
    assert_non_null(bound_of(&verdict));
    assert_string_equal(bound_of(&verdict)->sentence,
                        "bound by GPU compute and copies to the device, 95% of a step; its largest "
                        "stages: kernel 50%, copy 45%, other 5%");
    fixture_result_free(&run.result);
}

/* Each stage that took time has a row, and these rows add up. Steps without stages have a skipped
 * row. */
TEST(bound_rests_on_rows)
{
    static struct run run;
    open_run(&run);
    size_t arm = add_arm(&run, PLACE_NONE, false, (const double[]){0.4, 0.3, 0.2, 0, 0.1});
    JUDGED(verdict, &run.result);
    const struct rows *rows = &verdict.analysis.rows;
    double sum = 0;
    unsigned n = 0;
    for (size_t i = 0; i < rows->n; i++)
        if (!strcmp(rows->row[i].metric, "stage_time")) {
            sum += rows->row[i].median;
            n++;
        }
    assert_int_equal(n, 4); /* all but `never` */
    assert_near(sum, 10e-3);
    const struct row *cost = rows_find(rows, &run.result.arms[arm], "stage_cost");
    assert_non_null(cost);
    assert_near(cost->median, 1e-4);
    verdict_free(&verdict);

    struct worker_result *workers = run.result.arms[arm].observations[0].workers;
    for (unsigned w = 0; w < 2; w++)
        workers[w].stages = (struct stage_sums){.refused = 1};
    assert_int_equal(verdict_make(&run.result, NULL, &verdict, NULL), 0);
    const struct row *none = rows_find(&verdict.analysis.rows, &run.result.arms[arm], "stage_time");
    assert_non_null(none);
    assert_int_equal(none->status, STATUS_SKIPPED);
    assert_string_equal(none->reason, "its steps are too short to be timed stage by stage");
    assert_null(rows_find(&verdict.analysis.rows, &run.result.arms[arm], "stage_cost"));
    assert_null(bound_of(&verdict));
    fixture_result_free(&run.result);
}
