#include "harness/machine/gpu_links.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "harness/machine/gpu_driver.h"
#include "harness/machine/gpu_health.h"

enum { GPUS_MOST = 64 };

struct reader {
    const struct nvml_api *nvml;
    size_t ngpus, n, most;
    char pci[GPUS_MOST][PCI_BDF_MAX];
    struct gpu_link *link;
};

const char *gpu_way_name(enum gpu_way way)
{
    static const char *const names[GPU_WAYS] = {"nvlink", "nvswitch", "pcie"};
    return names[way];
}

double gpu_nvlink_gbps(unsigned version)
{
    static const double gbps[] = {0, 20, 25, 25, 25, 0, 25, 50};
    return version < sizeof(gbps) / sizeof(gbps[0]) ? gbps[version] : 0;
}

double gpu_pcie_lane_gbps(int generation)
{
    static const double gbps[] = {0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563};
    return generation > 0 && generation < (int)(sizeof(gbps) / sizeof(gbps[0])) ? gbps[generation]
                                                                                : 0;
}

static void add(struct reader *reader, const struct gpu_link *found)
{
    for (size_t i = 0; i < reader->n; i++) {
        struct gpu_link *known = &reader->link[i];
        if (known->way != found->way || strcmp(known->pci, found->pci) != 0 ||
            strcmp(known->to, found->to) != 0)
            continue;
        known->links += found->links;
        known->gbps = known->gbps > 0 && found->gbps > 0 ? known->gbps + found->gbps : 0;
        return;
    }
    if (reader->n < reader->most)
        reader->link[reader->n++] = *found;
}

static bool is_gpu(const struct reader *reader, const char *pci)
{
    for (size_t i = 0; i < reader->ngpus; i++)
        if (!strcmp(reader->pci[i], pci))
            return true;
    return false;
}

/* The end of the link: a GPU of this machine, or a switch; false = unknown. */
static bool find_end(const struct reader *reader, struct nvml_device *device, unsigned number,
                     struct gpu_link *link)
{
    struct nvml_pci remote = {0};
    unsigned type = NVML_REMOTE_UNKNOWN;
    if (reader->nvml->nvlink_remote_type)
        (void)reader->nvml->nvlink_remote_type(device, number, &type);
    remote.bus_id[0] = '\0';
    if (reader->nvml->nvlink_remote && !reader->nvml->nvlink_remote(device, number, &remote) &&
        !pci_bdf_normalise(remote.bus_id, link->to) && is_gpu(reader, link->to)) {
        link->way = GPU_WAY_NVLINK;
        return true;
    }
    link->to[0] = '\0';
    link->way = GPU_WAY_SWITCH;
    return type == NVML_REMOTE_SWITCH;
}

static void read_gpu(struct reader *reader, const char *pci)
{
    struct nvml_device *device;
    struct gpu_health health;
    if (gpu_health_read(pci, &health) || reader->nvml->by_pci(pci, &device))
        return;
    for (unsigned number = 0; number < NVML_NVLINKS && reader->nvml->nvlink_state; number++) {
        unsigned active = 0;
        struct gpu_link link = {.links = 1,
                                .gbps = health.nvlink_version > 0
                                            ? gpu_nvlink_gbps((unsigned)health.nvlink_version)
                                            : 0};
        (void)snprintf(link.pci, sizeof(link.pci), "%s", pci);
        if (reader->nvml->nvlink_state(device, number, &active) || active != 1)
            continue;
        /* All links of a GPU in a fabric end at switches. */
        if (find_end(reader, device, number, &link) || health.fabric_state == NVML_FABRIC_DONE)
            add(reader, &link);
    }
    struct gpu_link pcie = {.way = GPU_WAY_PCIE};
    (void)snprintf(pcie.pci, sizeof(pcie.pci), "%s", pci);
    pcie.links = health.pcie_width > 0 ? (unsigned)health.pcie_width : 0;
    pcie.gbps = pcie.links * gpu_pcie_lane_gbps(health.pcie_generation_link);
    add(reader, &pcie);
}

size_t gpu_links_read(struct gpu_link *link, size_t most)
{
    struct reader reader = {.nvml = nvml_driver(NULL), .link = link, .most = most};
    unsigned count = 0;
    if (!reader.nvml || !reader.nvml->count || !reader.nvml->by_index || !reader.nvml->pci_info ||
        reader.nvml->count(&count))
        return 0;
    for (unsigned i = 0; i < count && reader.ngpus < GPUS_MOST; i++) {
        struct nvml_device *device;
        struct nvml_pci pci = {0};
        if (reader.nvml->by_index(i, &device) || reader.nvml->pci_info(device, &pci))
            continue;
        reader.ngpus += !pci_bdf_normalise(pci.bus_id, reader.pci[reader.ngpus]);
    }
    for (size_t i = 0; i < reader.ngpus; i++)
        read_gpu(&reader, reader.pci[i]);
    return reader.n;
}

enum { KIB = 1024 };

/* Bytes of the first counter that is known. */
static int64_t either(int64_t kib, int64_t bytes)
{
    return kib >= 0 && kib <= INT64_MAX / KIB ? kib * KIB : bytes;
}

/* Sum over the links that have the field, each read by itself; -1: none has it. */
static int64_t sum_links(const struct nvml_api *nvml, struct nvml_device *device, unsigned field)
{
    struct nvml_field fields[NVML_NVLINKS] = {0};
    int64_t values[NVML_NVLINKS], sum = -1;
    for (unsigned link = 0; link < NVML_NVLINKS; link++)
        fields[link] = (struct nvml_field){.field = field, .scope = link};
    nvml_read_fields(nvml, device, fields, NVML_NVLINKS, values);
    for (unsigned link = 0; link < NVML_NVLINKS; link++)
        if (values[link] >= 0 && (sum < 0 || values[link] <= INT64_MAX - sum))
            sum = sum < 0 ? values[link] : sum + values[link];
    return sum;
}

static void nvlink_read_gpu(const struct nvml_api *nvml, struct nvml_device *device,
                            struct nvlink_gpu *gpu)
{
    struct nvml_field fields[] = {{.field = NVML_FIELD_NVLINK_SENT_KIB, .scope = UINT_MAX},
                                  {.field = NVML_FIELD_NVLINK_RECEIVED_KIB, .scope = UINT_MAX},
                                  {.field = NVML_FIELD_NVLINK_SENT, .scope = UINT_MAX},
                                  {.field = NVML_FIELD_NVLINK_RECEIVED, .scope = UINT_MAX}};
    int64_t values[4];
    nvml_read_fields(nvml, device, fields, 4, values);
    gpu->sent_bytes = either(values[0], values[2]);
    gpu->received_bytes = either(values[1], values[3]);
    if (gpu->sent_bytes < 0 && gpu->received_bytes < 0) {
        gpu->sent_bytes = sum_links(nvml, device, NVML_FIELD_NVLINK_SENT);
        gpu->received_bytes = sum_links(nvml, device, NVML_FIELD_NVLINK_RECEIVED);
    }
}

/* By NCCL's rule (its src/mnnvl.cc): a fabric within one machine has no identity. */
static bool is_in_cluster(const struct nvml_api *nvml, struct nvml_device *device)
{
    static const unsigned char none[sizeof(((struct nvml_fabric *)0)->cluster_uuid)];
    struct nvml_fabric fabric = {.state = NVML_FABRIC_NOT_SUPPORTED};
    return nvml->fabric && !nvml->fabric(device, &fabric) && fabric.state == NVML_FABRIC_DONE &&
           memcmp(fabric.cluster_uuid, none, sizeof(none)) != 0;
}

int nvlink_read(struct nvlink_counts *counts, struct err *why)
{
    unsigned n = 0;
    const struct nvml_api *nvml = nvml_driver(why);
    *counts = (struct nvlink_counts){0};
    if (!nvml)
        return -ENOTSUP;
    if (!nvml->count || !nvml->by_index || !nvml->pci_info || nvml->count(&n) || !n)
        return err_set(why, -ENOTSUP, "the NVIDIA driver lists no GPU");
    for (unsigned i = 0; i < n && i < NVLINK_GPUS; i++) {
        struct nvlink_gpu *gpu = &counts->gpu[counts->n++];
        struct nvml_device *device = NULL;
        struct nvml_pci pci = {0};
        *gpu = (struct nvlink_gpu){.sent_bytes = -1, .received_bytes = -1};
        if (nvml->by_index(i, &device) || nvml->pci_info(device, &pci) ||
            pci_bdf_normalise(pci.bus_id, gpu->pci_bdf))
            continue;
        nvlink_read_gpu(nvml, device, gpu);
        counts->leaves |= is_in_cluster(nvml, device);
    }
    return 0;
}

static int64_t difference(int64_t before, int64_t after)
{
    return before < 0 || after < before ? -1 : after - before;
}

void nvlink_since(const struct nvlink_counts *before, struct nvlink_counts *after)
{
    for (size_t i = 0; i < after->n; i++) {
        struct nvlink_gpu *gpu = &after->gpu[i];
        const struct nvlink_gpu *old = i < before->n ? &before->gpu[i] : NULL;
        bool same = old && strcmp(old->pci_bdf, gpu->pci_bdf) == 0;
        gpu->sent_bytes = same ? difference(old->sent_bytes, gpu->sent_bytes) : -1;
        gpu->received_bytes = same ? difference(old->received_bytes, gpu->received_bytes) : -1;
    }
}
