#include "harness/show/json/recommended.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/dose.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/text.h"
#include "harness/record/below.h"
#include "harness/record/json_value.h"
#include "harness/record/plan.h"

static const size_t run_mib_most = 256;

struct search {
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
static bool is_wanted(const json_t *record, const struct search *search)
{
    const struct recommended_request *request = search->request;
    const json_t *recommended = json_object_get(record, "recommended");
    return json_is_object(recommended) &&
           !strcmp(json_value_text_of(record, "status"), "complete") &&
           !strcmp(json_value_text_of(json_object_get(record, "machine"), "key"),
                   request->machine_key) &&
           json_integer_value(json_object_get(recommended, "workers")) ==
               (json_int_t)request->workers &&
           is_same_job(record, request->job) &&
           !placement_parse(json_value_text_of(recommended, "placement"), &search->found->placement,
                            NULL) &&
           strcmp(json_value_text_of(record, "background"), DOSE_BENCH) != 0 &&
           strcmp(json_value_text_of(record, "started"), search->found->started) > 0;
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
    struct search *search = arg;
    char *text = NULL;
    size_t size = 0;
    (void)marks;
    (void)err;
    if (file_read(dir_fd, "run.json", run_mib_most << 20, &text, &size))
        return 0;
    json_t *record = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    if (record && is_wanted(record, search))
        take(path, record, search->found);
    json_decref(record);
    free(text);
    return 0;
}

int recommended_find(const struct recommended_request *request, struct recommended *found,
                     struct err *err)
{
    struct search search = {.request = request, .found = found};
    const struct below_request below = {.marks = BELOW_RUN,
                                        .depth = BELOW_DEPTH,
                                        .found = read_candidate,
                                        .arg = &search,
                                        .skip_unreadable = true};
    *found = (struct recommended){.speed_up = NAN};
    int rc = below_find(request->path, &below, err);
    return rc == -ENOMEM ? rc : 0;
}
