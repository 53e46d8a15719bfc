#include "harness/show/json/comparable.h"

#include <stdio.h>
#include <string.h>

#include "harness/lib/text.h"

/* In the order in which differences are reported. */
static const struct field {
    const char *what;  /* the word of --allow; NULL = reported, but refuses nothing */
    const char *label; /* for people */
    const char *path;
} fields[] = {
    {"machine", "machine", "machine.key"},
    {"machine", "CPU model", "environment.cpu_model"},
    {"machine", "number of CPUs", "topology.cpus.count"},
    {"machine", "GPUs", "topology.gpus"},
    {"cpus", "allowed CPUs", "topology.cpus.allowed"},
    {"cpus", "CPU limit of the cgroup", "environment.cgroup.cpus_limit"},
    {"kernel", "kernel", "environment.kernel"},
    {"kernel", "scheduler", "environment.scheduler"},
    {"driver", "GPU driver", "environment.driver"},
    {"cuda", "CUDA", "environment.cuda"},
    {"nccl", "NCCL", "environment.nccl"},
    {"governor", "CPU frequency governor", "environment.governor"},
    {"governor", "boost", "environment.boost"},
    {"contend", "version of contend", "version"},
    {"options", "profile", "options.profile"},
    {"options", "--time", "options.time"},
    {"options", "--warmup", "options.warmup"},
    {"options", "--limit", "options.limit"},
    {"options", "--metric", "options.metric"},
    {"options", "--metric-file", "options.metric-file"},
    {"options", "--less-is-better", "options.less-is-better"},
    {"options", "--steps-by-lines", "options.steps-by-lines"},
    {"options", "--line", "options.line"},
    {"options", "--duration", "options.duration"},
    {"options", "--keep", "options.keep"},
    {NULL, "the command", "command"},
    {NULL, "commit of contend", "commit"},
    {NULL, "options of placements", "plan_options"},
    {NULL, "transparent huge pages", "environment.transparent_hugepage"},
    {NULL, "numa_balancing", "environment.numa_balancing"},
    {NULL, "OMP_NUM_THREADS", "environment.variables.OMP_NUM_THREADS"},
    {NULL, "OMP_WAIT_POLICY", "environment.variables.OMP_WAIT_POLICY"},
    {NULL, "OMP_PROC_BIND", "environment.variables.OMP_PROC_BIND"},
};

const char *const comparable_words[] = {"machine", "cpus",          "kernel",   "driver",
                                        "cuda",    "nccl",          "governor", "contend",
                                        "options", COMPARABLE_BUSY, "all",      NULL};

enum { FIELDS = sizeof(fields) / sizeof(fields[0]), VALUE_MAX = 4096, SHOWN = 120 };

/* NULL where a part of the path is not there. */
static const json_t *find(const json_t *record, const char *path)
{
    const char *name;
    while (record && *path) {
        size_t length = strcspn(path, ".");
        name = str_fmt("%.*s", (int)length, path);
        record = json_object_get(record, name);
        path += length + (path[length] == '.');
    }
    return record;
}

static bool is_variable(const char *path)
{
    return strstr(path, ".variables.") != NULL;
}

static bool is_option(const char *path)
{
    return !strncmp(path, "options.", strlen("options."));
}

/* The user's command in contend's own command line, after "--"; false: it has none. */
static bool format_command(const json_t *words, char *buf, size_t size)
{
    size_t used = 0, i = 0;
    for (; i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        if (word && !strcmp(word, "--"))
            break;
    }
    for (i++; i < json_array_size(words) && used < size; i++) {
        const char *word = json_string_value(json_array_get(words, i));
        used +=
            (size_t)snprintf(buf + used, size - used, "%s%s", used ? " " : "", word ? word : "");
    }
    return used > 0;
}

/* A field as text, an array as the names of its members. False: the record does not have it. */
static bool format(const json_t *record, const char *path, char *buf, size_t size)
{
    const json_t *value = find(record, path);
    if (!value && !is_variable(path))
        return false;
    if (!strcmp(path, "command"))
        return format_command(value, buf, size);
    if (json_is_string(value))
        (void)snprintf(buf, size, "%s", json_string_value(value));
    else if (json_is_number(value) && json_number_value(value) == 0 && is_option(path))
        (void)snprintf(buf, size, "default"); /* it was not given */
    else if (json_is_number(value))
        (void)snprintf(buf, size, "%g", json_number_value(value));
    else if (json_is_boolean(value))
        (void)snprintf(buf, size, "%s", json_is_true(value) ? "on" : "off");
    else if (json_array_size(value)) {
        size_t used = (size_t)snprintf(buf, size, "%zu:", json_array_size(value));
        for (size_t i = 0; i < json_array_size(value) && used < size; i++) {
            const char *name = json_string_value(json_object_get(json_array_get(value, i), "name"));
            used += (size_t)snprintf(buf + used, size - used, " %s", name ? name : "?");
        }
    } else
        (void)snprintf(buf, size, "none");
    return true;
}

bool comparable_is_allowed(const char *allowed, const char *word)
{
    return text_has_word(allowed, ',', "all") || text_has_word(allowed, ',', word);
}

const char *comparable_format_measure(const json_t *record)
{
    static const char *const names[] = {"metric",         "metric-file", "less-is-better",
                                        "steps-by-lines", "line",        "keep"};
    char value[VALUE_MAX];
    const char *text = "";
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (format(record, str_fmt("options.%s", names[i]), value, sizeof(value)) &&
            strcmp(value, "none") != 0 && strcmp(value, "off") != 0)
            str_add(&text, "", ";%s=%s", names[i], value);
    return text;
}

/* Finds the first side with another value than sides[0]; false = there is none. */
static bool find_difference(const struct comparable *sides, size_t n, const struct field *field,
                            char *first, char *other, size_t *side)
{
    if (!format(sides[0].record, field->path, first, VALUE_MAX))
        return false;
    for (*side = 1; *side < n; (*side)++)
        if (format(sides[*side].record, field->path, other, VALUE_MAX) && strcmp(first, other) != 0)
            return true;
    return false;
}

/* The offset from which to show two values so that their difference is visible. */
static size_t shown_from(const char *first, const char *other)
{
    size_t same = 0;
    while (first[same] && first[same] == other[same])
        same++;
    return same < SHOWN / 2 ? 0 : same - SHOWN / 4;
}

void comparable_check(const struct comparable *sides, size_t n, const char *allowed, char *refused,
                      size_t size, struct findings *findings)
{
    char first[VALUE_MAX], other[VALUE_MAX];
    const char *words = "";
    size_t side;
    refused[0] = '\0';
    for (const struct field *field = fields; n && field < fields + FIELDS; field++) {
        if (!find_difference(sides, n, field, first, other, &side))
            continue;
        bool may = !field->what || comparable_is_allowed(allowed, field->what);
        struct finding finding = {.id = "sides_differ",
                                  .severity = may ? FINDING_NOTE : FINDING_DOUBT};
        text_set(finding.subject, "%s", field->label);
        size_t from = shown_from(first, other);
        const char *cut = from ? ".." : "";
        text_set(finding.sentence, "%s%.*s in %s, %s%.*s in %s%s%s", cut, SHOWN, first + from,
                 sides[0].name, cut, SHOWN, other + from, side ? sides[side].name : "",
                 may ? "" : ": no verdict without --allow ", may ? "" : field->what);
        if (!may && !text_has_word(words, ',', field->what))
            str_add(&words, ",", "%s", field->what);
        findings_put(findings, &finding);
    }
    if (words[0])
        (void)snprintf(refused, size, "what was measured is not the same: --allow %s compares it",
                       words);
}
