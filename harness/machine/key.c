#include "harness/machine/key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/sha256.h"
#include "harness/lib/text.h"

/* The parts of a key as lines "name=value". The size is more than 64 GPUs with long names need. */
struct lines {
    size_t used;
    char text[32768];
};

static void add(struct lines *lines, const char *name, const char *value)
{
    size_t room = sizeof(lines->text) - lines->used;
    int n = snprintf(lines->text + lines->used, room, "%s=%s\n", name, value ? value : "");
    if (n > 0)
        lines->used += (size_t)n < room ? (size_t)n : room - 1;
}

static void add_count(struct lines *lines, const char *name, unsigned count)
{
    add(lines, name, str_fmt("%u", count));
}

static void hash(const char *text, size_t size, char out[MACHINE_KEY_MAX])
{
    uint8_t digest[SHA256_BYTES];
    sha256(text, size, digest);
    for (size_t i = 0; i < (MACHINE_KEY_MAX - 1) / 2; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

static bool has(const char *text)
{
    return text && text[0];
}

const char *machine_mark(const char *text)
{
    char mark[MACHINE_KEY_MAX];
    if (!has(text))
        return "";
    /* The salt keeps hashes of the bare UUID by other programs from matching. */
    const char *salted = str_fmt("contend machine %.239s", text);
    hash(salted, strlen(salted), mark);
    return str_fmt("%s", mark);
}

static int compare_texts(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int compare_gpus(const void *a, const void *b)
{
    const struct machine_gpu *one = a, *other = b;
    int order = compare_texts(one->uuid, other->uuid);
    return order ? order : compare_texts(one->pci_bdf, other->pci_bdf);
}

void machine_parts_sort(struct machine_parts *parts)
{
    if (parts->ngpus)
        qsort(parts->gpus, parts->ngpus, sizeof(*parts->gpus), compare_gpus);
}

static void take_topo(const struct topo *topo, struct machine_parts *parts)
{
    parts->packages = topo->npackages;
    parts->cores = topo->ncores;
    parts->cpus = topo->ncpus;
    parts->nodes = topo->nnodes;
    if (!has(parts->cpu_model))
        parts->cpu_model = topo->cpu_model;
    for (unsigned i = 0; i < topo->ngpus && i < MACHINE_GPUS_MAX; i++) {
        const struct topo_gpu *gpu = &topo->gpus[i];
        parts->gpus[parts->ngpus++] = (struct machine_gpu){
            .name = gpu->name, .vbios = gpu->vbios, .uuid = gpu->uuid, .pci_bdf = gpu->pci_bdf};
    }
    machine_parts_sort(parts);
}

void machine_parts_of(const struct environment *env, const struct topo *topo,
                      struct machine_parts *parts)
{
    *parts = (struct machine_parts){0};
    if (env) {
        parts->arch = env->arch;
        parts->vendor = env->machine_vendor;
        parts->product = env->machine_product;
        parts->cpu_model = env->cpu_model;
        parts->board = env->machine_board;
        parts->bios = env->bios;
        parts->microcode = env->microcode;
        parts->uuid = env->machine_uuid;
        parts->id = env->machine_id;
    }
    if (topo)
        take_topo(topo, parts);
}

/* The next name of a GPU after `last` in alphabetical order; NULL = none. */
static const char *next_gpu_name(const struct machine_parts *parts, const char *last)
{
    const char *next = NULL;
    for (unsigned i = 0; i < parts->ngpus; i++) {
        const char *name = parts->gpus[i].name;
        if (has(name) && strcmp(name, last) > 0 && (!next || strcmp(name, next) < 0))
            next = name;
    }
    return next;
}

/* Adds each name once: a machine that lost one of its GPUs keeps its kind. */
static void add_gpu_names(struct lines *lines, const struct machine_parts *parts)
{
    for (const char *name = ""; (name = next_gpu_name(parts, name)) != NULL;)
        add(lines, "gpu", name);
}

static void add_kind(struct lines *lines, const struct machine_parts *parts)
{
    add(lines, "arch", parts->arch);
    add(lines, "vendor", parts->vendor);
    add(lines, "product", parts->product);
    add(lines, "cpu", parts->cpu_model);
    add_count(lines, "packages", parts->packages);
    add_count(lines, "cores", parts->cores);
    add_count(lines, "cpus", parts->cpus);
    add_count(lines, "nodes", parts->nodes);
    add_gpu_names(lines, parts);
}

/* The UUID of a MIG slice changes with each repartitioning: the PCI address is used instead. */
static bool is_lasting(const char *gpu_uuid)
{
    return has(gpu_uuid) && strncmp(gpu_uuid, "MIG", 3) != 0;
}

static const char *find_identity(const struct machine_parts *parts)
{
    if (has(parts->uuid))
        return "uuid";
    for (unsigned i = 0; i < parts->ngpus; i++)
        if (is_lasting(parts->gpus[i].uuid))
            return "gpus";
    return has(parts->id) ? "id" : "";
}

void machine_key_make(const struct machine_parts *parts, struct machine_key *key)
{
    struct lines lines = {0};
    add_kind(&lines, parts);
    hash(lines.text, lines.used, key->kind);
    key->identity = find_identity(parts);
    add(&lines, "board", parts->board);
    add(&lines, "bios", parts->bios);
    add(&lines, "microcode", parts->microcode);
    add(&lines, "uuid", parts->uuid);
    for (unsigned i = 0; i < parts->ngpus; i++) {
        const struct machine_gpu *gpu = &parts->gpus[i];
        add(&lines, "gpu", is_lasting(gpu->uuid) ? gpu->uuid : gpu->pci_bdf);
        add(&lines, "vbios", gpu->vbios);
    }
    if (strcmp(key->identity, "id") == 0)
        add(&lines, "id", parts->id);
    hash(lines.text, lines.used, key->key);
}
