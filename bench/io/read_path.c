/*
 * Reading from a disk to memory: one data set by read, pread, mmap and O_DIRECT; blocks in order,
 * blocks in random order, and many small files; from the page cache and past it. Also measures the
 * CPU time per GB, readers that share their CPUs with busy threads, and the writing of a
 * checkpoint.
 *
 * **Measures** on CLOCK_MONOTONIC_RAW: `read_speed` = bytes asked for / time, `cpu_per_gb` = CPU
 * time of this process / the same bytes. `read_latency`: us per read. `cached_share`: share of the
 * data set in the page cache before the reads (mincore). `shared_speed`: of all `readers` together;
 * `load_share`: CPU time of the busy threads / the time that they ran. `write_speed`: of a new
 * file, writes and fsync included; `fsync_share`: share of fsync in that time. GB = 1e9. Keys:
 * how=read|pread|mmap, order=seq|random|files, cache=cold|warm|none (O_DIRECT); readers,
 * load=idle|busy.
 * **Source** fio: `--ioengine=psync|mmap --direct=1` are these ways; posix_fadvise gets the order
 * as from fio.
 * **Limits** Cold means that posix_fadvise has dropped the pages: the caches of the disk, its
 * controller and a hypervisor's host keep theirs. CPU time of interrupts and of the kernel's
 * writers is not included. Small files have no names and are opened by the links of /proc to their
 * descriptors, so the cost of a name is not included; it is highest on network file systems. A
 * checkpoint is not renamed, and its directory is not synced.
 */
#include <errno.h>
#include <stdlib.h>

#include "bench/common/team.h"
#include "bench/io/read_points.h"
#include "bench/registry.h"
#include "harness/lib/stats.h"

enum { MIB = 1 << 20, DATA_LEAST = 8 * MIB };

static const struct opt read_path_opts[] = {
    OPT_CHOICE("where", read_path_params, where, "here", place_names, "PLACE",
               "files: in the working directory, or in TMPDIR (/tmp)"),
    OPT_SIZE("size", read_path_params, size, "256M", DATA_LEAST, 1ull << 44, "BYTES",
             "of the data set, less where all would take more than a quarter of what is free"),
    OPT_SIZE("block", read_path_params, block, "128K", DATA_ALIGN, 16 * MIB, "BYTES",
             "of a read in order, and of a write"),
    OPT_SIZE("random_block", read_path_params, random_block, "4K", DATA_ALIGN, 16 * MIB, "BYTES",
             "of a read in random order"),
    OPT_SIZE("file", read_path_params, file, "64K", DATA_ALIGN, 16 * MIB, "BYTES",
             "of a small file"),
    OPT_INT("files", read_path_params, files, "256", 2, 100000, "N", "how many small files"),
    OPT_SIZE("checkpoint", read_path_params, checkpoint, "32M", MIB, 1ull << 36, "BYTES",
             "of a file that is written"),
    OPT_CHOICE("part", read_path_params, part, "all", read_part_names, "PART", "only this part"),
    OPT_CHOICE("how", read_path_params, how, "all", read_how_names, "WAY",
               "only this way to read, or to write (write, direct)"),
    OPT_CHOICE("cache", read_path_params, cache, "all", read_cache_names, "CACHE",
               "only out of a cold or warm page cache, or past it (none)"),
    {.name = NULL},
};

static const struct bench_dim read_path_dims[] = {
    [BY_HOW] = {"how", .labels = read_how_names + 1},
    [BY_ORDER] = {"order", .labels = read_part_names + 1},
    [BY_CACHE] = {"cache", .labels = read_cache_names + 1},
    [BY_STAT] = {"stat", .labels = LABELS("p50", "p99")},
    [BY_READERS] = {"readers"},
    [BY_LOAD] = {"load", .labels = LABELS("idle", "busy")},
    [BY_FS] = {"fs"}, /* the name of a file system */
    {.name = NULL},
};

static const struct bench_metric read_path_metrics[] = {
    [READ_SPEED] = {"read_speed", "GB/s", "higher", .gating = true},
    [CPU_PER_GB] = {"cpu_per_gb", "s/GB", "lower"},
    [LATENCY] = {"read_latency", "us", "lower", .hidden = true},
    [CACHED] = {"cached_share", "ratio", "none", .hidden = true},
    [SHARED_SPEED] = {"shared_speed", "GB/s", "higher"},
    [LOAD_SHARE] = {"load_share", "ratio", "higher"},
    [WRITE_SPEED] = {"write_speed", "GB/s", "higher", .gating = true},
    [FSYNC_SHARE] = {"fsync_share", "ratio", "none", .hidden = true},
    [WRITE_CPU] = {"write_cpu", "s/GB", "lower", .hidden = true},
    [DATA_SET] = {"data_set", "GB", "none"},
    {.name = NULL},
};

/* One figure per order: the bars of all orders would be too many to tell apart. */
#define SPEED_FIGURE(of_name, of_order, what)                                                      \
    {                                                                                              \
        .name = (of_name), .kind = FIGURE_BARS, .metric = "read_speed",                            \
        .only = &DIMS({BY_ORDER, of_order}), .title = what ", by the way they are read",           \
        .how = "One reader. Cold and warm are of the page cache, none is past it",                 \
        .x = {"way", BY_HOW}, .y = {"speed (GB/s)"}, .series = {                                   \
            BY_CACHE                                                                               \
        }                                                                                          \
    }

static const struct bench_figure read_path_figures[] = {
    SPEED_FIGURE("read_seq", PART_SEQUENTIAL, "blocks in order"),
    SPEED_FIGURE("read_random", PART_RANDOM, "blocks in random order"),
    SPEED_FIGURE("read_files", PART_FILES, "small files"),
    {.name = "read_cpu",
     .kind = FIGURE_BARS,
     .metric = "cpu_per_gb",
     .only = &DIMS({BY_ORDER, PART_SEQUENTIAL}),
     .title = "CPU time of a GB in order, by the way it is read",
     .how = "One reader. Cold and warm are of the page cache",
     .x = {"way", BY_HOW},
     .y = {"CPU time (s/GB)"},
     .series = {BY_CACHE}},
    {.name = NULL},
};

static int read_path_validate(const void *params, struct err *err)
{
    const struct read_path_params *p = params;
    const struct {
        const char *name;
        uint64_t bytes;
    } sizes[] = {{"block", p->block},
                 {"random_block", p->random_block},
                 {"file", p->file},
                 {"checkpoint", p->checkpoint}};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if (sizes[i].bytes % DATA_ALIGN)
            return err_set(err, -EINVAL, "%s must be a multiple of %d bytes, as O_DIRECT wants it",
                           sizes[i].name, DATA_ALIGN);
    return 0;
}

static int read_path_probe(struct bench_ctx *ctx)
{
    const struct read_path_params *params = ctx->params;
    struct place place;
    return place_open(&place, (enum place_where)params->where, ctx->err);
}

/* The sizes of the small files and the checkpoint are fixed; the data set takes what is left. */
static int choose_size(struct read_path *s, struct bench_ctx *ctx, uint64_t *bytes)
{
    const struct read_path_params *params = s->params;
    uint64_t others = params->checkpoint + (uint64_t)params->files * params->file;
    uint64_t unit = params->block > MIB ? params->block : MIB, all;
    int rc = place_fit(&s->place, others + DATA_LEAST, others + params->size, 1, ctx->workers, &all,
                       ctx->err);
    *bytes = rc ? 0 : (all - others) / unit * unit;
    if (!rc && !*bytes)
        rc = err_set(ctx->err, -ENOTSUP, "not even one block of data fits in %s",
                     s->place.directory);
    return rc;
}

static uint32_t *draw_order(struct bench_ctx *ctx, uint64_t seed, size_t n)
{
    size_t *order = bench_array(ctx, n, sizeof(*order));
    uint32_t *drawn = bench_array(ctx, n, sizeof(*drawn));
    if (!order || !drawn)
        return NULL;
    random_shuffle(seed, n, order);
    for (size_t i = 0; i < n; i++)
        drawn[i] = (uint32_t)order[i];
    return drawn;
}

static int make_data(struct read_path *s, struct bench_ctx *ctx)
{
    const struct read_path_params *params = s->params;
    unsigned nfiles = (unsigned)params->files;
    uint64_t bytes;
    int rc = place_open(&s->place, (enum place_where)params->where, ctx->err);
    if (!rc)
        rc = choose_size(s, ctx, &bytes);
    if (!rc)
        rc = data_make(&s->whole, &s->place, 1, bytes, ctx->seed, ctx->err);
    if (!rc)
        rc = data_make(&s->small, &s->place, nfiles, params->file, ctx->seed + 1, ctx->err);
    if (rc)
        return rc;
    if (bytes / params->random_block > UINT32_MAX)
        return err_set(ctx->err, -EINVAL, "size has too many blocks of random_block bytes");
    s->nrandom = bytes / params->random_block;
    s->random_order = draw_order(ctx, ctx->seed, s->nrandom);
    s->file_order = draw_order(ctx, ctx->seed + 1, nfiles);
    s->content = data_buffer(params->checkpoint);
    if (!s->random_order || !s->file_order)
        return -ENOMEM;
    if (!s->content)
        return err_set(ctx->err, -ENOMEM, "cannot allocate the content of a checkpoint");
    data_fill(s->content, params->checkpoint, 0, ctx->seed);
    return 0;
}

static int read_path_setup(struct bench_ctx *ctx)
{
    struct read_path *s = ctx->state;
    s->params = ctx->params;
    s->readers = bench_array(ctx, ctx->machine->ncpus, sizeof(*s->readers));
    s->results = bench_array(ctx, ctx->machine->ncpus, sizeof(*s->results));
    if (!s->readers || !s->results)
        return -ENOMEM;
    int rc = make_data(s, ctx);
    if (rc)
        return rc;
    read_points_list(s, ctx);
    return team_open_all(&s->team, ctx);
}

static void read_path_teardown(struct bench_ctx *ctx)
{
    struct read_path *s = ctx->state;
    data_free(&s->small);
    data_free(&s->whole);
    free(s->content);
}

static int read_path_scan(struct bench_ctx *ctx)
{
    const struct read_path *s = ctx->state;
    int rc = read_points_run(ctx);
    if (!rc)
        bench_emit(ctx, DATA_SET, (double)s->whole.file_bytes / 1e9,
                   dims_with_text(NO_DIMS, BY_FS, s->place.file_system));
    return rc;
}

const struct bench bench_read_path = {
    .name = "read_path",
    .summary = "one data set by read, pread, mmap and O_DIRECT, cold and warm; fsync",
    .opts = read_path_opts,
    .params_size = sizeof(struct read_path_params),
    .metrics = read_path_metrics,
    .dims = read_path_dims,
    .figures = read_path_figures,
    .validate = read_path_validate,
    .probe = read_path_probe,
    .state_size = sizeof(struct read_path),
    .setup = read_path_setup,
    .scan = read_path_scan,
    .teardown = read_path_teardown,
};
