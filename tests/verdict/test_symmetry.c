/* Which units are compared with each other, and the text about it. */
#include "harness/verdict/symmetry.h"

#include "bench/registry.h"
#include "harness/show/doc.h"
#include "harness/show/json/forms.h"
#include "harness/verdict/odd.h"
#include "tests/lib/fixture_dims.h"
#include "tests/lib/unit.h"

/* Rows made by hand; sheet_new ends the ones before. */
static struct sheet {
    struct rows rows;
    struct row row[1000];
    struct arm arms[64]; /* one for each benchmark, and one for metrics without a benchmark */
    struct topo topo;
    struct symmetry symmetry;
    struct findings findings;
} * sheet;

static void sheet_free(void)
{
    if (!sheet)
        return;
    symmetry_free(&sheet->symmetry);
    findings_free(&sheet->findings);
    free(sheet->topo.gpus);
    free(sheet->topo.nodes);
    free(sheet);
}

static void sheet_new(unsigned gpus)
{
    sheet_free();
    sheet = calloc(1, sizeof(*sheet));
    assert_non_null(sheet);
    sheet->rows.row = sheet->row;
    sheet->topo.gpus = calloc(gpus + 1, sizeof(*sheet->topo.gpus));
    sheet->topo.nodes = calloc(2, sizeof(*sheet->topo.nodes));
    assert_true(sheet->topo.gpus && sheet->topo.nodes);
    sheet->topo.ngpus = gpus;
    sheet->topo.nnodes = 2;
    sheet->topo.nodes[1].os_node = 1;
    for (unsigned i = 0; i < gpus; i++) {
        struct topo_gpu *gpu = &sheet->topo.gpus[i];
        gpu->cuda_ordinal = (int)i;
        gpu->node = -1;
        put_text(gpu->pci_bdf, "0000:00:%02x.0", i + 6);
    }
}

/* The arm of the benchmark that has the metric, which defines what is compared. */
static struct arm *arm_of(const char *metric)
{
    static const struct bench none = {.name = "none"};
    struct arm *arm = sheet->arms;
    for (const struct bench *const *bench = bench_registry; *bench; bench++, arm++) {
        arm->bench = *bench;
        if (bench_metric_find(*bench, metric))
            return arm;
    }
    arm->bench = &none;
    return arm;
}

__attribute__((format(printf, 4, 5))) static void add(const char *metric, const char *better,
                                                      double value, const char *key_fmt, ...)
{
    assert_true(sheet->rows.n < sizeof(sheet->row) / sizeof(sheet->row[0]));
    struct row *row = &sheet->row[sheet->rows.n++];
    char key[DIMS_KEY_MAX];
    va_list args;
    va_start(args, key_fmt);
    int length = vsnprintf(key, sizeof(key), key_fmt, args);
    va_end(args);
    assert_in_range(length, 0, DIMS_KEY_MAX - 1);
    *row = (struct row){.bench = "fake", .placement = "none", .metric = metric};
    row->arm = arm_of(metric);
    row->better = better;
    row->median = value;
    row->ci_low = row->ci_high = NAN;
    row->dims = dims_parse(row->arm->bench, key);
    put_text(row->unit, "%s", strcmp(better, "lower") ? "GB/s" : "us");
}

static void add_copies(const char *dir, double good, unsigned bad, double bad_value)
{
    for (unsigned gpu = 0; gpu < sheet->topo.ngpus; gpu++)
        add("copy_bandwidth", "higher", gpu == bad ? bad_value : good + 0.1 * gpu,
            "dir=%s;gpu=%u;node=0;mem=pinned;via=ce;with=alone", dir, gpu);
}

static void make(void)
{
    const struct symmetry_distance distance = symmetry_topo_distance(&sheet->topo);
    symmetry_free(&sheet->symmetry);
    assert_int_equal(symmetry_make(&sheet->rows, &distance, &sheet->symmetry, NULL), 0);
    findings_free(&sheet->findings);
    symmetry_findings(&sheet->symmetry, &sheet->topo, &sheet->findings);
}

/* The printed text; each line must fit 80 columns. */
static char *format_findings(void)
{
    char *text = NULL;
    FILE *out = unit_print_into(&text);
    doc_print_findings(&sheet->findings, out, false);
    assert_int_equal(fclose(out), 0);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_in_range(strcspn(line, "\n"), 0, 80);
    return text;
}

static void assert_symmetry(const char *expected)
{
    make();
    FREED char *text = format_findings();
    assert_string_equal(text, expected);
}

static void assert_finding(size_t at, const char *id, enum finding_severity severity,
                           const char *subject)
{
    assert_in_range(at, 0, sheet->findings.n - 1);
    assert_string_equal(sheet->findings.all[at].id, id);
    assert_int_equal(sheet->findings.all[at].severity, severity);
    assert_string_equal(sheet->findings.all[at].subject, subject);
}

TEST(symmetry_name_a_gpu)
{
    sheet_new(4);
    add_copies("h2d", 56.8, 2, 14.1);
    add_copies("d2h", 56.8, 2, 20.0);
    for (unsigned gpu = 0; gpu < 4; gpu++)
        add("launch_latency", "lower", gpu == 1 ? 9.0 : 5.0, "how=empty;gpu=%u", gpu);
    assert_symmetry(
        "\n! GPU 2 (0000:00:08.0): copy_bandwidth h2d node 0 pinned ce alone: 14.1 GB/s is\n"
        "  0.25 of its peers' 56.9 GB/s; odd in 1 other comparison too\n"
        "! GPU 1 (0000:00:07.0): launch_latency empty: 9.00 us is 1.80 of its peers'\n"
        "  5.00 us\n");
    assert_finding(0, "unit_odd", FINDING_BAD, "GPU 2 (0000:00:08.0)");
    assert_string_equal(sheet->findings.all[0].evidence, "ratio 0.248, z -50.7, 4 units");
    assert_finding(1, "unit_odd", FINDING_BAD, "GPU 1 (0000:00:07.0)");
    assert_string_equal(sheet->findings.all[1].evidence, "ratio 0.556, z -54, 4 units");
}

TEST(symmetry_say_that_all_is_well)
{
    sheet_new(4);
    assert_symmetry("");
    /* Metrics that belong to no unit, or for which neither direction is better. */
    add("read_bandwidth", "higher", 10, "threads=1");
    add("matmul_rate", "none", 10, "gpu=0");
    add("matmul_rate", "none", 100, "gpu=1");
    add("gpu_temperature", "lower", 40, "gpu=0");
    add("gpu_temperature", "lower", 70, "gpu=1");
    for (unsigned gpu = 0; gpu < 4; gpu++) {
        add("launch_latency", "lower", 9 + 9 * gpu, "stat=p99;load=idle;gpu=%u", gpu);
        add("launch_latency", "lower", 9 + 9 * gpu, "stat=p50;load=all;gpu=%u", gpu);
    }
    assert_symmetry("");
    add_copies("h2d", 50, 9, 0);
    assert_symmetry("\n- symmetry: 4 GPUs within 0.6% of each other in 1 comparison\n");
    add_copies("d2h", 50, 3, 53);
    assert_symmetry("\n- symmetry: 4 GPUs within 6.0% of each other in 2 comparisons, the widest:\n"
                    "  copy_bandwidth d2h node 0 pinned ce alone\n");
    assert_finding(0, "units_alike", FINDING_NOTE, "symmetry");
}

TEST(symmetry_of_two_judge_nobody)
{
    sheet_new(2);
    add_copies("h2d", 57, 1, 14.1);
    assert_symmetry(
        "\n~ symmetry: copy_bandwidth h2d node 0 pinned ce alone: GPU 1 (0000:00:07.0) has\n  14.1 "
        "GB/s, GPU 0 (0000:00:06.0) has 57.0 GB/s; with two, either may be the\n  odd one\n");
    assert_finding(0, "units_differ", FINDING_DOUBT, "symmetry");
}

/* `slow` says which ordered pairs are slow. */
static void add_pairs(bool (*slow)(unsigned src, unsigned dst))
{
    for (unsigned src = 0; src < sheet->topo.ngpus; src++)
        for (unsigned dst = 0; dst < sheet->topo.ngpus; dst++)
            if (src != dst)
                add("copy_bandwidth", "higher", slow(src, dst) ? 100 : 390 + src + dst,
                    "dir=d2d;src=%u;dst=%u;via=ce;op=read", src, dst);
}

static bool slow_gpu(unsigned src, unsigned dst)
{
    return src == 1 || dst == 1;
}

static bool slow_sender(unsigned src, unsigned dst)
{
    return src == 1 && dst < 99;
}

static bool slow_receiver(unsigned src, unsigned dst)
{
    return dst == 1 && src < 99;
}

static bool slow_pair(unsigned src, unsigned dst)
{
    return src == 1 && dst == 2;
}

TEST(symmetry_blame_gpu_direction_or_pair)
{
    static const struct {
        bool (*slow)(unsigned src, unsigned dst);
        enum symmetry_kind kind;
        int other;
    } cases[] = {{slow_gpu, SYMMETRY_GPU, -1},
                 {slow_sender, SYMMETRY_FROM, -1},
                 {slow_receiver, SYMMETRY_TO, -1},
                 {slow_pair, SYMMETRY_PAIR, 2}};
    for (unsigned gpus = 3; gpus <= 16; gpus++)
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
            sheet_new(gpus);
            add_pairs(cases[i].slow);
            make();
            assert_int_equal(sheet->symmetry.n, 1);
            const struct symmetry_comparison *c = sheet->symmetry.all;
            assert_int_equal(c->verdict, OUTLIER_ODD);
            assert_int_equal(c->nodd, 1);
            assert_int_equal(c->odd[0].kind, cases[i].kind);
            assert_int_equal(c->odd[0].id, 1);
            assert_int_equal(c->odd[0].other, cases[i].other);
        }
}

/* One of two bridges is missing: the GPUs form two groups, which the many slow pairs do not
 * show. */
TEST(symmetry_keep_the_split_of_views)
{
    sheet_new(4);
    for (unsigned src = 0; src < 4; src++)
        for (unsigned dst = 0; dst < 4; dst++)
            if (src != dst)
                add("copy_bandwidth", "higher", src + dst == 1 ? 200 : 25, "dir=d2d;src=%u;dst=%u",
                    src, dst);
    assert_symmetry("\n~ symmetry: copy_bandwidth d2d: 2 of 4 GPUs do not reach the others' 200 "
                    "GB/s:\n  groups rather than outliers\n");
    assert_int_equal(sheet->symmetry.all[0].verdict, OUTLIER_SPLIT);
    assert_int_equal(sheet->symmetry.all[0].n, 12);
}

TEST(symmetry_tell_pairs)
{
    sheet_new(4);
    add_pairs(slow_pair);
    assert_symmetry(
        "\n! GPU 1 to GPU 2: copy_bandwidth d2d ce read: 100 GB/s is 0.25 of its peers'\n"
        "  393 GB/s\n");
    assert_string_equal(sheet->findings.all[0].evidence, "ratio 0.254, z -50.3, 12 pairs");
    sheet->rows.n = 0;
    add_pairs(slow_sender);
    assert_symmetry(
        "\n! from GPU 1 (0000:00:07.0): copy_bandwidth d2d ce read: 100 GB/s is 0.25 of\n"
        "  its peers' 393 GB/s\n");
}

/* Two of eight GPUs are on another node: slower from afar, as expected, and equal at equal
 * distance. */
TEST(symmetry_compare_at_equal_distance)
{
    sheet_new(8);
    for (unsigned gpu = 0; gpu < 8; gpu++)
        for (unsigned node = 0; node < 2; node++)
            add("copy_bandwidth", "higher", (gpu >= 6) == node ? 57 : 40, "dir=h2d;gpu=%u;node=%u",
                gpu, node);
    make();
    assert_int_equal(sheet->symmetry.n, 2);
    assert_int_equal(sheet->symmetry.all[0].verdict, OUTLIER_ODD);
    for (unsigned gpu = 0; gpu < 8; gpu++)
        sheet->topo.gpus[gpu].node = gpu >= 6;
    assert_symmetry("\n- symmetry: 8 GPUs alike in 2 comparisons\n");
    assert_true(stands_at(sheet->symmetry.all[0].row->arm->bench, &sheet->symmetry.all[0].dims,
                          "dir=h2d;distance=10"));
    assert_int_equal(sheet->symmetry.all[0].n, 8);
}

static void add_waits(const double *us, unsigned n, unsigned size)
{
    for (unsigned rank = 0; rank < n; rank++)
        add("rank_waited", "lower", us[rank], "op=allreduce;rank=%u;size=%u", rank, size);
}

/* The rank that others wait for does not wait itself. */
TEST(symmetry_name_who_is_waited_for)
{
    static const struct {
        double us[4];
        unsigned n;
        const char *expected;
    } cases[] = {
        {{900, 900, 900, 0},
         4,
         "\n! rank 3: rank_waited allreduce size 8: the others wait 900 us for it\n"},
        {{900, 0.5, 905, 910},
         4,
         "\n! rank 1: rank_waited allreduce size 8: the others wait 904 us for it\n"},
        {{80, 0}, 2, "\n! rank 1: rank_waited allreduce size 8: the other waits 80.0 us for it\n"},
        {{30, 0}, 2, "\n- symmetry: 2 ranks alike in 1 comparison\n"},
        {{900, 900, 5, 0},
         4,
         "\n~ symmetry: rank_waited allreduce size 8: the others wait 900 us for 2 of 4\n  ranks: "
         "groups rather than outliers\n"},
        {{900, 6, 5, 4}, 4, ""}, /* one early rank */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sheet_new(4);
        add_waits(cases[i].us, cases[i].n, 8);
        assert_symmetry(cases[i].expected);
    }
}

/* Ordered by the longest wait, not by the shares. */
TEST(symmetry_tell_the_longest_wait)
{
    static const double brief[] = {60, 60, 60, 0}, longest[] = {5000, 5000, 5000, 10};
    sheet_new(4);
    add_waits(brief, 4, 8);
    add_waits(longest, 4, 64);
    assert_symmetry(
        "\n! rank 3: rank_waited allreduce size 64: the others wait 4990 us for it; odd in\n"
        "  1 other comparison too\n");
}

/* A rank that waited as long as the others in some rounds is not blamed: the interval's upper end
 * shows it. */
TEST(symmetry_heed_intervals_of_waits)
{
    static const double us[] = {900, 900, 900, 100};
    sheet_new(4);
    add_waits(us, 4, 8);
    sheet->row[3].ci_low = 0;
    sheet->row[3].ci_high = 890;
    assert_symmetry("");
    sheet->row[3].ci_high = 200;
    assert_symmetry("\n! rank 3: rank_waited allreduce size 8: the others wait 800 us for it\n");
}

static void add_limit(const char *reason, const char *with, unsigned gpu, double share)
{
    add("gpu_throttle", "lower", share, "type=fp16;reason=%s;with=%s;gpu=%u", reason, with, gpu);
}

/* Equal GPUs at their power limit differ, and are not in doubt if the limit is measured. */
TEST(symmetry_know_the_power_limit)
{
    static const char doubted[] =
        "\n~ symmetry: matmul_rate fp16 all: GPU 0 (0000:00:06.0) has 521 GB/s, GPU 1\n  "
        "(0000:00:07.0) has 661 GB/s; with two, either may be the odd one\n";
    sheet_new(2);
    add("matmul_rate", "higher", 521, "type=fp16;with=all;gpu=0");
    add("matmul_rate", "higher", 661, "type=fp16;with=all;gpu=1");
    assert_symmetry(doubted);
    add_limit("power", "alone", 0, 0.9); /* at another point */
    add_limit("thermal", "all", 0, 0.9); /* for another reason */
    add_limit("power", "all", 1, 0.9);   /* of the better GPU */
    add_limit("power", "all", 0, 0.05);  /* for too little time */
    assert_symmetry(doubted);
    assert_finding(0, "units_differ", FINDING_DOUBT, "symmetry");
    add_limit("power", "all", 0, 0.6);
    assert_symmetry(
        "\n- symmetry: power-limited: matmul_rate fp16 all: GPU 0 (0000:00:06.0) has 521\n "
        " GB/s, GPU 1 (0000:00:07.0) has 661 GB/s; with two, either may be the odd one\n");
    assert_finding(0, "units_differ", FINDING_NOTE, "symmetry");
    json_auto_t *json = symmetry_to_json(&sheet->symmetry, &sheet->topo);
    assert_true(json_is_true(json_object_get(json_array_get(json, 0), "power_limited")));
}

/* If there are many findings, the first are printed, and the number of the others. */
TEST(symmetry_limit_what_is_told)
{
    sheet_new(12);
    for (unsigned bad = 0; bad < 12; bad++)
        for (unsigned gpu = 0; gpu < 12; gpu++)
            add("matmul_rate", "higher", gpu == bad ? 50 : 100, "n=%u;gpu=%u", bad, gpu);
    make();
    assert_int_equal(sheet->findings.n, 9);
    assert_finding(7, "unit_odd", FINDING_BAD, "GPU 7 (0000:00:0d.0)");
    assert_finding(8, "more_units_odd", FINDING_BAD, "symmetry");
    assert_string_equal(sheet->findings.all[8].sentence, "4 more are odd; see run.json");
    sheet->rows.n = 0;
    for (unsigned n = 0; n < 5; n++)
        for (unsigned gpu = 0; gpu < 2; gpu++)
            add("matmul_rate", "higher", gpu ? 50 : 100, "n=%u;gpu=%u", n, gpu);
    make();
    assert_int_equal(sheet->findings.n, 4);
    assert_finding(2, "units_differ", FINDING_DOUBT, "symmetry");
    assert_finding(3, "more_units_undecided", FINDING_DOUBT, "symmetry");
    assert_string_equal(sheet->findings.all[3].sentence,
                        "2 more comparisons without a verdict; see run.json");
}

/* If the good units are few, none counts as low; the lowest and the highest are named. */
TEST(symmetry_tell_what_is_far_apart)
{
    sheet_new(4);
    for (unsigned gpu = 0; gpu < 4; gpu++)
        add("copy_bandwidth", "higher", gpu ? 30.0 - gpu : 57, "dir=h2d;gpu=%u", gpu);
    for (unsigned gpu = 0; gpu < 3; gpu++)
        add("matmul_rate", "higher", 112 - 12.0 * gpu, "type=fp64;gpu=%u", gpu);
    assert_symmetry(
        "\n~ symmetry: copy_bandwidth h2d: GPU 3 (0000:00:09.0) has the least, 27.0 GB/s,\n  and "
        "GPU 0 (0000:00:06.0) the most, 57.0 GB/s: they differ, but none is an\n  outlier\n~ "
        "symmetry: matmul_rate fp64: GPU 2 (0000:00:08.0) has the least, 88.0 GB/s,\n  and GPU 0 "
        "(0000:00:06.0) the most, 112 GB/s: they differ, but none is an\n  outlier\n");
    assert_finding(0, "units_apart", FINDING_DOUBT, "symmetry");
    assert_string_equal(sheet->findings.all[0].evidence, "4 units");
}

/* 10 and 30 us are no significant difference, but are not reported as "0%" either. */
TEST(symmetry_call_nothing_alike)
{
    sheet_new(4);
    for (unsigned rank = 0; rank < 4; rank++)
        add("rank_waited", "lower", rank % 2 ? 30 : 10, "rank=%u;size=8", rank);
    assert_symmetry("\n- symmetry: 4 ranks alike in 1 comparison\n");
}
