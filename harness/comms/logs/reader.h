/* How logs of either kind (record.h, copies_record.h) are read: what they have in common. */
#ifndef CONTEND_COMMS_LOGS_READER_H
#define CONTEND_COMMS_LOGS_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/base/err.h"
#include "harness/machine/gpu/pci.h"

/* More calls, bytes or ns than any process has: 53 days at 250 GB/s without a pause. */
#define LOG_MOST (1ull << 60)

struct log_reader {
    const char *name; /* of the file */
    const unsigned char *bytes;
    size_t size;
    struct err *err;
};

struct log_format {
    const char *none, *one; /* as errors call it: "no log", "a log" */
    size_t header_size, file_size;
    size_t alike; /* the bytes that begin each header of a version, */
    size_t own;   /* but for 32 bits here */
};

/* -EINVAL after "'NAME', byte N: what is wrong there". */
__attribute__((format(printf, 3, 4))) int log_refuse(const struct log_reader *reader, size_t at,
                                                     const char *fmt, ...);
/* Copies it to *header, which is to begin as *wanted does, but for what is its own; and the file
 * has its size. 0 or -EINVAL as above. */
int log_read_header(const struct log_reader *reader, const struct log_format *format, void *wanted,
                    void *header);
bool log_has_end(const char *text, size_t size);
/* Whether `text` has an end and is a PCI address, or "" as *gpu then is. */
bool log_has_gpu(const char *text, size_t size, char gpu[static PCI_BDF_MAX]);

#endif
