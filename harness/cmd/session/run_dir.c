#include "harness/cmd/session/run_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/lib/sys/log.h"

static int choose_path(char *path, size_t size, const struct run_dir_request *request,
                       time_t started, struct err *err)
{
    int n;
    if (request->out)
        n = snprintf(path, size, "%s%s%s", request->out, request->subdirectory ? "/" : "",
                     request->subdirectory ? request->subdirectory : "");
    else
        n = directory_default(request->host, request->scenario, started, path, size);
    if (n < 0 || (size_t)n >= size)
        return err_set(err, -ENAMETOOLONG, "output directory '%.80s...' has too long a name", path);
    return 0;
}

static void put_command(const struct run_record *record, char *buf, size_t size)
{
    size_t used = 0;
    buf[0] = '\0';
    for (int i = 0; i < record->argc && used < size; i++)
        used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? " " : "", record->argv[i]);
}

/* Writes run.json, which says how much of samples.csv belongs to it, and publishes all files. */
static int publish(struct run_dir *run_dir, const struct run_record *record, off_t samples_bytes,
                   struct err *err)
{
    struct run_record now = *record;
    now.samples_bytes = samples_bytes;
    int rc = run_json_write(run_dir->dir.work_fd, DIRECTORY_RECORD, &now, &run_dir->written, err);
    return rc ? rc : directory_publish(&run_dir->dir, err);
}

/* Removes tables that were not published: the next publish would count them. */
static void remove_tables(const struct run_dir *run_dir)
{
    (void)unlinkat(run_dir->dir.work_fd, CSV_ROUNDS_NAME, 0);
    (void)unlinkat(run_dir->dir.work_fd, CSV_ROWS_NAME, 0);
}

static int write_first(struct run_dir *run_dir, const struct run_record *record, struct err *err)
{
    int rc = csv_open(&run_dir->samples, run_dir->dir.work_fd, CSV_SAMPLES_NAME, err);
    if (!rc)
        rc = csv_open(&run_dir->rounds, run_dir->dir.work_fd, CSV_ROUNDS_NAME, err);
    if (!rc && run_dir->dir.holds_earlier) /* shows now whether it can be written */
        rc = run_json_write(run_dir->dir.work_fd, DIRECTORY_RECORD, record, NULL, err);
    else if (!rc)
        rc = publish(run_dir, record, run_dir->samples.valid_bytes, err);
    return rc;
}

/* Where the user's command begins, with "--"; else the number of words. */
static size_t find_users_words(const json_t *command)
{
    size_t i = 0;
    for (const char *word; (word = json_string_value(json_array_get(command, i))); i++)
        if (strcmp(word, "--") == 0)
            break;
    return i;
}

/* A run is of the same command if subcommand, scenario and the user's own words are the same. */
static bool is_same_command(const json_t *before, const json_t *now)
{
    const json_t *old = json_object_get(before, "command"), *new = json_object_get(now, "command");
    size_t i = find_users_words(old), j = find_users_words(new);
    bool same = json_array_size(old) - i == json_array_size(new) - j &&
                json_equal(json_array_get(old, 1), json_array_get(new, 1)) &&
                json_equal(json_object_get(before, "scenario"), json_object_get(now, "scenario"));
    for (; same && i < json_array_size(old); i++, j++)
        same = json_equal(json_array_get(old, i), json_array_get(new, j));
    return same;
}

static int check_earlier(const struct run_dir *run_dir, const struct run_record *record,
                         struct err *err)
{
    json_error_t wrong;
    int fd = openat(run_dir->dir.fd, "run.json", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    json_t *before = fd < 0 ? NULL : json_loadfd(fd, 0, &wrong);
    json_t *now = run_json_make(record);
    const bool is_empty = !json_integer_value(json_object_get(before, "rounds_done"));
    bool same = is_empty || !now || is_same_command(before, now);
    json_decref(before);
    json_decref(now);
    if (fd >= 0)
        (void)close(fd);
    return same ? 0
                : err_set(err, -EEXIST,
                          "output directory '%.100s' has the result of another command: name "
                          "another one, or type --force",
                          run_dir->dir.path);
}

int run_dir_open(struct run_dir *run_dir, const struct run_dir_request *request,
                 const struct run_record *record, struct err *err)
{
    char path[4096], command[512];
    *run_dir = (struct run_dir){0};
    int rc = choose_path(path, sizeof(path), request, record->started, err);
    if (rc)
        return rc;
    put_command(record, command, sizeof(command));
    const struct directory_request place = {.path = path,
                                            .unique = !request->out,
                                            .command = command,
                                            .remove_figures = request->remove_figures};
    rc = directory_open(&run_dir->dir, &place, err);
    if (!rc && run_dir->dir.holds_earlier && !request->force)
        rc = check_earlier(run_dir, record, err);
    if (rc)
        return rc;
    struct err why = {0};
    rc = write_first(run_dir, record, &why);
    return rc ? err_set(err, rc, "output directory '%.100s': %.140s", path, why.msg) : 0;
}

/* Appends the round to both files, and flushes them. */
static int append_round(struct run_dir *run_dir, const struct analysis *analysis,
                        const struct result *result, unsigned round, struct err *err)
{
    int rc = csv_append_samples(&run_dir->samples, result, round, err);
    if (!rc)
        rc = csv_append_round(&run_dir->rounds, analysis, round, err);
    if (!rc)
        rc = growing_sync(&run_dir->samples, err);
    return rc ? rc : growing_sync(&run_dir->rounds, err);
}

int run_dir_round(struct run_dir *run_dir, const struct run_record *record, unsigned round,
                  struct err *err)
{
    const off_t samples = run_dir->samples.valid_bytes, rounds = run_dir->rounds.valid_bytes;
    const bool replaces = run_dir->dir.holds_earlier;
    const struct analysis *all = record->verdict ? &record->verdict->analysis : NULL;
    struct analysis alone = {0};
    /* Builds are compared by rounds of their own runs: the verdict alone has their values. */
    bool has_own = all && all->rounds.narms && !all->rounds.arms[0].fields;
    int rc = has_own ? 0 : analysis_make_round(record->result, round, &alone, err);
    if (!rc)
        rc = append_round(run_dir, has_own ? all : &alone, record->result, round, err);
    if (!rc && record->verdict)
        rc = publish(run_dir, record, run_dir->samples.valid_bytes, err);
    analysis_free(&alone);
    if (rc) {
        growing_cut(&run_dir->samples, samples);
        growing_cut(&run_dir->rounds, rounds);
    } else if (replaces)
        log_info("replacing the earlier run in %s", run_dir->dir.path);
    return rc;
}

int run_dir_add(struct run_dir *run_dir, const char *name, json_t *json, struct err *err)
{
    char *text = json ? json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(json);
    int rc = text ? directory_add(&run_dir->dir, name, text, strlen(text), err)
                  : err_set(err, -ENOMEM, "no memory for %s", name);
    free(text);
    return rc;
}

int run_dir_end(struct run_dir *run_dir, const struct run_record *record, struct err *err)
{
    struct run_record last = *record;
    off_t samples_bytes = run_dir->samples.valid_bytes;
    int rc = growing_close(&run_dir->samples, err);
    int closed = growing_close(&run_dir->rounds, rc ? NULL : err);
    rc = rc ? rc : closed;
    if (!rc && record->verdict && !run_dir->dir.holds_earlier) {
        rc = csv_write(run_dir->dir.work_fd, &record->verdict->analysis, err);
        if (rc)
            remove_tables(run_dir);
    }
    if (rc)
        last.status = "failed";
    int json_rc =
        run_dir->dir.holds_earlier ? 0 : publish(run_dir, &last, samples_bytes, rc ? NULL : err);
    return rc ? rc : json_rc;
}

void run_dir_close(struct run_dir *run_dir)
{
    (void)growing_close(&run_dir->samples, NULL);
    (void)growing_close(&run_dir->rounds, NULL);
    json_decref(run_dir->written);
    run_dir->written = NULL;
    directory_close(&run_dir->dir);
}

static const char head[] = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
static const char between[] = ",\n";
static const char tail[] = "\n]}\n";

static int refuse(const struct trace_file *file, int rc, struct err *err)
{
    if (rc == -EINVAL)
        return err_set(err, rc, "trace '%.150s' is no regular file", file->path);
    return err_sys(err, rc, "cannot write the trace '%.150s'", file->path);
}

int trace_file_open(struct trace_file *file, const char *path, struct err *err)
{
    struct stat st;
    *file = (struct trace_file){.path = path, .fd = -1};
    /* O_NONBLOCK: open would wait for the reader of a pipe, which is refused below. */
    file->fd =
        open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
    if (file->fd < 0)
        return refuse(file, errno == ENXIO ? -EINVAL : -errno, err);
    int rc = fstat(file->fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
    if (!rc && ftruncate(file->fd, 0))
        rc = -errno;
    if (!rc)
        rc = file_write_at(file->fd, head, sizeof(head) - 1, 0);
    if (!rc)
        rc = file_write_at(file->fd, tail, sizeof(tail) - 1, sizeof(head) - 1);
    if (rc) {
        (void)close(file->fd);
        return refuse(file, rc, err);
    }
    file->is_open = true;
    file->end = sizeof(head) - 1;
    return 0;
}

/* One write replaces the tail by events and a new tail: a reader always finds a complete file. */
int trace_file_append(struct trace_file *file, const char *events, size_t size, struct err *err)
{
    size_t front = file->any ? sizeof(between) - 1 : 0;
    char *text = size ? malloc(front + size + sizeof(tail)) : NULL;
    if (!text)
        return size ? err_set(err, -ENOMEM, "no memory for %zu bytes of a trace", size) : 0;
    memcpy(text, between, front);
    memcpy(text + front, events, size);
    memcpy(text + front + size, tail, sizeof(tail));
    int rc = file_write_at(file->fd, text, front + size + sizeof(tail) - 1, file->end);
    free(text);
    if (rc) {
        /* There is room for the tail where it was before. */
        if (ftruncate(file->fd, file->end) == 0)
            (void)file_write_at(file->fd, tail, sizeof(tail) - 1, file->end);
        return refuse(file, rc, err);
    }
    file->end += (off_t)(front + size);
    file->any = true;
    return 0;
}

int trace_file_close(struct trace_file *file, struct err *err)
{
    int rc = 0;
    if (file->is_open && close(file->fd))
        rc = refuse(file, -errno, err);
    *file = (struct trace_file){0};
    return rc;
}
