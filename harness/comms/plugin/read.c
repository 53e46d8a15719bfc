#include "harness/comms/plugin/read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/comms/plugin/names.h"
#include "harness/lib/array.h"
#include "harness/lib/sys/file.h"

static bool has_suffix(const char *name, const char *suffix)
{
    size_t length = strlen(name), end = strlen(suffix);
    return length >= end && strcmp(name + length - end, suffix) == 0;
}

void comms_task_name(unsigned rank, unsigned size, char name[static COMMS_TASK_MAX])
{
    (void)snprintf(name, COMMS_TASK_MAX, "task-%u-of-%u", rank, size);
}

bool comms_is_task(const char *name, unsigned size)
{
    char same[COMMS_TASK_MAX];
    unsigned rank = 0, of = 0;
    if (sscanf(name, "task-%9u-of-%9u", &rank, &of) != 2 || (size && of != size))
        return false;
    comms_task_name(rank, of, same);
    return rank < of && strcmp(name, same) == 0;
}

void comms_unread_free(struct comms_unread *unread)
{
    free(unread->why);
    *unread = (struct comms_unread){0};
}

struct folder {
    int fd;
    const char *suffix;
    size_t most;
    comms_take *take;
    void *into;
    struct comms_unread *unread;
    struct err *err;
};

static int pass_file(const struct folder *folder, const char *name)
{
    char *text = NULL;
    size_t size;
    int rc = file_read(folder->fd, name, folder->most, &text, &size);
    if (rc)
        (void)err_sys(folder->err, rc, "cannot read '%.150s'", name);
    else
        rc = folder->take(folder->into, name, text, size, folder->err);
    free(text);
    if (!rc || rc == -ENOMEM || !folder->unread)
        return rc;
    struct err *why = array_add(folder->unread->why, folder->unread->n, folder->unread->capacity);
    if (!why)
        return err_set(folder->err, -ENOMEM, "no memory for names of files");
    *why = *folder->err;
    return 0;
}

/* `below`: "", or the name of a task's directory. */
static int read_folder(const struct folder *folder, const char *below)
{
    struct dirent **entries = NULL;
    char name[COMMS_TASK_MAX + NAME_MAX + 2];
    int n = scandirat(folder->fd, *below ? below : ".", &entries, NULL, alphasort);
    int rc = n < 0 && !(*below && errno == ENOTDIR)
                 ? err_sys(folder->err, -errno, "cannot list '%.150s'", *below ? below : ".")
                 : 0;
    for (int i = 0; i < n; i++) {
        (void)snprintf(name, sizeof(name), "%s%s%s", below, *below ? "/" : "", entries[i]->d_name);
        if (!rc && !*below && comms_is_task(name, 0))
            rc = read_folder(folder, name);
        else if (!rc && has_suffix(name, folder->suffix))
            rc = pass_file(folder, name);
        free(entries[i]);
    }
    free(entries);
    return rc;
}

int comms_folder_read(const char *directory, const char *suffix, size_t most, comms_take *take,
                      void *into, struct comms_unread *unread, struct err *err)
{
    struct folder folder = {
        .suffix = suffix, .most = most, .take = take, .into = into, .unread = unread, .err = err};
    folder.fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder.fd < 0)
        return err_sys(err, -errno, "cannot open the directory '%.150s'", directory);
    int rc = read_folder(&folder, "");
    (void)close(folder.fd);
    return rc;
}

/* ---- one log ---- */

/* More calls, bytes or ns than any process has: 53 days at 250 GB/s without a pause. */
#define LOG_MOST (1ull << 60)

struct log_reader {
    const char *name; /* of the file */
    const unsigned char *bytes;
    size_t size;
    struct err *err;
};

/* -EINVAL with "'NAME', byte N: what is wrong there". */
__attribute__((format(printf, 3, 4))) static int log_refuse(const struct log_reader *reader,
                                                            size_t at, const char *fmt, ...)
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

/* Whether `text` has an end and is a PCI address, or "". */
static bool has_gpu(const char *text, size_t size, char gpu[static PCI_BDF_MAX])
{
    gpu[0] = '\0';
    return has_end(text, size) && (!text[0] || !pci_bdf_normalise(text, gpu));
}

static int read_header(const struct log_reader *reader, struct comms_header *header)
{
    struct comms_header own = comms_header_begin();
    if (reader->size < sizeof(own))
        return log_refuse(reader, reader->size, "cut: no whole header");
    memcpy(header, reader->bytes, sizeof(own));
    if (memcmp(header->magic, own.magic, sizeof(own.magic)) != 0)
        return log_refuse(reader, 0, "no log of 'contend comms'");
    if (header->order != own.order)
        return log_refuse(reader, offsetof(struct comms_header, order),
                          "written by a machine of another byte order");
    if (header->version == COMMS_VERSION_OLDEST) {
        own.version = COMMS_VERSION_OLDEST;
        own.file_size = COMMS_LOOKS_AT;
    }
    if (header->version != own.version)
        return log_refuse(reader, offsetof(struct comms_header, version),
                          "a log of version %u, but this program reads %u", header->version,
                          own.version);
    own.interface = header->interface;
    if (memcmp(&own, header, offsetof(struct comms_header, pid)) != 0)
        return log_refuse(reader, offsetof(struct comms_header, header_size),
                          "its sizes are not those of version %u", own.version);
    if (reader->size != own.file_size)
        return log_refuse(reader, reader->size, "cut: %zu of %zu bytes", reader->size,
                          (size_t)own.file_size);
    if (!header->host[0] || !has_end(header->host, sizeof(header->host)) ||
        !has_end(header->program, sizeof(header->program)))
        return log_refuse(reader, offsetof(struct comms_header, host), "a name without an end");
    return 0;
}

static int check_header(const struct log_reader *reader, struct comms_log *log)
{
    const struct comms_header *header = &log->header;
    int rc = read_header(reader, &log->header);
    if (rc)
        return rc;
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
    if (!has_end(member->name, sizeof(member->name)))
        return log_refuse(reader, at, "a name without an end");
    char gpu[PCI_BDF_MAX];
    if (!has_gpu(member->gpu, sizeof(member->gpu), gpu))
        return log_refuse(reader, at, "a GPU without a PCI address");
    return 0;
}

/* A member that was being written when its process was killed stays COMMS_NONE, with its number. */
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
        return log_refuse(reader, at, "a key of communicator %u, which does not exist",
                          key->member);
    uint32_t nranks = log->member[key->member].nranks;
    if (nranks && key->peer >= (int64_t)nranks)
        return log_refuse(reader, at, "rank %d of %u", key->peer, nranks);
    return 0;
}

static int read_counters(const struct log_reader *reader, struct comms_log *log)
{
    struct comms_counter counter;
    size_t capacity = 0;
    for (size_t at = COMMS_COUNTERS_AT; at < COMMS_EVENTS_AT; at += sizeof(counter)) {
        memcpy(&counter, reader->bytes + at, sizeof(counter));
        if (!counter.key)
            continue;
        struct comms_count *count = array_add(log->count, log->ncounts, capacity);
        if (!count)
            return err_set(reader->err, -ENOMEM, "no memory for a log");
        *count = (struct comms_count){.calls = counter.calls,
                                      .bytes = counter.bytes,
                                      .timed_calls = counter.timed_calls,
                                      .timed_ns = counter.timed_ns,
                                      .timed_bytes = counter.timed_bytes};
        int rc = check_key(reader, log, at, counter.key, &count->key);
        if (!rc && (counter.calls > LOG_MOST || counter.bytes > LOG_MOST ||
                    counter.timed_calls > counter.calls || counter.timed_bytes > counter.bytes ||
                    counter.timed_ns > LOG_MOST))
            rc = log_refuse(reader, at, "more calls, bytes or time than there can be");
        if (rc)
            return rc;
    }
    return 0;
}

/* An event that was not used, or only half written, does not have the stamp of its number. */
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

static int read_looks(const struct log_reader *reader, struct comms_log *log)
{
    uint64_t all = log->header.version < COMMS_VERSION ? 0 : log->header.nlooks;
    uint64_t kept = all < COMMS_LOOKS ? all : COMMS_LOOKS;
    log->look = calloc(kept + 1, sizeof(*log->look));
    if (!log->look)
        return err_set(reader->err, -ENOMEM, "no memory for a log");
    for (uint64_t number = all - kept; number < all; number++) {
        struct comms_look *look = &log->look[log->nlooks];
        size_t at = COMMS_LOOKS_AT + (size_t)(number % COMMS_LOOKS) * sizeof(*look);
        memcpy(look, reader->bytes + at, sizeof(*look));
        log->nlooks += look->stamp == number + 1;
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
    rc = rc ? rc : read_looks(&reader, log);
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
    free(log->look);
    *log = (struct comms_log){0};
}

static int take_log(void *into, const char *name, char *bytes, size_t size, struct err *err)
{
    struct comms_logs *logs = into;
    struct comms_log *log = array_add(logs->log, logs->n, logs->capacity);
    if (!log)
        return err_set(err, -ENOMEM, "no memory for logs");
    int rc = comms_log_parse(name, bytes, size, log, err);
    logs->n -= rc != 0;
    return rc;
}

int comms_logs_read(const char *directory, struct comms_logs *logs, struct comms_unread *unread,
                    struct err *err)
{
    return comms_folder_read(directory, COMMS_SUFFIX, COMMS_FILE_SIZE, take_log, logs, unread, err);
}

void comms_logs_free(struct comms_logs *logs)
{
    for (size_t i = 0; i < logs->n; i++)
        comms_log_free(&logs->log[i]);
    free(logs->log);
    *logs = (struct comms_logs){0};
}

static void keep_last(struct comms_log *log, double ns)
{
    const size_t had = log->nevents;
    uint64_t newest = 0;
    for (size_t i = 0; i < had; i++)
        newest = log->event[i].time_ns > newest ? log->event[i].time_ns : newest;
    log->nevents = 0;
    for (size_t i = 0; i < had; i++)
        if ((double)(newest - log->event[i].time_ns) <= ns)
            log->event[log->nevents++] = log->event[i];
    log->dropped += had - log->nevents;
}

void comms_logs_keep_last(struct comms_logs *logs, double seconds)
{
    for (size_t i = 0; seconds > 0 && i < logs->n; i++)
        keep_last(&logs->log[i], seconds * 1e9);
}
