#include "harness/comms/nvlink_check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/str.h"

/* ---- what calls report ---- */

struct comms_nvlink_check_gpu *
comms_nvlink_check_find(const struct comms_nvlink_check *nvlink_check, const char *host,
                        const char *pci)
{
    for (size_t i = 0; i < nvlink_check->n; i++)
        if (strcmp(nvlink_check->gpu[i].pci, pci) == 0 &&
            strcmp(nvlink_check->gpu[i].host, host) == 0)
            return &nvlink_check->gpu[i];
    return NULL;
}

/* Each task of a machine has counted all of its GPUs: the task that counted longest, and so the
 * most, is used. */
static void list_gpu(struct comms_nvlink_check *nvlink_check, const char *host,
                     const struct nvlink_gpu *counted)
{
    struct comms_nvlink_check_gpu *gpu =
        comms_nvlink_check_find(nvlink_check, host, counted->pci_bdf);
    if (!gpu) {
        gpu = &nvlink_check->gpu[nvlink_check->n++];
        *gpu = (struct comms_nvlink_check_gpu){.host = host, .pci = counted->pci_bdf};
    }
    uint64_t sent = (uint64_t)counted->sent_bytes, received = (uint64_t)counted->received_bytes;
    if (sent + received > gpu->sum.counted_sent + gpu->sum.counted_received) {
        gpu->sum.counted_sent = sent;
        gpu->sum.counted_received = received;
    }
}

static int list_gpus(const struct comms_counters *counters, struct comms_nvlink_check *nvlink_check,
                     struct err *err)
{
    nvlink_check->n = 0;
    nvlink_check->gpu = calloc(counters->n * NVLINK_GPUS + 1, sizeof(*nvlink_check->gpu));
    if (!nvlink_check->gpu)
        return err_set(err, -ENOMEM, "no memory for counters");
    for (size_t h = 0; h < counters->n; h++)
        for (size_t i = 0; i < counters->counted[h].counts.n; i++)
            if (comms_is_counted(&counters->counted[h].counts.gpu[i]))
                list_gpu(nvlink_check, counters->counted[h].host,
                         &counters->counted[h].counts.gpu[i]);
    return 0;
}

/* True: a sum exceeds 64 bits. */
static bool add_pair(struct comms_nvlink_check *nvlink_check, struct comms_nvlink_check_gpu *from,
                     struct comms_nvlink_check_gpu *to, uint64_t bytes, uint64_t flags)
{
    if (!from || !to || strcmp(from->host, to->host) != 0)
        return __builtin_add_overflow(nvlink_check->elsewhere, bytes, &nvlink_check->elsewhere);
    bool over = __builtin_add_overflow(from->sum.sent, bytes, &from->sum.sent);
    over |= __builtin_add_overflow(to->sum.received, bytes, &to->sum.received);
    over |= __builtin_add_overflow(from->sum.flags, flags, &from->sum.flags);
    return __builtin_add_overflow(to->sum.received_flags, flags, &to->sum.received_flags) | over;
}

int comms_nvlink_check_make(const struct comms_total *total, const struct comms_counters *counters,
                            struct comms_nvlink_check *nvlink_check, struct err *err)
{
    const struct comms_matrix *matrix = &total->matrix;
    bool over = false;
    *nvlink_check = (struct comms_nvlink_check){.left_out = total->left_out};
    int rc = list_gpus(counters, nvlink_check, err);
    if (rc || !nvlink_check->n)
        return rc;
    struct comms_nvlink_check_gpu **gpus =
        calloc(matrix->n + 1, sizeof(struct comms_nvlink_check_gpu *));
    if (!gpus)
        return err_set(err, -ENOMEM, "no memory for %u GPUs", matrix->n);
    for (uint32_t i = 0; i < matrix->n; i++) {
        const struct comms_gpu *gpu = &total->gpu[i];
        gpus[i] = gpu->log ? comms_nvlink_check_find(nvlink_check, gpu->log->header.host, gpu->pci)
                           : NULL;
        if (gpus[i])
            gpus[i]->ranks = gpu->ranks;
    }
    for (size_t at = 0; at < (size_t)matrix->n * matrix->n; at++)
        if (at / matrix->n != at % matrix->n)
            over |= add_pair(nvlink_check, gpus[at / matrix->n], gpus[at % matrix->n],
                             matrix->wire[at], matrix->flags[at]);
    free(gpus);
    return over ? err_set(err, -EOVERFLOW, "more bytes than 64 bits hold: logs are corrupted") : 0;
}

void comms_nvlink_check_free(struct comms_nvlink_check *nvlink_check)
{
    free(nvlink_check->gpu);
    *nvlink_check = (struct comms_nvlink_check){0};
}

struct comms_nvlink_check_sum comms_nvlink_check_all(const struct comms_nvlink_check *nvlink_check)
{
    struct comms_nvlink_check_sum sum = {0};
    for (size_t i = 0; i < nvlink_check->n; i++) {
        const struct comms_nvlink_check_sum one = nvlink_check->gpu[i].sum;
        sum.sent += one.sent;
        sum.received += one.received;
        sum.flags += one.flags;
        sum.counted_sent += one.counted_sent;
        sum.counted_received += one.counted_received;
    }
    return sum;
}

/* ---- what follows ---- */

/* One direction of one GPU. */
struct side {
    const struct comms_nvlink_check_gpu *gpu;
    const char *did;
    uint64_t called, flags, counted;
};

static uint64_t excess(uint64_t more, uint64_t less)
{
    const uint64_t slack = 1u << 20;
    uint64_t by = more > less ? more - less : 0;
    return by > slack + more / 100 ? by : 0;
}

static int report(const struct side *side, bool more, struct findings *findings, struct err *err)
{
    struct findings_about about = {findings, err};
    if (!side->gpu)
        return 0;
    about.subject = str_fmt("GPU %s of %s", side->gpu->pci, side->gpu->host);
    findings_report(
        &about, more ? "comms_unexplained" : "comms_not_counted", FINDING_DOUBT,
        "NVLink's counters say that it %s %" PRIu64 " bytes, NCCL's calls %" PRIu64 ": %s",
        side->did, side->counted, side->called,
        more ? "the rest is unexplained (copies between GPUs, device-side calls, CUDA graphs, "
               "algorithms of unknown pairs, other processes)"
             : "the rest took other paths (PCIe, shared memory, reductions in NVSwitch), or other "
               "pairs than modelled");
    return about.rc;
}

int comms_nvlink_check_judge(const struct comms_nvlink_check *nvlink_check,
                             struct findings *findings, struct err *err)
{
    struct side more = {0}, less = {0};
    uint64_t most_more = 0, most_less = 0;
    for (size_t i = 0; i < nvlink_check->n; i++) {
        const struct comms_nvlink_check_gpu *gpu = &nvlink_check->gpu[i];
        if (!gpu->ranks) /* the command did not use this GPU */
            continue;
        const struct side sides[] = {
            {gpu, "has sent", gpu->sum.sent, gpu->sum.flags, gpu->sum.counted_sent},
            {gpu, "has received", gpu->sum.received, gpu->sum.received_flags,
             gpu->sum.counted_received}};
        for (int s = 0; s < 2; s++) {
            uint64_t over = excess(sides[s].counted, sides[s].called + sides[s].flags);
            uint64_t under = excess(sides[s].called, sides[s].counted);
            more = over > most_more ? sides[s] : more;
            less = under > most_less ? sides[s] : less;
            most_more = over > most_more ? over : most_more;
            most_less = under > most_less ? under : most_less;
        }
    }
    int rc = report(&more, true, findings, err);
    return rc ? rc : report(&less, false, findings, err);
}
