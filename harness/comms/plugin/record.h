/*
 * The log that each process of a command writes to CONTEND_COMMS_DIR: what NCCL reported to its
 * profiler plugin. The plugin (plugin.c) writes it and read.c reads it; no other code knows the
 * format.
 *
 * One file of fixed size, mapped by its writer, so that a killed process leaves what it had. After
 * a header it has room for memberships (one rank of one communicator each), for counters (a hash
 * table: exact sums of calls and bytes by key), and for the last events and the last looks (ring
 * buffers). All are records of fixed size without pointers, little-endian like every machine that
 * has NCCL; zeroed = none. Logs of version 3 have no looks, and are read too.
 */
#ifndef CONTEND_COMMS_PLUGIN_RECORD_H
#define CONTEND_COMMS_PLUGIN_RECORD_H

#include <stdint.h>
#include <string.h>

#define COMMS_SUFFIX ".comms" /* in the name of every file but links.csv */
#define COMMS_PORTS_NAME "links.csv"

#define COMMS_MAGIC "CNTDCOMM"

/* LOG.N.graph beside a log: NCCL's graph of the communicator whose member N has rank 0. NCCL itself
 * writes COMMS_GRAPH_FILE, for one communicator after the other; the plugin renames it. */
#define COMMS_GRAPH_SUFFIX ".graph"
#define COMMS_GRAPH_FILE "graph" COMMS_SUFFIX ".xml"

enum {
    COMMS_VERSION = 4,
    COMMS_VERSION_OLDEST = 3,
    COMMS_ORDER = 0x01020304, /* as an int of the writer: tells its byte order */
    COMMS_MEMBERS = 4096,     /* room in a file; a key has 12 bits for the member */
    COMMS_COUNTERS = 32768,
    COMMS_COARSE = COMMS_COUNTERS / 8, /* the last counters: for keys without details */
    COMMS_EVENTS = 16384,
    COMMS_LOOKS = 2048,
    COMMS_BLOCK = 16, /* event numbers that a thread takes at once */
    COMMS_HOST_MAX = 64,
    COMMS_BOOT_MAX = 16, /* of Linux's boot_id: the running kernel, the same in all containers */
    COMMS_PROGRAM_MAX = 32,
    COMMS_NAME_MAX = 64,
    COMMS_GPU_MAX = 24
};

struct comms_header {
    char magic[8]; /* COMMS_MAGIC, without the final 0 */
    uint32_t version, order;
    uint32_t header_size, member_size, counter_size, event_size;
    uint32_t members, counters, events; /* room, in records */
    uint32_t interface;                 /* N of the ncclProfiler_vN that NCCL uses */
    uint64_t file_size;
    int64_t pid;
    uint64_t start_ns;      /* CLOCK_REALTIME, to align logs of several machines */
    uint64_t start_mono_ns; /* CLOCK_MONOTONIC, like all other times here */
    char host[COMMS_HOST_MAX];
    char program[COMMS_PROGRAM_MAX];
    /* Written while it runs. */
    uint64_t nmembers;       /* memberships so far, including those without room */
    uint64_t nnumbers;       /* event numbers given out so far, in blocks; the ring has the last */
    uint64_t unknown_events; /* of types that this version does not know */
    uint64_t unplaced_calls, unplaced_bytes; /* that found no counter */
    uint64_t timed_every;                    /* one in N collectives is timed; 0: none */
    uint64_t untimed;             /* due, but not timed: no room, or reported by another thread */
    uint8_t boot[COMMS_BOOT_MAX]; /* identifies the machine under any name; zeroed = unknown */
    /* When the log was last copied into its file: later calls are missing. 0 = nothing is missing:
     * the file is mapped, or was copied when its process ended. */
    uint64_t copied_ns;
    uint64_t nlooks; /* looks so far; the ring has the last */
    uint64_t reserved[15];
};

enum comms_state {
    COMMS_NONE,
    COMMS_ALIVE,    /* not finalized while the writer lived */
    COMMS_FINALIZED /* destroyed or aborted */
};

struct comms_member {
    uint64_t id;    /* commHash; 0 = unknown: interfaces 1 to 3 report it with the first call */
    uint32_t state; /* enum comms_state */
    int32_t rank;   /* -1 = unknown */
    uint32_t nranks, nodes; /* 0 = unknown: interfaces 1 to 3 never report them */
    uint64_t begin_ns, end_ns;
    char name[COMMS_NAME_MAX];
    char gpu[COMMS_GPU_MAX]; /* PCI address, as the driver writes it; "" = unknown */
};

struct comms_counter {
    uint64_t key; /* 0 = free */
    uint64_t calls;
    uint64_t bytes; /* count x size of type, as in the call; 0 for types of unknown size */
    /* By sampled CUDA events: number of timed calls, their total time and total bytes. */
    uint64_t timed_calls, timed_ns, timed_bytes;
};

struct comms_event {
    uint64_t stamp; /* written last: 1 + the number of the event; other values: half written */
    uint64_t key;
    uint64_t time_ns; /* when it was enqueued */
    uint64_t bytes;
    uint64_t duration_ns; /* by sampled CUDA events; 0 = not timed */
    uint64_t sequence;    /* 1 + index among its member's collectives; 0 = no collective */
    uint64_t reserved[2]; /* fills a cache line, so that threads do not share one */
};

/*
 * What the kernel has counted so far for a thread that enqueues, at a call. `cpu_ns` and `queue_ns`
 * are those of that thread and of the process's first thread together: in PyTorch the first
 * thread works while the thread that enqueues sleeps, and the other way round.
 */
struct comms_look {
    uint64_t stamp; /* as of an event */
    uint64_t time_ns;
    uint64_t cpu_ns, queue_ns;         /* on a CPU, and in the run queue */
    uint64_t process_ns;               /* CPU time of the process */
    uint64_t major_faults, read_bytes; /* of the process; bytes from disks */
    uint64_t throttled_ns;             /* of the cgroup with the quota */
    uint32_t tid, member;
    uint32_t cpus; /* that the thread may run on */
    uint32_t reserved[13];
};

_Static_assert(sizeof(struct comms_header) == 384, "a part of the format");
_Static_assert(sizeof(struct comms_member) == 128, "a part of the format");
_Static_assert(sizeof(struct comms_counter) == 48, "a part of the format");
_Static_assert(sizeof(struct comms_event) == 64, "a part of the format");
_Static_assert(sizeof(struct comms_look) == 128, "a part of the format");

/* Offsets in a file. */
enum {
    COMMS_MEMBERS_AT = sizeof(struct comms_header),
    COMMS_COUNTERS_AT = COMMS_MEMBERS_AT + COMMS_MEMBERS * sizeof(struct comms_member),
    COMMS_EVENTS_AT = COMMS_COUNTERS_AT + COMMS_COUNTERS * sizeof(struct comms_counter),
    COMMS_LOOKS_AT = COMMS_EVENTS_AT + COMMS_EVENTS * sizeof(struct comms_event),
    COMMS_FILE_SIZE = COMMS_LOOKS_AT + COMMS_LOOKS * sizeof(struct comms_look)
};
_Static_assert(COMMS_EVENTS_AT % 64 == 0, "events begin with a cache line");

/* The constant part of a header of this version. */
static inline struct comms_header comms_header_begin(void)
{
    struct comms_header header = {.version = COMMS_VERSION,
                                  .order = COMMS_ORDER,
                                  .header_size = sizeof(struct comms_header),
                                  .member_size = sizeof(struct comms_member),
                                  .counter_size = sizeof(struct comms_counter),
                                  .event_size = sizeof(struct comms_event),
                                  .members = COMMS_MEMBERS,
                                  .counters = COMMS_COUNTERS,
                                  .events = COMMS_EVENTS,
                                  .file_size = COMMS_FILE_SIZE};
    memcpy(header.magic, COMMS_MAGIC, sizeof(header.magic));
    return header;
}

/*
 * Calls with different keys are counted separately. In a file a key is one word: one atomic
 * exchange claims a counter, and a killed writer leaves no half-written key.
 */
struct comms_key {
    uint32_t member;   /* its number in this file */
    uint32_t func;     /* enum comms_func */
    uint32_t datatype; /* enum comms_datatype */
    uint32_t algo;     /* enum comms_algo */
    uint32_t proto;    /* enum comms_proto */
    uint32_t bucket;   /* comms_bucket of the bytes, or COMMS_BUCKET_ANY */
    uint32_t channels; /* 0 = unknown; COMMS_CHANNELS_MOST = that many or more */
    uint32_t captured; /* 1: while a CUDA graph was captured */
    int32_t peer;      /* send and recv: the other rank, else the root; -1 = none */
};

enum {
    COMMS_BUCKET_ANY = 127,
    COMMS_CHANNELS_MOST = 127,
    COMMS_PEERS = (1 << 20) - 1 /* ranks that a key can name */
};

/* 0 bytes: 0; else 1 + log2, rounded down: bucket b > 0 has 2^(b-1) to 2^b - 1 bytes. */
static inline uint32_t comms_bucket(uint64_t bytes)
{
    return bytes ? 64 - (uint32_t)__builtin_clzll(bytes) : 0;
}

/* Bits from the lowest: used 1, member 12, func 5, datatype 4, algo 4, proto 2, bucket 7,
 * channels 7, captured 1, peer 20, one left. */
static inline uint64_t comms_key_pack(const struct comms_key *key)
{
    uint64_t peer = key->peer < 0 || key->peer >= COMMS_PEERS ? 0 : (uint64_t)key->peer + 1;
    return 1 | (uint64_t)(key->member & 4095) << 1 | (uint64_t)(key->func & 31) << 13 |
           (uint64_t)(key->datatype & 15) << 18 | (uint64_t)(key->algo & 15) << 22 |
           (uint64_t)(key->proto & 3) << 26 | (uint64_t)(key->bucket & 127) << 28 |
           (uint64_t)(key->channels & 127) << 35 | (uint64_t)(key->captured & 1) << 42 | peer << 43;
}

static inline struct comms_key comms_key_unpack(uint64_t word)
{
    return (struct comms_key){
        .member = (uint32_t)(word >> 1 & 4095),
        .func = (uint32_t)(word >> 13 & 31),
        .datatype = (uint32_t)(word >> 18 & 15),
        .algo = (uint32_t)(word >> 22 & 15),
        .proto = (uint32_t)(word >> 26 & 3),
        .bucket = (uint32_t)(word >> 28 & 127),
        .channels = (uint32_t)(word >> 35 & 127),
        .captured = (uint32_t)(word >> 42 & 1),
        .peer = (int32_t)(word >> 43 & COMMS_PEERS) - 1,
    };
}

#endif
