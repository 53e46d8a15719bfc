#include "harness/plan/placeholders.h"

#include <errno.h>
#include <string.h>

#include "harness/lib/similar.h"
#include "harness/lib/text.h"

const char *const placeholder_names[PLACEHOLDERS] = {
    [PLACEHOLDER_WORKER] = "worker",   [PLACEHOLDER_GPU] = "gpu",
    [PLACEHOLDER_WORKERS] = "workers", [PLACEHOLDER_THREADS] = "threads",
    [PLACEHOLDER_CPUS] = "cpus",       [PLACEHOLDER_NODE] = "node",
    [PLACEHOLDER_PORT] = "port",
};

static const char *nodes_of(const struct topo *topo, const struct plan_worker *worker)
{
    struct bitset nodes = worker->mem_nodes;
    for (unsigned i = 0; i < topo->ncpus && bitset_empty(&worker->mem_nodes); i++) {
        const struct topo_cpu *cpu = &topo->cpus[i];
        int node = topo_memory_node(topo, topo_own_node(topo, cpu));
        if (node >= 0 && bitset_test(&worker->cpus, cpu->os_cpu))
            bitset_set(&nodes, topo->nodes[node].os_node);
    }
    return bitset_format(&nodes);
}

void placeholders_of(const struct topo *topo, const struct plan *plan, unsigned w,
                     struct placeholder_values *values)
{
    const struct plan_worker *worker = &plan->workers[w];
    unsigned workers = 0;
    for (unsigned i = 0; i < plan->nworkers; i++)
        workers += !plan->workers[i].background;
    *values = (struct placeholder_values){
        .number = str_fmt("%u", w),
        .workers = str_fmt("%u", workers),
        .threads = str_fmt("%u", worker->threads),
        .gpu = worker->gpu < 0 ? ""
                               : str_fmt("%u", topo_gpu_bus_number(topo, &topo->gpus[worker->gpu])),
        .cpus = bitset_format(&worker->cpus),
        .node = nodes_of(topo, worker),
        .port = ""};
}

static const char *value_of(const struct placeholder_values *values, enum placeholder placeholder)
{
    switch (placeholder) {
    case PLACEHOLDER_WORKER:
        return values->number;
    case PLACEHOLDER_GPU:
        return values->gpu;
    case PLACEHOLDER_WORKERS:
        return values->workers;
    case PLACEHOLDER_THREADS:
        return values->threads;
    case PLACEHOLDER_CPUS:
        return values->cpus;
    case PLACEHOLDER_PORT:
        return values->port;
    case PLACEHOLDER_NODE:
    case PLACEHOLDERS:
        break;
    }
    return values->node;
}

/* A placeholder in a text: [start, end) includes the braces, letters[0..length) does not. */
struct name {
    const char *start, *end;
    const char *letters;
    size_t length;
    bool doubled;
};

static bool is_name(const char *text, const char *at, struct name *name)
{
    bool doubled = at[1] == '{';
    const char *letters = at + 1 + doubled;
    size_t length = strspn(letters, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_");
    const char *end = letters + length;
    if (!length || end[0] != '}' || (doubled && end[1] != '}') || (at > text && at[-1] == '$'))
        return false;
    *name = (struct name){at, end + 1 + doubled, letters, length, doubled};
    return true;
}

/* Finds the first placeholder at or after `from`, which points into `text`. */
static bool find_name(const char *from, const char *text, struct name *name)
{
    for (const char *at = strchr(from, '{'); at; at = strchr(at + 1, '{'))
        if (is_name(text, at, name))
            return true;
    return false;
}

/* Returns the enum placeholder of the name, or -EINVAL. */
static int find_known(const struct name *name, struct err *err)
{
    int shown = (int)(name->length < 30 ? name->length : 30);
    struct similar near = similar_to(name->letters, name->length);
    for (int p = 0; p < PLACEHOLDERS; p++) {
        const char *candidate = placeholder_names[p];
        if (strlen(candidate) == name->length && !strncmp(candidate, name->letters, name->length))
            return p;
        similar_offer(&near, candidate);
    }
    return err_set(err, -EINVAL,
                   "unknown placeholder {%.*s}%s known: {worker}, {gpu}, {workers}, {threads}, "
                   "{cpus}, {node}, {port}; {{%.*s}} stands for {%.*s} itself",
                   shown, name->letters, similar_hint(&near, ""), shown, name->letters, shown,
                   name->letters);
}

/* The value of the name; NULL: unknown name, or the worker has no value. */
static const char *find_value(const struct placeholder_values *values, const struct name *name,
                              struct err *err)
{
    int known = find_known(name, err);
    if (known < 0)
        return NULL;
    const char *value = value_of(values, (enum placeholder)known);
    if (!value[0])
        (void)err_set(err, -EINVAL, "the command asks for {%.*s}, and worker %s has none",
                      (int)name->length, name->letters, values->number);
    return value[0] ? value : NULL;
}

char *placeholders_expand(const char *text, const struct placeholder_values *values,
                          struct err *err)
{
    const char *out = "";
    struct name name;
    const char *at = text;
    for (; find_name(at, text, &name); at = name.end) {
        const char *value = name.doubled ? "" : find_value(values, &name, err);
        if (!value)
            return NULL;
        str_add(&out, "", "%.*s%s%.*s", (int)(name.start - at), at, value,
                name.doubled ? (int)(name.end - name.start) - 2 : 0, name.start + 1);
    }
    str_add(&out, "", "%s", at);
    char *expanded = strdup(out);
    if (!expanded)
        (void)err_set(err, -ENOMEM, "no memory for the command");
    return expanded;
}

bool placeholders_use(const char *text, enum placeholder placeholder)
{
    struct name name;
    for (const char *at = text; find_name(at, text, &name); at = name.end)
        if (!name.doubled && find_known(&name, NULL) == (int)placeholder)
            return true;
    return false;
}
