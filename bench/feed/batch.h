/*
 * Raw batches and their preprocessing on the CPU (kernels/prep/prep.h): the part of a training
 * worker's step before its device works.
 *
 *   struct batches batches = {0};
 *   rc = batches_open(&batches, &params, ctx);
 *   for (i = 0; ...; i++)
 *       batches_prepare(&batches, i, target);      target: rows * cols floats, the caller's
 *   batches_poison(&batches); batches_poison_target(&batches, target);
 *   batches_prepare(&batches, i, target); rc = batches_check(&batches, i, target, ctx->err);
 *   batches_close(&batches);             also after a failed open; zeroed batches are closed
 *
 * Four raw batches of skewed values, drawn from the worker's seed, take turns: batch i is raw batch
 * i % 4. A step writes its result to the target. Its other output arrays stay allocated, and the
 * next step overwrites them.
 */
#ifndef CONTEND_BENCH_FEED_BATCH_H
#define CONTEND_BENCH_FEED_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "bench/io/data.h"
#include "harness/engine/contract/bench.h"
#include "kernels/prep/prep.h"

struct batch_params {
    int64_t rows, cols, block, window;
    double lambda, alpha;
};

/* For tables of structs that begin with a struct batch_params. */
/* clang-format off */
#define BATCH_OPTS BATCH_OPTS_OF("2048")
#define BATCH_OPTS_OF(default_rows)                                                                \
    OPT_INT("rows", batch_params, rows, default_rows, 1, 1 << 30, "N", "rows of a batch"),         \
    OPT_INT("cols", batch_params, cols, "512", 1, 32768, "N", "columns of a batch, in float32"),   \
    OPT_INT("block", batch_params, block, "0", 0, 1 << 30, "N",                                    \
            "rows preprocessed at a time, in five regions; 0: the whole batch"),                   \
    OPT_INT("window", batch_params, window, "32", 1, 32768, "N",                                   \
            "columns of a feature window; it moves by 1/8 of that"),                               \
    OPT_DOUBLE("lambda", batch_params, lambda, "0.5", -5, 5, "X",                                  \
               "exponent of the Yeo-Johnson transform"),                                           \
    OPT_DOUBLE("alpha", batch_params, alpha, "0.1", 1e-6, 1, "X",                                  \
               "weight of the newest value in the moving average")

/* clang-format on */

/*
 * Metrics that describe the parallel regions of a step, for tables of metrics; batches_report emits
 * them. `region_work` is the CPU time of one thread that does all of a region, mean over regions.
 */
#define BATCH_METRICS                                                                              \
    {"regions_per_step", "count", "none", .hidden = true, .footnote = "parallel regions a step"},  \
    {                                                                                              \
        "region_work", "s", "none", .hidden = true, .footnote = "of work in each"                  \
    }

enum { BATCH_METRICS_COUNT = 2 };

struct batches {
    struct prep_params prep;
    struct prep_out out; /* smoothed is NULL: it is written to the target */
    size_t cells;        /* of a batch */
    float *sources;      /* the raw batches, [4][rows][cols] */
    uint64_t seed;
};

/*
 * Checks sizes against each other; -EINVAL names the parameters. `params` begins with a struct
 * batch_params. Fits a benchmark's `validate`.
 */
int batches_validate(const void *params, struct err *err);

/* Allocates, fills and poisons for ctx's team, and publishes the raw data as ctx's buffer. */
int batches_open(struct batches *batches, const struct batch_params *params, struct bench_ctx *ctx);
void batches_close(void *batches);

/* Opens batches of ctx's params and allocates a poisoned target; bench_close closes both. */
int batches_open_target(struct batches *batches, float **target, struct bench_ctx *ctx);

/*
 * The same batches for another thread, which works alone. They borrow the raw data of `owner`,
 * which must stay open, and have their own output arrays. -ENOMEM; may be closed then.
 */
int batches_open_borrower(struct batches *borrower, const struct batches *owner, struct err *err);
void batches_close_borrower(struct batches *borrower);

/*
 * Preprocesses batch `index` into `target`, and counts it in the sample's iters and ops (rows).
 * Marks the stages of enum prep_stage if ctx has stages.
 */
void batches_prepare(const struct batches *batches, uint64_t index, float *target,
                     struct sample *sample);

/* Instead of batches_prepare: copies the raw batch in one region, for a device that prepares it. */
void batches_copy(const struct batches *batches, uint64_t index, float *target,
                  struct sample *sample);

/* Outside the timing: checks that the target equals the raw batch, and that the raw batch is as it
 * was generated. -EBADMSG. */
int batches_check_copy(const struct batches *batches, uint64_t index, const float *target,
                       struct err *err);

/* First touch by the team, and poison: every value becomes a NaN. */
void batches_poison_target(const struct batches *batches, float *target);
void batches_poison(struct batches *batches);

/*
 * Outside the timing: checks the batch that was prepared last, over poison. Compares two blocks
 * with kernels/prep/prep_ref.h (from 128 rows on, about 64 of them, by seed) and their raw data
 * with the generator. The other blocks must be finite. -EBADMSG.
 */
int batches_check(const struct batches *batches, uint64_t index, const float *target,
                  struct err *err);

/*
 * Outside the timing: emits BATCH_METRICS, which are metrics `first` and `first` + 1 of the
 * benchmark, of batches_prepare, or of batches_copy if `raw`. Writes a batch into `target`.
 */
void batches_report(const struct batches *batches, bool raw, float *target, unsigned first,
                    struct bench_ctx *ctx);

/* Allocates a float array of whole cache lines; release it with free. -ENOMEM with its size. */
int batches_allocate(float **array, size_t count, struct err *err);

/*
 * Raw batches in a file without a name, for workers that read batches from a file.
 *
 *   struct batch_file file = {0};
 *   rc = batch_file_make(&file, &place, &batches, users, err);
 *   rc = batch_file_read(&file, i, target, err);      target: cells floats; also in a child
 *   data_evict(&file.data, err);                      out of the page cache, see bench/io/data.h
 *   data_free(&file.data);                            also after a failed make; zeroed is closed
 *
 * The file repeats the four raw batches: its batch i is raw batch i % 4, as in batch.h.
 */
struct batch_file {
    struct data data;
    size_t batch_bytes; /* 0 = there is no file */
};

/* Size of a file in bytes: at least 12 batches and 16 MiB, a multiple of four batches. */
double batch_file_bytes(size_t cells);

/* Makes the file; `users` workers make one each. -ENOTSUP without room; else as data_make. */
int batch_file_make(struct batch_file *file, const struct place *place,
                    const struct batches *batches, unsigned users, struct err *err);

/* Reads batch `index` modulo the batches of the file into `target`; 0 or -errno. */
int batch_file_read(const struct batch_file *file, uint64_t index, float *target, struct err *err);

/* Drops that batch from the page cache, so that its next read comes from the device, too. */
void batch_file_drop(const struct batch_file *file, uint64_t index);

#endif
