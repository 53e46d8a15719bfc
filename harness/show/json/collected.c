#include "harness/show/json/collected.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "harness/lib/text.h"
#include "harness/show/json/about.h"

/* The name that stands for all scenarios. */
#define ALL_NAME "all"

struct reading {
    const struct collected_request *request;
    const char *page;
    struct collected_dir *dir;
    bool all; /* a result says that its run was of all scenarios */
};

static int may_hold_result(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strlen(entry->d_name) < COLLECTED_NAME_MAX &&
           (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN);
}

/* NaN if either time is missing. */
static double seconds_between(const char *from, const char *to)
{
    struct tm tm[2] = {0};
    const char *text[2] = {from, to};
    for (int i = 0; i < 2; i++) {
        const char *rest = strptime(text[i], "%Y-%m-%dT%H:%M:%SZ", &tm[i]);
        if (!rest || *rest)
            return (double)NAN;
    }
    return difftime(timegm(&tm[1]), timegm(&tm[0]));
}

static bool has_word(const struct about *about, const char *word)
{
    for (size_t i = 1; i < about->nwords; i++)
        if (!strcmp(about->words[i], word))
            return true;
    return false;
}

/* Beside "all" no scenario may be named: if one is, "all" was the value of an option. */
static bool was_of_all(const struct about *about, const char *scenario)
{
    return has_word(about, ALL_NAME) && !has_word(about, scenario);
}

static void note_first(struct collected_dir *dir, const struct about *about)
{
    size_t used = 0;
    struct collection *collection = &dir->collection;
    if (!about->started[0] ||
        (collection->started[0] && strcmp(collection->started, about->started) <= 0))
        return;
    text_set(collection->started, "%s", about->started);
    text_set(dir->host, "%s", about->host);
    dir->command[0] = '\0';
    for (size_t i = 0; i < about->nwords && used < sizeof(dir->command); i++)
        used += (size_t)snprintf(dir->command + used, sizeof(dir->command) - used, "%s%s",
                                 i ? " " : "", about->words[i]);
}

static void note_machine(struct collected_dir *dir, const char *key)
{
    if (!dir->machine[0])
        text_set(dir->machine, "%s", key);
    dir->machines_differ = dir->machines_differ || strcmp(dir->machine, key) != 0;
}

/* The first reason if all arms were skipped; NULL: an arm was measured, or failed. */
static const char *why_skipped(const struct recorded *recorded)
{
    const struct analysis *analysis = &recorded->analysis;
    for (size_t i = 0; i < recorded->result.narms; i++)
        if (!recorded->result.arms[i].is_control &&
            analysis->rounds.arms[i].status != STATUS_SKIPPED)
            return NULL;
    return analysis->rows.n ? analysis->rows.row[0].reason : NULL;
}

static void report(struct collected *one, const struct recorded *recorded,
                   const struct about *about)
{
    const char *skipped = why_skipped(recorded);
    double took_s = seconds_between(about->started, about->ended);
    one->rounds = recorded->result.rounds_done;
    one->rounds_planned = recorded->result.rounds_planned;
    one->took_s = took_s > 0 ? took_s : 0;
    collected_judge(one, &recorded->findings);
    if (!strcmp(about->status, "interrupted"))
        one->end = COLLECTED_INTERRUPTED;
    else if (skipped)
        one->end = COLLECTED_SKIPPED;
    else
        one->end = !strcmp(about->status, "failed") ? COLLECTED_FAILED : COLLECTED_MEASURED;
    if (skipped)
        text_set(one->sentence, "%s", skipped);
}

/* The entry of the scenario, added if there is none of that name; NULL: no memory. */
static struct collected *place_of(struct collected_dir *dir, const char *name)
{
    struct collection *collection = &dir->collection;
    for (size_t i = 0; i < collection->n; i++)
        if (!strcmp(dir->names[i], name))
            return &collection->all[i];
    size_t n = collection->n + 1;
    struct collected *all = realloc(collection->all, n * sizeof(*all));
    if (all)
        collection->all = all;
    char(*names)[COLLECTED_NAME_MAX] = realloc(dir->names, n * sizeof(*names));
    if (names)
        dir->names = names;
    if (!all || !names)
        return NULL;
    all[n - 1] = (struct collected){.summary = "", .end = COLLECTED_ABSENT};
    text_set(names[n - 1], "%s", name);
    collection->n = n;
    return &all[n - 1];
}

/* Takes a readable result of the scenario of that name. */
static int take(struct reading *reading, const char *name, int dir_fd, struct recorded *recorded,
                struct err *err)
{
    const struct collected_request *request = reading->request;
    struct collected_dir *dir = reading->dir;
    struct about about;
    struct collected *one = place_of(dir, name);
    if (!one)
        return err_set(err, -ENOMEM, "no memory for the results of '%.60s'", name);
    int rc = about_read(recorded, &about, err);
    if (rc)
        return rc;
    report(one, recorded, &about);
    note_first(dir, &about);
    note_machine(dir, recorded->machine.key);
    reading->all = reading->all || was_of_all(&about, name);
    rc = request->found ? request->found(request->arg, name, dir_fd, recorded) : 0;
    one->has_page = !faccessat(dir_fd, reading->page, F_OK, AT_SYMLINK_NOFOLLOW);
    return rc;
}

/* Takes an unreadable result, which was damaged or cut off. Its directory must be named like a
 * scenario. */
static int take_unreadable(struct reading *reading, const char *name, const struct err *why,
                           struct err *err)
{
    if (!scenario_find(reading->request->scenarios, name))
        return 0;
    struct collected *one = place_of(reading->dir, name);
    if (!one)
        return err_set(err, -ENOMEM, "no memory for the results of '%.60s'", name);
    bool cut = why->code == -ENODATA;
    one->end = cut ? COLLECTED_INTERRUPTED : COLLECTED_FAILED;
    text_set(one->sentence, "%s", why->msg);
    reading->dir->damaged += !cut;
    return 0;
}

static int read_one(struct reading *reading, int parent_fd, const char *name, struct err *err)
{
    struct recorded recorded = {0};
    struct err why = {0};
    struct stat status;
    int rc = 0;
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return 0;
    directory_recover(fd, reading->request->remove_figures);
    if (!fstatat(fd, "run.json", &status, AT_SYMLINK_NOFOLLOW)) {
        rc = recorded_read(fd, reading->request->benches, &recorded, &why);
        if (rc == -ENOMEM)
            (void)err_set(err, rc, "%s", why.msg);
        else if (rc)
            rc = take_unreadable(reading, name, &why, err);
        else if (!strcmp(recorded.result.scenario, name))
            rc = take(reading, name, fd, &recorded, err);
        recorded_free(&recorded);
    }
    (void)close(fd);
    return rc;
}

static int list_scenarios(struct collected_dir *dir, const struct scenario *scenarios,
                          struct err *err)
{
    for (const struct scenario *scenario = scenarios; scenario->name; scenario++) {
        if (scenario->doses)
            continue;
        struct collected *one = place_of(dir, scenario->name);
        if (!one)
            return err_set(err, -ENOMEM, "no memory for the list of scenarios");
        one->summary = scenario->summary;
    }
    return 0;
}

/* Removes scenarios without a result, if no run was of all scenarios. */
static void leave_out_absent(struct collected_dir *dir)
{
    size_t kept = 0;
    for (size_t i = 0; i < dir->collection.n; i++) {
        if (dir->collection.all[i].end == COLLECTED_ABSENT)
            continue;
        dir->collection.all[kept] = dir->collection.all[i];
        if (kept != i)
            memcpy(dir->names[kept], dir->names[i], COLLECTED_NAME_MAX);
        kept++;
    }
    dir->collection.n = kept;
}

int collected_read(int dir_fd, const char *page, const struct collected_request *request,
                   struct collected_dir *dir, struct err *err)
{
    struct reading reading = {.request = request, .page = page, .dir = dir};
    struct dirent **names = NULL;
    *dir = (struct collected_dir){.damaged = 0};
    int rc = list_scenarios(dir, request->scenarios, err);
    int n = rc ? 0 : scandirat(dir_fd, ".", &names, may_hold_result, alphasort);
    if (n < 0)
        rc = err_sys(err, -errno, "cannot read the directory");
    for (int i = 0; i < n; i++) {
        if (!rc)
            rc = read_one(&reading, dir_fd, names[i]->d_name, err);
        free(names[i]);
    }
    free(names);
    dir->all = reading.all;
    if (!reading.all)
        leave_out_absent(dir);
    for (size_t i = 0; i < dir->collection.n; i++)
        dir->collection.all[i].scenario = dir->names[i];
    dir->collection.host = dir->host;
    dir->collection.command = dir->command;
    return rc;
}

void collected_free(struct collected_dir *dir)
{
    free(dir->collection.all);
    free(dir->names);
    *dir = (struct collected_dir){.damaged = 0};
}
