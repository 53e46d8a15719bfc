#include "harness/record/csv.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/text.h"

#define SAMPLE_COLUMNS                                                                             \
    "run_id,round,order,scenario,placement,workers,role,worker,bench,params,iter,start_ns,"        \
    "elapsed_ns,ops,bytes,rate,status"

void csv_put_text(const char *text, FILE *out)
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
        csv_put_text(row_text(row, column), out);
        break;
    }
}

static void put_rows(const struct analysis *analysis, FILE *out)
{
    const struct rows *rows = &analysis->rows;
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

/* Ends the text and writes it as that file, whole or not at all. */
static int write_text(struct text *text, int dir_fd, const char *name, struct err *err)
{
    int rc = text_close(text);
    if (!rc)
        rc = file_write(dir_fd, name, text->data, text->size);
    free(text->data);
    return rc ? err_sys(err, rc, "cannot write %s", name) : 0;
}

/* Writes enough digits to read back the same number. */
static void put_exact(double value, FILE *out)
{
    static const int digits[] = {9, 15, 16, 17};
    char text[40] = "";
    for (size_t i = 0; isfinite(value) && i < sizeof(digits) / sizeof(digits[0]); i++) {
        text_set(text, "%.*g", digits[i], value);
        if (strtod(text, NULL) == value)
            break;
    }
    (void)fputs(text, out);
}

/* The columns that all lines of an arm begin with, up to the key. */
static void put_arm(const struct result *result, const struct arm *arm, const struct dims *at,
                    FILE *out)
{
    char params[ROW_PARAMS_MAX];
    row_put_params(result, arm, NULL, at, params);
    csv_put_text(result->run_id, out);
    (void)fputc(',', out);
    csv_put_text(result->scenario, out);
    (void)fprintf(out, ",%s,%u,%s,%s,", placement_infos[arm->placement].name, arm->workers,
                  row_role(arm), arm->bench->name);
    csv_put_text(params, out);
    (void)fprintf(out, ",%s,", device_name(arm_device(result, arm)));
}

static void put_value(const struct analysis *analysis, size_t arm, const struct round_value *value,
                      FILE *out)
{
    char reason[300];
    const struct arm *of = &analysis->result->arms[arm];
    put_arm(analysis->result, of, &value->dims, out);
    (void)fprintf(out, "%s,", value->metric);
    csv_put_text(value->unit, out);
    (void)fprintf(out, ",%s,", value->better);
    if (value->round != VALUE_NO_ROUND)
        (void)fprintf(out, "%d", value->round);
    (void)fputc(',', out);
    put_exact(value->value, out);
    (void)fprintf(out, ",%s,", status_name(value->status));
    csv_put_text(values_format_reason(analysis->result, &analysis->rounds, arm, value, reason,
                                      sizeof(reason)),
                 out);
    (void)fputc('\n', out);
}

static void put_rounds(const struct analysis *analysis, FILE *out)
{
    const struct round_values *values = &analysis->values;
    (void)fputs(CSV_ROUND_COLUMNS "\n", out);
    for (size_t arm = 0; arm < values->narms; arm++)
        for (size_t i = values->first[arm]; i < values->first[arm + 1]; i++)
            put_value(analysis, arm, &values->value[i], out);
}

/* Ends the text and appends it. */
static int append_text(struct text *text, struct growing_file *file, struct err *err)
{
    int rc = text_close(text);
    rc = rc ? err_sys(err, rc, "cannot write %s", file->name)
            : growing_append(file, text->data, text->size, err);
    free(text->data);
    return rc;
}

int csv_append_round(struct growing_file *file, const struct analysis *analysis, unsigned round,
                     struct err *err)
{
    const struct round_values *values = &analysis->values;
    struct text text;
    int rc = text_open(&text);
    if (rc)
        return err_sys(err, rc, "cannot write " CSV_ROUNDS_NAME);
    for (size_t arm = 0; arm < values->narms; arm++)
        for (size_t i = values->first[arm]; i < values->first[arm + 1]; i++)
            if (values->value[i].round == (int)round || (!round && values->value[i].round < 0))
                put_value(analysis, arm, &values->value[i], text.stream);
    return append_text(&text, file, err);
}

int csv_write(int dir_fd, const struct analysis *analysis, struct err *err)
{
    static const char *const names[] = {CSV_ROUNDS_NAME, CSV_ROWS_NAME};
    static void (*const put[])(const struct analysis *, FILE *) = {put_rounds, put_rows};
    int rc = 0;
    for (size_t i = 0; i < 2 && !rc; i++) {
        struct text text;
        rc = text_open(&text);
        if (rc)
            return err_sys(err, rc, "cannot write %s", names[i]);
        put[i](analysis, text.stream);
        rc = write_text(&text, dir_fd, names[i], err);
    }
    return rc;
}

int csv_open(struct growing_file *file, int dir_fd, const char *name, struct err *err)
{
    const char *header =
        strcmp(name, CSV_ROUNDS_NAME) ? SAMPLE_COLUMNS "\n" : CSV_ROUND_COLUMNS "\n";
    int rc = growing_open(file, dir_fd, name, err);
    if (!rc)
        rc = growing_append(file, header, strlen(header), err);
    if (rc)
        (void)growing_close(file, NULL);
    return rc;
}

static void put_samples(const struct result *result, const struct arm *arm,
                        const struct observation *observation, unsigned worker, FILE *out)
{
    const struct worker_result *of = &observation->workers[worker];
    char params[ROW_PARAMS_MAX];
    uint64_t iter = 0;
    row_put_params(result, arm, NULL, &NO_DIMS, params);
    for (size_t i = 0; i < of->nsamples; i++) {
        const struct sample *sample = &of->samples[i];
        bool censored = of->censored && i + 1 == of->nsamples;
        csv_put_text(result->run_id, out);
        (void)fprintf(out, ",%u,%u,", observation->round, observation->order);
        csv_put_text(result->scenario, out);
        (void)fprintf(out, ",%s,%u,%s,%u,%s,", placement_infos[arm->placement].name, arm->workers,
                      row_role(arm), observation->slot + worker, arm->bench->name);
        csv_put_text(params, out);
        (void)fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", iter,
                      sample->start_ns, sample->elapsed_ns, sample->ops, sample->bytes);
        if (arm->bench->rate_unit && !isnan(sample->rate))
            (void)fprintf(out, "%.6g", sample->rate);
        (void)fprintf(out, ",%s\n", status_name(censored ? STATUS_CENSORED : STATUS_OK));
        iter += sample->iters;
    }
}

int csv_append_samples(struct growing_file *file, const struct result *result, unsigned round,
                       struct err *err)
{
    struct text text;
    int rc = text_open(&text);
    if (rc)
        return err_sys(err, rc, "cannot write " CSV_SAMPLES_NAME);
    for (size_t a = 0; a < result->narms; a++) {
        const struct observation *seen = arm_observation(&result->arms[a], round);
        for (unsigned w = 0; seen && w < seen->nworkers; w++)
            if (!seen->workers[w].background)
                put_samples(result, &result->arms[a], seen, w, text.stream);
    }
    return append_text(&text, file, err);
}

int csv_refuse(const struct csv_reader *reader, struct err *err, const char *fmt, ...)
{
    char sentence[200];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(sentence, sizeof(sentence), fmt, args);
    va_end(args);
    return err_set(err, -EINVAL, "%s, line %u: %s", reader->name, reader->line, sentence);
}

static unsigned count_lines(const char *text, size_t size)
{
    unsigned lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    return lines;
}

int csv_read_header(struct csv_reader *reader, const char *name, char *text, size_t size,
                    const char *columns, struct err *err)
{
    size_t length = strlen(columns), ends = strlen(text);
    *reader = (struct csv_reader){.at = text, .name = name, .line = 1, .lines_read = 1};
    if (!size)
        return err_set(err, -EINVAL, "%s is empty", name);
    if (ends < size) {
        reader->line = count_lines(text, ends);
        return csv_refuse(reader, err, "a byte of value 0");
    }
    if (strncmp(text, columns, length) != 0 || (text[length] != '\n' && text[length] != '\r'))
        return csv_refuse(reader, err, "other columns than this version writes");
    if (text[length] == '\r')
        return csv_refuse(reader, err, "lines end in CR LF: another program has written them");
    reader->at += length + 1;
    return 0;
}

/* Removes the quotes of a cell, and sets `at` to the character that ends the cell. */
static char *read_quoted(struct csv_reader *reader)
{
    char *cell = reader->at + 1, *to = cell, *from = cell;
    for (; *from && (*from != '"' || from[1] == '"'); from++) {
        from += *from == '"';
        reader->lines_read += *from == '\n';
        *to++ = *from;
    }
    reader->at = from + (*from == '"');
    *to = '\0'; /* overwrites the closing quote at the latest, which is before `at` */
    return text_one_line(cell);
}

/* Does the work of text_one_line in the same pass, for speed with ten thousand files. */
static char *read_plain(struct csv_reader *reader)
{
    char *cell = reader->at, *at = cell;
    for (; *at && *at != ',' && *at != '\n'; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = ' ';
    reader->at = at;
    return cell;
}

int csv_read(struct csv_reader *reader, char **cells, size_t n, struct err *err)
{
    reader->line = reader->lines_read + 1;
    if (!*reader->at)
        return 0;
    for (size_t i = 0; i < n; i++) {
        cells[i] = *reader->at == '"' ? read_quoted(reader) : read_plain(reader);
        char end = *reader->at;
        if (!end)
            return csv_refuse(reader, err, "it is cut off");
        if (end != (i + 1 < n ? ',' : '\n'))
            return csv_refuse(reader, err, "not %zu cells", n);
        *reader->at++ = '\0';
    }
    reader->lines_read++;
    return 1;
}

int csv_number(const struct csv_reader *reader, const char *column, const char *cell, double *value,
               struct err *err)
{
    char *end = NULL;
    *value = cell[0] ? strtod(cell, &end) : (double)NAN;
    if (!cell[0])
        return 0;
    /* strtod would take spaces, "0x1p3", "nan" and "inf" as well. */
    if (*end || cell[strspn(cell, "+-.0123456789eE")])
        return csv_refuse(reader, err, "%s '%.40s' is no number", column, cell);
    if (!isfinite(*value))
        return csv_refuse(reader, err, "%s '%.40s' is too large", column, cell);
    return 0;
}

int csv_count(const struct csv_reader *reader, const char *column, const char *cell,
              unsigned long long most, unsigned long long *count, struct err *err)
{
    *count = 0;
    if (!cell[0] || cell[strspn(cell, "0123456789")])
        return csv_refuse(reader, err, "%s '%.40s' is no whole number from 0", column, cell);
    errno = 0;
    *count = strtoull(cell, NULL, 10);
    if (errno || *count > most)
        return csv_refuse(reader, err, "%s %.40s is more than there can be, %llu", column, cell,
                          most);
    return 0;
}
