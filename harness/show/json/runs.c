#include "harness/show/json/runs.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/array.h"
#include "harness/lib/dose.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"
#include "harness/record/json_machine.h"
#include "harness/record/json_value.h"

/* The state of a search over directories. */
struct search {
    const struct bench *const *benches;
    directory_remove *remove_figures;
    struct runs *runs;
    const char *path; /* the argument of runs_read */
};

static int append(void *arg, const char *path, int dir_fd, unsigned marks, struct err *err)
{
    const struct search *search = arg;
    struct runs *runs = search->runs;
    struct err why;
    (void)marks;
    directory_recover(dir_fd, search->remove_figures);
    struct run *run = array_add(runs->all, runs->n, runs->capacity);
    if (!run)
        return err_set(err, -ENOMEM, "out of memory for %zu results", runs->n + 1);
    *run = (struct run){.path = strdup(path), .recorded = calloc(1, sizeof(*run->recorded))};
    if (!run->path || !run->recorded)
        return err_set(err, -ENOMEM, "out of memory for %zu results", runs->n);
    int rc = recorded_read(dir_fd, search->benches, run->recorded, &why);
    if (rc == -ENODATA && strcmp(path, search->path) != 0) { /* one of several, cut off */
        log_warn("'%.150s' is left out: %s", path, why.msg);
        runs_forget_from(runs, runs->n - 1);
        return 0;
    }
    return rc ? err_set(err, rc, "'%.150s': %s", path, why.msg) : 0;
}

int runs_read(const char *path, const struct bench *const *benches,
              directory_remove *remove_figures, struct runs *runs, struct err *err)
{
    struct search search = {
        .benches = benches, .remove_figures = remove_figures, .runs = runs, .path = path};
    size_t before = runs->n;
    const struct below_request request = {
        .marks = BELOW_RUN, .depth = BELOW_DEPTH, .found = append, .arg = &search};
    int rc = below_find(path, &request, err);
    if (!rc && runs->n == before)
        return err_set(err, -ENOENT, "'%.150s' is no result directory: no run.json in it or below",
                       path);
    return rc;
}

void runs_forget_from(struct runs *runs, size_t n)
{
    while (runs->n > n) {
        struct run *run = &runs->all[--runs->n];
        if (run->recorded)
            recorded_free(run->recorded);
        free(run->recorded);
        free(run->path);
    }
}

void runs_free(struct runs *runs)
{
    runs_forget_from(runs, 0);
    free(runs->all);
    *runs = (struct runs){0};
}

static const size_t run_mib_most = 256;

struct recommended_search {
    const struct recommended_request *request;
    struct recommended *found;
};

/* The run's command line, and the index of the first word after "--"; NULL if it has no "--". */
static json_t *command_of(const json_t *record, size_t *first)
{
    json_t *words = json_object_get(record, "command");
    for (*first = 1; *first <= json_array_size(words); (*first)++)
        if (!strcmp(json_string_value(json_array_get(words, *first - 1))
                        ? json_string_value(json_array_get(words, *first - 1))
                        : "",
                    "--"))
            return words;
    return NULL;
}

static bool is_same_job(const json_t *record, const char *const *job)
{
    size_t first, n = 0;
    const json_t *words = command_of(record, &first);
    if (!job)
        return true;
    for (; job[n]; n++) {
        const char *word = json_string_value(json_array_get(words, first + n));
        if (!word || strcmp(word, job[n]) != 0)
            return false;
    }
    return words && json_array_size(words) == first + n;
}

/* Results under a dose of contention do not count, as they are for a special case. */
static bool is_wanted(const json_t *record, const struct recommended_search *recommended_search)
{
    const struct recommended_request *request = recommended_search->request;
    const json_t *recommended = json_object_get(record, "recommended");
    return json_is_object(recommended) &&
           !strcmp(json_value_text_of(record, "status"), "complete") &&
           !strcmp(json_value_text_of(json_object_get(record, "machine"), "key"),
                   request->machine_key) &&
           json_integer_value(json_object_get(recommended, "workers")) ==
               (json_int_t)request->workers &&
           is_same_job(record, request->job) &&
           !placement_parse(json_value_text_of(recommended, "placement"),
                            &recommended_search->found->placement, NULL) &&
           strcmp(json_value_text_of(record, "background"), DOSE_BENCH) != 0 &&
           strcmp(json_value_text_of(record, "started"), recommended_search->found->started) > 0;
}

static void put(char *buf, size_t size, const char *text)
{
    (void)snprintf(buf, size, "%s", text);
    (void)text_one_line(buf);
}

/* The plan of the setting: that of all plans, and what the setting of a search changes. */
static void take_plan(const json_t *record, struct recommended *found)
{
    struct variant variant = {.plan = plan_options_from_json(json_object_get(record, "options"))};
    if (purpose_find(json_value_text_of(record, "purpose")) == PURPOSE_TUNE)
        variant_take_name(&variant, found->placement, found->setting);
    found->plan = variant.plan;
    if (found->plan.cpus)
        put(found->cpus, sizeof(found->cpus), found->plan.cpus);
}

static void take(const char *path, const json_t *record, struct recommended *found)
{
    const json_t *recommended = json_object_get(record, "recommended");
    const json_t *gain = json_object_get(recommended, "speed_up");
    const char *setting = json_value_text_of(recommended, "setting");
    size_t first;
    const json_t *words = command_of(record, &first);
    const char *program = json_string_value(json_array_get(words, first));
    put(found->path, sizeof(found->path), path);
    put(found->setting, sizeof(found->setting), setting);
    put(found->workload, sizeof(found->workload),
        words && program ? program : json_value_text_of(record, "scenario"));
    put(found->started, sizeof(found->started), json_value_text_of(record, "started"));
    found->applies = strcmp(setting, json_value_text_of(recommended, "relative_to")) != 0;
    found->plan = (struct plan_options){0};
    found->background = json_value_count_of(recommended, "background_workers");
    if (found->applies)
        take_plan(record, found);
    put(found->load, sizeof(found->load), json_value_text_of(recommended, "while"));
    found->low = json_number_value(json_object_get(recommended, "low"));
    found->speed_up = json_is_number(gain) ? json_number_value(gain) : (double)NAN;
}

static int read_candidate(void *arg, const char *path, int dir_fd, unsigned marks, struct err *err)
{
    struct recommended_search *recommended_search = arg;
    char *text = NULL;
    size_t size = 0;
    (void)marks;
    (void)err;
    if (file_read(dir_fd, "run.json", run_mib_most << 20, &text, &size))
        return 0;
    json_t *record = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    if (record && is_wanted(record, recommended_search))
        take(path, record, recommended_search->found);
    json_decref(record);
    free(text);
    return 0;
}

int recommended_find(const struct recommended_request *request, struct recommended *found,
                     struct err *err)
{
    struct recommended_search recommended_search = {.request = request, .found = found};
    const struct below_request below = {.marks = BELOW_RUN,
                                        .depth = BELOW_DEPTH,
                                        .found = read_candidate,
                                        .arg = &recommended_search,
                                        .skip_unreadable = true};
    *found = (struct recommended){.speed_up = NAN};
    int rc = below_find(request->path, &below, err);
    return rc == -ENOMEM ? rc : 0;
}
