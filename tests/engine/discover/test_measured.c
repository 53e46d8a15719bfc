/* Machines made of numbers: what measured_find makes of them, and what a plan makes of that. */
#include "harness/engine/discover/measured.h"

#include <errno.h>
#include <math.h>

#include "harness/plan/placement/plan.h"
#include "kernels/cpu/mix64.h"
#include "tests/lib/unit.h"

enum { SCANS_MAX = 4 };

/* A machine and scans of it, of the test that runs. */
static struct lab {
    struct topo topo;
    struct measured_scan scans[SCANS_MAX];
    struct measured_input input;
    struct measured measured;
    struct err err;
} lab;

/* What a pair of CPUs really is; `scan` lets virtual CPUs move. */
struct truth {
    double latency_ns, slowdown;
};

static void lab_open(const char *reported)
{
    const struct topo_options options = {.xml = reported};
    assert_int_equal(topo_load(&options, &lab.topo, &lab.err), 0);
    for (unsigned s = 0; s < SCANS_MAX; s++)
        assert_int_equal(measured_scan_init(&lab.scans[s], &lab.topo, &lab.err), 0);
    lab.input = (struct measured_input){.reported = &lab.topo, .scans = lab.scans};
}

static int lab_close(void **state)
{
    (void)state;
    measured_free(&lab.measured);
    for (unsigned s = 0; s < SCANS_MAX; s++)
        measured_scan_free(&lab.scans[s]);
    topo_free(&lab.topo);
    memset(&lab, 0, sizeof(lab));
    return 0;
}

#define LAB_TEST(name) TEST_WITHIN(name, NULL, lab_close)

static void put(unsigned scan, const char *metric, unsigned a, unsigned b, double value)
{
    assert_int_equal(measured_scan_put(&lab.scans[scan], metric, a, b, value, &lab.err), 0);
}

/* +- 10% of noise on latencies, upwards as it is, and +- 3% on slowdowns. */
static void lab_scans(unsigned ncpus, unsigned nscans,
                      struct truth (*truth)(unsigned a, unsigned b, unsigned scan))
{
    for (unsigned scan = 0; scan < nscans; scan++)
        for (unsigned a = 0; a < ncpus; a++)
            for (unsigned b = a + 1; b < ncpus; b++) {
                struct truth t = truth(a, b, scan);
                uint64_t random = mix64(a * 1000003ull + b * 1009 + scan);
                double up = (double)(random & 1023) / 1024, sway = (double)(random >> 54) / 1024;
                put(scan, "pair_latency", a, b, t.latency_ns * (1 + 0.1 * up));
                put(scan, "pair_slowdown", a, b, t.slowdown * (0.97 + 0.06 * sway));
            }
    lab.input.nscans = nscans;
}

static void lab_find(void)
{
    if (measured_find(&lab.input, &lab.measured, &lab.err))
        fail_msg("%s", lab.err.msg);
}

/* All of it. */
static void lab_measure(const char *reported, unsigned ncpus, unsigned nscans,
                        struct truth (*truth)(unsigned a, unsigned b, unsigned scan))
{
    lab_open(reported);
    lab_scans(ncpus, nscans, truth);
    lab_find();
}

static void lab_apply(void)
{
    assert_int_equal(measured_apply(&lab.measured, &lab.topo, &lab.err), 0);
}

/* The finding about that pair, or the first with that id when a == b. */
static const struct finding *finding(const char *id, unsigned a, unsigned b)
{
    char subject[64] = MEASURED_MACHINE;
    if (a != b)
        (void)snprintf(subject, sizeof(subject), "CPUs %u and %u", a, b);
    for (size_t i = 0; i < lab.measured.findings.n; i++) {
        const struct finding *f = &lab.measured.findings.all[i];
        if (strcmp(f->id, id) == 0 && strcmp(f->subject, subject) == 0)
            return f;
    }
    return NULL;
}

static unsigned count_findings(const char *id)
{
    unsigned count = 0;
    for (size_t i = 0; i < lab.measured.findings.n; i++)
        count += strcmp(lab.measured.findings.all[i].id, id) == 0;
    return count;
}

static void assert_says(const struct finding *f, const char *words)
{
    assert_non_null(f);
    if (!strstr(f->sentence, words))
        fail_msg("'%s' does not say '%s'", f->sentence, words);
}

static void assert_does_not_report(const struct finding *f, const char *words)
{
    assert_non_null(f);
    if (strstr(f->sentence, words))
        fail_msg("'%s' says '%s'", f->sentence, words);
}

static void assert_is(const struct finding *f, enum finding_severity severity, const char *evidence)
{
    assert_non_null(f);
    assert_int_equal(f->severity, severity);
    assert_string_equal(f->evidence, evidence);
}

static struct truth bare_smt2(unsigned a, unsigned b, unsigned scan)
{
    (void)scan;
    return a / 2 == b / 2 ? (struct truth){40, 1.7} : (struct truth){95 + (a * b) % 13, 1.0};
}

LAB_TEST(measured_bare_metal_agrees)
{
    lab_measure("package:1 l3:1 core:8 pu:2", 16, 2, bare_smt2);
    assert_int_equal(lab.measured.sibling_pairs, 8);
    assert_int_equal(lab.measured.ncores, 8);
    assert_false(lab.measured.floating);
    assert_int_equal(count_findings("smt_siblings"), 8);
    assert_int_equal(lab.measured.findings.n, 8);
    for (unsigned i = 0; i < 8; i++) {
        assert_is(&lab.measured.findings.all[i], FINDING_NOTE, "stable: 2 scans");
    }
    assert_says(finding("smt_siblings", 4, 5), "as reported");
}

/* The VM of METHOD.md: one thread a core reported; i and i + 32 answer in 26 ns, others in 71. */
static struct truth hidden(unsigned a, unsigned b, unsigned scan)
{
    (void)scan;
    return b == a + 32 ? (struct truth){25, 1.41} : (struct truth){60 + (a * 7 + b * 3) % 20, 1.0};
}

LAB_TEST(measured_hidden_siblings_are_named)
{
    lab_measure("package:1 l3:1 core:64 pu:1", 64, 3, hidden);
    assert_int_equal(lab.measured.sibling_pairs, 32);
    assert_int_equal(lab.measured.floating_pairs, 0);
    assert_int_equal(lab.measured.ncores, 32);
    assert_int_equal(lab.measured.nllcs, 1);
    const struct finding *f = finding("smt_siblings", 2, 34);
    assert_string_equal(f->subject, "CPUs 2 and 34");
    assert_says(f, "behave as SMT siblings: ");
    assert_says(f, " ns against a median of 7");
    assert_says(f, "% slower together; the system reports one thread a core");
    assert_is(f, FINDING_BAD, "stable: 3 scans");
}

/* As reported, `cores` has nothing to do; as measured, it takes one CPU of each pair i, i + 32. */
static void assert_cores_plan(const struct topo *topo, enum plan_status status, unsigned cpus)
{
    struct plan plan;
    struct err err;
    const struct plan_request request = {.placement = PLACE_CORES, .workers = 4};
    assert_int_equal(plan_make(topo, &request, &plan, &err), 0);
    assert_int_equal(plan.status, status);
    struct bitset all = {{0}};
    for (unsigned w = 0; w < plan.nworkers; w++)
        bitset_or(&all, &plan.workers[w].cpus);
    assert_int_equal(bitset_count(&all), cpus);
    for (unsigned i = 0; i < cpus; i++)
        assert_int_not_equal(bitset_test(&all, i), bitset_test(&all, i + 32));
    plan_free(&plan);
}

LAB_TEST(measured_apply_makes_cores_use_one_of_each_pair)
{
    lab_measure("package:1 l3:1 core:64 pu:1", 64, 2, hidden);
    assert_cores_plan(&lab.topo, PLAN_SKIPPED, 0);
    lab_apply();
    assert_int_equal(lab.topo.ncores, 32);
    assert_int_equal(lab.topo.nllcs, 1);
    assert_int_equal(lab.topo.npackages, 1);
    for (unsigned i = 0; i < 64; i++) { /* siblings are neighbours now */
        assert_int_equal(lab.topo.cpus[i].core, i / 2);
        assert_int_equal(lab.topo.cpus[i].smt, i % 2);
        assert_int_equal(lab.topo.cpus[i].os_cpu, i / 2 + i % 2 * 32);
    }
    assert_cores_plan(&lab.topo, PLAN_OK, 32);
}

/* CPUs 4 and 5 are reported outside of the last-level caches, and nothing says otherwise. */
LAB_TEST(measured_apply_keeps_what_is_outside_of_caches)
{
    lab_open("package:1 l3:3 core:2 pu:1");
    lab.topo.nllcs = 2;
    lab.measured.nllcs = lab.measured.npackages = 1;
    lab_apply();
    assert_int_equal(lab.topo.nllcs, 2);
    assert_int_equal(lab.topo.cpus[3].llc, 1);
    assert_in_range(lab.topo.cpus[4].llc, 2, 100);
    assert_int_equal(lab.topo.cpus[4].llc, lab.topo.cpus[5].llc);
}

/* From scan to scan, the partner of 3 changes from 35 to 36, which also keeps 4. */
static struct truth moving(unsigned a, unsigned b, unsigned scan)
{
    bool moved = scan % 2 && a == 3;
    bool together = moved ? b == 36 : b == a + 32;
    return together ? (struct truth){25, 1.41} : (struct truth){60 + (a * 7 + b * 3) % 20, 1.0};
}

LAB_TEST(measured_moving_cpus_float)
{
    lab_measure("package:1 l3:1 core:64 pu:1", 64, 2, moving);
    assert_true(lab.measured.floating);
    assert_int_equal(lab.measured.sibling_pairs, 30);
    assert_int_equal(lab.measured.floating_pairs, 3); /* 3-35, 3-36, 4-36 */
    assert_int_equal(lab.measured.ncores, 34);
    assert_says(finding("smt_siblings", 3, 35), "in 1 of 2 scans");
    assert_says(finding("smt_siblings", 4, 36), "floating: one of them has other partners");
    assert_does_not_report(finding("smt_siblings", 4, 36), "no other to compare");
    assert_is(finding("smt_siblings", 3, 36), FINDING_DOUBT, "floating: 2 scans");
    assert_is(finding("smt_siblings", 5, 37), FINDING_BAD, "stable: 2 scans");
    lab_apply();
    assert_int_equal(lab.topo.ncores, 34); /* who floats has a core of its own */
}

/* Two partners in one scan are a sign by themselves. */
static struct truth twofold(unsigned a, unsigned b, unsigned scan)
{
    (void)scan;
    return a == 0 && b <= 2 ? (struct truth){25, NAN} : (struct truth){70, NAN};
}

LAB_TEST(measured_two_partners_float_in_one_scan)
{
    lab_measure("package:1 core:8 pu:1", 8, 1, twofold);
    assert_true(lab.measured.floating);
    assert_int_equal(lab.measured.floating_pairs, 2);
    assert_int_equal(lab.measured.ncores, 8);
}

static struct truth smt4(unsigned a, unsigned b, unsigned scan)
{
    (void)scan;
    return a / 4 == b / 4 ? (struct truth){30, 2.4} : (struct truth){100, 1.0};
}

LAB_TEST(measured_four_threads_a_core_do_not_float)
{
    lab_measure("package:1 core:16 pu:1", 16, 2, smt4);
    assert_false(lab.measured.floating);
    assert_int_equal(lab.measured.ncores, 4);
    assert_int_equal(lab.measured.sibling_pairs, 4 * 6);
}

/* Sockets of even and odd CPUs, no SMT. */
static struct truth sockets(unsigned a, unsigned b, unsigned scan)
{
    (void)scan;
    return a % 2 == b % 2 ? (struct truth){90 + (a + b) % 9, 1.0}
                          : (struct truth){200 + (a * b) % 17, 1.0};
}

LAB_TEST(measured_two_sockets_that_are_not_reported)
{
    lab_measure("package:1 l3:1 core:16 pu:1", 16, 2, sockets);
    assert_int_equal(lab.measured.sibling_pairs, 0);
    assert_int_equal(lab.measured.nllcs, 2);
    assert_int_equal(lab.measured.npackages, 2);
    const struct finding *f = finding("cpu_clusters", 0, 0);
    assert_says(f, "2 clusters of CPUs");
    assert_says(f, "the system reports 1 package and 1 last-level cache");
    assert_says(f, "0,2,4,6,8,10,12,14 | 1,3,5,7,9,11,13,15");
    assert_is(f, FINDING_BAD, "stable: 2 scans");
    lab_apply();
    assert_int_equal(lab.topo.npackages, 2);
    assert_int_equal(lab.topo.nllcs, 2);
    assert_int_equal(lab.topo.ncores, 16);
    for (unsigned i = 0; i < 16; i++)
        assert_int_equal(lab.topo.cpus[i].os_cpu % 2, i / 8);
}

/* Two sockets of two cache domains of two cores of two threads. */
static struct truth nested(unsigned a, unsigned b, unsigned scan)
{
    (void)scan;
    if (a / 2 == b / 2)
        return (struct truth){20, 1.6};
    return (struct truth){a / 4 == b / 4 ? 45 : a / 8 == b / 8 ? 120 : 260, 1.0};
}

LAB_TEST(measured_levels_and_siblings_as_reported)
{
    lab_measure("package:2 l3:2 core:2 pu:2", 16, 2, nested);
    assert_int_equal(lab.measured.ncores, 8);
    assert_int_equal(lab.measured.nllcs, 4);
    assert_int_equal(lab.measured.npackages, 2);
    assert_int_equal(count_findings("cpu_clusters"), 2);
    for (unsigned i = 0; i < lab.measured.findings.n; i++)
        assert_int_equal(lab.measured.findings.all[i].severity, FINDING_NOTE);
    struct topo_cpu before[16];
    memcpy(before, lab.topo.cpus, sizeof(before));
    lab_apply();
    assert_memory_equal(before, lab.topo.cpus, sizeof(before)); /* nothing to correct */
}

/* Every scan shows other sockets: CPUs move between them. */
static struct truth wandering(unsigned a, unsigned b, unsigned scan)
{
    return (a + 16 - scan) % 16 / 8 == (b + 16 - scan) % 16 / 8 ? (struct truth){90, 1.0}
                                                                : (struct truth){220, 1.0};
}

LAB_TEST(measured_clusters_that_change_are_not_used)
{
    lab_measure("package:1 l3:1 core:16 pu:1", 16, 2, wandering);
    assert_true(lab.measured.floating);
    assert_int_equal(lab.measured.nllcs, 1);
    lab_apply();
    assert_int_equal(lab.topo.npackages, 1);
}

/* 50 to 160 ns without any order, and slowdowns that are noise. */
static struct truth noise(unsigned a, unsigned b, unsigned scan)
{
    uint64_t random = mix64(a * 65537ull + b + 31ull * scan);
    return (struct truth){60 + (double)(random % 100), 0.9 + (double)(random >> 40 & 255) / 1024};
}

LAB_TEST(measured_noise_shows_nothing)
{
    lab_measure("package:1 l3:1 core:32 pu:1", 32, 3, noise);
    assert_int_equal(lab.measured.sibling_pairs + lab.measured.floating_pairs, 0);
    assert_int_equal(lab.measured.nllcs, 1);
    assert_false(lab.measured.floating);
    assert_int_equal(lab.measured.findings.n, 1);
    assert_says(finding("measured_nothing", 0, 0), "no pair of CPUs behaves as SMT siblings");
}

static struct truth equals(unsigned a, unsigned b, unsigned scan)
{
    (void)a, (void)b, (void)scan;
    return (struct truth){110, 1.0};
}

LAB_TEST(measured_two_cpus_say_nothing_of_clusters)
{
    lab_measure("package:1 core:2 pu:1", 2, 2, equals);
    assert_true(isnan(lab.measured.median_ns));
    assert_int_equal(lab.measured.ncores, 2);
    assert_says(finding("measured_nothing", 0, 0), "nothing can be said of clusters");
}

LAB_TEST(measured_two_cpus_may_be_siblings)
{
    lab_open("package:1 core:2 pu:1");
    put(0, "pair_slowdown", 0, 1, 1.6);
    lab.input.nscans = 1;
    lab_find();
    const struct finding *f = finding("smt_siblings", 0, 1);
    assert_says(f, "60% slower together");
    assert_is(f, FINDING_BAD, "unconfirmed: 1 scan");
    assert_says(f, "no other to compare it with");
}

/* There is nobody else whose partner one of them could be. */
LAB_TEST(measured_two_cpus_float_without_others)
{
    lab_open("package:1 core:2 pu:1");
    put(0, "pair_slowdown", 0, 1, 1.6);
    put(1, "pair_slowdown", 0, 1, 1.0);
    lab.input.nscans = 2;
    lab_find();
    const struct finding *f = finding("smt_siblings", 0, 1);
    assert_is(f, FINDING_DOUBT, "floating: 2 scans");
    assert_says(f, "in 1 of 2 scans");
    assert_says(f, "no other to compare it with");
    assert_does_not_report(f, "other partners");
}

LAB_TEST(measured_reported_siblings_that_are_none)
{
    lab_measure("package:1 core:4 pu:2", 8, 1, equals);
    assert_int_equal(count_findings("smt_not_siblings"), 4);
    assert_says(finding("smt_not_siblings", 2, 3), "but do not behave so: 11");
    lab_apply();
    assert_int_equal(lab.topo.ncores, 8);
}

LAB_TEST(measured_pairs_without_values_are_not_against)
{
    lab_open("package:1 core:8 pu:1");
    lab_scans(8, 2, bare_smt2);
    put(1, "pair_latency", 0, 1, NAN); /* silent, and its slowdown lost too */
    put(1, "pair_slowdown", 0, 1, NAN);
    lab_find();
    assert_int_equal(lab.measured.sibling_pairs, 4);
    assert_false(lab.measured.floating);
}

/* The first and the last CPU were not there to be measured. */
LAB_TEST(measured_some_cpus_only)
{
    lab_open("package:1 core:8 pu:1");
    for (unsigned a = 1; a < 7; a++)
        for (unsigned b = a + 1; b < 7; b++)
            put(0, "pair_latency", a, b, bare_smt2(a, b, 0).latency_ns);
    lab.input.nscans = 1;
    lab_find();
    assert_int_equal(lab.measured.ncpus, 6);
    assert_int_equal(lab.measured.cpus[0].os_cpu, 1);
    assert_int_equal(lab.measured.sibling_pairs, 2);
    assert_says(finding("smt_siblings", 4, 5), "40 ns against a median of 10");
    lab_apply();
    assert_int_equal(lab.topo.ncores, 6);
}

LAB_TEST(measured_refuses_nothing_and_strangers)
{
    lab_open("package:1 core:2 pu:1");
    assert_int_equal(measured_find(&lab.input, &lab.measured, &lab.err), -EINVAL);
    measured_free(&lab.measured);
    lab.input.nscans = 1;
    put(0, "parallel_disturbance", 0, 1, 1); /* not of a pair */
    assert_int_equal(measured_find(&lab.input, &lab.measured, &lab.err), -EINVAL);
    assert_string_equal(lab.err.msg, "no pair of CPUs was measured");
    measured_free(&lab.measured);
    assert_int_equal(measured_scan_put(&lab.scans[0], "pair_latency", 1, 7, 5, &lab.err), -EINVAL);
    assert_string_equal(lab.err.msg, "CPU 7 was measured, but is not in the topology");
}
