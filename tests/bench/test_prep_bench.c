
#include "bench/registry.h"
#include "tests/lib/unit.h"

/* A worker's side of the contract, without a device. */
struct job {
    _Alignas(16) char params[BENCH_PARAMS_MAX];
    struct bench_ctx ctx;
    struct err err;
};

static void job_open(struct job *job)
{
    static const char *const pairs[] = {"rows=200", "cols=70"};
    memset(job, 0, sizeof(*job));
    opts_set_defaults(bench_prep.opts, job->params);
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        assert_int_equal(opts_set_pair(bench_prep.opts, job->params, pairs[i], &job->err), 0);
    static struct value_log values;
    values.n = 0;
    job->ctx = (struct bench_ctx){.values = &values,
                                  .params = job->params,
                                  .workers = 1,
                                  .threads = 2,
                                  .seed = 7,
                                  .err = &job->err};
    assert_int_equal(bench_prep.validate(job->params, &job->err), 0);
    if (bench_open(&bench_prep, &job->ctx))
        fail_msg("%s", job->err.msg);
}

TEST(prep_counts_rows_and_is_right)
{
    struct job job;
    struct sample sample = {.start_ns = 11, .elapsed_ns = 12};
    job_open(&job);
    for (int i = 0; i < 2; i++) { /* a benchmark may continue as load after a check */
        assert_int_equal(bench_prep.step(&job.ctx, 5, &sample), 0);
        assert_int_equal(sample.iters, 5);
        assert_int_equal(sample.ops, 5 * 200);
        assert_int_equal(sample.bytes, sizeof(float) * 5 * 200 * 70);
        assert_int_equal(sample.start_ns + sample.elapsed_ns, 23);
        if (bench_prep.check(&job.ctx))
            fail_msg("%s", job.err.msg);
    }
    bench_close(&bench_prep, &job.ctx);
    assert_null(job.ctx.state);
    assert_null(job.ctx.buffer);
    bench_close(&bench_prep, &job.ctx);
}

TEST(prep_corrupted_data_fails_the_check)
{
    struct job job;
    struct sample sample = {0};
    job_open(&job);
    assert_int_equal(bench_prep.step(&job.ctx, 1, &sample), 0);
    float *data = (float *)(uintptr_t)job.ctx.buffer;
    for (size_t i = 0; i < job.ctx.buffer_bytes / sizeof(*data); i++)
        data[i] += 0.001f;
    assert_int_equal(bench_prep.check(&job.ctx), -EBADMSG);
    assert_has(job.err.msg, "raw batch[");
    bench_close(&bench_prep, &job.ctx);
}

/* As background load of any benchmark, it must not ask for a device. */
TEST(prep_needs_nothing)
{
    assert_ptr_equal(bench_find(bench_registry, "prep"), &bench_prep);
    assert_int_equal(bench_prep.needs, 0);
    assert_int_equal(bench_device(&bench_prep, DEVICE_SIM, DEVICE_NCCL), DEVICE_NONE);
    assert_null(bench_prep.probe);
}

TEST(prep_takes_the_sizes_of_pipeline_and_no_option_of_a_device)
{
    struct job job = {0};
    opts_set_defaults(bench_prep.opts, job.params);
    const char *prep = opts_format(bench_prep.opts, job.params);
    assert_true(opts_set_pair(bench_prep.opts, job.params, "prefetch=1", &job.err) < 0);
    assert_int_equal(opts_set_pair(bench_prep.opts, job.params, "block=2049", &job.err), 0);
    assert_int_equal(bench_prep.validate(job.params, &job.err), -EINVAL);

    opts_set_defaults(bench_pipeline.opts, job.params);
    const char *pipeline = opts_format(bench_pipeline.opts, job.params);
    assert_memory_equal(prep, pipeline, strlen(prep));
}
