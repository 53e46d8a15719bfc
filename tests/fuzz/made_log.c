#include "tests/fuzz/made_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/comms/json.h"
#include "harness/comms/plugin/names.h"
#include "harness/comms/show.h"

enum { RANKS_TOLD_MOST = 64 };

static void put_counter(unsigned char *file, size_t at, struct comms_key key, uint64_t bytes)
{
    const struct comms_counter counter = {comms_key_pack(&key), 3, bytes, 1, 5, 3};
    memcpy(file + COMMS_COUNTERS_AT + at * sizeof(counter), &counter, sizeof(counter));
}

unsigned char *made_log(uint32_t part)
{
    const struct comms_member members[] = {
        {.id = 1, .state = 1, .nranks = 3, .nodes = 1, .gpu = "0000:01:00.0"},
        {.id = 1, .state = 1, .rank = 1, .nranks = 3, .nodes = 1, .gpu = "0000:02:00.0"},
        {.id = 1, .state = 1, .rank = 2, .nranks = 3, .nodes = 1, .gpu = "0000:03:00.0"},
        {.id = 2, .state = 2, .rank = 1},
        {.id = 3, .state = 2, .rank = (int32_t)part, .nranks = 2, .nodes = 2}};
    struct comms_key key = {.func = COMMS_ALL_REDUCE,
                            .datatype = COMMS_FLOAT32,
                            .algo = COMMS_RING,
                            .proto = COMMS_SIMPLE,
                            .bucket = 8,
                            .peer = -1};
    const struct comms_event events[] = {
        {.stamp = 1, .key = comms_key_pack(&key), .time_ns = 7, .bytes = 200, .sequence = 1},
        {.stamp = 2, .key = comms_key_pack(&key), .time_ns = 9, .bytes = 200, .sequence = 2}};
    unsigned char *file = calloc(1, COMMS_FILE_SIZE);
    struct comms_header own = comms_header_begin();
    if (!file)
        abort();
    own.interface = 5;
    own.host[0] = (char)('a' + part);
    own.nmembers = 5;
    own.nnumbers = 2;
    memcpy(file, &own, sizeof(own));
    memcpy(file + COMMS_MEMBERS_AT, members, sizeof(members));
    memcpy(file + COMMS_EVENTS_AT, events, sizeof(events));
    for (uint32_t i = 0; i < 5; i++) {
        key.member = i;
        put_counter(file, i, key, 600);
    }
    put_counter(file, 5, (struct comms_key){.func = COMMS_SEND, .datatype = 1, .peer = 2}, 1 << 30);
    put_counter(
        file, 6,
        (struct comms_key){.member = 2, .func = 1, .datatype = 1, .algo = COMMS_TREE, .peer = -1},
        9);
    return file;
}

struct comms_log made_log_read(uint32_t part)
{
    struct comms_log log;
    struct err err = {0};
    unsigned char *file = made_log(part);
    if (comms_log_parse("made.comms", file, COMMS_FILE_SIZE, &log, &err))
        abort();
    free(file);
    return log;
}

void check_printed(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (((unsigned char)text[i] < ' ' && text[i] != '\n') || text[i] == 0x7f)
            abort();
}

static void report(const struct comms_view *view)
{
    const struct html_comms page = {.path = "x", .view = view};
    char *text = NULL;
    size_t size = 0;
    struct err err = {0};
    FILE *out = open_memstream(&text, &size);
    if (!out)
        abort();
    struct doc doc = {0};
    comms_add_verdict_to_doc(view, &doc);
    comms_add_tables_to_doc(view, &doc);
    doc_print(&doc, out, false, true);
    doc_free(&doc);
    if (fflush(out))
        abort();
    check_printed(text, size);
    if (html_comms_print(&page, out, &err))
        abort();
    json_t *json = comms_to_json(view);
    if (!json || fclose(out))
        abort();
    json_decref(json);
    free(text);
}

void use_view(struct comms_view *view)
{
    struct err err = {0};
    const struct comms_logs logs = view->logs;
    bool small = true;
    int rc = comms_view_make(NULL, view, &err);
    if (rc && (rc != -EOVERFLOW || !err.msg[0]))
        abort();
    for (size_t i = 0; i < view->comms.n; i++)
        small &= view->comms.communicator[i].nranks <= RANKS_TOLD_MOST;
    if (!rc && small)
        report(view);
    view->logs = (struct comms_logs){0};
    comms_view_free(view);
    view->logs = logs;
}
