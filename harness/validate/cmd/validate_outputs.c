#include "harness/validate/cmd/validate_outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/lib/base/text.h"
#include "harness/lib/files/file.h"
#include "harness/show/report/junit.h"
#include "harness/show/report/prometheus.h"
#include "harness/store/files/directory.h"
#include "harness/validate/tables/validation.h"

/* "%h" becomes the host. */
static int fill_in(const char *pattern, const char *host, char *path, size_t size, struct err *err)
{
    const char *rest = pattern;
    path[0] = '\0';
    for (const char *at; (at = strstr(rest, "%h")); rest = at + strlen("%h"))
        text_append(path, size, "", "%.*s%s", (int)(at - rest), rest, host);
    text_append(path, size, "", "%s", rest);
    return strlen(path) + 1 < size
               ? 0
               : err_set(err, -ENAMETOOLONG, "the path '%.150s' is too long", pattern);
}

int validate_write_file(const char *path, validate_print *print, const void *of, struct err *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    int rc = out ? print(of, out, err) : -ENOMEM;
    if ((!out || fclose(out)) && (!rc || rc == -ENOMEM))
        rc = err_set(err, -ENOMEM, "no memory for '%.150s'", path);
    if (!rc)
        rc = directory_make_parents(path, err);
    if (!rc) {
        rc = file_replace(AT_FDCWD, path, text, size);
        rc = rc ? err_sys(err, rc, "cannot write '%.150s'", path) : 0;
    }
    free(text);
    return rc;
}

static int print_junit(const void *of, FILE *out, struct err *err)
{
    const struct validation *validation = of;
    const struct rules_verdict *verdict = validation->verdict;
    return junit_print_verdict("validate", validation->findings,
                               verdict->outcome == OUTCOME_SKIP ? verdict->text : NULL, out, err);
}

static int print_prometheus(const void *of, FILE *out, struct err *err)
{
    const struct validation *validation = of;
    const char *labels[] = {"host", validation->facts->host, NULL};
    (void)err;
    prometheus_print(validation->findings, labels, out);
    prometheus_print_verdict(validation->verdict->outcome, time(NULL), labels, out);
    return 0;
}

static int print_text(const void *of, FILE *out, struct err *err)
{
    const struct validation *validation = of;
    (void)err;
    validation_print(validation->findings, validation->verdict, true, out, false);
    return 0;
}

static int print_json(const void *of, FILE *out, struct err *err)
{
    json_t *json = validation_to_json(of);
    bool good = json && !json_dumpf(json, out, JSON_INDENT(2)) && fputc('\n', out) != EOF;
    json_decref(json);
    return good ? 0 : err_set(err, -ENOMEM, "no memory for validate.json");
}

int validate_write(const struct validate_outputs *outputs, const struct validation *validation,
                   struct err *err)
{
    const struct {
        const char *pattern, *name;
        validate_print *print;
    } files[] = {{outputs->junit, "", print_junit},
                 {outputs->prometheus, "", print_prometheus},
                 {outputs->dir, "/validate.json", print_json},
                 {outputs->dir, "/summary.txt", print_text}};
    int rc = 0;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !rc; i++) {
        char path[PATH_MAX];
        if (!files[i].pattern)
            continue;
        rc = fill_in(files[i].pattern, validation->facts->host, path, sizeof(path) - 64, err);
        if (!rc)
            rc = validate_write_file(strcat(path, files[i].name), files[i].print, validation, err);
    }
    return rc;
}
