#include "bench/loader/verify.h"

#include <errno.h>
#include <math.h>

static const double python_error = 1e-5;

static int wrong(size_t at, size_t cols, double got, double want, struct err *err)
{
    return err_set(err, -EBADMSG, "a loader's batch[%zu][%zu] is %.9g, not %.9g", at / cols,
                   at % cols, got, want);
}

static int compare(const float *got, const float *want, size_t from, size_t to, size_t cols,
                   struct err *err)
{
    for (size_t i = from; i < to; i++)
        if (!(got[i] == want[i]))
            return wrong(i, cols, (double)got[i], (double)want[i], err);
    return 0;
}

static int compare_row(const float *got, const float *raw, size_t row, size_t cols, double alpha,
                       struct err *err)
{
    double mean = 0, square = 0, last;
    const float *x = raw + row * cols;
    for (size_t c = 0; c < cols; c++)
        mean += (double)x[c] / (double)cols;
    for (size_t c = 0; c < cols; c++)
        square += ((double)x[c] - mean) * ((double)x[c] - mean);
    double scale = square > 0 ? sqrt((double)cols / square) : 0;
    last = ((double)x[0] - mean) * scale;
    for (size_t c = 0; c < cols; c++) {
        double value = (double)got[row * cols + c];
        last = alpha * (((double)x[c] - mean) * scale) + (1 - alpha) * last;
        if (!(fabs(value - last) <= python_error * (1 + fabs(last))))
            return wrong(row * cols + c, cols, value, last, err);
    }
    return 0;
}

int verify_batch(const struct load *load, enum load_mode mode, struct token token, float *scratch,
                 struct err *err)
{
    const struct prep_params *prep = &load->batches->prep;
    const float *got = queue_slot(load->queue, token.slot);
    const float *raw = queue_source(load->queue, token.batch);
    size_t cells = prep->rows * prep->cols;
    struct sample sample = {0};
    if (load->raw)
        return batches_check_copy(load->batches, token.batch, got, err);
    if (mode == LOAD_PROCESS || mode == LOAD_THREAD) {
        batches_prepare(load->batches, token.batch, scratch, &sample);
        return compare(got, scratch, 0, cells, prep->cols, err);
    }
    int rc = 0;
    for (size_t row = 0; row < (size_t)load->python_rows && !rc; row++)
        rc = compare_row(got, raw, row, prep->cols, (double)prep->alpha, err);
    return rc ? rc
              : compare(got, raw, (size_t)load->python_rows * prep->cols, cells, prep->cols, err);
}
