#include "harness/comms/logs/read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/comms/logs/folder.h"
#include "harness/comms/logs/names.h"
#include "harness/comms/logs/reader.h"
#include "harness/lib/base/array.h"

static int check_header(const struct log_reader *reader, struct comms_log *log)
{
    static const struct log_format format = {"no log",
                                             "a log",
                                             sizeof(struct comms_header),
                                             COMMS_FILE_SIZE,
                                             offsetof(struct comms_header, pid),
                                             offsetof(struct comms_header, interface)};
    const struct comms_header *header = &log->header;
    struct comms_header wanted = comms_header_begin();
    int rc = log_read_header(reader, &format, &wanted, &log->header);
    if (rc)
        return rc;
    if (!log_has_end(header->host, sizeof(header->host)) ||
        !log_has_end(header->program, sizeof(header->program)))
        return log_refuse(reader, offsetof(struct comms_header, host), "a name without an end");
    if (header->interface < 1 || header->interface > 6)
        return log_refuse(reader, offsetof(struct comms_header, interface),
                          "interface %u of NCCL's profilers is unknown", header->interface);
    if (header->unplaced_bytes > LOG_MOST)
        return log_refuse(reader, offsetof(struct comms_header, unplaced_bytes), "corrupted");
    return 0;
}

static int check_member(const struct log_reader *reader, size_t at,
                        const struct comms_member *member)
{
    if (member->state > COMMS_FINALIZED)
        return log_refuse(reader, at, "a communicator in state %u", member->state);
    if (member->nranks > COMMS_PEERS || member->nodes > member->nranks)
        return log_refuse(reader, at, "a communicator of %u ranks on %u nodes", member->nranks,
                          member->nodes);
    if (member->rank < -1 || member->rank >= COMMS_PEERS ||
        (member->nranks && (member->rank < 0 || (uint32_t)member->rank >= member->nranks)))
        return log_refuse(reader, at, "rank %d of %u", member->rank, member->nranks);
    if (!log_has_end(member->name, sizeof(member->name)))
        return log_refuse(reader, at, "a name without an end");
    char gpu[PCI_BDF_MAX];
    if (!log_has_gpu(member->gpu, sizeof(member->gpu), gpu))
        return log_refuse(reader, at, "a GPU without a PCI address");
    return 0;
}

/* One that was being filled in when its process was killed stays COMMS_NONE, with its number. */
static int read_members(const struct log_reader *reader, struct comms_log *log)
{
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

static int check_key(const struct log_reader *reader, const struct comms_log *log, size_t at,
                     uint64_t word, struct comms_key *key)
{
    *key = comms_key_unpack(word);
    if (comms_key_pack(key) != word)
        return log_refuse(reader, at, "a key with unknown bits");
    if (key->func >= COMMS_FUNCS || key->datatype >= COMMS_TYPES || key->algo >= COMMS_ALGOS ||
        (key->bucket > 64 && key->bucket != COMMS_BUCKET_ANY))
        return log_refuse(reader, at, "a key of an unknown collective, type, algorithm or size");
    if (key->member >= log->nmembers || !log->member[key->member].state)
        return log_refuse(reader, at, "a key of communicator %u, which is none", key->member);
    uint32_t nranks = log->member[key->member].nranks;
    if (nranks && key->peer >= (int64_t)nranks)
        return log_refuse(reader, at, "rank %d of %u", key->peer, nranks);
    return 0;
}

static int read_counters(const struct log_reader *reader, struct comms_log *log)
{
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
            int rc = check_key(reader, log, at, counter.key, &count.key);
            if (!rc && (counter.calls > LOG_MOST || counter.bytes > LOG_MOST ||
                        counter.timed_calls > counter.calls ||
                        counter.timed_bytes > counter.bytes || counter.timed_ns > LOG_MOST))
                rc = log_refuse(reader, at, "more calls, bytes or time than there can be");
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
static int read_events(const struct log_reader *reader, struct comms_log *log)
{
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
        int rc = check_key(reader, log, at, event->key, &key);
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
    const struct log_reader reader = {name, bytes, size, err};
    int rc = log->name ? 0 : err_set(err, -ENOMEM, "no memory for a log");
    rc = rc ? rc : check_header(&reader, log);
    rc = rc ? rc : read_members(&reader, log);
    rc = rc ? rc : read_counters(&reader, log);
    rc = rc ? rc : read_events(&reader, log);
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
