#include "harness/show/json/fingerprint.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/lib/sys/file.h"
#include "harness/lib/text.h"
#include "harness/record/json_value.h"

#define SCHEMA "contend-fingerprint"

enum { SCHEMA_VERSION = 1, BYTES_MOST = 1 << 20 };

static json_t *value_to_json(const struct fingerprint_value *value)
{
    return json_value_object("part:t name:t kind:t unit:t better:t", value->part, value->name,
                             value->is_retention ? "retention" : "rate", value->unit,
                             value->less_is_better ? "lower" : "higher");
}

json_t *fingerprint_to_json(const struct fingerprint *print, const char *version)
{
    json_t *values = json_array(), *absent = json_array();
    for (size_t i = 0; i < print->n; i++) {
        const struct fingerprint_value *value = &print->value[i];
        json_t *json = value_to_json(value);
        if (isnan(value->value))
            (void)json_value_add(json, "reason:t", value->reason);
        else
            (void)json_value_add(json, "value:r low:r high:r rounds:i", value->value, value->low,
                                 value->high, value->rounds);
        (void)json_array_append_new(isnan(value->value) ? absent : values, json);
    }
    json_t *machine = json_value_object("key:T kind:T cpu_model:T cpus:i gpu_model:T gpus:i",
                                        print->key, print->kind, print->cpu_model, print->cpus,
                                        print->gpu_model, print->gpus);
    return json_value_object(
        "schema:t schema_version:i version:t host:T started:T machine:o values:o absent:o", SCHEMA,
        SCHEMA_VERSION, version, print->host, print->started, machine, values, absent);
}

static void take_values(const json_t *array, struct fingerprint *print)
{
    size_t i;
    const json_t *json;
    json_array_foreach(array, i, json)
    {
        struct fingerprint_value value = {
            .is_retention = !strcmp(json_value_text_of(json, "kind"), "retention"),
            .less_is_better = !strcmp(json_value_text_of(json, "better"), "lower"),
            .value = json_value_number_of(json, "value"),
            .low = json_value_number_of(json, "low"),
            .high = json_value_number_of(json, "high"),
            .rounds = json_value_count_of(json, "rounds")};
        text_set(value.part, "%s", json_value_copy_text(json, "part"));
        text_set(value.name, "%s", json_value_copy_text(json, "name"));
        text_set(value.unit, "%s", json_value_copy_text(json, "unit"));
        text_set(value.reason, "%s", json_value_copy_text(json, "reason"));
        fingerprint_add(print, &value);
    }
}

int fingerprint_from_json(const json_t *json, struct fingerprint *print, struct err *err)
{
    const json_t *machine = json_object_get(json, "machine");
    unsigned version = json_value_count_of(json, "schema_version");
    *print = (struct fingerprint){.cpus = json_value_count_of(machine, "cpus"),
                                  .gpus = json_value_count_of(machine, "gpus")};
    if (strcmp(json_value_text_of(json, "schema"), SCHEMA) != 0 || !version)
        return err_set(err, -EINVAL, "its schema is not '" SCHEMA "'");
    if (version > SCHEMA_VERSION)
        return err_set(err, -EINVAL, "it is of a newer contend: schema %u, this version reads %d",
                       version, SCHEMA_VERSION);
    text_set(print->host, "%s", json_value_copy_text(json, "host"));
    text_set(print->started, "%s", json_value_copy_text(json, "started"));
    text_set(print->key, "%s", json_value_copy_text(machine, "key"));
    text_set(print->kind, "%s", json_value_copy_text(machine, "kind"));
    text_set(print->cpu_model, "%s", json_value_copy_text(machine, "cpu_model"));
    text_set(print->gpu_model, "%s", json_value_copy_text(machine, "gpu_model"));
    take_values(json_object_get(json, "values"), print);
    take_values(json_object_get(json, "absent"), print);
    return 0;
}

/* The path of a fingerprint, or of the one in a directory; "" if it is no regular file. */
static char *file_of(const char *path, char *file, size_t size)
{
    struct stat at;
    bool is_directory = !stat(path, &at) && S_ISDIR(at.st_mode);
    (void)snprintf(file, size, "%s%s", path, is_directory ? "/" FINGERPRINT_NAME : "");
    if (stat(file, &at) || !S_ISREG(at.st_mode))
        file[0] = '\0';
    return file;
}

bool fingerprint_is_at(const char *path)
{
    char file[4200];
    return file_of(path, file, sizeof(file))[0] != '\0';
}

int fingerprint_read(const char *path, struct fingerprint *print, struct err *err)
{
    char file[4200], *text = NULL;
    size_t size;
    json_error_t wrong;
    struct err why;
    if (!file_of(path, file, sizeof(file))[0])
        return err_set(err, -ENOENT, "'%.150s' is no fingerprint: type 'contend run fingerprint'",
                       path);
    int rc = file_read(AT_FDCWD, file, BYTES_MOST, &text, &size);
    if (rc)
        return err_sys(err, rc, "cannot read '%.150s'", file);
    json_t *json = json_value_one_line(json_loadb(text, size, JSON_REJECT_DUPLICATES, &wrong));
    free(text);
    if (!json)
        return err_set(err, -EINVAL, "'%.150s', line %d: %.150s", file, wrong.line,
                       text_one_line(wrong.text));
    rc = fingerprint_from_json(json, print, &why);
    json_decref(json);
    return rc ? err_set(err, rc, "'%.150s': %s", file, why.msg) : 0;
}

static json_t *part_at(const void *of, size_t i)
{
    const struct fingerprint_part *part = &((const struct fingerprint_distance *)of)->part[i];
    return json_value_object("part:t values:z distance:r", part->name, part->n, part->distance);
}

static json_t *difference_at(const void *of, size_t i)
{
    const struct fingerprint_difference *one =
        &((const struct fingerprint_distance *)of)->difference[i];
    const struct fingerprint_value *any = one->a ? one->a : one->b;
    return json_value_object("part:t name:t unit:t a:r b:r ratio:r units:r", any->part, any->name,
                             any->unit, one->a ? one->a->value : NAN, one->b ? one->b->value : NAN,
                             one->ratio, one->units);
}

json_t *fingerprint_distance_to_json(const struct fingerprint_distance *distance)
{
    const char *verdict = fingerprint_is_same(distance) ? "same" : "another";
    return json_value_object("verdict:t text:t distance:r parts:o values:o",
                             distance->shared ? verdict : NULL, fingerprint_format(distance),
                             distance->distance,
                             json_value_array(distance, distance->nparts, part_at),
                             json_value_array(distance, distance->n, difference_at));
}

static json_t *machine_at(const void *of, size_t i)
{
    const struct fingerprint_machine *machine = &((const struct fingerprint_machine *)of)[i];
    return json_value_object("path:t host:t median:o", machine->path, machine->print.host,
                             fingerprint_distance_to_json(&machine->distance));
}

json_t *fingerprint_fleet_to_json(const struct fingerprint_machine *all, size_t n)
{
    return json_value_object("machines:o", json_value_array(all, n, machine_at));
}
