/*
 * How NVLink's counters changed while a command ran: a small text file beside the logs, written by
 * `contend comms` on each machine.
 *
 *   contend nvlink 1
 *   host NAME
 *   boot HEX                          Linux's boot_id, if that is known
 *   gpu PCI_ADDRESS SENT RECEIVED     bytes, "-" = unknown; in NVML's order
 *   none REASON                       in place of GPUs, if nothing could be counted
 */
#ifndef CONTEND_COMMS_PLUGIN_COUNTERS_H
#define CONTEND_COMMS_PLUGIN_COUNTERS_H

#include "harness/comms/plugin/read.h"
#include "harness/machine/gpu_links.h"

/* Does not end in COMMS_SUFFIX, so that it is not read as a log. */
#define COMMS_COUNTERS_SUFFIX COMMS_SUFFIX ".nvlink"

struct comms_counted {
    char host[COMMS_HOST_MAX];
    uint8_t boot[COMMS_BOOT_MAX]; /* zeroed = not known */
    struct nvlink_counts counts;
    char why[160]; /* "" = they were counted */
};

/* Whether the GPU's PCI address and both of its counters are known. */
bool comms_is_counted(const struct nvlink_gpu *gpu);

/* Why no GPU was counted; "" = at least one was. */
const char *comms_counted_why(const struct comms_counted *counted);

/* Zeroed = none. */
struct comms_counters {
    size_t n, capacity;
    struct comms_counted *counted; /* owned; one a machine */
};

/* Writes the file. `why`: why there are no counts; "" = there are. Errors name the file. */
int comms_counters_write(const char *directory, const struct nvlink_counts *counts, const char *why,
                         struct err *err);

/* Reads all files of a directory. -EINVAL with "'NAME', line N: what is wrong", -ENOMEM, or a
 * system error; `unread` is as for comms_folder_read. */
int comms_counters_read(const char *directory, struct comms_counters *counters,
                        struct comms_unread *unread, struct err *err);
void comms_counters_free(struct comms_counters *counters);

/* Reads one file; `text` ends in 0 and is changed. -EINVAL as above. */
int comms_counted_parse(const char *name, char *text, struct comms_counted *counted,
                        struct err *err);

#endif
