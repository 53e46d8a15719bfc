#include "harness/comms/total.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/array.h"
#include "harness/lib/str.h"
#include "harness/lib/text.h"

struct maker {
    const struct comms *comms;
    struct comms_total *total;
    size_t capacity;
    struct err *err;
};

double comms_log10(uint64_t value)
{
    return value ? log10((double)value) : NAN;
}

const char *comms_call_gpu(const struct comms_gpu *gpu)
{
    if (!gpu->log)
        return str_fmt("rank %u of communicator %zu, without a log", gpu->rank,
                       gpu->communicator + 1);
    return text_one_line(str_fmt("%s%s%s, process %" PRId64 " (%s)%s", gpu->log->header.host,
                                 gpu->pci[0] ? ", GPU " : "", gpu->pci, gpu->log->header.pid,
                                 gpu->log->header.program,
                                 gpu->slot ? str_fmt(", GPU %u of it", gpu->slot + 1) : ""));
}

/* ---- which GPUs there are ---- */

static int add_gpu(struct maker *maker, const struct comms_gpu *gpu, uint32_t *at)
{
    struct comms_total *total = maker->total;
    struct comms_gpu *added = array_add(total->gpu, total->matrix.n, maker->capacity);
    if (!added)
        return err_set(maker->err, -ENOMEM, "no memory for %u GPUs", total->matrix.n + 1);
    *at = total->matrix.n - 1;
    *added = *gpu;
    return 0;
}

static bool is_same(const struct comms_gpu *a, const struct comms_gpu *b)
{
    if (!a->log || !b->log)
        return false;
    if (a->pci[0])
        return !strcmp(a->pci, b->pci) && !strcmp(a->log->header.host, b->log->header.host);
    return !b->pci[0] && a->log == b->log && a->slot == b->slot;
}

static int find_gpu(struct maker *maker, const struct comms_gpu *gpu, uint32_t *at)
{
    const struct comms_total *total = maker->total;
    for (*at = 0; *at < total->matrix.n; ++*at)
        if (is_same(gpu, &total->gpu[*at]))
            return 0;
    return add_gpu(maker, gpu, at);
}

/* How many earlier ranks are of the same process; each rank counts once. */
static uint32_t slot_of(const struct comms_communicator *communicator, size_t at)
{
    uint32_t slot = 0;
    const struct comms_rank *present = communicator->present;
    for (size_t i = 0; i < at; i++)
        slot += present[i].log == present[at].log && present[i].rank != present[i + 1].rank;
    return slot;
}

static int place_present(struct maker *maker, size_t c)
{
    const struct comms_communicator *communicator = &maker->comms->communicator[c];
    uint32_t *gpu_of = maker->total->gpu_of[c];
    int rc = 0;
    for (size_t i = 0; i < communicator->npresent && !rc; i++) {
        const struct comms_rank *rank = &communicator->present[i];
        struct comms_gpu gpu = {.log = rank->log, .communicator = c, .rank = rank->rank};
        (void)snprintf(gpu.pci, sizeof(gpu.pci), "%s", rank->gpu);
        gpu.slot = gpu.pci[0] ? 0 : slot_of(communicator, i);
        if (gpu_of[rank->rank] != COMMS_NO_GPU) /* in two logs */
            continue;
        rc = find_gpu(maker, &gpu, &gpu_of[rank->rank]);
        if (rc)
            break;
        struct comms_gpu *found = &maker->total->gpu[gpu_of[rank->rank]];
        found->ranks++;
        maker->total->assumed |= gpu.slot > 0 && found->communicator != c;
    }
    return rc;
}

/* Checks bytes, too: with several rings only the first ring counts the calls. */
static bool has_any(const struct comms_matrix *matrix, uint32_t from, uint32_t to)
{
    size_t at = (size_t)from * matrix->n + to;
    return matrix->bytes[at] || matrix->calls[at];
}

/* Adds ranks without a log that still have traffic, from the logs of other ranks. */
static int place_absent(struct maker *maker, size_t c, const struct comms_matrix *matrix)
{
    uint32_t *gpu_of = maker->total->gpu_of[c];
    int rc = 0;
    for (uint32_t rank = 0; rank < matrix->n && !rc; rank++) {
        bool used = false;
        for (uint32_t other = 0; gpu_of[rank] == COMMS_NO_GPU && other < matrix->n; other++)
            used |= has_any(matrix, rank, other) || has_any(matrix, other, rank);
        const struct comms_gpu gpu = {.communicator = c, .rank = rank};
        if (used)
            rc = add_gpu(maker, &gpu, &gpu_of[rank]);
    }
    return rc;
}

static int place(struct maker *maker, size_t c)
{
    const struct comms_matrix *matrix = &maker->comms->communicator[c].matrix;
    maker->total->left_out += !matrix->n;
    uint32_t *gpu_of = matrix->n ? malloc(matrix->n * sizeof(*gpu_of)) : NULL;
    if (!gpu_of)
        return matrix->n ? err_set(maker->err, -ENOMEM, "no memory for %u ranks", matrix->n) : 0;
    memset(gpu_of, 0xff, matrix->n * sizeof(*gpu_of)); /* COMMS_NO_GPU */
    maker->total->gpu_of[c] = gpu_of;
    int rc = place_present(maker, c);
    return rc ? rc : place_absent(maker, c, matrix);
}

/* ---- what went between them ---- */

static bool add(uint64_t *cells, size_t at, uint64_t more)
{
    return __builtin_add_overflow(cells[at], more, &cells[at]);
}

/* True: a sum exceeds 64 bits. */
static bool add_communicator(struct comms_matrix *all, const struct comms_matrix *one,
                             const uint32_t *gpu_of)
{
    bool over = false;
    for (size_t cell = 0; cell < (size_t)one->n * one->n; cell++) {
        uint32_t from = gpu_of[cell / one->n], to = gpu_of[cell % one->n];
        if (from == COMMS_NO_GPU || to == COMMS_NO_GPU)
            continue;
        size_t at = (size_t)from * all->n + to;
        all->calls[at] += one->calls[cell];
        over |= add(all->bytes, at, one->bytes[cell]);
        over |= add(all->wire, at, one->wire[cell]);
        over |= add(all->flags, at, one->flags[cell]);
    }
    all->how = one->how > all->how ? one->how : all->how;
    all->trees |= one->trees;
    all->unknown_calls += one->unknown_calls;
    all->unknown_bytes += one->unknown_bytes;
    return over;
}

int comms_total_make(const struct comms *comms, struct comms_total *total, struct err *err)
{
    struct maker maker = {.comms = comms, .total = total, .err = err};
    bool over = false;
    *total = (struct comms_total){.ncommunicators = comms->n};
    total->gpu_of = calloc(comms->n + 1, sizeof(*total->gpu_of));
    int rc = total->gpu_of ? 0 : err_set(err, -ENOMEM, "no memory for a matrix");
    for (size_t c = 0; c < comms->n && !rc; c++)
        rc = place(&maker, c);
    struct comms_matrix *matrix = &total->matrix;
    if (!rc && matrix->n > COMMS_MATRIX_RANKS)
        rc = err_set(err, -E2BIG, "no matrix of more than %d GPUs", COMMS_MATRIX_RANKS);
    if (!rc && !comms_matrix_alloc(matrix))
        rc = err_set(err, -ENOMEM, "no memory for a matrix of %u GPUs", matrix->n);
    for (size_t c = 0; c < comms->n && !rc; c++)
        if (total->gpu_of[c])
            over |= add_communicator(matrix, &comms->communicator[c].matrix, total->gpu_of[c]);
    if (over)
        rc = err_set(err, -EOVERFLOW, "more bytes than 64 bits hold: logs are corrupted");
    if (rc)
        comms_total_free(total);
    return rc;
}

void comms_total_free(struct comms_total *total)
{
    for (size_t c = 0; total->gpu_of && c < total->ncommunicators; c++)
        free(total->gpu_of[c]);
    free(total->gpu_of);
    free(total->gpu);
    comms_matrix_free(&total->matrix);
    *total = (struct comms_total){0};
}
