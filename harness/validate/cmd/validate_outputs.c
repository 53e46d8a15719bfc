#include "harness/validate/cmd/validate_outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/lib/files/file.h"
#include "harness/show/report/junit.h"
#include "harness/show/report/prometheus.h"
#include "harness/store/files/directory.h"
#include "harness/validate/tables/validation.h"

/* "%h" becomes the host. */
static int fill_in(const char *pattern, const char *host, char *path, size_t size, struct err *err)
{
    size_t used = 0;
    for (const char *at = pattern; *at; at++) {
        bool is_host = at[0] == '%' && at[1] == 'h';
        const char one[] = {*at, '\0'}, *part = is_host ? host : one;
        if (used + strlen(part) + sizeof(".tmp") >= size)
            return err_set(err, -ENAMETOOLONG, "the path '%.150s' is too long", pattern);
        used += (size_t)snprintf(path + used, size - used, "%s", part);
        at += is_host;
    }
    return 0;
}

static int write_whole(const char *path, const char *text, size_t size, struct err *err)
{
    int rc = directory_make_parents(path, err);
    if (rc)
        return rc;
    rc = file_replace(AT_FDCWD, path, text, size);
    return rc ? err_sys(err, rc, "cannot write '%.150s'", path) : 0;
}

enum form { FORM_JUNIT, FORM_PROMETHEUS, FORM_JSON, FORM_TEXT };

static int print_form(enum form form, const struct validation *validation, FILE *out,
                      struct err *err)
{
    const char *labels[] = {"host", validation->facts->host, NULL};
    int rc = 0;
    switch (form) {
    case FORM_JUNIT:
        return junit_print_verdict(
            "validate", validation->findings,
            validation->verdict->outcome == OUTCOME_SKIP ? validation->verdict->text : NULL, out,
            err);
    case FORM_PROMETHEUS:
        prometheus_print(validation->findings, labels, out);
        prometheus_print_verdict(validation->verdict->outcome, time(NULL), labels, out);
        break;
    case FORM_TEXT:
        validation_print(validation->findings, validation->verdict, true, out, false);
        break;
    case FORM_JSON: {
        json_t *json = validation_to_json(validation);
        if (!json || json_dumpf(json, out, JSON_INDENT(2)) || fputc('\n', out) == EOF)
            rc = err_set(err, -ENOMEM, "no memory for validate.json");
        json_decref(json);
    }
    }
    return rc;
}

static int write_form(enum form form, const char *path, const struct validation *validation,
                      struct err *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return err_set(err, -ENOMEM, "no memory for '%.150s'", path);
    int rc = print_form(form, validation, out, err);
    if (fclose(out) && !rc)
        rc = err_set(err, -ENOMEM, "no memory for '%.150s'", path);
    if (!rc)
        rc = write_whole(path, text, size, err);
    free(text);
    return rc;
}

static int write_file(enum form form, const char *pattern, const char *name,
                      const struct validation *validation, struct err *err)
{
    char path[PATH_MAX];
    int rc = 0;
    if (!pattern)
        return 0;
    rc = fill_in(pattern, validation->facts->host, path, sizeof(path) - 64, err);
    if (rc)
        return rc;
    size_t used = strlen(path);
    if (name)
        (void)snprintf(path + used, sizeof(path) - used, "/%s", name);
    return write_form(form, path, validation, err);
}

int validate_write(const struct validate_outputs *outputs, const struct validation *validation,
                   struct err *err)
{
    int rc = write_file(FORM_JUNIT, outputs->junit, NULL, validation, err);
    if (!rc)
        rc = write_file(FORM_PROMETHEUS, outputs->prometheus, NULL, validation, err);
    if (!rc)
        rc = write_file(FORM_JSON, outputs->dir, "validate.json", validation, err);
    if (!rc)
        rc = write_file(FORM_TEXT, outputs->dir, "summary.txt", validation, err);
    return rc;
}
