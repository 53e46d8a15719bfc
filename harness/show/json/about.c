#include "harness/show/json/about.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/record/json_value.h"
#include "harness/show/json/recorded_parts.h"

enum { FACTS_MOST = 40 };

/* The strings of an array, without members of other types; NULL: no memory. */
static const char **take_texts(struct recorded *recorded, const json_t *array, size_t *n)
{
    const char **texts = recorded_alloc(recorded, json_array_size(array), sizeof(*texts));
    *n = 0;
    for (size_t i = 0; texts && i < json_array_size(array); i++)
        if (json_is_string(json_array_get(array, i)))
            texts[(*n)++] = json_string_value(json_array_get(array, i));
    return texts;
}

static void take_set(const json_t *json, struct bitset *set)
{
    const char *text = json_string_value(json);
    if (!text || bitset_parse(text, set, NULL))
        *set = (struct bitset){0};
}

/* `key` NULL: the members are sets; else they are objects that have a set as that key. */
static int take_sets(struct recorded *recorded, const json_t *array, const char *key,
                     struct about_sets *sets, struct err *err)
{
    size_t n = json_array_size(array) < BITSET_BITS ? json_array_size(array) : BITSET_BITS;
    sets->set = recorded_alloc(recorded, n, sizeof(*sets->set));
    if (!sets->set)
        return err_set(err, -ENOMEM, "no memory for the parts of the machine");
    for (size_t i = 0; i < n; i++) {
        const json_t *member = json_array_get(array, i);
        take_set(key ? json_object_get(member, key) : member, &sets->set[sets->n]);
        sets->n += !bitset_empty(&sets->set[sets->n]);
    }
    return 0;
}

/* For versions that wrote no sets: if the machine has one such part, that part has all CPUs. */
static int take_only(struct recorded *recorded, const json_t *count, const struct bitset *cpus,
                     struct about_sets *sets, struct err *err)
{
    if (sets->n || json_integer_value(count) != 1 || bitset_empty(cpus))
        return 0;
    sets->set = recorded_alloc(recorded, 1, sizeof(*sets->set));
    if (!sets->set)
        return err_set(err, -ENOMEM, "no memory for the parts of the machine");
    sets->set[sets->n++] = *cpus;
    return 0;
}

static int take_machine(struct recorded *recorded, struct about *about, struct err *err)
{
    const json_t *topo = json_object_get(recorded->record, "topology");
    const json_t *sets = json_object_get(topo, "cpu_sets"), *cpus = json_object_get(topo, "cpus");
    take_set(json_object_get(cpus, "all"), &about->cpus);
    take_set(json_object_get(cpus, "allowed"), &about->allowed);
    const struct {
        const json_t *array;
        const char *key;
    } from[ABOUT_LEVELS] = {
        [ABOUT_PACKAGES] = {json_object_get(sets, "packages"), NULL},
        [ABOUT_NODES] = {json_object_get(topo, "nodes"), "cpus"},
        [ABOUT_LLCS] = {json_object_get(sets, "llcs"), NULL},
        [ABOUT_CORES] = {json_object_get(sets, "cores"), NULL},
    };
    int rc = 0;
    for (int level = 0; level < ABOUT_LEVELS && !rc; level++)
        rc = take_sets(recorded, from[level].array, from[level].key, &about->levels[level], err);
    if (!rc)
        rc = take_only(recorded, json_object_get(topo, "packages"), &about->cpus,
                       &about->levels[ABOUT_PACKAGES], err);
    if (!rc)
        rc = take_only(recorded, json_object_get(topo, "llcs"), &about->cpus,
                       &about->levels[ABOUT_LLCS], err);
    return rc;
}

static void add_fact(struct about *about, const char *label, const char *text)
{
    if (!text[0] || about->nfacts == FACTS_MOST)
        return;
    struct about_fact *fact = &about->facts[about->nfacts++];
    fact->label = label;
    text_set(fact->text, "%s", text);
}

/* Adds texts and whole numbers unchanged; other values, such as null, are left out. */
static void add_value(struct about *about, const char *label, const json_t *value)
{
    const char *number = str_fmt("%" PRId64, (int64_t)json_integer_value(value));
    if (json_is_string(value))
        add_fact(about, label, json_string_value(value));
    else if (json_is_integer(value))
        add_fact(about, label, number);
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static void add_cpus(struct about *about, const json_t *topo)
{
    unsigned cores = (unsigned)json_integer_value(json_object_get(topo, "cores"));
    unsigned packages = (unsigned)json_integer_value(json_object_get(topo, "packages"));
    size_t nodes = json_array_size(json_object_get(topo, "nodes"));
    const char *text =
        str_fmt("%u, of which %u may be used; %u core%s, %u package%s, %zu NUMA node%s",
                bitset_count(&about->cpus), bitset_count(&about->allowed), cores, plural(cores),
                packages, plural(packages), nodes, plural(nodes));
    add_fact(about, "CPUs", text);
}

static void add_caches(struct about *about, const json_t *topo)
{
    const char *text = "";
    size_t i;
    json_t *cache;
    json_array_foreach(json_object_get(topo, "caches"), i, cache)
    {
        json_int_t size = json_integer_value(json_object_get(cache, "size_bytes"));
        if (size > 0)
            str_add(&text, ", ", "%d x L%d of %s",
                    (int)json_integer_value(json_object_get(cache, "count")),
                    (int)json_integer_value(json_object_get(cache, "level")),
                    units_bytes((uint64_t)size));
    }
    add_fact(about, "caches", text);
}

static void add_gpus(struct about *about, const json_t *topo)
{
    size_t i;
    json_t *gpu;
    json_array_foreach(json_object_get(topo, "gpus"), i, gpu)
    {
        char text[160];
        const json_t *node = json_object_get(gpu, "node");
        text_set(text, "%.60s, %.40s%s", json_value_text_of(gpu, "name"),
                 json_value_text_of(gpu, "pci_bdf"), json_is_integer(node) ? ", near node " : "");
        size_t used = strlen(text);
        if (json_is_integer(node))
            (void)snprintf(text + used, sizeof(text) - used, "%d", (int)json_integer_value(node));
        add_fact(about, "GPU", text);
    }
    add_fact(about, "GPUs", json_value_text_of(topo, "gpu_note"));
}

static void add_memory(struct about *about, const json_t *environment)
{
    json_int_t bytes = json_integer_value(json_object_get(environment, "memory_bytes"));
    if (bytes > 0)
        add_fact(about, "memory", units_bytes((uint64_t)bytes));
}

static void take_facts(const json_t *record, struct about *about)
{
    static const struct {
        const char *label, *key;
    } plain[] = {
        {"vendor", "machine_vendor"},
        {"product", "machine_product"},
        {"hypervisor", "hypervisor"},
        {"system", "os"},
        {"kernel", "kernel"},
        {"scheduler", "scheduler"},
        {"microcode", "microcode"},
        {"governor", "governor"},
        {"boost", "boost"},
        {"huge pages", "transparent_hugepage"},
        {"numa_balancing", "numa_balancing"},
        {"clock", "clocksource"},
        {"driver", "driver"},
        {"CUDA", "cuda"},
        {"NCCL", "nccl"},
        {"glibc", "glibc"},
        {"compiler", "compiler"},
    };
    const json_t *topo = json_object_get(record, "topology");
    const json_t *environment = json_object_get(record, "environment");
    add_fact(about, "host", about->host);
    add_fact(about, "CPU", json_value_text_of(topo, "cpu_model"));
    if (json_is_object(topo))
        add_cpus(about, topo);
    add_caches(about, topo);
    add_memory(about, environment);
    add_gpus(about, topo);
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
        add_value(about, plain[i].label, json_object_get(environment, plain[i].key));
}

int about_read(struct recorded *recorded, struct about *about, struct err *err)
{
    const json_t *record = recorded->record;
    *about = (struct about){
        .status = json_value_text_of(record, "status"),
        .started = json_value_text_of(record, "started"),
        .ended = json_value_text_of(record, "ended"),
        .host = json_value_text_of(json_object_get(record, "environment"), "hostname"),
    };
    about->words = take_texts(recorded, json_object_get(record, "command"), &about->nwords);
    about->notes = take_texts(recorded, json_object_get(record, "notes"), &about->nnotes);
    about->facts = recorded_alloc(recorded, FACTS_MOST, sizeof(*about->facts));
    if (!about->words || !about->notes || !about->facts)
        return err_set(err, -ENOMEM, "no memory for what run.json says of the machine");
    int rc = take_machine(recorded, about, err);
    take_facts(record, about);
    return rc;
}
