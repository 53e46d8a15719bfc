
#include "bench/common/memory_node.h"
#include "bench/feed/feed.h"
#include "bench/registry.h"
#include "harness/lib/sys/clock.h"
#include "tests/lib/unit.h"

/* One CPU of node 0. */
static const struct bench_machine machine = {.ncpus = 1};

/* A worker's side of the contract: parameters as `-p` gives them, and the context. */
struct job {
    _Alignas(16) char params[BENCH_PARAMS_MAX];
    struct bench_ctx ctx;
    struct err err;
};

static void set_params(struct job *job, const char *const *pairs)
{
    opts_set_defaults(bench_pipeline.opts, job->params);
    for (; *pairs; pairs++)
        if (opts_set_pair(bench_pipeline.opts, job->params, *pairs, &job->err))
            fail_msg("%s", job->err.msg);
}

static void job_close(struct job *job)
{
    bench_close(&bench_pipeline, &job->ctx);
}

static void job_open(struct job *job, const char *const *pairs)
{
    assert_true(bench_pipeline.params_size <= sizeof(job->params));
    memset(job, 0, sizeof(*job));
    set_params(job, pairs);
    static struct value_log values;
    values.n = 0;
    job->ctx = (struct bench_ctx){.values = &values,
                                  .params = job->params,
                                  .workers = 1,
                                  .threads = 2,
                                  .seed = 7,
                                  .device = DEVICE_SIM,
                                  .machine = &machine,
                                  .err = &job->err};
    assert_int_equal(bench_pipeline.validate(job->params, &job->err), 0);
    assert_int_equal(bench_pipeline.probe(&job->ctx), 0);
    if (bench_open(&bench_pipeline, &job->ctx))
        fail_msg("%s", job->err.msg);
}

static void job_run(struct job *job, uint64_t iters, struct sample *sample)
{
    if (bench_pipeline.step(&job->ctx, iters, sample))
        fail_msg("%s", job->err.msg);
}

static void job_assert_right(struct job *job)
{
    if (bench_pipeline.check(&job->ctx))
        fail_msg("%s", job->err.msg);
}

#define SMALL "rows=200", "cols=70", "sim_work_us=100"

static void run_and_check(const char *const *pairs)
{
    struct job job;
    struct sample sample = {.start_ns = 11, .elapsed_ns = 12};
    job_open(&job, pairs);
    job_run(&job, 3, &sample);
    job_run(&job, 4, &sample);
    assert_int_equal(sample.iters, 4);
    assert_int_equal(sample.ops, 4 * 200);
    assert_int_equal(sample.bytes, 4 * 200 * 70 * sizeof(float));
    assert_int_equal(sample.device_ns, 4 * 200000);
    assert_int_equal(sample.start_ns + sample.elapsed_ns, 23);
    job_assert_right(&job);
    job_run(&job, 1, &sample); /* a benchmark may continue as load after a check */
    bench_close(&bench_pipeline, &job.ctx);
    assert_null(job.ctx.state);
}

TEST(pipeline_right_with_any_prefetch)
{
    run_and_check((const char *const[]){SMALL, "prefetch=0", NULL});
    run_and_check((const char *const[]){SMALL, "prefetch=1", NULL});
    run_and_check((const char *const[]){SMALL, "prefetch=3", NULL});
}

TEST(pipeline_right_pageable_and_spinning)
{
    run_and_check((const char *const[]){SMALL, "pinned=0", NULL});
    run_and_check((const char *const[]){SMALL, "wait=spin", NULL});
}

TEST(pipeline_right_with_other_parameters)
{
    run_and_check((const char *const[]){SMALL, "lambda=0", "alpha=1", "window=1", NULL});
    run_and_check((const char *const[]){SMALL, "lambda=2", "window=70", "block=200", NULL});
    run_and_check((const char *const[]){SMALL, "lambda=-1.5", "block=1", NULL});
}

/* With preparation on the modelled device, the CPU copies the raw batch, and the device takes its
 * time for both parts. */
TEST(pipeline_prepared_on_the_device)
{
    ENDED_BY(job_close) struct job job;
    struct sample sample = {0};
    struct stage_clock stages = {.on = true};
    job_open(&job, (const char *const[]){SMALL, "prep=gpu", "sim_prep_us=500", NULL});
    job.ctx.stages = &stages;
    for (int i = 0; i < 50 && stages.ns[FEED_PREPARE] < 500000; i++) {
        stages = (struct stage_clock){.on = true};
        job_run(&job, 1, &sample);
        assert_true(stages.ns[FEED_PREPARE] <= 500000);
        assert_true(stages.ns[FEED_READ] > 0);
        for (unsigned s = 0; s < FEED_READ; s++)
            assert_int_equal(stages.ns[s], 0);
    }
    assert_int_equal(stages.ns[FEED_PREPARE], 500000);
    assert_int_equal(sample.device_ns, 700000);
    assert_int_equal(sample.ops, 200);
    job_assert_right(&job);
    float *data = (float *)(uintptr_t)job.ctx.buffer;
    for (size_t i = 0; i < job.ctx.buffer_bytes / sizeof(*data); i++)
        data[i] += 0.001f;
    assert_int_equal(bench_pipeline.check(&job.ctx), -EBADMSG);
    assert_has(job.err.msg, "raw batch[");
}

/* The first samples retire fewer batches than they submit; after draining, none. */
TEST(pipeline_device_time_belongs_to_retired_batches)
{
    ENDED_BY(job_close) struct job job;
    struct sample sample = {0};
    job_open(&job, (const char *const[]){SMALL, "prefetch=3", NULL});
    job_run(&job, 3, &sample);
    assert_int_equal(sample.device_ns, 0);
    job_run(&job, 1, &sample);
    assert_int_equal(sample.device_ns, 200000);
}

/*
 * Time of one steady step with next to no CPU work: the best of up to `tries` steps, since the
 * machine may be busy. Stops at the first step within `enough_ns`.
 */
static uint64_t steady_step_ns(const char *const *pairs, unsigned tries, uint64_t enough_ns)
{
    struct job job;
    struct sample sample = {0};
    uint64_t best_ns = UINT64_MAX;
    job_open(&job, pairs);
    job_run(&job, 2, &sample);
    for (unsigned i = 0; i < tries && best_ns > enough_ns; i++) {
        uint64_t start_ns = clock_now_ns();
        job_run(&job, 1, &sample);
        uint64_t took_ns = clock_now_ns() - start_ns;
        best_ns = took_ns < best_ns ? took_ns : best_ns;
    }
    bench_close(&bench_pipeline, &job.ctx);
    return best_ns;
}

/* 64 KB at 0.0016 GB/s and one pass of 40 ms: 80 ms in sequence, 40 ms when overlapped. */
TEST(pipeline_prefetch_overlaps_copy_and_work)
{
#define SLOW "rows=64", "cols=250", "sim_gbps=0.0016", "sim_work_us=40000", "gpu_work=1"
    uint64_t in_turn_ns = steady_step_ns((const char *const[]){SLOW, "prefetch=0", NULL}, 10, 0);
    uint64_t limit_ns = in_turn_ns * 3 / 4;
    uint64_t overlapped_ns =
        steady_step_ns((const char *const[]){SLOW, "prefetch=1", NULL}, 200, limit_ns);
    assert_true(in_turn_ns >= 80000000);
    assert_true(overlapped_ns <= limit_ns);
}

/* The stages of a step; their sum cannot exceed the time of the step. */
static void run_staged(struct job *job, struct stage_clock *stages)
{
    struct sample sample = {0};
    uint64_t sum_ns = 0, start_ns = clock_now_ns();
    *stages = (struct stage_clock){.on = true};
    job->ctx.stages = stages;
    job_run(job, 1, &sample);
    uint64_t took_ns = clock_now_ns() - start_ns;
    for (unsigned i = 0; i < BENCH_STAGES; i++)
        sum_ns += stages->ns[i];
    assert_true(sum_ns <= took_ns);
}

/* Three steps wait for their batches, 80 ms each; the fourth batch is still in flight. */
TEST(pipeline_copies_in_order_overlap_nothing)
{
    ENDED_BY(job_close) struct job job;
    struct sample sample = {0};
    job_open(&job, (const char *const[]){SLOW, "prefetch=1", "overlap=0", NULL});
    uint64_t start_ns = clock_now_ns();
    job_run(&job, 4, &sample);
    assert_true(clock_now_ns() - start_ns >= UINT64_C(240000000));
}

/* Stages follow each other, so they make up the whole step except for the calls themselves. */
TEST(pipeline_stages_are_the_step)
{
    ENDED_BY(job_close) struct job job;
    double best = 0;
    job_open(&job, (const char *const[]){"rows=64", "cols=250", "sim_work_us=5000", NULL});
    struct stage_clock stages = {.on = true};
    job.ctx.stages = &stages;
    bench_close(&bench_pipeline, &job.ctx);
    assert_int_equal(bench_open(&bench_pipeline, &job.ctx), 0);
    for (int i = 0; i < 50 && best < 0.99; i++) {
        struct sample sample = {0};
        stages = (struct stage_clock){.on = true};
        uint64_t sum_ns = 0, start_ns = clock_now_ns();
        job_run(&job, 1, &sample);
        uint64_t took_ns = clock_now_ns() - start_ns;
        for (unsigned s = 0; s < BENCH_STAGES; s++)
            sum_ns += stages.ns[s];
        assert_true(sum_ns <= took_ns);
        for (unsigned s = 0; s < FEED_READ; s++)
            assert_true(stages.ns[s] > 0);
        assert_true(stages.ns[FEED_KERNEL] <= UINT64_C(10000000));
        best = fmax(best, (double)sum_ns / (double)took_ns);
    }
    assert_true(best >= 0.99);
    job_assert_right(&job); /* and the results stay the same */
}

/* The wait is the model's time minus what the CPU spent elsewhere in the step. */
static void assert_waits(const char *const *pairs, uint64_t copy_ns, uint64_t seen_copy_ns,
                         uint64_t work_ns)
{
    ENDED_BY(job_close) struct job job;
    struct stage_clock stages;
    bool seen = false;
    job_open(&job, pairs);
    run_staged(&job, &stages);
    for (int i = 0; i < 500 && !seen; i++) { /* others may take the CPU */
        run_staged(&job, &stages);
        assert_true(stages.ns[FEED_KERNEL] <= work_ns && stages.ns[FEED_COPY] <= copy_ns);
        seen = stages.ns[FEED_KERNEL] > work_ns * 9 / 10 && stages.ns[FEED_COPY] >= seen_copy_ns;
    }
    assert_true(seen);
}

TEST(pipeline_waits_are_told_apart)
{
    unit_skip_emulated("a step's work takes longer than the copy that it hides");
    assert_waits((const char *const[]){SLOW, NULL}, 40000000, 36000000, 40000000);
    assert_waits((const char *const[]){SLOW, "sim_work_us=2000", NULL}, 40000000, 36000000,
                 2000000);
    /* Behind the work of the previous batch, the copy needs no wait. */
    assert_waits((const char *const[]){SLOW, "prefetch=1", "sim_gbps=1", NULL}, 64000, 0, 40000000);
}

static double value_of(const struct job *job, const char *metric)
{
    const struct value_log *log = job->ctx.values;
    for (uint32_t i = 0; i < log->n; i++)
        if (!strcmp(bench_pipeline.metrics[log->value[i].metric].name, metric))
            return log->value[i].value;
    return -1;
}

/* What a step means for the scheduler: five operations a block. */
TEST(pipeline_tells_its_regions)
{
    static const struct {
        const char *const pairs[4];
        double regions;
    } cases[] = {{{"rows=130", "cols=64", NULL}, 5},
                 {{"rows=130", "cols=64", "block=64", NULL}, 15}};
    for (size_t i = 0; i < 2; i++) {
        ENDED_BY(job_close) struct job job;
        struct sample sample;
        job_open(&job, cases[i].pairs);
        job_run(&job, 1, &sample);
        job_assert_right(&job);
        assert_true(value_of(&job, "regions_per_step") == cases[i].regions);
        double work_s = value_of(&job, "region_work");
        assert_true(work_s > 0 && work_s < 1);
    }
}

/* Only measured steps count, not late steps of the warm-up or of the check. */
TEST(pipeline_tells_how_late_the_model_is)
{
    ENDED_BY(job_close) struct job job;
    struct sample sample = {0};
    job_open(&job, (const char *const[]){SMALL, "sim_work_us=5000", NULL});
    job_run(&job, 1, &sample);
    job_assert_right(&job);
    assert_true(value_of(&job, "sim_overshoot") < 0);
    job.ctx.measuring = true;
    job_run(&job, 2, &sample);
    job.ctx.measuring = false;
    job_assert_right(&job);
    assert_true(value_of(&job, "sim_overshoot") > 0);
    bench_close(&bench_pipeline, &job.ctx);

    job_open(&job, (const char *const[]){SMALL, "wait=spin", NULL});
    job.ctx.measuring = true;
    job_run(&job, 2, &sample);
    job_assert_right(&job);
    assert_true(value_of(&job, "sim_overshoot") < 0);
}

/* If all CPUs of the worker belong to one node, the device's buffers are on it. */
TEST(pipeline_tells_where_its_buffers_are)
{
    ENDED_BY(job_close) struct job job;
    struct sample sample = {0};
    job_open(&job, (const char *const[]){SMALL, "prefetch=2", NULL});
    job_run(&job, 1, &sample);
    job_assert_right(&job);
    double expected = memory_node_try(0, NULL) ? -1 : 1;
    assert_true(value_of(&job, "buffer_on_node") == expected);
    bench_close(&bench_pipeline, &job.ctx);

    static const struct bench_machine scattered = {.ncpus = 2,
                                                   .cpus = {{.os_node = 0}, {.os_node = 1}}};
    job.ctx.machine = &scattered;
    job.ctx.values->n = 0;
    assert_int_equal(bench_open(&bench_pipeline, &job.ctx), 0);
    job_assert_right(&job);
    assert_true(value_of(&job, "buffer_on_node") < 0);
}

TEST(pipeline_corrupted_data_fails_the_check)
{
    ENDED_BY(job_close) struct job job;
    struct sample sample = {0};
    job_open(&job, (const char *const[]){SMALL, NULL});
    job_run(&job, 2, &sample);
    job_assert_right(&job);
    float *data = (float *)(uintptr_t)job.ctx.buffer;
    for (size_t i = 0; i < job.ctx.buffer_bytes / sizeof(*data); i++)
        data[i] += 0.001f;
    assert_int_equal(bench_pipeline.check(&job.ctx), -EBADMSG);
    assert_has(job.err.msg, "raw batch[");
}

TEST(pipeline_data_differ_by_seed_and_not_by_team)
{
    struct job one, two;
    job_open(&one, (const char *const[]){SMALL, NULL});
    job_open(&two, (const char *const[]){SMALL, NULL});
    assert_memory_equal(one.ctx.buffer, two.ctx.buffer, one.ctx.buffer_bytes);
    bench_close(&bench_pipeline, &two.ctx);

    two.ctx.threads = 5;
    assert_int_equal(bench_open(&bench_pipeline, &two.ctx), 0);
    assert_memory_equal(one.ctx.buffer, two.ctx.buffer, one.ctx.buffer_bytes);
    bench_close(&bench_pipeline, &two.ctx);

    two.ctx.seed = 8;
    assert_int_equal(bench_open(&bench_pipeline, &two.ctx), 0);
    assert_memory_not_equal(one.ctx.buffer, two.ctx.buffer, one.ctx.buffer_bytes);
    bench_close(&bench_pipeline, &two.ctx);
    bench_close(&bench_pipeline, &one.ctx);
}

/* Every thread of the team registers; otherwise its time is missing from the split of the loss. */
TEST(pipeline_threads_register_their_cpu_samples)
{
    struct job job;
    struct sample sample = {0};
    struct cpu_samples *cpu_samples = calloc(1, sizeof(*cpu_samples));
    job_open(&job, (const char *const[]){SMALL, NULL});
    bench_close(&bench_pipeline, &job.ctx);
    job.ctx.cpu_samples = cpu_samples;
    job.ctx.threads = 3;
    assert_int_equal(bench_open(&bench_pipeline, &job.ctx), 0);
    job_run(&job, 1, &sample);
    assert_int_equal(cpu_samples->threads, 3);
    bench_close(&bench_pipeline, &job.ctx);
    free(cpu_samples);
}

static void assert_refused(const char *const *pairs, const char *first, const char *second)
{
    struct job job = {0};
    set_params(&job, pairs);
    assert_int_equal(bench_pipeline.validate(job.params, &job.err), -EINVAL);
    assert_has(job.err.msg, first);
    assert_has(job.err.msg, second);
}

TEST(pipeline_refuses_sizes_that_make_no_sense)
{
    assert_refused((const char *const[]){"rows=1073741824", "cols=32768", NULL}, "rows 1073741824",
                   "cols 32768");
    assert_refused((const char *const[]){"rows=65537", "cols=16384", NULL}, "rows 65537", "4 GiB");
    assert_refused((const char *const[]){"window=513", NULL}, "window 513", "cols 512");
    assert_refused((const char *const[]){"block=2049", NULL}, "block 2049", "rows 2048");
    assert_refused((const char *const[]){"rows=1000000", "block=1", NULL}, "block 1",
                   "rows 1000000");
}

/* The modelled GPU alone takes 40 ms a step; half as much again is 60 ms. */
TEST(pipeline_busy_makes_a_step_longer)
{
    ENDED_BY(job_close) struct job job;
    struct sample sample = {0};
    job_open(&job,
             (const char *const[]){"rows=200", "cols=70", "sim_work_us=20000", "busy=50", NULL});
    uint64_t since_ns = clock_now_ns();
    job_run(&job, 2, &sample);
    assert_true(clock_now_ns() - since_ns >= UINT64_C(120000000));
    assert_int_equal(sample.device_ns, UINT64_C(80000000));
    job_assert_right(&job);
}

TEST(pipeline_teardown_after_failed_setup)
{
    ENDED_BY(job_close) struct job job;
    job_open(&job, (const char *const[]){SMALL, NULL});
    bench_close(&bench_pipeline, &job.ctx);
    bench_close(&bench_pipeline, &job.ctx);

    job.ctx.device = DEVICE_NONE;
    assert_int_equal(bench_pipeline.probe(&job.ctx), -ENOTSUP);
    assert_int_equal(bench_open(&bench_pipeline, &job.ctx), -ENOTSUP);
}
