/*
 * Any text as the files beside the logs of `contend comms`: links.csv, then counters of NVLink,
 * separated by the byte 0x1e. The reader refuses the text with a sentence, or it is merged with two
 * logs and printed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/made_log.h"
#include "tests/fuzz/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *text_of(const uint8_t *part, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        abort();
    if (size)
        memcpy(text, part, size);
    text[size] = '\0';
    return text;
}

/* Files written by hand or by another version are printed as read. */
static void check_ports(const struct comms_ports *ports)
{
    for (size_t i = 0; i < ports->n; i++) {
        const struct gpu_link *link = &ports->port[i].link;
        if (!link->pci[0] || link->way >= GPU_WAYS ||
            (link->way == GPU_WAY_NVLINK) != (link->to[0] != '\0') || !(link->gbps >= 0))
            abort();
    }
}

static void check_counted(const struct comms_counted *counted)
{
    if (!counted->host[0] || counted->counts.n > NVLINK_GPUS)
        abort();
    for (size_t i = 0; i < counted->counts.n; i++)
        if (counted->counts.gpu[i].sent_bytes < -1 || counted->counts.gpu[i].received_bytes < -1)
            abort();
}

static void add_counted(const char *name, char *text, struct comms_counters *counters)
{
    struct err err = {0};
    counters->counted = calloc(1, sizeof(*counters->counted));
    if (!counters->counted)
        abort();
    int rc = comms_counted_parse(name, text, counters->counted, &err);
    check_refusal(rc, &err);
    counters->n = !rc;
    if (!rc)
        check_counted(counters->counted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct comms_log logs[2];
    struct err err = {0};
    size_t length;
    if (!logs[0].name)
        for (uint32_t i = 0; i < 2; i++)
            logs[i] = made_log_read(i);
    struct comms_view view = {.logs = {.n = 2, .log = logs}};
    const uint8_t *part = scratch_next_part(&data, &size, &length);
    char *links = text_of(part, length);
    size_t links_size = length;
    part = scratch_next_part(&data, &size, &length);
    char *counters = text_of(part, length);
    int rc = comms_ports_parse(links, links_size, &view.ports, &err);
    check_refusal(rc, &err);
    check_ports(&view.ports);
    add_counted("a.comms.nvlink", counters, &view.counters);
    use_view(&view);
    free(links);
    free(counters);
    return 0;
}
