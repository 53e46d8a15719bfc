/*
 * Any bytes as a file of copies, beside one that is well-formed: refused with a sentence, or added
 * up, laid on NVLink's counters, judged and told. The input is a patch: 3 bytes for where, one for
 * how many, then those; again until its end. Its last byte, if odd, cuts.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/made_log.h"
#include "tests/fuzz/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct copies_file *made(void)
{
    struct copies_file *file = calloc(1, sizeof(*file));
    if (!file)
        abort();
    file->header = comms_header_begin(COPIES_MAGIC, sizeof(*file));
    file->header.pid = 7;
    file->header.host[0] = 'a';
    for (int32_t e = 0; e < 3; e++)
        file->sums.entry[e] = (struct copies_entry){.kind = e == 2 ? COPIES_PTOP : COPIES_HTOD,
                                                    .from_memory = (uint8_t)(e + 1),
                                                    .to_memory = COPIES_DEVICE,
                                                    .bucket = 20,
                                                    .from = e - 2,
                                                    .to = 1,
                                                    .used = 1,
                                                    .calls = 5000,
                                                    .bytes = 1u << 30,
                                                    .timed_calls = 9,
                                                    .timed_bytes = 900,
                                                    .timed_ns = 3};
    (void)strcpy(file->sums.pci[0], "0000:01:00.0");
    (void)strcpy(file->sums.pci[1], "0000:02:00.0");
    return file;
}

/* Of near places: what is behind the first entries is read by the same code. */
static size_t place_of(const uint8_t *data)
{
    static const size_t parts[] = {0, offsetof(struct copies_file, sums),
                                   offsetof(struct copies_file, sums.entry)};
    return parts[data[0] % 3] + data[1] + (size_t)256 * (data[2] % 8);
}

static void use(struct copies_log *log, const struct copies_file *file)
{
    char counters[] = "contend nvlink 1\nhost a\ngpu 0000:01:00.0 1073741824 5\n"
                      "gpu 0000:02:00.0 600 7\n";
    struct comms_view view = {.copies = {.nlogs = 2}};
    struct err err = {0};
    view.copies.log = calloc(2, sizeof(*view.copies.log));
    view.counters.counted = malloc(sizeof(*view.counters.counted));
    if (!view.copies.log || !view.counters.counted ||
        copies_log_parse("b.comms.copies", file, sizeof(*file), &view.copies.log[1], &err) ||
        comms_counted_parse("x.nvlink", counters, &view.counters.counted[0], &err))
        abort();
    view.counters.n = 1;
    view.copies.log[0] = *log;
    use_view(&view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct copies_file *good, *patched;
    struct copies_log log;
    struct err err = {0};
    uint8_t last = size ? data[size - 1] : 0;
    if (!good) {
        good = made();
        patched = made();
    }
    memcpy(patched, good, sizeof(*patched));
    for (size_t i = 0; i + 4 <= size; i += 4 + data[i + 3] % 64u) {
        size_t n = data[i + 3] % 64u, left = size - i - 4;
        memcpy((uint8_t *)patched + place_of(data + i), data + i + 4, n < left ? n : left);
    }
    size_t length = last & 1 ? size * 512 % sizeof(*patched) : sizeof(*patched);
    int rc = copies_log_parse("a.comms.copies", patched, length, &log, &err);
    check_refusal(rc, &err);
    if (!rc)
        use(&log, good);
    return 0;
}
