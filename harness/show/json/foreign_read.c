#include "harness/show/json/foreign_read.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/array.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/text.h"
#include "harness/record/json_value.h"

enum { BYTES_MOST = 64 << 20, VALUES_MOST = 500000 };

/* Appends a value of the side's newest run. */
static int put(struct foreign *foreign, struct foreign_value value, struct err *err)
{
    if (foreign->n >= VALUES_MOST)
        return err_set(err, -EINVAL, "more than %d values: compare fewer nodes", VALUES_MOST);
    struct foreign_value *added = array_add(foreign->all, foreign->n, foreign->capacity);
    if (!added)
        return err_set(err, -ENOMEM, "no memory for %zu values", foreign->n + 1);
    value.run = foreign->runs[value.side] - 1;
    value.order = foreign->n;
    value.node = value.node ? value.node : "";
    value.unit = value.unit ? value.unit : "";
    value.better = value.better ? value.better : "";
    value.reason = value.reason ? value.reason : "";
    *added = value;
    return 0;
}

/* A copy for a terminal. Not cut: values are paired by their names. */
static const char *copy(const char *text, size_t length)
{
    return text_one_line(str_fmt("%.*s", (int)length, text));
}
static const char *copy_of(const json_t *object, const char *key)
{
    return text_one_line(str_fmt("%s", json_value_text_of(object, key)));
}

/* SuperBench's results have no direction: it is in the rules of a site. Of several words in a name
 * the first of these counts: "mem_bandwidth_matrix_numa_0_1_lat" is a latency. */
static const char *direction_of(const char *name)
{
    static const struct {
        const char *word, *better;
    } words[] = {{"time", "lower"},       {"latency", "lower"}, {"_lat", "lower"},
                 {"overhead", "lower"},   {"cost", "lower"},    {"throughput", "higher"},
                 {"bandwidth", "higher"}, {"bw", "higher"},     {"flops", "higher"},
                 {"iops", "higher"}};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcasestr(name, words[i].word))
            return words[i].better;
    return "";
}

static int add_superbench(const json_t *object, int side, struct foreign *foreign, struct err *err)
{
    const char *key, *node = copy_of(object, "node");
    const json_t *number;
    size_t before = foreign->n;
    int rc = 0;
    foreign->by_node =
        foreign->by_node || (foreign->node[side] && strcmp(foreign->node[side], node) != 0);
    foreign->node[side] = foreign->node[side] ? foreign->node[side] : node;
    json_object_foreach((json_t *)object, key, number)
    {
        const char *slash = strrchr(key, '/'), *metric = slash ? slash + 1 : key;
        const double value = json_is_number(number) ? json_number_value(number) : (double)NAN;
        const bool is_code = !strncmp(metric, "return_code", strlen("return_code"));
        if (isnan(value) || (is_code && value == 0) || rc)
            continue;
        struct foreign_value one = {.side = side,
                                    .node = node,
                                    .arm = slash ? copy(key, (size_t)(slash - key)) : foreign->tool,
                                    .metric = copy(metric, strlen(metric)),
                                    .better = direction_of(metric),
                                    .gating = true,
                                    .value = is_code ? (double)NAN : value};
        if (is_code)
            one.reason = str_fmt("return code %.0f", value);
        if (!one.better[0] && strcmp(one.arm, "monitor") != 0)
            one.better = is_code ? "lower" : direction_of(one.arm);
        rc = put(foreign, one, err);
    }
    return rc || foreign->n > before ? rc : err_set(err, -EINVAL, "a node without numbers");
}

/* The times and rates of a size, out of place or in place. */
static int add_sizes(const json_t *result, const char *key, struct foreign_value value,
                     struct foreign *foreign, struct err *err)
{
    static const struct {
        const char *key, *unit, *better;
        bool gating; /* a rate is of the same measurement as its time */
    } metrics[] = {{"time", "us", "lower", true},
                   {"cpu_time", "us", "lower", true},
                   {"bus_bw", "GB/s", "higher", false}};
    const json_t *body = json_object_get(result, key);
    const double wrong = json_value_number_of(body, "nwrong");
    int rc = 0;
    for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]) && !rc; i++) {
        if (!json_object_get(body, metrics[i].key))
            continue;
        value.metric = str_fmt("%s%s", metrics[i].key, strcmp(key, "in_place") ? "" : " in place");
        value.unit = metrics[i].unit;
        value.better = metrics[i].better;
        value.gating = metrics[i].gating;
        value.value = wrong > 0 ? (double)NAN : json_value_number_of(body, metrics[i].key);
        value.reason = wrong > 0 ? str_fmt("%.0f wrong elements", wrong) : "";
        rc = put(foreign, value, err);
    }
    return rc;
}

static int add_nccl(const json_t *object, int side, struct foreign *foreign, struct err *err)
{
    const json_t *config = json_object_get(object, "config"), *result;
    const json_t *results = json_object_get(object, "results");
    const char *path = json_string_value(json_array_get(json_object_get(object, "args"), 0));
    const char *slash = path ? strrchr(path, '/') : NULL;
    const char *program = slash ? slash + 1 : path ? path : "";
    const size_t processes = json_array_size(json_object_get(config, "devices"));
    const double ranks = json_value_number_of(config, "nthreads") *
                         json_value_number_of(config, "ngpus") * (double)processes;
    size_t i, before = foreign->n;
    int rc = 0;
    json_array_foreach(results, i, result)
    {
        const char *root = json_value_text_of(result, "root");
        const char *arm =
            str_fmt("%s, %.0f ranks, %s %s, root %s, %.0f B", program, ranks,
                    json_value_text_of(result, "type"), json_value_text_of(result, "redop"),
                    root + strspn(root, " "), json_value_number_of(result, "size"));
        const struct foreign_value value = {.side = side, .arm = copy(arm, strlen(arm))};
        rc = rc ? rc : add_sizes(result, "out_of_place", value, foreign, err);
        rc = rc ? rc : add_sizes(result, "in_place", value, foreign, err);
    }
    return rc || foreign->n > before ? rc : err_set(err, -EINVAL, "no result of a size");
}

/* "GB/s" of "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)". */
static const char *unit_of(const char *description)
{
    const char *open = strrchr(description, '(');
    return open ? copy(open + 1, strcspn(open + 1, ")")) : "";
}

static double cell_of(const char *text)
{
    char *end;
    double value = strtod(text, &end);
    return end != text && !*end ? value : (double)NAN;
}

static int add_matrix(const json_t *test, const struct foreign_value *of, struct foreign *foreign,
                      struct err *err)
{
    const json_t *row, *cell;
    size_t r, c;
    int rc = 0;
    json_array_foreach(json_object_get(test, "bandwidth_matrix"), r, row)
    {
        json_array_foreach(row, c, cell)
        {
            const char *text = json_string_value(cell);
            if (!text || !strcmp(text, "N/A") || rc)
                continue;
            struct foreign_value one = *of;
            one.metric = str_fmt("%s %zu-%zu", of->metric, r, c);
            one.value = cell_of(text);
            rc = put(foreign, one, err);
        }
    }
    return rc;
}

/* A test that was waived or that failed has no matrix. */
static int add_nvbandwidth(const json_t *object, int side, struct foreign *foreign, struct err *err)
{
    const json_t *test, *root = json_object_get(object, "nvbandwidth");
    size_t i, before = foreign->n;
    int rc = 0;
    json_array_foreach(json_object_get(root, "testcases"), i, test)
    {
        const char *unit = unit_of(json_value_text_of(test, "bandwidth_description"));
        const bool is_rate = strstr(unit, "B/s") != NULL;
        const struct foreign_value value = {.side = side,
                                            .arm = copy_of(test, "name"),
                                            .metric = is_rate ? "bandwidth" : "value",
                                            .unit = unit,
                                            .better = is_rate               ? "higher"
                                                      : !strcmp(unit, "ns") ? "lower"
                                                                            : "",
                                            .gating = true};
        rc = rc ? rc : add_matrix(test, &value, foreign, err);
    }
    return rc || foreign->n > before ? rc : err_set(err, -EINVAL, "no test with a result");
}

int foreign_add(const json_t *object, int side, struct foreign *foreign, struct err *err)
{
    static const struct {
        const char *key, *tool;
        json_type type;
        int (*add)(const json_t *object, int side, struct foreign *foreign, struct err *err);
    } tools[] = {{"nvbandwidth", "nvbandwidth", JSON_OBJECT, add_nvbandwidth},
                 {"results", "nccl-tests", JSON_ARRAY, add_nccl},
                 {"node", "SuperBench", JSON_STRING, add_superbench}};
    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
        const json_t *mark = json_object_get(object, tools[i].key);
        if (!mark || json_typeof(mark) != tools[i].type)
            continue;
        if (foreign->tool && strcmp(foreign->tool, tools[i].tool) != 0)
            return err_set(err, -EINVAL, "a result of %s, and those before it are of %s",
                           tools[i].tool, foreign->tool);
        foreign->tool = tools[i].tool;
        foreign->runs[side]++;
        return tools[i].add(object, side, foreign, err);
    }
    return err_set(err, -EINVAL,
                   "of no known kind: SuperBench's results-summary.jsonl, nccl-tests' -J and "
                   "nvbandwidth's --json are read; a run of contend is a directory");
}

bool foreign_is_at(const char *path)
{
    char *text = NULL;
    size_t size;
    if (file_read(AT_FDCWD, path, BYTES_MOST, &text, &size))
        return false;
    json_t *schema = json_walk_member((struct json_piece){text, size}, "schema");
    json_decref(schema);
    free(text);
    return !schema;
}

/* The text of an error may hold what was in the file, as a secret of the environment. */
static int add_objects(const char *text, size_t size, int side, struct foreign *foreign,
                       struct err *err)
{
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK;
    unsigned line = 1;
    size_t objects = 0;
    for (size_t at = 0; at < size;) {
        json_error_t wrong;
        struct err why;
        if (isspace((unsigned char)text[at])) {
            line += text[at++] == '\n';
            continue;
        }
        json_t *object = json_loadb(text + at, size - at, flags, &wrong);
        if (!object)
            return err_set(err, -EINVAL, "line %u: not JSON, or a key twice",
                           line + (unsigned)wrong.line - 1);
        int rc = foreign_add(object, side, foreign, &why);
        json_decref(object);
        if (rc)
            return err_set(err, rc, "line %u: %s", line, why.msg);
        for (size_t end = at + (size_t)wrong.position; at < end; at++)
            line += text[at] == '\n';
        objects++;
    }
    return objects ? 0 : err_set(err, -EINVAL, "it is empty");
}

int foreign_read(const char *path, int side, struct foreign *foreign, struct err *err)
{
    char *text = NULL;
    size_t size;
    struct err why;
    int rc = file_read(AT_FDCWD, path, BYTES_MOST, &text, &size);
    if (rc == -EINVAL)
        return err_set(err, rc, "'%.150s' is no file: files of a tool are compared with each other",
                       path);
    if (rc)
        return err_sys(err, rc, "cannot read '%.150s'", path);
    rc = add_objects(text, size, side, foreign, &why);
    free(text);
    return rc ? err_set(err, rc, "'%.150s': %s", path, why.msg) : 0;
}
