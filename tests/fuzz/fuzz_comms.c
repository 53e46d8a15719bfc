/*
 * Any bytes as a log of `contend comms`, beside a well-formed one: refused with a sentence, or
 * merged, laid out in matrices, on links and in time, judged and printed. Most of a file is free
 * space, so the input is a patch of a well-formed file: 3 bytes for the place, one for the number
 * of bytes, then these bytes; repeated until the input ends. If the last byte is odd, it truncates
 * the file.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/made_log.h"
#include "tests/fuzz/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned char *file, *patched;
static struct comms_log other;
static struct comms_ports ports;
static struct comms_counted counted;

static void make_files(void)
{
    char links[] = COMMS_PORTS_COLUMNS
        "\na,0000:01:00.0,nvlink,0000:02:00.0,4,100\na,0000:01:00.0,nvswitch,,8,200\n"
        "a,0000:02:00.0,nvswitch,,8,200\na,0000:03:00.0,pcie,,16,64\na,0000:01:00.0,pcie,,16,64\n";
    char counters[] = "contend nvlink 1\nhost a\ngpu 0000:01:00.0 1073741824 5\n"
                      "gpu 0000:02:00.0 600 -\ngpu 0000:03:00.0 7 9999999999\n";
    struct err err = {0};
    file = made_log(0);
    patched = made_log(0);
    other = made_log_read(1);
    if (comms_ports_parse(links, sizeof(links) - 1, &ports, &err) ||
        comms_counted_parse("x.nvlink", counters, &counted, &err))
        abort();
}

/* Near places are more frequent, since the end of the file is free space. */
static size_t place_of(const uint8_t *data)
{
    static const size_t parts[] = {0, COMMS_MEMBERS_AT, COMMS_COUNTERS_AT, COMMS_EVENTS_AT};
    size_t at = parts[data[0] % 4] + data[1] + (size_t)256 * (data[2] % 4);
    return at < COMMS_FILE_SIZE - 256 ? at : 0;
}

static struct comms_ports copy_of_ports(void)
{
    struct comms_ports copy = ports;
    copy.port = malloc(ports.n * sizeof(*copy.port));
    if (!copy.port)
        abort();
    memcpy(copy.port, ports.port, ports.n * sizeof(*copy.port));
    return copy;
}

static void use(const struct comms_log *log)
{
    struct comms_log logs[] = {*log, other};
    struct comms_view view = {.logs = {.n = 2, .log = logs}, .ports = copy_of_ports()};
    view.counters.counted = malloc(sizeof(counted));
    if (!view.counters.counted)
        abort();
    view.counters.counted[view.counters.n++] = counted;
    use_view(&view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct comms_log log;
    struct err err = {0};
    if (!file)
        make_files();
    size_t length = size && data[size - 1] % 2 ? size * 4096 % COMMS_FILE_SIZE : COMMS_FILE_SIZE;
    for (size_t i = 0; i + 4 <= size; i += 4 + data[i + 3] % 64u) {
        size_t n = data[i + 3] % 64u, left = size - i - 4;
        memcpy(patched + place_of(data + i), data + i + 4, n < left ? n : left);
    }
    int rc = comms_log_parse("a.comms", patched, length, &log, &err);
    check_refusal(rc, &err);
    if (!rc) {
        use(&log);
        comms_log_free(&log);
    }
    for (size_t i = 0; i + 4 <= size; i += 4 + data[i + 3] % 64u)
        memcpy(patched + place_of(data + i), file + place_of(data + i), 64);
    return 0;
}
