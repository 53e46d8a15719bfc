#include "harness/machine/nvlink.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "harness/lib/pci.h"
#include "harness/machine/gpu_driver.h"

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

static void read_gpu(const struct nvml_api *nvml, struct nvml_device *device,
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
        read_gpu(nvml, device, gpu);
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
