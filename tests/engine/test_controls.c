/* harness/engine/times.c: which controls run beside which arms. */
#include "harness/engine/times.h"

#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

static const struct bench watcher = {.name = "canary", .scan = fixture_no_scan};
static const struct bench gpu_watcher = {
    .name = "gpu_canary", .needs = NEED_GPU, .gang = true, .scan = fixture_no_scan};
static const struct bench feeder = {.name = "feeder", .needs = NEED_DEVICE, .ops_unit = "items"};
static const struct bench *const benches[] = {&feeder, &watcher, &gpu_watcher, NULL};

static struct topo topo;
static struct topo_gpu gpus[] = {{.cuda_ordinal = 0, .node = -1},
                                 {.cuda_ordinal = 1, .node = -1},
                                 {.cuda_ordinal = 2, .node = -1}};
static struct result result;

/* A machine of four CPUs and three GPUs, and an arm of two workers with the first two of them. */
static int set_up(void **state)
{
    static const enum placement placement = PLACE_NONE;
    static const unsigned workers = 2;
    const struct arms_request request = {.bench = &feeder,
                                         .placements = &placement,
                                         .nplacements = 1,
                                         .workers = &workers,
                                         .nworkers = 1};
    const struct topo_options options = {.xml = "package:1 numa:1 core:4 pu:1"};
    if (topo_load(&options, &topo, NULL))
        return -1;
    topo.gpus = gpus;
    topo.ngpus = 3;
    result = (struct result){.scenario = "test", .device = DEVICE_CUDA, .transport = DEVICE_NCCL};
    return arms_add(&topo, &request, &result, NULL);
}

static int tear_down(void **state)
{
    arms_free(&result);
    topo.gpus = NULL;
    topo.ngpus = 0;
    topo_free(&topo);
    return 0;
}

static size_t add(const struct bench *const *table, const struct run_options *options)
{
    size_t before = result.narms;
    assert_int_equal(controls_add(table, options, &topo, &result, NULL), 0);
    assert_int_equal(result_measured(&result), before);
    return result.narms - before;
}

TEST_WITHIN(controls_stand_behind_the_arms, set_up, tear_down)
{
    result.device = DEVICE_SIM;
    assert_int_equal(add(benches, &(struct run_options){0}), 1);
    const struct arm *arm = &result.arms[1];
    assert_ptr_equal(arm->bench, &watcher);
    assert_true(arm->is_control && !arm->is_baseline && arm_runs(arm));
    assert_int_equal(arm->workers, 1);
    assert_true(controls_seconds(&result) > 0 && controls_seconds(&result) < 0.5);
}

#ifdef CONTEND_HAVE_CUDA
TEST_WITHIN(controls_use_the_gpus_that_the_arms_use, set_up, tear_down)
{
    assert_int_equal(add(benches, &(struct run_options){0}), 2);
    assert_ptr_equal(result.arms[2].bench, &gpu_watcher);
    assert_int_equal(result.arms[2].workers, 2);
    assert_int_equal(result.arms[2].plan.workers[0].gpu, 0);
    assert_int_equal(result.arms[2].plan.workers[1].gpu, 1);
    assert_true(controls_seconds(&result) > 1);
}
#endif

/* A test's GPU, which no process can use. */
TEST_WITHIN(controls_use_no_gpu_that_is_not_there, set_up, tear_down)
{
    const struct run_options pretended = {.topo.fake_gpus = "0000:01:00.0"};
    assert_int_equal(add(benches, &pretended), 1);
    assert_ptr_equal(result.arms[1].bench, &watcher);
}

TEST_WITHIN(controls_may_be_none, set_up, tear_down)
{
    static const struct bench *const bare[] = {&feeder, NULL};
    assert_int_equal(add(benches, &(struct run_options){.no_control = true}), 0);
    assert_int_equal(add(benches, &(struct run_options){.ranks = 2}), 0);
    assert_int_equal(add(bare, &(struct run_options){0}), 0);
    assert_true(controls_seconds(&result) < 1e-9);
    result.arms[0].bench = &watcher; /* the run measures it itself */
    result.device = DEVICE_SIM;
    assert_int_equal(add(benches, &(struct run_options){0}), 0);
}

/* A plan for two of the CPUs holds for the controls as well. */
TEST_WITHIN(controls_stay_on_the_cpus_told, set_up, tear_down)
{
    result.device = DEVICE_SIM;
    assert_int_equal(add(benches, &(struct run_options){.plan.cpus = "1-2"}), 1);
    assert_string_equal(bitset_format(&result.arms[1].plan.workers[0].cpus), "1-2");
}
