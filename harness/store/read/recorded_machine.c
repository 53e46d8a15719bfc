/* run.json as the machine that it is of. */
#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/store/read/recorded_parts.h"

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static unsigned count_of(const json_t *object, const char *key)
{
    json_int_t count = json_integer_value(json_object_get(object, key));
    return count < 0 || count > INT32_MAX ? 0 : (unsigned)count;
}

static void take_key(const json_t *machine, struct machine_key *key)
{
    static const char *const identities[] = {"uuid", "gpus", "id"};
    const char *identity = text_of(machine, "identity");
    const char *of_machine = text_of(machine, "key"), *of_kind = text_of(machine, "kind");
    *key = (struct machine_key){.identity = ""};
    text_set(key->key, "%s", of_machine ? of_machine : "");
    text_set(key->kind, "%s", of_kind ? of_kind : "");
    for (size_t i = 0; identity && i < sizeof(identities) / sizeof(identities[0]); i++)
        if (strcmp(identity, identities[i]) == 0)
            key->identity = identities[i];
}

/* Earlier versions wrote no key, but most of what one is made of. */
static void make_key(const json_t *env, const json_t *topo, struct machine_key *key)
{
    struct machine_parts parts = {
        .arch = text_of(env, "arch"),
        .vendor = text_of(env, "machine_vendor"),
        .product = text_of(env, "machine_product"),
        .cpu_model = text_of(env, "cpu_model"),
        .packages = count_of(topo, "packages"),
        .cores = count_of(topo, "cores"),
        .cpus = count_of(json_object_get(topo, "cpus"), "count"),
        .nodes = (unsigned)json_array_size(json_object_get(topo, "nodes")),
        .microcode = text_of(env, "microcode"),
    };
    size_t i;
    json_t *gpu;
    if (!parts.cpu_model)
        parts.cpu_model = text_of(topo, "cpu_model");
    json_array_foreach(json_object_get(topo, "gpus"), i, gpu)
    {
        if (parts.ngpus == MACHINE_GPUS_MAX)
            break;
        parts.gpus[parts.ngpus++] = (struct machine_gpu){.name = text_of(gpu, "name"),
                                                         .uuid = text_of(gpu, "uuid"),
                                                         .pci_bdf = text_of(gpu, "pci_bdf")};
    }
    machine_parts_sort(&parts);
    machine_key_make(&parts, key);
}

void recorded_machine(struct recorded *recorded)
{
    const json_t *machine = json_object_get(recorded->record, "machine");
    const json_t *topo = json_object_get(recorded->record, "topology");
    if (json_is_object(machine))
        take_key(machine, &recorded->machine);
    else if (json_is_object(topo))
        make_key(json_object_get(recorded->record, "environment"), topo, &recorded->machine);
    else
        recorded->machine = (struct machine_key){.identity = ""};
}
