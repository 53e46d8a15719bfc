#include "bench/feed/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "bench/io/reader.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/text.h"
#include "kernels/cpu/mix64.h"
#include "kernels/prep/prep_isa.h"
#include "kernels/prep/prep_ref.h"

enum {
    SOURCES = 4,      /* raw batches that take turns */
    COV_COLS = 128,   /* at most: the first columns of a batch */
    HOP_SHARE = 8,    /* windows advance by 1/8 of their width */
    CHECKED_ROWS = 64 /* of a block, about */
};

static const uint64_t largest_array_bytes = 1ull << 32;

/* Size of a float array of a x b x c, or UINT64_MAX if it overflows. */
static uint64_t array_bytes(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t bytes;
    if (__builtin_mul_overflow(a, b, &bytes) || __builtin_mul_overflow(bytes, c, &bytes) ||
        __builtin_mul_overflow(bytes, sizeof(float), &bytes))
        return UINT64_MAX;
    return bytes;
}

static int64_t cov_cols(const struct batch_params *params)
{
    return params->cols < COV_COLS ? params->cols : COV_COLS;
}

static int64_t block_of(const struct batch_params *params)
{
    return params->block ? params->block : params->rows;
}

int batches_validate(const void *raw, struct err *err)
{
    const struct batch_params *params = raw;
    uint64_t batch = array_bytes((uint64_t)params->rows, (uint64_t)params->cols, 1);
    const char *most = units_bytes(largest_array_bytes);
    if (batch > largest_array_bytes)
        return err_set(err, -EINVAL,
                       "rows %" PRId64 " x cols %" PRId64 " is a batch of %s; at most %s",
                       params->rows, params->cols, units_bytes(batch), most);
    if (params->block > params->rows)
        return err_set(err, -EINVAL, "block %" PRId64 " is larger than rows %" PRId64,
                       params->block, params->rows);
    if (params->window > params->cols)
        return err_set(err, -EINVAL, "window %" PRId64 " is larger than cols %" PRId64,
                       params->window, params->cols);
    uint64_t blocks = (uint64_t)((params->rows - 1) / block_of(params) + 1);
    uint64_t matrices = array_bytes(blocks, (uint64_t)cov_cols(params), (uint64_t)cov_cols(params));
    if (matrices > largest_array_bytes)
        return err_set(err, -EINVAL,
                       "block %" PRId64 " of rows %" PRId64 " makes %s of covariances; at most %s",
                       params->block, params->rows, units_bytes(matrices), most);
    return 0;
}

/*
 * Raw value `index`: the cube of a uniform value in [-0.3, 0.7), plus an offset of its column. The
 * cube is skewed, to the right in even columns and to the left in odd columns. The value depends
 * only on seed and index: any team fills the same data, and check can generate it again.
 */
static float raw_value(uint64_t seed, uint64_t index, uint64_t col)
{
    float v = (float)(mix64(seed ^ mix64(index)) >> 40) * 0x1p-24f - 0.3f;
    return (float)(col % 5) - 2.0f + (col % 2 ? -8.0f : 8.0f) * v * v * v;
}

static void fill_row(struct batches *b, size_t row)
{
    size_t cols = b->prep.cols;
    for (size_t s = 0; s < SOURCES; s++)
        for (size_t c = 0; c < cols; c++) {
            size_t at = s * b->cells + row * cols + c;
            b->sources[at] = raw_value(b->seed, at, c);
        }
}

/* First touch by the team, each block split as its work is: pages land near their threads. */
static void fill_sources(struct batches *b)
{
    const struct prep_params *prep = &b->prep;
#pragma omp parallel num_threads((int)prep->threads)
    {
        unsigned thread = (unsigned)omp_get_thread_num(), team = (unsigned)omp_get_num_threads();
        for (size_t block = 0; block < prep_blocks(prep); block++) {
            struct prep_share rows = prep_share_of(prep_block_rows(prep, block), thread, team);
            for (size_t row = rows.begin; row < rows.end; row++)
                fill_row(b, block * prep->block + row);
        }
    }
}

/*
 * The arrays of a step's output: allocated, poisoned and freed alike. For a block each has `rows`
 * of `width` floats, divided among the team; 0: as many rows as the block.
 */
struct output {
    float **array;
    size_t rows, width;
};

enum { OUTPUTS = 5 };

static void list_outputs(struct batches *b, struct output outputs[OUTPUTS])
{
    const struct prep_params *prep = &b->prep;
    const struct output all[OUTPUTS] = {
        {&b->out.mean, prep->cols, 1},
        {&b->out.scale, prep->cols, 1},
        {&b->out.transformed, 0, prep->cols},
        {&b->out.features, 0, prep_windows(prep) * PREP_WINDOW_FEATURES},
        {&b->out.covariance, prep->cov_cols, prep->cov_cols},
    };
    memcpy(outputs, all, sizeof(all));
}

static size_t output_count(const struct batches *b, const struct output *output)
{
    size_t rows = output->rows ? prep_blocks(&b->prep) * output->rows : b->prep.rows;
    return rows * output->width;
}

/* First touch, and poison: all bits set is a NaN. */
static void poison(const struct batches *b, const struct output *output)
{
    const struct prep_params *prep = &b->prep;
#pragma omp parallel num_threads((int)prep->threads)
    {
        unsigned thread = (unsigned)omp_get_thread_num(), team = (unsigned)omp_get_num_threads();
        for (size_t block = 0; block < prep_blocks(prep); block++) {
            size_t rows = output->rows ? output->rows : prep_block_rows(prep, block);
            size_t first = block * (output->rows ? output->rows : prep->block);
            struct prep_share share = prep_share_of(rows, thread, team);
            memset(*output->array + (first + share.begin) * output->width, 0xff,
                   (share.end - share.begin) * output->width * sizeof(float));
        }
    }
}

void batches_poison_target(const struct batches *b, float *target)
{
    poison(b, &(struct output){&target, 0, b->prep.cols});
}

void batches_poison(struct batches *b)
{
    struct output outputs[OUTPUTS];
    list_outputs(b, outputs);
    for (int i = 0; i < OUTPUTS; i++)
        poison(b, &outputs[i]);
}

static void mark_cpu(void *cpu_samples)
{
    cpu_samples_mark(cpu_samples);
}

static void mark_stage(void *stages, enum prep_stage stage)
{
    stage_mark(stages, stage);
}

static void configure(struct batches *b, const struct batch_params *params,
                      const struct bench_ctx *ctx)
{
    size_t hop = (size_t)params->window / HOP_SHARE;
    b->prep = (struct prep_params){
        .rows = (size_t)params->rows,
        .cols = (size_t)params->cols,
        .block = (size_t)block_of(params),
        .window = (size_t)params->window,
        .hop = hop ? hop : 1,
        .cov_cols = (size_t)cov_cols(params),
        .lambda = (float)params->lambda,
        .alpha = (float)params->alpha,
        .threads = ctx->threads,
        .isa = prep_isa_best(),
        .mark = mark_cpu,
        .mark_arg = ctx->cpu_samples,
        .done = ctx->stages ? mark_stage : NULL,
        .done_arg = ctx->stages,
        .least_team = ctx->least_team,
    };
    if (ctx->least_team)
        *ctx->least_team = ctx->threads;
    b->cells = b->prep.rows * b->prep.cols;
    b->seed = ctx->seed;
}

int batches_allocate(float **array, size_t count, struct err *err)
{
    enum { ALIGN = 64 };
    size_t bytes = (count * sizeof(float) + ALIGN - 1) / ALIGN * ALIGN;
    *array = aligned_alloc(ALIGN, bytes);
    if (!*array)
        (void)err_set(err, -ENOMEM, "cannot allocate an array of %zu bytes", bytes);
    return *array ? 0 : -ENOMEM;
}

int batches_open(struct batches *b, const struct batch_params *params, struct bench_ctx *ctx)
{
    configure(b, params, ctx);
    struct output outputs[OUTPUTS];
    list_outputs(b, outputs);
    int rc = batches_allocate(&b->sources, SOURCES * b->cells, ctx->err);
    for (int i = 0; i < OUTPUTS && !rc; i++)
        rc = batches_allocate(outputs[i].array, output_count(b, &outputs[i]), ctx->err);
    if (rc)
        return rc;
    fill_sources(b);
    batches_poison(b);
    ctx->buffer = b->sources;
    ctx->buffer_bytes = SOURCES * b->cells * sizeof(float);
    return 0;
}

static void reset_outputs(struct batches *b)
{
    struct output outputs[OUTPUTS];
    list_outputs(b, outputs);
    for (int i = OUTPUTS - 1; i >= 0; i--)
        free(*outputs[i].array);
    *b = (struct batches){0};
}

void batches_close(void *batches)
{
    struct batches *b = batches;
    float *sources = b->sources;
    if (sources) /* allocated first: if it is NULL, so are the output arrays */
        reset_outputs(b);
    free(sources);
}

int batches_open_target(struct batches *b, float **target, struct bench_ctx *ctx)
{
    int rc = bench_at_close(ctx, batches_close, b);
    if (!rc)
        rc = batches_open(b, ctx->params, ctx);
    if (!rc)
        rc = batches_allocate(target, b->cells, ctx->err);
    if (!rc)
        rc = bench_at_close(ctx, free, *target);
    if (!rc)
        batches_poison_target(b, *target);
    return rc;
}

int batches_open_borrower(struct batches *borrower, const struct batches *owner, struct err *err)
{
    struct output outputs[OUTPUTS];
    int rc = 0;
    *borrower = *owner;
    borrower->out = (struct prep_out){0};
    borrower->prep.threads = 1;
    borrower->prep.mark = NULL;
    borrower->prep.least_team = NULL;
    list_outputs(borrower, outputs);
    for (int i = 0; i < OUTPUTS && !rc; i++)
        rc = batches_allocate(outputs[i].array, output_count(borrower, &outputs[i]), err);
    if (!rc)
        batches_poison(borrower);
    return rc;
}

void batches_close_borrower(struct batches *borrower)
{
    reset_outputs(borrower);
}

static const float *source_of(const struct batches *b, uint64_t index)
{
    return b->sources + index % SOURCES * b->cells;
}

void batches_prepare(const struct batches *b, uint64_t index, float *target, struct sample *sample)
{
    struct prep_out out = b->out;
    out.smoothed = target;
    prep_run(&b->prep, source_of(b, index), &out);
    sample->iters++;
    sample->ops += b->prep.rows;
}

void batches_copy(const struct batches *b, uint64_t index, float *target, struct sample *sample)
{
    const struct prep_params *prep = &b->prep;
    const float *source = source_of(b, index);
#pragma omp parallel num_threads((int)prep->threads)
    {
        if (prep->mark)
            prep->mark(prep->mark_arg);
        unsigned thread = (unsigned)omp_get_thread_num(), team = (unsigned)omp_get_num_threads();
        if (thread == 0 && prep->least_team && team < *prep->least_team)
            *prep->least_team = team;
        struct prep_share rows = prep_share_of(prep->rows, thread, team);
        memcpy(target + rows.begin * prep->cols, source + rows.begin * prep->cols,
               (rows.end - rows.begin) * prep->cols * sizeof(float));
    }
    sample->iters++;
    sample->ops += prep->rows;
}

/* Compares the raw rows of a block with the generator: timed steps must not have changed them. */
static int check_source(const struct batches *b, uint64_t batch, size_t block, struct err *err)
{
    size_t first = block * b->prep.block * b->prep.cols;
    size_t count = prep_block_rows(&b->prep, block) * b->prep.cols;
    for (size_t i = first; i < first + count; i++) {
        float want = raw_value(b->seed, batch % SOURCES * b->cells + i, i % b->prep.cols);
        float got = source_of(b, batch)[i];
        if (!(got == want))
            return err_set(err, -EBADMSG, "raw batch[%zu][%zu] is %.9g, not %.9g as generated",
                           i / b->prep.cols, i % b->prep.cols, (double)got, (double)want);
    }
    return 0;
}

/* A reference of all rows of a whole batch would take longer than the steps of a round. */
static struct prep_ref_sample sample_of(const struct batches *b, size_t block)
{
    size_t step = prep_block_rows(&b->prep, block) / CHECKED_ROWS;
    return step > 1 ? (struct prep_ref_sample){mix64(b->seed + block) % step, step}
                    : (struct prep_ref_sample){0, 1};
}

static int check_block(const struct batches *b, uint64_t batch, const float *target, size_t block,
                       struct err *err)
{
    struct prep_diff diff;
    struct prep_ref_sample sample = sample_of(b, block);
    struct prep_out out = b->out;
    out.smoothed = (float *)target; /* only read */
    int rc = check_source(b, batch, block, err);
    if (!rc && prep_ref_check_block(&b->prep, source_of(b, batch), &out, block, &sample, &diff))
        rc = err_set(err, -EBADMSG, "%s[%zu][%zu] is %.9g, not %.9g +- %.2g", diff.stage, diff.row,
                     diff.col, diff.got, diff.want, diff.limit);
    return rc;
}

/* Finds values that were not written, also in blocks that are not sampled: outputs were NaN. */
static int check_written(const struct batches *b, const float *smoothed, struct err *err)
{
    for (size_t i = 0; i < b->cells; i++)
        if (!isfinite(smoothed[i]))
            return err_set(err, -EBADMSG, "smoothed[%zu][%zu] is %g", i / b->prep.cols,
                           i % b->prep.cols, (double)smoothed[i]);
    return 0;
}

int batches_check(const struct batches *b, uint64_t index, const float *target, struct err *err)
{
    size_t last = prep_blocks(&b->prep) - 1, any = mix64(b->seed) % (last + 1);
    int rc = check_written(b, target, err);
    if (!rc && any != last)
        rc = check_block(b, index, target, any, err);
    if (!rc)
        rc = check_block(b, index, target, last, err);
    return rc;
}

int batches_check_copy(const struct batches *b, uint64_t index, const float *target,
                       struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < b->cells; i++)
        if (target[i] != source_of(b, index)[i])
            return err_set(err, -EBADMSG, "copied batch[%zu][%zu] is %.9g, not %.9g",
                           i / b->prep.cols, i % b->prep.cols, (double)target[i],
                           (double)source_of(b, index)[i]);
    for (size_t block = 0; block < prep_blocks(&b->prep) && !rc; block++)
        rc = check_source(b, index, block, err);
    return rc;
}

void batches_report(const struct batches *b, bool raw, float *target, unsigned first,
                    struct bench_ctx *ctx)
{
    struct prep_params alone = b->prep;
    struct prep_out out = b->out;
    double regions = raw ? 1 : (double)prep_regions(&b->prep), least_s = INFINITY;
    alone.threads = 1;
    alone.mark = NULL;
    alone.done = NULL;
    alone.least_team = NULL;
    out.smoothed = target;
    for (int i = 0; i < 2; i++) { /* caches may be cold in the first pass */
        uint64_t before_ns = clock_thread_cpu_ns();
        if (raw)
            memcpy(target, source_of(b, 0), b->cells * sizeof(*target));
        else
            prep_run(&alone, source_of(b, 0), &out);
        least_s = fmin(least_s, (double)(clock_thread_cpu_ns() - before_ns) * 1e-9);
    }
    bench_emit(ctx, first, regions, NO_DIMS);
    bench_emit(ctx, first + 1, least_s / regions, NO_DIMS);
}

enum { BATCH_FILE_SOURCES = 4, BATCHES_LEAST = 12, BYTES_LEAST = 16 << 20 };

double batch_file_bytes(size_t cells)
{
    double batch_bytes = (double)cells * sizeof(float);
    return batch_bytes * ceil(fmax(BATCHES_LEAST, BYTES_LEAST / batch_bytes) / BATCH_FILE_SOURCES) *
           BATCH_FILE_SOURCES;
}

/* Fills the file with the raw batches, again and again. */
static void write_sources(const void *batches, void *buffer, size_t bytes, uint64_t offset)
{
    const struct batches *b = batches;
    size_t all = BATCH_FILE_SOURCES * b->cells * sizeof(float), at = offset % all, n;
    for (char *to = buffer; bytes; bytes -= n, to += n, at = 0) {
        n = all - at < bytes ? all - at : bytes;
        memcpy(to, (const char *)b->sources + at, n);
    }
}

int batch_file_make(struct batch_file *file, const struct place *place,
                    const struct batches *batches, unsigned users, struct err *err)
{
    uint64_t bytes = (uint64_t)batch_file_bytes(batches->cells);
    *file = (struct batch_file){.batch_bytes = 0};
    int rc = place_fit(place, bytes, bytes, bytes, users, &bytes, err);
    if (!rc)
        rc = data_make_of(&file->data, place, bytes, write_sources, batches, err);
    if (!rc)
        file->batch_bytes = batches->cells * sizeof(float);
    return rc;
}

static uint64_t offset_of(const struct batch_file *file, uint64_t index)
{
    return index % (file->data.file_bytes / file->batch_bytes) * file->batch_bytes;
}

int batch_file_read(const struct batch_file *file, uint64_t index, float *target, struct err *err)
{
    return io_reader_read_whole(file->data.files[0].fd, (char *)target, file->batch_bytes,
                                (int64_t)offset_of(file, index), err);
}

void batch_file_drop(const struct batch_file *file, uint64_t index)
{
    (void)posix_fadvise(file->data.files[0].fd, (off_t)offset_of(file, index),
                        (off_t)file->batch_bytes, POSIX_FADV_DONTNEED);
}
