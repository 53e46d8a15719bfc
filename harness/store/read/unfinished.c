#include "harness/store/read/unfinished.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/lib/base/units.h"
#include "harness/store/json/comparable.h"
#include "harness/store/json/value.h"

static int take_words(struct unfinished *run, struct err *err)
{
    size_t n = json_array_size(run->command);
    run->words = calloc(n + 1, sizeof(*run->words));
    if (!run->words)
        return err_set(err, -ENOMEM, "no memory for the command of run.json");
    for (size_t i = 0; i < n; i++)
        if (!(run->words[i] = (char *)json_string_value(json_array_get(run->command, i))))
            return err_set(err, -EINVAL, "run.json has no command");
    run->nwords = (int)n;
    return n < 2 ? err_set(err, -EINVAL, "run.json has no command") : 0;
}

static int take(struct unfinished *run, const struct stat *file, struct err *err)
{
    const json_t *record = run->record;
    struct tm started = {0};
    if (json_integer_value(json_object_get(record, "schema_version")) != RUN_SCHEMA_VERSION)
        return err_set(err, -EINVAL, "run.json is damaged, or of another version");
    run->scenario = json_value_text_of(record, "scenario");
    run->rounds_done = json_value_count_of(record, "rounds_done");
    run->rounds_planned = json_value_count_of(record, "rounds_planned");
    run->samples_bytes = (off_t)json_integer_value(json_object_get(record, "samples_bytes"));
    run->is_complete =
        run->rounds_done >= run->rounds_planned && json_is_string(json_object_get(record, "ended"));
    if (strptime(json_value_text_of(record, "started"), "%Y-%m-%dT%H:%M:%SZ", &started))
        run->started = timegm(&started);
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    run->gap_s = fmax(difftime(now.tv_sec, file->st_mtim.tv_sec) +
                          (double)(now.tv_nsec - file->st_mtim.tv_nsec) * 1e-9,
                      0);
    run->failed = !strcmp(json_value_text_of(record, "status"), "failed");
    run->resumed = json_deep_copy(json_object_get(record, "resumed"));
    return take_words(run, err);
}

int unfinished_read(int dir_fd, struct unfinished *run, struct err *err)
{
    struct stat file = {0};
    *run = (struct unfinished){0};
    int fd = openat(dir_fd, "run.json", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &file))
        return err_sys(err, -errno, "cannot read run.json");
    run->record = json_loadfd(fd, 0, NULL);
    (void)close(fd);
    /* Of the command each character counts, of texts that are printed none commands a terminal. */
    run->command = json_deep_copy(json_object_get(run->record, "command"));
    (void)json_value_one_line(run->record);
    return take(run, &file, err);
}

void unfinished_free(struct unfinished *run)
{
    json_decref(run->resumed);
    json_decref(run->command);
    json_decref(run->record);
    free(run->words);
    *run = (struct unfinished){0};
}

int unfinished_check(const struct unfinished *run, const struct run_record *now, struct err *err)
{
    char refused[400];
    struct findings findings = {0};
    json_t *record = json_value_one_line(run_json_make(now));
    const struct comparable sides[] = {{"the finished rounds", run->record}, {"this one", record}};
    int rc = record ? comparable_check(sides, 2, "all", refused, sizeof(refused), &findings, err)
                    : err_set(err, -ENOMEM, "no memory to compare machines");
    if (!rc && findings.n)
        rc = err_set(err, -EINVAL, "it cannot go on here: %s: %s", findings.all[0].subject,
                     findings.all[0].sentence);
    findings_free(&findings);
    json_decref(record);
    return rc;
}

int unfinished_resume(struct unfinished *run, unsigned round, struct err *err)
{
    if (!run->resumed)
        run->resumed = json_array();
    json_t *entry =
        json_value_object("round:i at:o gap_s:r", round, run_json_time(time(NULL)), run->gap_s);
    return json_array_append_new(run->resumed, entry)
               ? err_set(err, -ENOMEM, "no memory for the times of run.json")
               : 0;
}

void unfinished_find(const struct unfinished *run, struct findings *findings)
{
    const struct finding finding = {
        .id = "resumed", .severity = FINDING_NOTE, .subject = "the run", .value = NAN};
    char gap[32];
    size_t i;
    json_t *time;
    json_array_foreach(run->resumed, i, time)
    {
        (void)units_format_seconds(json_value_number_of(time, "gap_s"), gap, sizeof(gap));
        findings_putf(findings, &finding, "resumed with round %u at %s, %s after the last one",
                      json_value_count_of(time, "round") + 1, json_value_text_of(time, "at"), gap);
    }
}
