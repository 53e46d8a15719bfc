/* The points of the benchmark `read_path`: lists, measures and emits them. */
#ifndef CONTEND_BENCH_IO_READ_POINTS_H
#define CONTEND_BENCH_IO_READ_POINTS_H

#include "bench/common/team.h"
#include "bench/io/data.h"
#include "bench/io/reader.h"
#include "harness/engine/contract/bench.h"

/* Writes a checkpoint: a new file, from memory, that is on the device once fsync returns. */
enum write_way {
    WRITE_WRITE,  /* write(2) into the page cache, fsync */
    WRITE_DIRECT, /* O_DIRECT, one block at a time, fsync */
    WRITE_WAYS
};

struct writer_plan {
    const struct place *place; /* borrowed, like `content` */
    const void *content;       /* of data_fill, from offset 0 */
    enum write_way way;
    uint64_t bytes, seed;
    size_t block_bytes;
};

/* Sums over runs. Times cover only the writes and fsync. */
struct written {
    uint64_t bytes, elapsed_ns, fsync_ns, cpu_ns; /* cpu_ns: of the whole process */
};

struct read_path_params {
    uint64_t size, block, random_block, file, checkpoint;
    int64_t files;
    int where, part, how, cache;
};

/* Indices of the dimensions. */
enum { BY_HOW = 1, BY_ORDER, BY_CACHE, BY_STAT, BY_READERS, BY_LOAD, BY_FS };

/* Indices of the metrics. */
enum {
    READ_SPEED,
    CPU_PER_GB,
    LATENCY,
    CACHED,
    SHARED_SPEED,
    LOAD_SHARE,
    WRITE_SPEED,
    FSYNC_SHARE,
    WRITE_CPU,
    DATA_SET
};

/* Choices of options: "all", then the parts, ways or kinds of cache. NULL-terminated. */
extern const char *const read_part_names[];
extern const char *const read_how_names[];
extern const char *const read_cache_names[];

enum read_part { PART_SEQUENTIAL, PART_RANDOM, PART_FILES, PART_SHARED, PART_WRITE };
enum read_cache { CACHE_COLD, CACHE_WARM, CACHE_NONE };

struct read_point {
    enum read_part part;
    unsigned way; /* enum read_way; enum write_way for PART_WRITE */
    enum read_cache cache;
    unsigned readers;
    bool busy;

    /* Results; none if absent.code is not 0. */
    struct err absent;
    double speed, cpu_per_gb, cached; /* GB/s, s/GB, share 0..1; NaN: unknown */
    double latency_us[2];             /* latency of a read: p50, p99 */
    double load_share, fsync_share;
    char doubt[120];
};

enum { READ_POINTS_MOST = 32 };

struct read_path {
    const struct read_path_params *params;
    struct place place;
    struct data whole, small;
    uint32_t *random_order, *file_order;
    size_t nrandom; /* blocks in random order */
    void *content;  /* of a checkpoint */
    struct team team;
    struct io_reader *readers; /* [CPUs], of the current point */
    struct err *results;       /* [CPUs], of these readers */
    size_t npoints, first; /* first: the first warm point; in a run, first of the group that runs */
    struct read_point points[READ_POINTS_MOST];
    double slice_s;
};

/* Lists the points that the parameters ask for. Points on a warm page cache come last. */
void read_points_list(struct read_path *s, const struct bench_ctx *ctx);

/* Measures and emits all points. 0, or the first error with its reason. */
int read_points_run(struct bench_ctx *ctx);

#endif
