/* The GPU's part against the double-precision reference, every value. Exits 77 without a GPU. */

#include "kernels/gpu/gpu_common.h"
#include "kernels/gpu/gpu_ref.h"
#include "kernels/gpu/gpu_step.h"
#include "tests/lib/unit.h"

enum { SLOTS = 3, PAGE = 4096 };

struct job {
    struct gpu_step *gpu;
    struct gpu_step_config config;
    float *weights;
    double *scratch;
    float *result;
    float *host[SLOTS];
    struct err err;
};

static void assert_good(const struct job *job, int rc)
{
    if (rc)
        fail_msg("%s", job->err.msg);
}

static void job_open(struct job *job, const struct gpu_step_config *config)
{
    size_t cols = config->cols;
    *job = (struct job){.config = *config};
    job->weights = malloc(cols * cols * sizeof(float));
    job->scratch = malloc(2 * cols * sizeof(double));
    job->result = malloc(config->rows * cols * sizeof(float));
    assert_true(job->weights && job->scratch && job->result);
    gpu_ref_weights(cols, job->weights);
    size_t bytes = (config->rows * cols * sizeof(float) + PAGE - 1) / PAGE * PAGE;
    for (unsigned s = 0; s < config->slots; s++)
        assert_non_null(job->host[s] = aligned_alloc(PAGE, bytes));
    job->config.host = job->host;
    assert_good(job, gpu_step_open(&job->config, &job->gpu, &job->err));
}

static void job_close(struct job *job)
{
    gpu_step_close(job->gpu);
    for (unsigned s = 0; s < job->config.slots; s++)
        free(job->host[s]);
    free(job->result);
    free(job->scratch);
    free(job->weights);
}

/* A value of batch `batch`; all rows, columns and batches differ. */
static float value(size_t batch, size_t i)
{
    return (float)((i * 7919 + batch * 104729) % 2003) / 500.0f - 2.0f;
}

static void fill(struct job *job, unsigned slot, size_t batch)
{
    float *x = job->host[slot];
    for (size_t i = 0; i < job->config.rows * job->config.cols; i++)
        x[i] = value(batch, i);
}

static uint64_t submit_and_wait(struct job *job, unsigned slot)
{
    struct gpu_step_took took = {0};
    assert_good(job, gpu_step_submit(job->gpu, slot, &job->err));
    assert_good(job, gpu_step_wait(job->gpu, slot, &took, &job->err));
    assert_true(took.copy_ns > 0);
    return took.work_ns;
}

static void assert_row(const struct job *job, unsigned slot, size_t row, const float *got)
{
    size_t cols = job->config.cols;
    const float *x = job->host[slot] + row * cols;
    const double *want =
        gpu_ref_row(x, job->weights, cols, job->config.work, job->scratch, job->scratch + cols);
    double limit = gpu_ref_limit(x, cols, job->config.work);
    for (size_t c = 0; c < cols; c++)
        if (!(fabs((double)got[c] - want[c]) <= limit))
            fail_msg("%zu x %zu, work %u: [%zu][%zu] is %.9g, not %.9g +- %.2g", job->config.rows,
                     cols, job->config.work, row, c, (double)got[c], want[c], limit);
}

static void assert_whole_result(struct job *job, unsigned slot)
{
    assert_good(job, gpu_step_read(job->gpu, 0, job->config.rows, job->result, &job->err));
    for (size_t r = 0; r < job->config.rows; r++)
        assert_row(job, slot, r, job->result + r * job->config.cols);
    assert_row(job, slot, 0, gpu_step_result(job->gpu, slot));
}

TEST(gpu_step_shapes_agree_with_reference)
{
    static const struct gpu_step_config configs[] = {
        {.rows = 256, .cols = 128, .slots = 1, .work = 1, .pinned = true},
        {.rows = 1, .cols = 1, .slots = 1, .work = 1, .pinned = true},
        {.rows = 65, .cols = 63, .slots = 1, .work = 2, .pinned = true},
        {.rows = 130, .cols = 17, .slots = 1, .work = 3, .pinned = false},
        {.rows = 3, .cols = 200, .slots = 1, .work = 4, .pinned = true, .spin = true},
        {.rows = 100, .cols = 512, .slots = 1, .work = 2, .pinned = true},
    };
    for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
        ENDED_BY(job_close) struct job job;
        job_open(&job, &configs[i]);
        fill(&job, 0, i);
        assert_good(&job, gpu_step_poison(job.gpu, &job.err));
        assert_true(submit_and_wait(&job, 0) > 0);
        assert_whole_result(&job, 0);
    }
}

static const struct gpu_step_config deep = {
    .rows = 200, .cols = 96, .slots = 3, .work = 2, .pinned = true};

/* Three batches in flight keep their results apart, also when slots are reused. */
TEST(gpu_step_slots_in_flight_keep_their_results)
{
    ENDED_BY(job_close) struct job job;
    job_open(&job, &deep);
    for (size_t round = 0; round < 3; round++) {
        for (unsigned s = 0; s < deep.slots; s++) {
            fill(&job, s, 10 * round + s);
            assert_good(&job, gpu_step_submit(job.gpu, s, &job.err));
        }
        for (unsigned s = 0; s < deep.slots; s++) {
            struct gpu_step_took took = {0};
            assert_good(&job, gpu_step_wait(job.gpu, s, &took, &job.err));
            assert_row(&job, s, 0, gpu_step_result(job.gpu, s));
        }
        assert_whole_result(&job, deep.slots - 1);
    }
}

TEST(gpu_step_poison_reaches_the_result)
{
    ENDED_BY(job_close) struct job job;
    job_open(&job, &deep);
    fill(&job, 0, 1);
    (void)submit_and_wait(&job, 0);
    assert_good(&job, gpu_step_poison(job.gpu, &job.err));
    assert_good(&job, gpu_step_read(job.gpu, 0, deep.rows, job.result, &job.err));
    for (size_t i = 0; i < deep.rows * deep.cols; i++)
        assert_true(isnan(job.result[i]));
    assert_true(isnan(gpu_step_result(job.gpu, 0)[0]));
}

/* The best of a few: clocks rise while a GPU warms up. */
static uint64_t busy_of_work(unsigned work)
{
    struct job job;
    struct gpu_step_config config = {
        .rows = 4096, .cols = 512, .slots = 1, .work = work, .pinned = true};
    uint64_t best_ns = UINT64_MAX;
    job_open(&job, &config);
    fill(&job, 0, 1);
    for (int i = 0; i < 10; i++) {
        uint64_t busy_ns = submit_and_wait(&job, 0);
        best_ns = busy_ns < best_ns ? busy_ns : best_ns;
    }
    job_close(&job);
    return best_ns;
}

TEST(gpu_step_busy_time_grows_with_work)
{
    uint64_t one_ns = busy_of_work(1), sixteen_ns = busy_of_work(16);
    print_message("4096 x 512: 1 pass %.1f us, 16 passes %.1f us\n", (double)one_ns / 1e3,
                  (double)sixteen_ns / 1e3);
    assert_true(sixteen_ns > 8 * one_ns);
}

TEST(gpu_step_unknown_address_is_no_device)
{
    struct gpu_step *gpu;
    struct gpu_step_config config = deep;
    struct err err = {0};
    config.pci_bdf = "ffff:ff:1f.0";
    config.host = (float *[SLOTS]){NULL};
    assert_int_equal(gpu_step_open(&config, &gpu, &err), -ENODEV);
    assert_null(gpu);
    assert_has(err.msg, "ffff:ff:1f.0");
}

TEST(gpu_step_too_large_a_batch_is_no_memory)
{
    struct gpu_step *gpu;
    struct gpu_step_config config = deep;
    struct err err = {0};
    config.rows = (size_t)1 << 36;
    config.host = (float *[SLOTS]){NULL};
    assert_int_equal(gpu_step_open(&config, &gpu, &err), -ENOMEM);
    assert_null(gpu);
    /* and the GPU still works */
    ENDED_BY(job_close) struct job job;
    job_open(&job, &deep);
    fill(&job, 0, 5);
    (void)submit_and_wait(&job, 0);
    assert_whole_result(&job, 0);
}

BEFORE_TESTS
{
    struct err why = {0};
    if (gpu_count(&why) > 0)
        return 0;
    (void)printf("SKIP: needs a GPU: %s\n", why.msg);
    return UNIT_SKIPPED;
}
