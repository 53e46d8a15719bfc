/* The four scans of memory through the contract. */
#include "bench/common/memory.h"
#include "bench/registry.h"
#include "kernels/cpu/chase.h"
#include "kernels/cpu/stream.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/unit.h"

enum { KIB = 1 << 10, MIB = 1 << 20 };

ON_THIS_MACHINE

static void assert_positive(double value)
{
    assert_true(isfinite(value) && value > 0);
}

/* The value at a key given in printf form, which must exist. */
__attribute__((format(printf, 3, 4))) static double
value_at(const struct scan *scan, const char *metric, const char *key_fmt, ...)
{
    char key[96];
    va_list args;
    va_start(args, key_fmt);
    (void)vsnprintf(key, sizeof(key), key_fmt, args);
    va_end(args);
    double value = scan_value(scan, metric, key);
    if (!isfinite(value))
        fail_msg("%s at %s is %g", metric, key, value);
    return value;
}

static void assert_check_fails(struct scan *scan, const char *message)
{
    assert_int_equal(scan->bench->check(&scan->ctx), -EBADMSG);
    assert_has(scan->err.msg, message);
}

/* The published buffer is const for the harness; the test breaks it on purpose. */
static void *buffer_of(const struct scan *scan)
{
    assert_non_null(scan->ctx.buffer);
    return (void *)(uintptr_t)scan->ctx.buffer;
}

/* Expects that validate rejects these parameters, others at their defaults. */
static void assert_invalid(const struct bench *bench, const char *const *pairs, const char *message)
{
    struct scan scan;
    (void)scan_probe(&scan, bench, &machine, pairs);
    scan.err = (struct err){0};
    assert_int_equal(bench->validate(scan.params, &scan.err), -EINVAL);
    assert_string_equal(scan.err.msg, message);
}

static void assert_unsupported(const struct bench *bench, const struct bench_machine *on,
                               const char *const *pairs, const char *message)
{
    struct scan scan;
    assert_int_equal(scan_probe(&scan, bench, on, pairs), -ENOTSUP);
    assert_has(scan.err.msg, message);
}

/* Expects that the parser rejects the pair with `message`, before any probe. */
static void assert_refused(const struct bench *bench, const char *pair, const char *message)
{
    _Alignas(16) char params[BENCH_PARAMS_MAX] = {0};
    struct err err = {0};
    opts_set_defaults(bench->opts, params);
    assert_int_equal(opts_set_pair(bench->opts, params, pair, &err), -EINVAL);
    assert_has(err.msg, message);
}

static void assert_cached(const struct scan *scan, const char *metric, const char *key)
{
    const char *doubt = scan_reason(scan, metric, key);
    if (!doubt || !strstr(doubt, " below twice the 32 MiB of "))
        fail_msg("%s at %s: \"%s\"", metric, key, doubt ? doubt : "no doubt");
}

TEST(mem_bandwidth_every_kernel)
{
    ENDED_BY(scan_end) struct scan scan;
    const char *const pairs[] = {"size=1000K", NULL};
    scan_run(&scan, &bench_mem_bandwidth, &machine, pairs, 0.1);
    unsigned counts[] = {1, machine.ncpus}, ncounts = machine.ncpus > 1 ? 2 : 1;
    static const char *const stores[] = {"plain", "nt"};
    static const char *const names[] = {"read", "write", "copy", "scale", "add", "triad"};
    size_t points = 0;
    for (unsigned c = 0; c < ncounts; c++)
        for (int op = 0; op < STREAM_OPS; op++)
            for (int store = 0; store < STREAM_STORES; store++) {
                if (!stream_isa_best()->kernel[op][store])
                    continue;
                const char *kind = op == STREAM_READ ? "none" : stores[store];
                const char *name = names[op];
                double median = value_at(&scan, "bandwidth", "op=%s;stores=%s;threads=%u", name,
                                         kind, counts[c]);
                double best = value_at(&scan, "bandwidth_best", "op=%s;stores=%s;threads=%u", name,
                                       kind, counts[c]);
                assert_positive(median);
                assert_true(best >= median && best < 1e5);
                points++;
            }
    assert_int_equal(scan_count(&scan, "bandwidth"), points);
    assert_int_equal(scan_count(&scan, "bandwidth_best"), points);
    assert_int_equal((int)value_at(&scan, "array_bytes", "%s", ""), 1000 * KIB);
    double per_cache = value_at(&scan, "array_per_cache", "%s", "");
    assert_true(fabs(per_cache - 1000.0 / (32 * KIB)) < 1e-12);
    double share = value_at(&scan, "page_share", "pages=thp");
    assert_true(share >= 0 && share <= 1);
}

TEST(mem_bandwidth_one_kernel)
{
    ENDED_BY(scan_end) struct scan scan;
    const char *const pairs[] = {"size=64K",  "op=triad", "stores=plain",
                                 "threads=1", "pages=4k", NULL};
    scan_run(&scan, &bench_mem_bandwidth, &machine, pairs, 0.01);
    assert_int_equal(scan_count(&scan, "bandwidth"), 1);
    assert_positive(value_at(&scan, "bandwidth", "op=triad;stores=plain;threads=1"));
    assert_cached(&scan, "bandwidth", "op=triad;stores=plain;threads=1");
    assert_cached(&scan, "bandwidth_best", "op=triad;stores=plain;threads=1");
    assert_true(value_at(&scan, "page_share", "pages=4k") == 1);
}

/* The array is twice the cache that one thread reaches, though the machine has two such caches. */
TEST(mem_bandwidth_of_memory_is_not_doubted)
{
    ENDED_BY(scan_end) struct scan scan;
    static struct bench_machine two;
    const char *const pairs[] = {"size=64M", "op=read", "threads=1", NULL};
    two = machine;
    for (unsigned cpu = 1; cpu < two.ncpus; cpu++)
        two.cpus[cpu].llc = 1;
    scan_run(&scan, &bench_mem_bandwidth, &two, pairs, 0.01);
    assert_positive(value_at(&scan, "bandwidth", "op=read;stores=none;threads=1"));
    assert_null(scan_reason(&scan, "bandwidth", "op=read;stores=none;threads=1"));
}

TEST(mem_bandwidth_check_finds_a_wrong_element)
{
    ENDED_BY(scan_end) struct scan scan;
    const char *const pairs[] = {"size=1000K", NULL};
    scan_run(&scan, &bench_mem_bandwidth, &machine, pairs, 0.01);
    static const size_t places[] = {0, 777, 1000 * KIB / 8 - 1};
    for (int array = 0; array < 3; array++)
        for (int p = 0; p < 3; p++) {
            /* Arrays start at multiples of 2 MiB. */
            double *at = (double *)buffer_of(&scan) + array * 2 * MIB / 8 + places[p];
            double kept = *at;
            char message[96];
            *at = p == 2 ? NAN : kept + 1e-6;
            put_text(message, "1 of 128000 elements of array %c are wrong: [%zu] is ", 'a' + array,
                     places[p]);
            assert_check_fails(&scan, message);
            *at = kept;
            assert_int_equal(scan.bench->check(&scan.ctx), 0);
        }
}

TEST(mem_bandwidth_refuses)
{
    const struct bench *bench = &bench_mem_bandwidth;
    char message[64];
    assert_invalid(bench, (const char *const[]){"op=read", "stores=nt", NULL},
                   "op read has no non-temporal stores");
    put_text(message, "1024 threads on %u CPUs", machine.ncpus);
    assert_unsupported(bench, &machine, (const char *const[]){"threads=1024", NULL}, message);
    assert_unsupported(bench, &machine, (const char *const[]){"size=20T", NULL},
                       "mem_bandwidth needs 60 TiB of memory");
    const char *const strange = stream_isa_find("neon") ? "isa=avx2" : "isa=neon";
    assert_unsupported(bench, &machine, (const char *const[]){strange, NULL}, "this CPU has no ");
    assert_refused(bench, "size=1K", "size");
    assert_refused(bench, "op=swap", "triad");
    assert_refused(bench, "pages=8k", "hugetlb");
    assert_refused(bench, "threads=-1", "threads");
}

/* 4 KiB, 6 KiB, ... 256 KiB: two sizes an octave. */
TEST(mem_latency_every_size)
{
    ENDED_BY(scan_end) struct scan scan;
    const char *const pairs[] = {"max=256K", NULL};
    scan_run(&scan, &bench_mem_latency, &machine, pairs, 0.1);
    size_t huge = scan_value(&scan, "page_share", "pages=thp") >= 0.9;
    size_t pool = scan_value(&scan, "page_share", "pages=hugetlb") >= 0.9;
    assert_true(value_at(&scan, "page_share", "pages=4k") == 1);
    for (unsigned size = 4 * KIB; size <= 256 * KIB; size *= 2) {
        assert_positive(value_at(&scan, "latency", "size=%u;pages=4k", size));
        if (size < 256 * KIB)
            assert_positive(value_at(&scan, "latency", "size=%u;pages=4k", size / 2 * 3));
        if (huge)
            assert_positive(value_at(&scan, "latency", "size=%u;pages=thp", size));
        if (huge || pool)
            (void)value_at(&scan, "tlb_cost", "size=%u", size);
    }
    assert_int_equal(scan_count(&scan, "latency"), 13 * (1 + huge + pool));
    assert_int_equal(scan_count(&scan, "tlb_cost"), huge || pool ? 13 : 0);
    assert_int_equal((int)value_at(&scan, "cache_size_reported", "level=3"), 32 * MIB);
    assert_int_equal((int)value_at(&scan, "cache_size_reported", "level=1"), 32 * KIB);
}

/* If a lap takes longer than its slice, the scan says so: caches still hold the start of the last
 * pass in order. */
TEST(mem_latency_says_what_was_walked)
{
    ENDED_BY(scan_end) struct scan scan;
    scan_run(&scan, &bench_mem_latency, &machine, (const char *const[]){"max=4M", "pages=4k", NULL},
             0.001);
    assert_true(value_at(&scan, "walked_share", "size=%u;pages=4k", 4 * MIB) < 1);
    scan_end(&scan);
    scan_run(&scan, &bench_mem_latency, &machine, (const char *const[]){"max=4K", "pages=4k", NULL},
             0.1);
    assert_true(value_at(&scan, "walked_share", "size=%u;pages=4k", 4 * KIB) == 1);
}

/* Sizes are whole lines, each once, for any ends of the range. */
TEST(mem_latency_odd_ranges)
{
    static const struct {
        const char *min, *max;
        size_t sizes;
        unsigned first, last;
    } ranges[] = {
        {"min=4096", "max=4096", 1, 4096, 4096},   {"min=4096", "max=4100", 1, 4096, 4096},
        {"min=5000", "max=9000", 4, 4992, 8960},   {"min=4099", "max=8200", 3, 4096, 8192},
        {"min=6145", "max=12289", 3, 6144, 12288}, {"min=8192", "max=8256", 2, 8192, 8256},
    };
    for (int i = 0; i < 6; i++) {
        ENDED_BY(scan_end) struct scan scan;
        const char *const pairs[] = {ranges[i].min, ranges[i].max, "pages=4k", NULL};
        scan_run(&scan, &bench_mem_latency, &machine, pairs, 0.001);
        assert_int_equal(scan_count(&scan, "latency"), ranges[i].sizes);
        assert_positive(value_at(&scan, "latency", "size=%u;pages=4k", ranges[i].first));
        assert_positive(value_at(&scan, "latency", "size=%u;pages=4k", ranges[i].last));
    }
}

TEST(mem_latency_check_finds_a_broken_chain)
{
    ENDED_BY(scan_end) struct scan scan;
    const char *const pairs[] = {"max=64K", "pages=4k", NULL};
    scan_run(&scan, &bench_mem_latency, &machine, pairs, 0.01);
    struct chase_line *memory = buffer_of(&scan), *kept = memory[5].next;
    memory[5].next = memory + 1024;
    assert_check_fails(&scan, "line 5 of 1024 (4k pages) leads outside the chain");
    memory[5].next = memory[900].next;
    assert_check_fails(&scan, "line 900 of 1024 (4k pages) leads outside the chain");
    /* Every line is the target of one link, but the links form two cycles. */
    memory[5].next = memory[900].next;
    memory[900].next = kept;
    assert_check_fails(&scan, "the chain of 1024 lines (4k pages) is not one cycle");
}

TEST(mem_latency_refuses)
{
    const struct bench *bench = &bench_mem_latency;
    assert_invalid(bench, (const char *const[]){"min=2M", "max=1M", NULL},
                   "min 2097152 is larger than max 1048576");
    if (memory_available_bytes() < UINT64_C(128) << 30)
        assert_unsupported(bench, &machine, (const char *const[]){"max=128G", NULL},
                           "max 128 GiB (in 2 kinds of pages) needs 256 GiB of memory");
    assert_refused(bench, "max=4095", "max");
    assert_refused(bench, "max=1T", "max");
    assert_refused(bench, "pages=1g", "hugetlb");
}

static void run_loaded(const char *how, const char *inject)
{
    ENDED_BY(scan_end) struct scan scan;
    const char *const pairs[] = {"size=1M", inject, NULL};
    if (machine.ncpus < 2)
        skip();
    scan_run(&scan, &bench_loaded_latency, &machine, pairs, 0.2);
    assert_int_equal(scan_count(&scan, "loaded_latency"), 12);
    assert_int_equal(scan_count(&scan, "loaded_bandwidth"), 12);
    for (int step = 0; step < 12; step++) {
        assert_positive(value_at(&scan, "loaded_latency", "inject=%s;step=%02d", how, step));
        /* If another test occupies an injector's CPU, it may move nothing in a short interval. */
        assert_true(value_at(&scan, "loaded_bandwidth", "inject=%s;step=%02d", how, step) >= 0);
    }
    assert_true(value_at(&scan, "loaded_bandwidth", "inject=%s;step=00", how) == 0);
    char key[32];
    put_text(key, "inject=%s;step=11", how);
    assert_cached(&scan, "loaded_latency", key);
    assert_cached(&scan, "loaded_bandwidth", key);
    double idle = value_at(&scan, "loaded_latency", "inject=%s;step=00", how);
    double full = value_at(&scan, "loaded_latency", "inject=%s;step=11", how);
    double retention = value_at(&scan, "retention", "inject=%s", how);
    assert_true(fabs(retention - idle / full) < 1e-9 * retention);
    assert_int_equal((int)value_at(&scan, "set_bytes", "%s", ""), MIB);
    assert_true(scan_count(&scan, "knee_bandwidth") <= 1);

    struct chase_line *memory = buffer_of(&scan);
    memory[5].next = memory;
    assert_check_fails(&scan, " of 16384 leads outside the chain, or where another does");
}

TEST(loaded_latency_reads)
{
    run_loaded("r", "inject=r");
}

TEST(loaded_latency_reads_and_writes)
{
    run_loaded("rw", "inject=rw");
    run_loaded("rrw", "inject=rrw");
}

TEST(loaded_latency_refuses)
{
    const struct bench *bench = &bench_loaded_latency;
    static struct bench_machine single;
    single = machine;
    single.ncpus = 1;
    assert_unsupported(bench, &single, (const char *const[]){NULL},
                       "one CPU: there is none to make load");
    single.ncpus = 2;
    assert_unsupported(bench, &single, (const char *const[]){"size=16T", NULL},
                       "loaded_latency needs 32 TiB of memory");
    assert_refused(bench, "size=1000K", "size");
    assert_refused(bench, "inject=w", "rrw");
}

/* Containers may refuse these calls, and node 0, the fixture's node, may not be allowed. */
static bool has_numa_calls(void)
{
    struct scan scan;
    return scan_probe(&scan, &bench_numa_matrix, &machine, (const char *const[]){NULL}) == 0;
}

TEST(numa_matrix_one_node)
{
    ENDED_BY(scan_end) struct scan scan;
    const char *const pairs[] = {"size=4M", NULL};
    static struct bench_machine unnamed;
    if (!has_numa_calls())
        skip();
    unnamed = machine;
    for (unsigned cpu = 0; cpu < unnamed.ncpus; cpu++)
        unnamed.cpus[cpu].os_node = -1;
    scan_run(&scan, &bench_numa_matrix, &unnamed, pairs, 0.05);
    assert_int_equal(scan_count(&scan, "node_bandwidth"), 1);
    assert_int_equal(scan_count(&scan, "node_latency"), 1);
    assert_positive(value_at(&scan, "node_bandwidth", "from=0;to=0"));
    assert_positive(value_at(&scan, "node_latency", "from=0;to=0"));
    assert_cached(&scan, "node_bandwidth", "from=0;to=0");
    assert_cached(&scan, "node_latency", "from=0;to=0");
    assert_true(value_at(&scan, "pages_on_node", "to=0") == 1);
    assert_int_equal((int)value_at(&scan, "node_bytes", "to=0"), 4 * MIB);
}

/* All CPUs belong to another node, whose memory may not be used. */
TEST(numa_matrix_nodes_without_cpus_have_no_from)
{
    ENDED_BY(scan_end) struct scan scan;
    static struct bench_machine bare;
    const char *const pairs[] = {"size=2M", NULL};
    if (!has_numa_calls())
        skip();
    bare = machine;
    for (unsigned cpu = 0; cpu < bare.ncpus; cpu++)
        bare.cpus[cpu].os_node = 7;
    scan_run(&scan, &bench_numa_matrix, &bare, pairs, 0.01);
    assert_int_equal(scan_count(&scan, "node_bandwidth"), 0);
    assert_int_equal(scan_count(&scan, "node_latency"), 0);
    assert_int_equal(scan_count(&scan, "pages_on_node"), 1);
}

TEST(numa_matrix_refuses)
{
    static struct bench_machine odd;
    odd = machine;
    odd.nnodes = 0;
    assert_unsupported(&bench_numa_matrix, &odd, (const char *const[]){NULL},
                       "the system names no NUMA node");
    odd.nnodes = 1;
    odd.nodes[0].os_node = 5000;
    assert_unsupported(&bench_numa_matrix, &odd, (const char *const[]){NULL},
                       "node 5000: at most 1023 are supported");
    odd.nodes[0].os_node = 1000; /* beyond any machine */
    assert_unsupported(&bench_numa_matrix, &odd, (const char *const[]){NULL},
                       "cannot bind memory to node 1000");
    assert_refused(&bench_numa_matrix, "size=64K", "size");
    if (has_numa_calls() && memory_available_bytes() < UINT64_C(1) << 40)
        assert_unsupported(&bench_numa_matrix, &machine, (const char *const[]){"size=1T", NULL},
                           "numa_matrix needs 1 TiB of memory");
}
