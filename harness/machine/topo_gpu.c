#include "harness/machine/topo_gpu.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/sys/proc.h"
#include "harness/lib/text.h"
#include "harness/machine/gpu_driver.h"
#include "harness/machine/gpu_health.h"

enum { AFFINITY_WORDS = BITSET_WORDS };

struct topo_gpu *topo_add_gpu(struct topo *topo)
{
    struct topo_gpu *gpus = realloc(topo->gpus, (topo->ngpus + 1) * sizeof(*gpus));
    if (!gpus)
        return NULL;
    topo->gpus = gpus;
    struct topo_gpu *gpu = &gpus[topo->ngpus++];
    *gpu = (struct topo_gpu){.cuda_ordinal = -1, .node = -1};
    return gpu;
}

const char *topo_gpu_name(const struct topo_gpu *gpu)
{
    if (gpu->cuda_ordinal >= 0)
        return str_fmt("GPU %d (%s)", gpu->cuda_ordinal, gpu->pci_bdf);
    return str_fmt("GPU %s", gpu->pci_bdf);
}

bool topo_gpu_name_ordinal(const struct topo *topo, int cuda_ordinal, char *buf, size_t size)
{
    for (unsigned i = 0; cuda_ordinal >= 0 && i < topo->ngpus; i++)
        if (topo->gpus[i].cuda_ordinal == cuda_ordinal) {
            (void)snprintf(buf, size, "%s", topo_gpu_name(&topo->gpus[i]));
            return true;
        }
    return false;
}

/* The node that the firmware gives to the kernel. */
static int read_sysfs_node(const char *bdf)
{
    double node = proc_read_number("", "/sys/bus/pci/devices/%s/numa_node", bdf);
    if (isnan(node) || node >= BITSET_BITS)
        return NODE_NO_ANSWER;
    return node < 0 ? NODE_REPORTED_UNKNOWN : (int)node;
}

/*
 * NVML's answer: the node of the memory affinity, else of the CPU affinity. nvmlDeviceGetNumaNodeId
 * is not used: it gives the node of the GPU's own memory, on machines such as Grace Hopper. If NVML
 * does not know the CPU affinity, it reports all CPUs.
 */
static int read_nvml_node(const struct nvml_api *nvml, struct nvml_device *device,
                          const struct topo *topo)
{
    struct bitset set = {0};
    unsigned long words[AFFINITY_WORDS] = {0};
    int node = NODE_NO_ANSWER;
    if (nvml->memory_affinity &&
        nvml->memory_affinity(device, AFFINITY_WORDS, words, NVML_SCOPE_NODE) == 0) {
        memcpy(set.word, words, sizeof(set.word));
        node = bitset_count(&set) == 1 ? bitset_next(&set, 0) : NODE_REPORTED_UNKNOWN;
    }
    if (node >= 0 || topo->nnodes < 2 || !nvml->cpu_affinity)
        return node;
    memset(words, 0, sizeof(words));
    if (nvml->cpu_affinity(device, AFFINITY_WORDS, words) == 0) {
        memcpy(set.word, words, sizeof(set.word));
        node = topo_node_of_cpus(topo, &set);
        node = node >= 0 ? (int)topo->nodes[node].os_node : NODE_REPORTED_UNKNOWN;
    }
    return node;
}

static bool is_node(const struct topo *topo, int os_node)
{
    return os_node >= 0 && topo_node_index(topo, (unsigned)os_node) >= 0;
}

static void use_node(const struct topo *topo, int os_node, enum topo_source source,
                     struct topo_gpu *gpu)
{
    gpu->node = topo_node_index(topo, (unsigned)os_node);
    gpu->source = source;
    gpu->cpus = topo->nodes[gpu->node].cpus;
}

void topo_locate_gpu(const struct topo *topo, const struct gpu_evidence *evidence,
                     struct topo_gpu *gpu)
{
    int sysfs = evidence->sysfs_node, nvml = evidence->nvml_node, hwloc = evidence->hwloc_node;
    const char *missing = sysfs == NODE_NO_ANSWER ? "sysfs names no NUMA node"
                                                  : "sysfs reports NUMA node -1 (unknown)";
    gpu->node = -1;
    gpu->source = TOPO_UNKNOWN;
    memset(&gpu->cpus, 0, sizeof(gpu->cpus));
    gpu->note[0] = '\0';
    if (is_node(topo, sysfs)) {
        use_node(topo, sysfs, TOPO_SYSFS, gpu);
        if (nvml >= 0 && nvml != sysfs)
            text_set(gpu->note, "sysfs says NUMA node %d, NVML says node %d; sysfs is used", sysfs,
                     nvml);
    } else if (sysfs >= 0) {
        text_set(gpu->note, "sysfs says NUMA node %d, which this machine does not list", sysfs);
    } else if (is_node(topo, nvml)) {
        use_node(topo, nvml, TOPO_NVML, gpu);
        text_set(gpu->note, "%s; NVML says node %d", missing, nvml);
    } else if (is_node(topo, hwloc)) {
        use_node(topo, hwloc, TOPO_HWLOC, gpu);
        text_set(gpu->note, "%s; its PCI bus is near node %d", missing, hwloc);
    } else {
        text_set(gpu->note, "%s, as in many virtual machines, and NVML does not know it either",
                 missing);
    }
}

static void format_uuid(const struct cuda_uuid *uuid, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "GPU");
    for (size_t i = 0; i < sizeof(uuid->bytes) && used < size; i++) {
        bool dash = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
        used +=
            (size_t)snprintf(text + used, size - used, "%s%02x", dash ? "-" : "", uuid->bytes[i]);
    }
}

static int add_cuda_gpus(const struct cuda_api *cuda, struct topo *topo, struct err *err)
{
    int count = 0;
    if (cuda->device_count(&count))
        return 0;
    for (int i = 0; i < count; i++) {
        struct cuda_uuid uuid;
        char id[PCI_BDF_MAX] = "", bdf[PCI_BDF_MAX];
        int device;
        if (cuda->device_get(&device, i) || cuda->pci_bus_id(id, sizeof(id), device) ||
            pci_bdf_normalise(id, bdf))
            continue;
        struct topo_gpu *gpu = topo_add_gpu(topo);
        if (!gpu)
            return err_set(err, -ENOMEM, "no memory for %d GPUs", count);
        memcpy(gpu->pci_bdf, bdf, sizeof(bdf));
        gpu->cuda_ordinal = i;
        if (!cuda->name || cuda->name(gpu->name, sizeof(gpu->name), device))
            gpu->name[0] = '\0';
        if (cuda->uuid && cuda->uuid(&uuid, device) == 0)
            format_uuid(&uuid, gpu->uuid, sizeof(gpu->uuid));
    }
    return 0;
}

static const struct topo_gpu *find_gpu(const struct topo_gpu *gpus, unsigned n, const char *bdf)
{
    for (unsigned i = 0; i < n; i++)
        if (strcmp(gpus[i].pci_bdf, bdf) == 0)
            return &gpus[i];
    return NULL;
}

/* Adds GPUs that CUDA_VISIBLE_DEVICES hides or that CUDA cannot use. */
static int add_nvml_gpus(const struct nvml_api *nvml, struct topo *topo, struct err *err)
{
    unsigned count = 0;
    if (!nvml->count || !nvml->by_index || !nvml->pci_info || nvml->count(&count))
        return 0;
    for (unsigned i = 0; i < count; i++) {
        struct nvml_device *device;
        struct nvml_pci pci = {0};
        char bdf[PCI_BDF_MAX];
        if (nvml->by_index(i, &device) || nvml->pci_info(device, &pci))
            continue;
        pci.bus_id[sizeof(pci.bus_id) - 1] = '\0';
        if (pci_bdf_normalise(pci.bus_id, bdf) || find_gpu(topo->gpus, topo->ngpus, bdf))
            continue;
        struct topo_gpu *gpu = topo_add_gpu(topo);
        if (!gpu)
            return err_set(err, -ENOMEM, "no memory for %u GPUs", count);
        memcpy(gpu->pci_bdf, bdf, sizeof(bdf));
    }
    return 0;
}

/*
 * True if CUDA's order is NVML's, by PCI address: if CUDA_DEVICE_ORDER says so, or all GPUs have
 * the same name. Otherwise CUDA puts the fastest first (CUDA_DEVICE_ORDER, CUDA C++ Programming
 * Guide). With CUDA_VISIBLE_DEVICES or MIG, only CUDA knows the order.
 */
static bool nvml_knows_order(const struct nvml_api *nvml)
{
    const char *order = getenv("CUDA_DEVICE_ORDER");
    const bool by_address = order && strcmp(order, "PCI_BUS_ID") == 0;
    char first[96] = "", name[96];
    unsigned count = 0, mig, pending;
    if (!nvml || getenv("CUDA_VISIBLE_DEVICES") || !nvml->count || !nvml->by_index ||
        !nvml->pci_info || !nvml->name || nvml->count(&count))
        return false;
    for (unsigned i = 0; i < count; i++) {
        struct nvml_device *device;
        if (nvml->by_index(i, &device) || nvml->name(device, name, sizeof(name)) ||
            (nvml->mig_mode && !nvml->mig_mode(device, &mig, &pending) && mig) ||
            (!by_address && first[0] && strcmp(first, name) != 0))
            return false;
        memcpy(first, name, sizeof(first));
    }
    return count > 0;
}

/* Fills in what NVML knows about a GPU, and returns its node. */
static int ask_nvml(const struct nvml_api *nvml, const struct topo *topo, struct topo_gpu *gpu)
{
    struct nvml_device *device;
    char uuid[96] = "";
    if (!nvml || nvml->by_pci(gpu->pci_bdf, &device))
        return NODE_NO_ANSWER;
    if (!gpu->name[0] && (!nvml->name || nvml->name(device, gpu->name, sizeof(gpu->name))))
        gpu->name[0] = '\0';
    if (!nvml->vbios || nvml->vbios(device, gpu->vbios, sizeof(gpu->vbios)))
        gpu->vbios[0] = '\0';
    if (nvml->uuid && nvml->uuid(device, uuid, sizeof(uuid)) == 0) {
        if (!gpu->uuid[0])
            text_set(gpu->uuid, "%.60s", uuid);
        else if (strcmp(gpu->uuid, uuid) != 0) /* CUDA sees a MIG slice of this GPU */
            memcpy(gpu->uuid, "MIG", 3);
    }
    return read_nvml_node(nvml, device, topo);
}

static void write_gpu_note(struct topo *topo, unsigned on_bus, const struct err *cuda_why)
{
    char note[sizeof(topo->gpu_note)];
    const char *reason = cuda_why->code ? cuda_why->msg : "CUDA lists no device";
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (topo_visible_gpus(topo) > 0)
        return;
    if (topo->ngpus)
        text_set(note, "CUDA uses none of these GPUs: %.80s%s%.40s%s", reason,
                 visible ? " (CUDA_VISIBLE_DEVICES is '" : "", visible ? visible : "",
                 visible ? "')" : "");
    else if (on_bus)
        text_set(note, "NVIDIA GPUs on the PCI bus: %u; none is usable: %.140s", on_bus, reason);
    else
        text_set(note, "%.190s", reason);
    gpu_driver_clean(note);
    memcpy(topo->gpu_note, note, sizeof(note));
}

int topo_check_cuda(int driver, const char *built_with, char *note, size_t size)
{
    char *end;
    long major = strtol(built_with, &end, 10), minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    if (driver <= 0 || driver / 1000 >= major)
        return 0;
    (void)snprintf(note, size,
                   "the NVIDIA driver knows CUDA %d.%d at most, and this program was built with "
                   "%ld.%ld: update the driver, or use a build with an older CUDA (contend-cuda12 "
                   "of a bundle)",
                   driver / 1000, driver % 1000 / 10, major, minor);
    return -ENOTSUP;
}

static void check_versions(const struct cuda_api *cuda, struct topo *topo)
{
    if (cuda->driver_version && cuda->driver_version(&topo->cuda_driver))
        topo->cuda_driver = 0;
#ifdef CONTEND_CUDA_VERSION
    topo->driver_too_old = topo_check_cuda(topo->cuda_driver, CONTEND_CUDA_VERSION, topo->gpu_note,
                                           sizeof(topo->gpu_note)) != 0;
#endif
}

/* Sets gpu->health; NULL if NVML does not know the GPU. */
static int read_health(struct topo_gpu *gpu, struct err *err)
{
    gpu->health = malloc(sizeof(*gpu->health));
    if (!gpu->health)
        return err_set(err, -ENOMEM, "no memory for the health of a GPU");
    if (gpu_health_read(gpu->pci_bdf, gpu->health)) {
        free(gpu->health);
        gpu->health = NULL;
    }
    return 0;
}

int topo_probe_gpus(bool only_order, struct topo *topo, struct err *err)
{
    struct topo_gpu *on_bus = topo->gpus;
    unsigned bus_gpus = topo->ngpus;
    struct err cuda_why = {0};
    topo->gpus = NULL;
    topo->ngpus = 0;
    const struct nvml_api *nvml = nvml_driver(NULL);
    const bool by_nvml = only_order && nvml_knows_order(nvml);
    const struct cuda_api *cuda = by_nvml ? NULL : cuda_driver(&cuda_why);
    int rc = cuda ? add_cuda_gpus(cuda, topo, err) : 0;
    if (!rc && nvml)
        rc = add_nvml_gpus(nvml, topo, err);
    for (unsigned i = 0; by_nvml && i < topo->ngpus; i++)
        topo->gpus[i].cuda_ordinal = (int)i;
    for (unsigned i = 0; i < topo->ngpus && !rc; i++) {
        struct topo_gpu *gpu = &topo->gpus[i];
        const struct topo_gpu *hint = find_gpu(on_bus, bus_gpus, gpu->pci_bdf);
        struct gpu_evidence evidence = {.sysfs_node = read_sysfs_node(gpu->pci_bdf),
                                        .nvml_node = ask_nvml(nvml, topo, gpu),
                                        .hwloc_node = hint && hint->node >= 0
                                                          ? (int)topo->nodes[hint->node].os_node
                                                          : NODE_NO_ANSWER};
        gpu_driver_clean(gpu->name);
        gpu_driver_clean(gpu->uuid);
        gpu_driver_clean(gpu->vbios);
        topo_locate_gpu(topo, &evidence, gpu);
        rc = only_order ? 0 : read_health(gpu, err);
    }
    if (cuda)
        check_versions(cuda, topo);
    write_gpu_note(topo, bus_gpus, &cuda_why);
    free(on_bus);
    return rc;
}

/* Adds one "BDF@NODE" of the list; cuts `text` in place. */
static int add_fake_gpu(struct topo *topo, char *text, struct err *err)
{
    char *at = strchr(text, '@'), *end = NULL, bdf[PCI_BDF_MAX];
    long os_node = -1;
    if (at) {
        *at++ = '\0';
        os_node = strtol(at, &end, 10);
    }
    if (pci_bdf_normalise(text, bdf) || (at && (end == at || *end)))
        return err_set(err, -EINVAL,
                       "--gpus: '%.60s%s%.20s' is not BDF@NODE, such as 0000:01:00.0@0", text,
                       at ? "@" : "", at ? at : "");
    int node =
        os_node < 0 || os_node >= BITSET_BITS ? -1 : topo_node_index(topo, (unsigned)os_node);
    if (os_node >= 0 && node < 0)
        return err_set(err, -EINVAL, "--gpus: '%.60s': there is no NUMA node %ld", text, os_node);
    int ordinal = (int)topo_visible_gpus(topo);
    struct topo_gpu *gpu = topo_add_gpu(topo);
    if (!gpu)
        return err_set(err, -ENOMEM, "no memory for %u GPUs", topo->ngpus + 1);
    memcpy(gpu->pci_bdf, bdf, sizeof(bdf));
    text_set(gpu->name, "fake GPU");
    gpu->cuda_ordinal = ordinal;
    if (node >= 0)
        use_node(topo, (int)os_node, TOPO_OPTION, gpu);
    /* Visible GPUs come first. */
    struct topo_gpu added = *gpu;
    memmove(&topo->gpus[ordinal + 1], &topo->gpus[ordinal],
            (topo->ngpus - 1 - (unsigned)ordinal) * sizeof(*gpu));
    topo->gpus[ordinal] = added;
    return 0;
}

int topo_fake_gpus(struct topo *topo, const char *text, struct err *err)
{
    char *copy = strdup(text), *rest = copy, *item;
    int rc = copy ? 0 : err_set(err, -ENOMEM, "no memory for the list of fake GPUs");
    while (!rc && (item = strsep(&rest, ",")))
        rc = add_fake_gpu(topo, item, err);
    free(copy);
    topo->gpu_note[0] = '\0';
    return rc;
}
