#include "harness/validate/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "harness/cmd/common/page.h"
#include "harness/lib/str.h"
#include "harness/lib/text.h"
#include "harness/record/directory.h"
#include "harness/record/json_value.h"
#include "harness/show/export.h"
#include "harness/show/prometheus.h"

/* Replaces "%h" by the host. */
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
    int rc = directory_make_parents(path, err);
    return rc ? rc : page_replace(print, of, AT_FDCWD, path, err);
}

int validate_write_page(const char *path, const char *title, const struct doc *doc, struct err *err)
{
    int rc = directory_make_parents(path, err);
    return rc ? rc : page_put_document(title, doc, AT_FDCWD, path, err);
}

int validate_check_outputs(const struct validate_outputs *outputs, const char *host,
                           struct err *err)
{
    const struct {
        const char *pattern, *name;
    } files[] = {{outputs->junit, ""},
                 {outputs->prometheus, ""},
                 {outputs->html, ""},
                 {outputs->dir, "/validate.json"}};
    int rc = 0;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !rc; i++) {
        char path[PATH_MAX];
        if (!files[i].pattern)
            continue;
        rc = fill_in(files[i].pattern, host, path, sizeof(path) - 64, err);
        if (!rc)
            rc = directory_check_file(strcat(path, files[i].name), err);
        if (!rc && files[i].pattern == outputs->html)
            rc = page_check(AT_FDCWD, path, err);
    }
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

static int print_text(const void *doc, FILE *out, struct err *err)
{
    (void)err;
    doc_print(doc, out, false, true);
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
                   const struct doc *doc, struct err *err)
{
    const struct {
        const char *pattern, *name;
        validate_print *print; /* NULL: the page */
        const void *of;
    } files[] = {{outputs->junit, "", print_junit, validation},
                 {outputs->prometheus, "", print_prometheus, validation},
                 {outputs->html, "", NULL, doc},
                 {outputs->dir, "/validate.json", print_json, validation},
                 {outputs->dir, "/summary.txt", print_text, doc}};
    int rc = 0;
    const char *title =
        str_fmt("contend validate: %.100s, %.10s", validation->facts->host, validation->utc);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !rc; i++) {
        char path[PATH_MAX];
        if (!files[i].pattern)
            continue;
        rc = fill_in(files[i].pattern, validation->facts->host, path, sizeof(path) - 64, err);
        if (!rc && files[i].print)
            rc = validate_write_file(strcat(path, files[i].name), files[i].print, files[i].of, err);
        else if (!rc)
            rc = validate_write_page(path, title, doc, err);
    }
    return rc;
}
