#include "harness/store/csv.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/sys/file.h"

#define SAMPLE_COLUMNS                                                                             \
    "round,order,scenario,placement,workers,worker,bench,iter,start_ns,elapsed_ns,ops,bytes,"      \
    "status"

static void put_text(const char *text, FILE *out)
{
    if (!text[strcspn(text, ",\"\r\n")]) {
        (void)fputs(text, out);
        return;
    }
    (void)fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            (void)fputc('"', out);
        (void)fputc(*text, out);
    }
    (void)fputc('"', out);
}

static void put_cell(const struct row *row, const struct row_column *column, FILE *out)
{
    const void *field = (const char *)row + column->offset;
    switch (column->kind) {
    case ROW_UNSIGNED:
        (void)fprintf(out, "%u", *(const unsigned *)field);
        break;
    case ROW_SIZE:
        (void)fprintf(out, "%zu", *(const size_t *)field);
        break;
    case ROW_DOUBLE:
        if (isfinite(*(const double *)field))
            (void)fprintf(out, "%.9g", *(const double *)field);
        break;
    case ROW_CHARS:
    case ROW_TEXT:
    case ROW_STATUS:
        put_text(row_text(row, column), out);
        break;
    }
}

static void put_rows(const struct rows *rows, FILE *out)
{
    (void)fputs(ROW_COLUMNS "\n", out);
    for (size_t i = 0; i < rows->n; i++)
        for (const struct row_column *column = row_columns; column->name; column++) {
            put_cell(&rows->row[i], column, out);
            (void)fputc(column[1].name ? ',' : '\n', out);
        }
}

/* Text that is built in memory, so that a write error still knows its errno. */
struct text {
    char *data; /* owned, by free() */
    size_t size;
    FILE *stream;
};

static int text_open(struct text *text)
{
    *text = (struct text){0};
    text->stream = open_memstream(&text->data, &text->size);
    return text->stream ? 0 : -errno;
}

/* Ends the stream; `data` and `size` are valid when this returns 0. */
static int text_close(struct text *text)
{
    bool failed = ferror(text->stream) != 0;
    failed |= fclose(text->stream) != 0;
    return failed ? -ENOMEM : 0;
}

int csv_write_rows(int dir_fd, const struct rows *rows, struct err *err)
{
    struct text text;
    int rc = text_open(&text);
    if (rc)
        return err_sys(err, rc, "cannot write " CSV_ROWS_NAME);
    put_rows(rows, text.stream);
    rc = text_close(&text);
    if (!rc)
        rc = file_write(dir_fd, CSV_ROWS_NAME, text.data, text.size);
    free(text.data);
    return rc ? err_sys(err, rc, "cannot write " CSV_ROWS_NAME) : 0;
}

/* All of `text` behind the valid part of the file, or nothing of it. */
static int append_whole(struct samples_file *file, const char *text, size_t size, struct err *err)
{
    int rc = file_write_at(file->fd, text, size, file->valid_bytes);
    if (!rc) {
        file->valid_bytes += (off_t)size;
        return 0;
    }
    samples_file_cut(file, file->valid_bytes);
    return err_sys(err, rc, "cannot write " CSV_SAMPLES_NAME);
}

void samples_file_cut(struct samples_file *file, off_t valid_bytes)
{
    file->valid_bytes = valid_bytes;
    if (ftruncate(file->fd, valid_bytes) != 0)
        return; /* run.json says where the valid part ends */
}

int samples_file_open(struct samples_file *file, int dir_fd, struct err *err)
{
    static const char header[] = SAMPLE_COLUMNS "\n";
    int fd = file_open_empty(dir_fd, CSV_SAMPLES_NAME);
    if (fd < 0)
        return err_sys(err, fd, "cannot create " CSV_SAMPLES_NAME);
    *file = (struct samples_file){.is_open = true, .fd = fd};
    int rc = append_whole(file, header, sizeof(header) - 1, err);
    if (rc)
        (void)samples_file_close(file, NULL);
    return rc;
}

static void put_samples(const struct result *result, const struct arm *arm,
                        const struct observation *observation, unsigned worker, FILE *out)
{
    const struct worker_result *of = &observation->workers[worker];
    uint64_t iter = 0;
    for (size_t i = 0; i < of->nsamples; i++) {
        const struct sample *sample = &of->samples[i];
        bool censored = of->censored && i + 1 == of->nsamples;
        (void)fprintf(out, "%u,%u,", observation->round, observation->order);
        put_text(result->scenario, out);
        (void)fprintf(out, ",%s,%u,%u,%s,%" PRIu64, placement_infos[arm->placement].name,
                      arm->workers, worker, arm->bench->name, iter);
        (void)fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s\n",
                      sample->start_ns, sample->elapsed_ns, sample->ops, sample->bytes,
                      status_name(censored ? STATUS_CENSORED : STATUS_OK));
        iter += sample->iters;
    }
}

int samples_file_append(struct samples_file *file, const struct result *result,
                        const struct arm *arm, const struct observation *observation,
                        struct err *err)
{
    struct text text;
    int rc = text_open(&text);
    if (rc)
        return err_sys(err, rc, "cannot write " CSV_SAMPLES_NAME);
    for (unsigned w = 0; w < observation->nworkers; w++)
        if (!observation->workers[w].background)
            put_samples(result, arm, observation, w, text.stream);
    rc = text_close(&text);
    rc = rc ? err_sys(err, rc, "cannot write " CSV_SAMPLES_NAME)
            : append_whole(file, text.data, text.size, err);
    free(text.data);
    return rc;
}

int samples_file_close(struct samples_file *file, struct err *err)
{
    if (!file->is_open)
        return 0;
    int rc = close(file->fd) != 0 ? -errno : 0;
    *file = (struct samples_file){0};
    return rc ? err_sys(err, rc, "cannot write " CSV_SAMPLES_NAME) : 0;
}
