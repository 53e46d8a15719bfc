#include "harness/validate/outputs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness/cmd/common/page.h"
#include "harness/cmd/common/start.h"
#include "harness/lib/similar.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/text.h"
#include "harness/record/directory.h"
#include "harness/show/export.h"
#include "harness/validate/files.h"

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
                 {outputs->superbench, ""},
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

/* Appends a line in one write: several machines may share the file. */
static int append_superbench(const char *path, const struct validation *validation, struct err *err)
{
    json_t *json = validation_to_superbench(validation);
    char *line = json ? json_dumps(json, 0) : NULL;
    json_decref(json);
    if (!line)
        return err_set(err, -ENOMEM, "no memory for a line of '%.150s'", path);
    const char *text = str_fmt("%s\n", line);
    free(line);
    int rc = directory_make_parents(path, err);
    if (rc)
        return rc;
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    rc = fd < 0 ? -errno : file_write_at(fd, text, strlen(text), 0); /* O_APPEND: at its end */
    if (fd >= 0 && close(fd) && !rc)
        rc = -errno;
    return rc ? err_sys(err, rc, "cannot append to '%.150s'", path) : 0;
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
    char path[PATH_MAX];
    if (!rc && outputs->superbench)
        rc = fill_in(outputs->superbench, validation->facts->host, path, sizeof(path), err);
    return rc || !outputs->superbench ? rc : append_superbench(path, validation, err);
}

/* True for NAME.json, the file of a kind. */
static int is_kind(const struct dirent *file)
{
    const char *end = strrchr(file->d_name, '.');
    return end && strcmp(end, ".json") == 0;
}

/* Lists the names of the kinds, sorted. Returns how many. Free with free_kinds. */
static int list_kinds(char folder[static PROGRAM_PATH_MAX], struct dirent ***kinds, struct err *err)
{
    *kinds = NULL;
    int n = program_share("machines", folder, PROGRAM_PATH_MAX, err)
                ? 0
                : scandir(folder, kinds, is_kind, alphasort);
    for (int i = 0; i < n; i++)
        *strrchr((*kinds)[i]->d_name, '.') = '\0';
    return n > 0 ? n : 0;
}

static void free_kinds(struct dirent **kinds, int n)
{
    while (n-- > 0)
        free(kinds[n]);
    free(kinds);
}

static int unknown_machine(const char *name, struct err *err)
{
    char path[PROGRAM_PATH_MAX];
    const char *known = "";
    struct similar near = similar_to(name, strlen(name));
    struct dirent **kinds;
    struct err none;
    int n = list_kinds(path, &kinds, &none);
    for (int i = 0; i < n; i++) {
        str_add(&known, ", ", "%s", kinds[i]->d_name);
        similar_offer(&near, kinds[i]->d_name);
    }
    int rc = err_set(err, -EINVAL, "unknown machine '%.60s'%s known: %s; or a FILE.json", name,
                     similar_hint(&near, ""), known);
    free_kinds(kinds, n);
    return rc;
}

int kinds_read(const char *name, struct machine_kind *kind, struct err *err)
{
    char path[PROGRAM_PATH_MAX];
    const char *base, *end = strrchr(name, '.');
    struct err none;
    unsigned gpus = machine_name_split(name, &base);
    const char *file = str_fmt("machines/%.60s.json", base);
    if (strchr(name, '/') || (end && strcmp(end, ".json") == 0))
        (void)snprintf(path, sizeof(path), "%s", base);
    else if (program_share(file, path, sizeof(path), &none))
        return unknown_machine(base, err);
    text_set(kind->name, "%s", name);
    return machine_file_read(path, gpus, kind, err);
}

const char *kinds_suggest(const struct topo *topo)
{
    char folder[PROGRAM_PATH_MAX];
    const char *path;
    struct dirent **kinds;
    struct err none;
    size_t best = 0;
    int n = topo->ngpus ? list_kinds(folder, &kinds, &none) : 0;
    const char *name = "";
    for (int i = 0; i < n; i++) {
        struct machine_kind kind;
        path = str_fmt("%s/%s.json", folder, kinds[i]->d_name);
        size_t fits = machine_file_read(path, topo->ngpus, &kind, &none)
                          ? 0
                          : machine_is_of(&kind, &topo->gpus[0]);
        if (fits > best)
            name = str_fmt("%ux%.50s", topo->ngpus, kinds[i]->d_name);
        best = fits > best ? fits : best;
    }
    if (n)
        free_kinds(kinds, n);
    return name;
}
