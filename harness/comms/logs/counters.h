/*
 * What NVLink's counters did while a command ran: one small text file beside the logs, written by
 * `contend comms` of each machine.
 *
 *   contend nvlink 1
 *   host NAME
 *   boot HEX                          Linux's boot_id, where that is known
 *   gpu PCI_ADDRESS SENT RECEIVED     bytes, "-" = not told; in NVML's order
 *   none REASON                       in place of them, where nothing could be counted
 */
#ifndef CONTEND_COMMS_LOGS_COUNTERS_H
#define CONTEND_COMMS_LOGS_COUNTERS_H

#include "harness/comms/logs/read.h"
#include "harness/machine/gpu/nvlink.h"

/* Behind that of logs, which so do not take it for one of theirs. */
#define COMMS_COUNTERS_SUFFIX COMMS_SUFFIX ".nvlink"

struct comms_counted {
    char host[COMMS_HOST_MAX];
    uint8_t boot[COMMS_BOOT_MAX]; /* zeroed = not known */
    struct nvlink_counts counts;
    char why[160]; /* "" = they were counted */
};

/* Whether it is known which GPU it is, and both of its counters. */
bool comms_is_counted(const struct nvlink_gpu *gpu);

/* Why no GPU of them was counted; "" = one was. */
const char *comms_counted_why(const struct comms_counted *counted);

/* Zeroed = none. */
struct comms_counters {
    size_t n, capacity;
    struct comms_counted *counted; /* owned; one a machine */
};

/* `why` of counts that are none. Errors are told in err. */
int comms_counters_write(const char *directory, const struct nvlink_counts *counts, const char *why,
                         struct err *err);

/* All of a directory. -EINVAL after "'NAME', line N: what is wrong", -ENOMEM, or a system's;
 * `unread` is as comms_folder_read has it. */
int comms_counters_read(const char *directory, struct comms_counters *counters,
                        struct comms_unread *unread, struct err *err);
void comms_counters_free(struct comms_counters *counters);

/* One file; `text` ends in 0 and is changed. -EINVAL as above. */
int comms_counted_parse(const char *name, char *text, struct comms_counted *counted,
                        struct err *err);

#endif
