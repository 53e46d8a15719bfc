#include "harness/store/recorded.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/json/comparison.h"
#include "harness/json/findings.h"
#include "harness/rows/baseline.h"
#include "harness/store/recorded_parts.h"
#include "harness/store/run_json.h"
#include "harness/sys/file.h"

/* A run of hundreds of CPUs and rounds stays far below. */
static const size_t file_most = (size_t)1 << 30;

void *recorded_keep(struct recorded *recorded, size_t n, size_t size)
{
    void **grown = realloc(recorded->owned, (recorded->nowned + 1) * sizeof(*grown));
    if (!grown)
        return NULL;
    recorded->owned = grown;
    grown[recorded->nowned] = calloc(n ? n : 1, size);
    return grown[recorded->nowned] ? grown[recorded->nowned++] : NULL;
}

static int read_file(int dir_fd, const char *name, char **text, size_t *size, struct err *err)
{
    int rc = file_read(dir_fd, name, file_most, text, size);
    return rc ? err_sys(err, rc, "cannot read %s", name) : 0;
}

/* Strings of the document are printed: control characters go. */
static int clean(json_t *json)
{
    const char *key;
    size_t index;
    json_t *value;
    int failed = 0;
    if (json_is_string(json)) {
        char *text = strdup(json_string_value(json));
        failed = !text || json_string_set(json, text_one_line(text));
        free(text);
    }
    json_object_foreach(json, key, value) failed |= clean(value);
    json_array_foreach(json, index, value) failed |= clean(value);
    return failed;
}

static int read_record(int dir_fd, struct recorded *recorded, struct err *err)
{
    char *text = NULL;
    size_t size = 0;
    int rc = read_file(dir_fd, "run.json", &text, &size, err);
    if (rc)
        return rc;
    recorded->record = json_loadb(text, size, 0, NULL);
    free(text);
    recorded->schema_version =
        (int)json_integer_value(json_object_get(recorded->record, "schema_version"));
    if (recorded->schema_version <= 0)
        return err_set(err, -EINVAL, "run.json is not of a run of contend");
    if (recorded->schema_version != RUN_SCHEMA_VERSION)
        return err_set(err, -EPROTO,
                       "these files are of schema %d, which %s: no table, findings and verdict "
                       "without %s",
                       recorded->schema_version,
                       recorded->schema_version < RUN_SCHEMA_VERSION
                           ? "holds no values of single rounds and no findings"
                           : "this version does not know",
                       recorded->schema_version < RUN_SCHEMA_VERSION ? "them" : "it");
    if (clean(recorded->record))
        return err_set(err, -ENOMEM, "no memory for run.json");
    recorded->version = json_string_value(json_object_get(recorded->record, "version"));
    recorded->commit = json_string_value(json_object_get(recorded->record, "commit"));
    return 0;
}

int recorded_read(int dir_fd, const struct bench *const *benches, struct recorded *recorded,
                  struct err *err)
{
    size_t size;
    *recorded = (struct recorded){0};
    int rc = read_record(dir_fd, recorded, err);
    if (!rc)
        rc = recorded_arms(recorded, benches, err);
    if (!rc)
        rc = read_file(dir_fd, CSV_ROUNDS_NAME, &recorded->rounds_text, &size, err);
    if (!rc)
        rc = read_file(dir_fd, CSV_ROWS_NAME, &recorded->rows_text, &size, err);
    if (!rc)
        rc = recorded_tables(recorded, err);
    if (!rc)
        rc = findings_from_json(json_object_get(recorded->record, "findings"), &recorded->findings,
                                err);
    if (!rc)
        rc = comparisons_from_json(json_object_get(recorded->record, "comparisons"),
                                   &recorded->comparisons, err);
    return rc;
}

void recorded_free(struct recorded *recorded)
{
    comparisons_free(&recorded->comparisons);
    findings_free(&recorded->findings);
    analysis_free(&recorded->analysis);
    for (size_t i = 0; i < recorded->nowned; i++)
        free(recorded->owned[i]);
    free(recorded->owned);
    free(recorded->rows_text);
    free(recorded->rounds_text);
    json_decref(recorded->record);
    *recorded = (struct recorded){0};
}
