/*
 * Any bytes as a log of `contend comms`: refused with a sentence, or merged, judged and laid out in
 * matrices. Of a whole file most is free room, so the input is a patch of one that is well-formed:
 * 3 bytes for where, one for how many, then those; again until its end. Its last byte, if odd,
 * cuts.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/comms/findings.h"
#include "harness/comms/lines.h"
#include "harness/comms/matrix.h"
#include "harness/comms/names.h"
#include "harness/comms/total.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned char *file, *patched;

static void put_counter(size_t at, struct comms_key key, uint64_t calls, uint64_t bytes)
{
    const struct comms_counter counter = {comms_key_pack(&key), calls, bytes, 1, 5, 3};
    memcpy(file + COMMS_COUNTERS_AT + at * sizeof(counter), &counter, sizeof(counter));
}

static void make_file(void)
{
    const struct comms_header header = {.magic = {'C', 'N', 'T', 'D', 'C', 'O', 'M', 'M'},
                                        .version = COMMS_VERSION,
                                        .order = COMMS_ORDER,
                                        .header_size = sizeof(struct comms_header),
                                        .member_size = sizeof(struct comms_member),
                                        .counter_size = sizeof(struct comms_counter),
                                        .event_size = sizeof(struct comms_event),
                                        .members = COMMS_MEMBERS,
                                        .counters = COMMS_COUNTERS,
                                        .events = COMMS_EVENTS,
                                        .interface = 5,
                                        .file_size = COMMS_FILE_SIZE,
                                        .nmembers = 2,
                                        .nevents = 1};
    const struct comms_member members[2] = {{.id = 1, .state = 1, .nranks = 4, .nodes = 2},
                                            {.id = 2, .state = 2, .rank = 1}};
    const struct comms_key key = {.member = 1,
                                  .func = COMMS_ALL_REDUCE,
                                  .datatype = COMMS_FLOAT32,
                                  .algo = COMMS_RING,
                                  .proto = COMMS_SIMPLE,
                                  .bucket = 8,
                                  .peer = -1};
    const struct comms_event event = {.stamp = 1, .key = comms_key_pack(&key)};
    file = calloc(2, COMMS_FILE_SIZE);
    if (!file)
        abort();
    patched = file + COMMS_FILE_SIZE;
    memcpy(file, &header, sizeof(header));
    memcpy(file + COMMS_MEMBERS_AT, members, sizeof(members));
    memcpy(file + COMMS_EVENTS_AT, &event, sizeof(event));
    put_counter(0, key, 3, 600);
    put_counter(1, (struct comms_key){.func = COMMS_SEND, .datatype = 1, .algo = 9, .peer = 3}, 1,
                9);
    put_counter(2, (struct comms_key){.func = 1, .datatype = 1, .algo = COMMS_TREE, .peer = -1}, 1,
                9);
    memcpy(patched, file, COMMS_FILE_SIZE);
}

/* Of near places more often than of those far behind, where nothing is. */
static size_t place_of(const uint8_t *data)
{
    static const size_t parts[] = {0, COMMS_MEMBERS_AT, COMMS_COUNTERS_AT, COMMS_EVENTS_AT};
    size_t at = parts[data[0] % 4] + data[1] + (size_t)256 * (data[2] % 4);
    return at < COMMS_FILE_SIZE - 256 ? at : 0;
}

static void use(const struct comms_logs *logs)
{
    struct comms comms;
    struct comms_total total;
    struct findings findings = {0};
    struct err err = {0};
    if (comms_merge(logs, &comms, &err) || comms_judge(logs, &comms, &findings, &err))
        abort();
    for (size_t i = 0; i < comms.n; i++) {
        struct comms_matrix matrix;
        if (comms_matrix_make(&comms.communicator[i], &matrix, &err) && !err.msg[0])
            abort(); /* refused without a word */
        comms_matrix_free(&matrix);
    }
    if (comms_total_make(&comms, &total, &err) && !err.msg[0])
        abort();
    comms_total_free(&total);
    findings_free(&findings);
    comms_free(&comms);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct comms_log log;
    struct err err = {0};
    if (!file)
        make_file();
    size_t length = size && data[size - 1] % 2 ? size * 4096 % COMMS_FILE_SIZE : COMMS_FILE_SIZE;
    for (size_t i = 0; i + 4 <= size; i += 4 + data[i + 3] % 64u) {
        size_t n = data[i + 3] % 64u, left = size - i - 4;
        memcpy(patched + place_of(data + i), data + i + 4, n < left ? n : left);
    }
    int rc = comms_log_parse("a.comms", patched, length, &log, &err);
    if (rc && (err.code != rc || !err.msg[0]))
        abort();
    const struct comms_logs logs = {.n = 1, .log = &log};
    if (!rc) {
        use(&logs);
        comms_log_free(&log);
    }
    for (size_t i = 0; i + 4 <= size; i += 4 + data[i + 3] % 64u)
        memcpy(patched + place_of(data + i), file + place_of(data + i), 64);
    return 0;
}
