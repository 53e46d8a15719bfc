#include "harness/comms/logs/read.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/comms/logs/folder.h"
#include "harness/comms/logs/names.h"
#include "harness/lib/base/array.h"
#include "harness/machine/gpu/pci.h"

/* More than any process sends: 53 days at 250 GB/s without a pause. */
#define BYTES_MOST (1ull << 60)

struct reader {
    const char *name;
    const unsigned char *bytes;
    size_t size;
    struct comms_log *log;
    struct err *err;
};

__attribute__((format(printf, 3, 4))) static int refuse(struct reader *reader, size_t at,
                                                        const char *fmt, ...)
{
    char why[160];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(why, sizeof(why), fmt, args);
    va_end(args);
    return err_set(reader->err, -EINVAL, "'%.80s', byte %zu: %s", reader->name, at, why);
}

static bool has_end(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

static int check_header(struct reader *reader)
{
    const struct comms_header *header = &reader->log->header;
    if (memcmp(header->magic, COMMS_MAGIC, sizeof(header->magic)) != 0)
        return refuse(reader, 0, "no log of 'contend comms'");
    if (header->order != COMMS_ORDER)
        return refuse(reader, offsetof(struct comms_header, order),
                      "written by a machine of another byte order");
    if (header->version != COMMS_VERSION)
        return refuse(reader, offsetof(struct comms_header, version),
                      "a log of version %u, and this program reads %d", header->version,
                      COMMS_VERSION);
    if (header->header_size != sizeof(struct comms_header) ||
        header->member_size != sizeof(struct comms_member) ||
        header->counter_size != sizeof(struct comms_counter) ||
        header->event_size != sizeof(struct comms_event) || header->members != COMMS_MEMBERS ||
        header->counters != COMMS_COUNTERS || header->events != COMMS_EVENTS ||
        header->file_size != COMMS_FILE_SIZE)
        return refuse(reader, offsetof(struct comms_header, header_size),
                      "its sizes are not those of version %d", COMMS_VERSION);
    if (reader->size != header->file_size)
        return refuse(reader, reader->size, "cut: %zu of %zu bytes", reader->size,
                      (size_t)header->file_size);
    if (!has_end(header->host, sizeof(header->host)) ||
        !has_end(header->program, sizeof(header->program)))
        return refuse(reader, offsetof(struct comms_header, host), "a name without an end");
    if (header->interface < 1 || header->interface > 6)
        return refuse(reader, offsetof(struct comms_header, interface),
                      "interface %u of NCCL's profilers is unknown", header->interface);
    if (header->unplaced_bytes > BYTES_MOST)
        return refuse(reader, offsetof(struct comms_header, unplaced_bytes), "corrupted");
    return 0;
}

static int check_member(struct reader *reader, size_t at, const struct comms_member *member)
{
    if (member->state > COMMS_FINALIZED)
        return refuse(reader, at, "a communicator in state %u", member->state);
    if (member->nranks > COMMS_PEERS || member->nodes > member->nranks)
        return refuse(reader, at, "a communicator of %u ranks on %u nodes", member->nranks,
                      member->nodes);
    if (member->rank < -1 || member->rank >= COMMS_PEERS ||
        (member->nranks && (member->rank < 0 || (uint32_t)member->rank >= member->nranks)))
        return refuse(reader, at, "rank %d of %u", member->rank, member->nranks);
    if (!has_end(member->name, sizeof(member->name)))
        return refuse(reader, at, "a name without an end");
    char gpu[PCI_BDF_MAX];
    if (!has_end(member->gpu, sizeof(member->gpu)) ||
        (member->gpu[0] && pci_bdf_normalise(member->gpu, gpu)))
        return refuse(reader, at, "a GPU without a PCI address");
    return 0;
}

/* One that was being filled in when its process was killed stays COMMS_NONE, with its number. */
static int read_members(struct reader *reader)
{
    struct comms_log *log = reader->log;
    uint64_t n = log->header.nmembers;
    log->nmembers = n < COMMS_MEMBERS ? (size_t)n : COMMS_MEMBERS;
    log->member = calloc(log->nmembers + 1, sizeof(*log->member));
    if (!log->member)
        return err_set(reader->err, -ENOMEM, "no memory for a log");
    memcpy(log->member, reader->bytes + COMMS_MEMBERS_AT, log->nmembers * sizeof(*log->member));
    int rc = 0;
    for (size_t i = 0; i < log->nmembers && !rc; i++)
        if (log->member[i].state != COMMS_NONE)
            rc = check_member(reader, COMMS_MEMBERS_AT + i * sizeof(*log->member), &log->member[i]);
    return rc;
}

static int check_key(struct reader *reader, size_t at, uint64_t word, struct comms_key *key)
{
    *key = comms_key_unpack(word);
    if (comms_key_pack(key) != word)
        return refuse(reader, at, "a key with unknown bits");
    if (key->func >= COMMS_FUNCS || key->datatype >= COMMS_TYPES || key->algo >= COMMS_ALGOS ||
        (key->bucket > 64 && key->bucket != COMMS_BUCKET_ANY))
        return refuse(reader, at, "a key of an unknown collective, type, algorithm or size");
    if (key->member >= reader->log->nmembers || !reader->log->member[key->member].state)
        return refuse(reader, at, "a key of communicator %u, which is none", key->member);
    uint32_t nranks = reader->log->member[key->member].nranks;
    if (nranks && key->peer >= (int64_t)nranks)
        return refuse(reader, at, "rank %d of %u", key->peer, nranks);
    return 0;
}

static int read_counters(struct reader *reader)
{
    struct comms_log *log = reader->log;
    struct comms_counter counter;
    size_t used = 0;
    for (int pass = 0; pass < 2; pass++) {
        log->ncounts = 0;
        for (size_t i = 0; i < COMMS_COUNTERS; i++) {
            size_t at = COMMS_COUNTERS_AT + i * sizeof(counter);
            memcpy(&counter, reader->bytes + at, sizeof(counter));
            if (!counter.key)
                continue;
            used += !pass;
            struct comms_count count = {.calls = counter.calls,
                                        .bytes = counter.bytes,
                                        .timed_calls = counter.timed_calls,
                                        .timed_ns = counter.timed_ns,
                                        .timed_bytes = counter.timed_bytes};
            int rc = check_key(reader, at, counter.key, &count.key);
            if (!rc && (counter.calls > BYTES_MOST || counter.bytes > BYTES_MOST ||
                        counter.timed_calls > counter.calls ||
                        counter.timed_bytes > counter.bytes || counter.timed_ns > BYTES_MOST))
                rc = refuse(reader, at, "more calls, bytes or time than there can be");
            if (rc)
                return rc;
            if (pass)
                log->count[log->ncounts++] = count;
        }
        if (!pass && !(log->count = calloc(used + 1, sizeof(*log->count))))
            return err_set(reader->err, -ENOMEM, "no memory for a log");
    }
    return 0;
}

/* Numbers that nobody has used, or that were half-written, have no stamp of their own. */
static int read_events(struct reader *reader)
{
    struct comms_log *log = reader->log;
    uint64_t all = log->header.nnumbers;
    uint64_t kept = all < COMMS_EVENTS ? all : COMMS_EVENTS;
    struct comms_key key;
    log->event = calloc(kept + 1, sizeof(*log->event));
    if (!log->event)
        return err_set(reader->err, -ENOMEM, "no memory for a log");
    for (uint64_t number = all - kept; number < all; number++) {
        struct comms_event *event = &log->event[log->nevents];
        size_t at = COMMS_EVENTS_AT + (size_t)(number % COMMS_EVENTS) * sizeof(*event);
        memcpy(event, reader->bytes + at, sizeof(*event));
        if (event->stamp != number + 1)
            continue;
        int rc = check_key(reader, at, event->key, &key);
        if (rc)
            return rc;
        log->nevents++;
    }
    return 0;
}

static void count_events(struct comms_log *log)
{
    for (size_t i = 0; i < log->ncounts; i++)
        if (log->count[i].key.algo != COMMS_CALLED)
            log->all_events += log->count[i].calls;
    if (log->all_events < log->nevents) /* of calls that found no counter */
        log->all_events = log->nevents;
    if (log->header.nnumbers > COMMS_EVENTS)
        log->dropped = log->all_events - log->nevents;
}

int comms_log_parse(const char *name, const void *bytes, size_t size, struct comms_log *log,
                    struct err *err)
{
    *log = (struct comms_log){.name = strdup(name)};
    struct reader reader = {name, bytes, size, log, err};
    int rc = log->name ? 0 : err_set(err, -ENOMEM, "no memory for a log");
    if (!rc && size < sizeof(log->header))
        rc = refuse(&reader, size, "cut: no whole header");
    if (!rc) {
        memcpy(&log->header, bytes, sizeof(log->header));
        rc = check_header(&reader);
    }
    rc = rc ? rc : read_members(&reader);
    rc = rc ? rc : read_counters(&reader);
    rc = rc ? rc : read_events(&reader);
    if (rc)
        comms_log_free(log);
    else
        count_events(log);
    return rc;
}

void comms_log_free(struct comms_log *log)
{
    free(log->name);
    free(log->member);
    free(log->count);
    free(log->event);
    *log = (struct comms_log){0};
}

static int take_log(void *into, const char *name, char *bytes, size_t size, struct err *err)
{
    struct comms_logs *logs = into;
    struct comms_log *grown = array_grown(logs->log, logs->n, &logs->capacity, sizeof(*grown));
    if (!grown)
        return err_set(err, -ENOMEM, "no memory for %zu logs", logs->n + 1);
    logs->log = grown;
    int rc = comms_log_parse(name, bytes, size, &grown[logs->n], err);
    logs->n += !rc;
    return rc;
}

int comms_logs_read(const char *directory, struct comms_logs *logs, struct comms_unread *unread,
                    struct err *err)
{
    *logs = (struct comms_logs){0};
    int rc =
        comms_folder_read(directory, COMMS_SUFFIX, COMMS_FILE_SIZE, take_log, logs, unread, err);
    if (rc)
        comms_logs_free(logs);
    return rc;
}

void comms_logs_free(struct comms_logs *logs)
{
    for (size_t i = 0; i < logs->n; i++)
        comms_log_free(&logs->log[i]);
    free(logs->log);
    *logs = (struct comms_logs){0};
}
