#include "harness/comms/logs/reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* As headers of both kinds begin. */
struct head {
    char magic[8];
    uint32_t version, order;
};

int log_refuse(const struct log_reader *reader, size_t at, const char *fmt, ...)
{
    char why[160];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(why, sizeof(why), fmt, args);
    va_end(args);
    return err_set(reader->err, -EINVAL, "'%.80s', byte %zu: %s", reader->name, at, why);
}

int log_read_header(const struct log_reader *reader, const struct log_format *format, void *wanted,
                    void *header)
{
    char *ours = wanted, *theirs = header;
    struct head own, head;
    if (reader->size < format->header_size)
        return log_refuse(reader, reader->size, "cut: no whole header");
    memcpy(header, reader->bytes, format->header_size);
    memcpy(&own, ours, sizeof(own));
    memcpy(&head, theirs, sizeof(head));
    if (memcmp(head.magic, own.magic, sizeof(head.magic)) != 0)
        return log_refuse(reader, 0, "%s of 'contend comms'", format->none);
    if (head.order != own.order)
        return log_refuse(reader, offsetof(struct head, order),
                          "written by a machine of another byte order");
    if (head.version != own.version)
        return log_refuse(reader, offsetof(struct head, version),
                          "%s of version %u, and this program reads %u", format->one, head.version,
                          own.version);
    memcpy(ours + format->own, theirs + format->own, sizeof(uint32_t));
    if (memcmp(ours, theirs, format->alike) != 0)
        return log_refuse(reader, sizeof(head), "its sizes are not those of version %u",
                          own.version);
    if (reader->size != format->file_size)
        return log_refuse(reader, reader->size, "cut: %zu of %zu bytes", reader->size,
                          format->file_size);
    return 0;
}

bool log_has_end(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

bool log_has_gpu(const char *text, size_t size, char gpu[static PCI_BDF_MAX])
{
    gpu[0] = '\0';
    return log_has_end(text, size) && (!text[0] || !pci_bdf_normalise(text, gpu));
}
