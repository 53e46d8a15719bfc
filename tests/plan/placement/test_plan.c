/* The rules of each placement, one by one. The promises common to all: test_plan_properties.c. */
#include <errno.h>

#include "harness/plan/placement/options.h"
#include "harness/plan/placement/plan.h"
#include "harness/store/json/plan.h"
#include "tests/lib/unit.h"

static void load(const char *xml, const char *fake_gpus, struct topo *topo)
{
    struct topo_options options = {.xml = xml, .fake_gpus = fake_gpus};
    struct err err = {0};
    if (topo_load(&options, topo, &err))
        fail_msg("%s: %s", xml, err.msg);
}

static void make(const struct topo *topo, const struct plan_request *request, struct plan *plan)
{
    struct err err = {0};
    if (plan_make(topo, request, plan, &err))
        fail_msg("%s", err.msg);
}

static void assert_cpus(const struct plan *plan, unsigned worker, const char *expected)
{
    char list[BITSET_LIST_MAX];
    assert_true(worker < plan->nworkers);
    assert_string_equal(bitset_format(&plan->workers[worker].cpus, list, sizeof(list)), expected);
}

static void assert_nodes(const struct plan *plan, unsigned worker, const char *expected)
{
    char list[BITSET_LIST_MAX];
    assert_string_equal(bitset_format(&plan->workers[worker].mem_nodes, list, sizeof(list)),
                        expected);
}

TEST(plan_slices_of_each_placement)
{
    /* Two packages, two caches each, of two cores with two threads. */
    static const struct {
        enum placement placement;
        const char *first, *second, *third;
    } cases[] = {
        {PLACE_NONE, "0-15", "0-15", "0-15"},
        {PLACE_SIZED, "0-15", "0-15", "0-15"},
        {PLACE_SAME, "0-5", "0-5", "0-5"},
        {PLACE_PARTITION, "0-5", "6-10", "11-15"},
        {PLACE_SPREAD, "0-1,6-7,12-13", "2-3,8-9,14-15", "4-5,10-11"},
        {PLACE_CORES, "0,2,4", "6,8,10", "12,14"},
        {PLACE_LLC, "0-7", "8-11", "12-15"},
        {PLACE_NUMA, "8-15", "0-3", "4-7"}, /* near their GPUs as far as there is room */
        {PLACE_GPU_LOCAL, "8-11", "0-7", "12-15"},
        {PLACE_REMOTE, "8-15", "0-3", "4-7"},
    };
    struct topo topo;
    load("package:2 numa:1 l3:2 core:2 pu:2", "01:00.0@1,02:00.0@0", &topo);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct plan_request request = {.placement = cases[i].placement, .workers = 3};
        struct plan plan;
        make(&topo, &request, &plan);
        assert_int_equal(plan.status, PLAN_OK);
        assert_cpus(&plan, 0, cases[i].first);
        assert_cpus(&plan, 1, cases[i].second);
        assert_cpus(&plan, 2, cases[i].third);
        plan_free(&plan);
    }
    topo_free(&topo);
}

/* Near the GPU of each as far as nodes, or caches, are filled alike: not half of them on the other.
 */
TEST(plan_numa_and_llc_are_near_their_gpus)
{
    static const enum placement placements[] = {PLACE_NUMA, PLACE_LLC};
    static const char *const cpus[] = {"0-3", "4-7", "8-11", "12-15"};
    struct topo topo;
    load("package:2 numa:1 l3:1 core:8 pu:1", "01:00.0@0,02:00.0@0,03:00.0@1,04:00.0@1", &topo);
    for (size_t i = 0; i < 2; i++) {
        struct plan_request request = {.placement = placements[i], .workers = 4};
        struct plan plan;
        make(&topo, &request, &plan);
        for (unsigned w = 0; w < 4; w++)
            assert_cpus(&plan, w, cpus[w]);
        plan_free(&plan);
    }
    topo_free(&topo);
}

/* Fewer workers than nodes: those of their GPUs, also where a core of these is reserved. */
TEST(plan_numa_takes_the_nodes_of_gpus)
{
    static const struct {
        const char *gpus;
        struct plan_request request;
        const char *first, *second;
    } cases[] = {
        {"01:00.0@1,02:00.0@3", {.placement = PLACE_NUMA, .workers = 2}, "4-7", "12-15"},
        {"01:00.0@3,02:00.0@0",
         {.placement = PLACE_NUMA, .workers = 2, .reserve_cores = 2},
         "12-15",
         "2-3"},
        {"01:00.0@2,02:00.0@2", {.placement = PLACE_NUMA, .workers = 2}, "8-11", "0-3"},
        {"01:00.0@2", {.placement = PLACE_NUMA, .workers = 2}, "8-11", "0-3"},
        {"01:00.0", {.placement = PLACE_NUMA, .workers = 2}, "0-3", "4-7"}, /* it is not known */
        {"01:00.0@1,02:00.0@3", {.placement = PLACE_REMOTE, .workers = 2}, "4-7", "12-15"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct topo topo;
        struct plan plan;
        load("package:4 numa:1 core:4 pu:1", cases[i].gpus, &topo);
        make(&topo, &cases[i].request, &plan);
        assert_cpus(&plan, 0, cases[i].first);
        assert_cpus(&plan, 1, cases[i].second);
        plan_free(&plan);
        topo_free(&topo);
    }
}

/* The third cache is one of cores outside of the last level. */
TEST(plan_llc_leaves_cores_without_one_out)
{
    struct topo topo;
    struct plan plan;
    struct plan_request request = {.placement = PLACE_LLC, .workers = 2};
    load("package:1 l3:3 core:2 pu:1", NULL, &topo);
    topo.nllcs = 2;
    make(&topo, &request, &plan);
    assert_cpus(&plan, 0, "0-1");
    assert_cpus(&plan, 1, "2-3");
    plan_free(&plan);
    request.workers = 3;
    make(&topo, &request, &plan);
    assert_cpus(&plan, 0, "0");
    assert_cpus(&plan, 1, "2-3");
    assert_cpus(&plan, 2, "1");
    plan_free(&plan);
    topo.nllcs = 1;
    make(&topo, &request, &plan);
    assert_string_equal(plan.reason, "fewer than two last-level caches (L3) have usable CPUs");
    plan_free(&plan);
    topo_free(&topo);
}

/* CPUs of a node without memory have another one, far away: no slice has CPUs of both. */
TEST(plan_numa_leaves_cpus_without_memory_out)
{
    struct topo topo;
    struct plan plan;
    struct plan_request request = {.placement = PLACE_NUMA, .workers = 2};
    load("package:3 numa:1 core:2 pu:1", NULL, &topo);
    topo.cpus[4].node = topo.cpus[5].node = 0;
    make(&topo, &request, &plan);
    assert_cpus(&plan, 0, "0-1");
    assert_cpus(&plan, 1, "2-3");
    plan_free(&plan);
    topo_free(&topo);
}

/* Halves of one core are no cores, wherever Linux numbers the second threads. */
TEST(plan_cores_each_are_whole)
{
    struct topo topo;
    struct plan plan;
    struct plan_request request = {.placement = PLACE_PARTITION, .workers = 2, .cores_each = 1};
    load("package:1 l3:1 core:4 pu:2(indexes=0,4,1,5,2,6,3,7)", NULL, &topo);
    make(&topo, &request, &plan);
    assert_cpus(&plan, 0, "0,4");
    assert_cpus(&plan, 1, "2,6");
    plan_free(&plan);
    request.cores_each = PLAN_CORES_ALL;
    make(&topo, &request, &plan);
    assert_cpus(&plan, 0, "0-1,4-5");
    assert_cpus(&plan, 1, "2-3,6-7");
    plan_free(&plan);
    topo_free(&topo);
}

/* A shared GPU beside an idle one would measure the sharing. */
TEST(plan_remote_shares_no_gpu_while_one_is_idle)
{
    struct topo topo;
    struct plan plan;
    struct plan_request request = {.placement = PLACE_REMOTE, .workers = 2};
    load("package:2 numa:1 core:2 pu:1", "01:00.0@0,02:00.0@0", &topo);
    make(&topo, &request, &plan);
    assert_int_equal(plan.workers[0].gpu + plan.workers[1].gpu, 1);
    plan_free(&plan);
    topo_free(&topo);
}

/* Fewer workers than GPUs: from all nodes that have CPUs for them, in order. */
TEST(plan_takes_gpus_of_all_nodes)
{
    static const struct {
        unsigned workers, reserve;
        int gpus[8];
    } cases[] = {
        {1, 0, {0}},
        {2, 0, {0, 4}},
        {3, 0, {0, 1, 4}},
        {6, 0, {0, 1, 2, 4, 5, 6}},
        {8, 0, {0, 1, 2, 3, 4, 5, 6, 7}},
        {2, 4, {4, 5}}, /* node 0 is all reserved */
        {6, 4, {0, 1, 4, 5, 6, 7}},
    };
    struct topo topo;
    struct plan plan;
    load("package:2 numa:1 core:4 pu:2",
         "01:00.0@0,02:00.0@0,03:00.0@0,04:00.0@0,81:00.0@1,82:00.0@1,83:00.0@1,84:00.0@1", &topo);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct plan_request request = {.placement = PLACE_PARTITION,
                                       .workers = cases[i].workers,
                                       .reserve_cores = cases[i].reserve};
        make(&topo, &request, &plan);
        for (unsigned w = 0; w < cases[i].workers; w++)
            assert_int_equal(plan.workers[w].gpu, cases[i].gpus[w]);
        plan_free(&plan);
    }
    topo.nodes[1].allowed = false; /* its memory is not for us */
    struct plan_request bound = {.placement = PLACE_PARTITION, .workers = 2};
    make(&topo, &bound, &plan);
    assert_int_equal(plan.workers[1].gpu, 1);
    plan_free(&plan);
    topo.nodes[1].allowed = true;
    /* Both nodes work for them. */
    struct plan_request request = {.placement = PLACE_GPU_LOCAL, .workers = 2};
    make(&topo, &request, &plan);
    assert_cpus(&plan, 0, "0-7");
    assert_cpus(&plan, 1, "8-15");
    plan_free(&plan);
    topo.gpus[0].node = -1; /* not known: no reason to take another one */
    request = (struct plan_request){.placement = PLACE_PARTITION, .workers = 1};
    make(&topo, &request, &plan);
    assert_int_equal(plan.workers[0].gpu, 0);
    plan_free(&plan);
    topo_free(&topo);
}

TEST(plan_remote_takes_memory_and_gpu_of_the_far_node)
{
    struct topo topo;
    struct plan plan;
    struct plan_request request = {.placement = PLACE_REMOTE, .workers = 3};
    load("package:4 numa:1 core:2 pu:1", "01:00.0@0,02:00.0@1,03:00.0@2,04:00.0@3", &topo);
    topo.distances = calloc(16, sizeof(*topo.distances));
    assert_non_null(topo.distances);
    for (unsigned i = 0; i < 16; i++)
        topo.distances[i] = i / 4 == i % 4 ? 10 : i / 4 + i % 4 == 3 ? 30 : 20;
    make(&topo, &request, &plan);
    assert_nodes(&plan, 0, "3"); /* 0 and 3 are the farthest, so are 1 and 2 */
    assert_int_equal(plan.workers[0].gpu, 3);
    assert_nodes(&plan, 1, "2");
    assert_int_equal(plan.workers[1].gpu, 2);
    assert_nodes(&plan, 2, "1");
    assert_int_equal(plan.workers[2].gpu, 1);
    plan_free(&plan);
    topo_free(&topo);
}

/* Of equally far nodes each lends to one, before one lends to two. */
TEST(plan_remote_spreads_over_far_nodes)
{
    struct topo topo;
    struct plan plan;
    struct plan_request request = {.placement = PLACE_REMOTE, .workers = 4};
    load("package:2 numa:2 core:2 pu:1", NULL, &topo);
    topo.distances = calloc(16, sizeof(*topo.distances));
    assert_non_null(topo.distances);
    for (unsigned i = 0; i < 16; i++)
        topo.distances[i] = i / 4 == i % 4 ? 10 : i / 8 == i % 4 / 2 ? 12 : 21;
    static const char *const nodes[] = {"2", "3", "0", "1"};
    make(&topo, &request, &plan);
    for (unsigned w = 0; w < 4; w++)
        assert_nodes(&plan, w, nodes[w]);
    plan_free(&plan);
    topo_free(&topo);
}

TEST(plan_pcores_leaves_weak_cores_to_background)
{
    struct topo topo;
    struct plan plan;
    struct plan_request request = {.placement = PLACE_PCORES, .workers = 2};
    load("package:1 l3:1 core:8 pu:1", NULL, &topo);
    topo.nkinds = 2;
    for (unsigned i = 0; i < 4; i++)
        topo.cpus[i].kind = 1;
    make(&topo, &request, &plan);
    assert_cpus(&plan, 0, "0-1");
    assert_cpus(&plan, 1, "2-3");
    plan_free(&plan);
    request.background = 3;
    make(&topo, &request, &plan);
    assert_cpus(&plan, 1, "2-3");
    assert_cpus(&plan, 2, "4-5");
    assert_cpus(&plan, 4, "7");
    plan_free(&plan);
    topo_free(&topo);
}

TEST(plan_memory_override)
{
    static const struct {
        enum placement placement;
        enum mem_policy policy;
        const char *nodes;
    } cases[] = {
        {PLACE_NONE, MEM_INTERLEAVE, "0-1"}, {PLACE_PARTITION, MEM_BIND, "0"},
        {PLACE_NUMA, MEM_DEFAULT, ""},       {PLACE_NUMA, MEM_PREFERRED, "0"},
        {PLACE_SPREAD, MEM_BIND, "0-1"},     {PLACE_SPREAD, MEM_PREFERRED, "0"},
        {PLACE_REMOTE, MEM_PREFERRED, "1"},
    };
    struct topo topo;
    struct plan plan;
    load("package:2 numa:1 core:2 pu:1", NULL, &topo);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct plan_request request = {.placement = cases[i].placement,
                                       .workers = 2,
                                       .has_mem_policy = true,
                                       .mem_policy = cases[i].policy};
        make(&topo, &request, &plan);
        assert_int_equal(plan.workers[0].mem_policy, cases[i].policy);
        assert_nodes(&plan, 0, cases[i].nodes);
        plan_free(&plan);
    }
    topo.nodes[0].allowed = false;
    struct err err = {0};
    struct plan_request request = {
        .placement = PLACE_PARTITION, .workers = 2, .has_mem_policy = true, .mem_policy = MEM_BIND};
    assert_int_equal(plan_make(&topo, &request, &plan, &err), -ENOSPC);
    assert_non_null(strstr(err.msg, "CPUs 0-1"));
    plan_free(&plan);
    topo_free(&topo);
}

static void assert_refused(const struct topo *topo, const struct plan_request *request, int code,
                           const char *part)
{
    struct plan plan;
    struct err err = {0};
    assert_int_equal(plan_make(topo, request, &plan, &err), code);
    if (!strstr(err.msg, part))
        fail_msg("'%s' does not say '%s'", err.msg, part);
    plan_free(&plan);
}

TEST(plan_refuses_with_the_numbers)
{
    struct topo topo;
    struct plan_request request = {.placement = PLACE_PARTITION, .workers = 5};
    load("package:2 numa:1 core:2 pu:1", "01:00.0@0", &topo);
    assert_refused(&topo, &request, -ENOSPC, "each of 5 workers a CPU of its own: there are 4");
    request = (struct plan_request){.placement = PLACE_GPU_LOCAL, .workers = 3};
    assert_refused(&topo, &request, -ENOSPC,
                   "3 workers near their GPUs on NUMA node 0: there are 2 cores");
    request = (struct plan_request){.workers = 1, .reserve_cores = 4};
    assert_refused(&topo, &request, -EINVAL, "reserve of 4 cores leaves nothing of the 4");
    request = (struct plan_request){.workers = 1};
    bitset_set(&request.cpus, 3);
    bitset_set(&request.cpus, 7);
    assert_refused(&topo, &request, -EINVAL, "CPUs 7 are not there or not allowed; allowed: 0-3");
    request = (struct plan_request){.workers = 0};
    assert_refused(&topo, &request, -EINVAL, "0 workers");
    request = (struct plan_request){.workers = 4000000000, .background = 4000000000};
    assert_refused(&topo, &request, -EINVAL, "up to 8192");
    for (unsigned i = 0; i < topo.ncpus; i++)
        topo.cpus[i].allowed = false;
    request = (struct plan_request){.workers = 1};
    assert_refused(&topo, &request, -EINVAL, "no CPU");
    topo_free(&topo);
}

TEST(plan_skips_with_the_reason)
{
    static const struct {
        enum placement placement;
        const char *reason;
    } cases[] = {
        {PLACE_SPREAD, "one last-level cache"},
        {PLACE_CORES, "one usable thread a core"},
        {PLACE_LLC, "fewer than two last-level caches (L3)"},
        {PLACE_NUMA, "one NUMA node"},
        {PLACE_GPU_LOCAL, "one NUMA node"},
        {PLACE_REMOTE, "one NUMA node"},
        {PLACE_PCORES, "one kind"},
    };
    struct topo topo;
    load("package:1 l3:1 core:4 pu:1", NULL, &topo);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct plan_request request = {.placement = cases[i].placement, .workers = 2};
        struct plan plan;
        make(&topo, &request, &plan);
        assert_int_equal(plan.status, PLAN_SKIPPED);
        assert_non_null(strstr(plan.reason, cases[i].reason));
        plan_free(&plan);
    }
    topo_free(&topo);
}

/* One thread a core, and one cache, are no reason where partition deals other slices. */
TEST(plan_expresses_what_partition_does_not)
{
    static const char interleaved[] = "package:1 l3:1 core:4 pu:2(indexes=0,4,1,5,2,6,3,7)";
    static const struct {
        const char *machine;
        struct plan_request request;
        const char *first, *second, *reason; /* slices, or why not */
    } cases[] = {
        {"package:2 numa:1 core:4 pu:1(indexes=0,2,4,6,1,3,5,7)",
         {.placement = PLACE_CORES, .workers = 2},
         "0,2,4,6",
         "1,3,5,7",
         NULL},
        {"package:2 numa:1 core:4 pu:1",
         {.placement = PLACE_CORES, .workers = 2},
         NULL,
         NULL,
         "cores would equal partition"},
        {"package:2 numa:1 core:4 pu:1",
         {.placement = PLACE_CORES, .workers = 9},
         NULL,
         NULL,
         "and fewer than workers"},
        {interleaved, {.placement = PLACE_SPREAD, .workers = 2}, "0,2,4,6", "1,3,5,7", NULL},
        {interleaved,
         {.placement = PLACE_SPREAD, .workers = 2, .cores_each = 1},
         NULL,
         NULL,
         "partition deals whole cores of it too"},
        {interleaved,
         {.placement = PLACE_SPREAD, .workers = 5},
         NULL,
         NULL,
         "of fewer cores than workers"},
        {"package:1 l3:1 core:4 pu:2",
         {.placement = PLACE_SPREAD, .workers = 2},
         NULL,
         NULL,
         "partition deals whole cores of it too"},
        {"package:1 l3:1 core:4 pu:2",
         {.placement = PLACE_SPREAD, .workers = 3}, /* partition: 0-2, 3-5, 6-7 */
         "0-1,6-7",
         "2-3",
         NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct topo topo;
        struct plan plan;
        load(cases[i].machine, NULL, &topo);
        make(&topo, &cases[i].request, &plan);
        assert_int_equal(plan.status, cases[i].reason ? PLAN_SKIPPED : PLAN_OK);
        if (cases[i].reason) {
            assert_non_null(strstr(plan.reason, cases[i].reason));
        } else {
            assert_cpus(&plan, 0, cases[i].first);
            assert_cpus(&plan, 1, cases[i].second);
        }
        plan_free(&plan);
        topo_free(&topo);
    }
}

/* partition gives the first workers all cores of the kind that is numbered first. */
TEST(plan_spreads_kinds_of_cores_in_one_cache)
{
    struct topo topo;
    struct plan plan;
    struct plan_request request = {.placement = PLACE_SPREAD, .workers = 2};
    load("package:1 l3:1 core:8 pu:1", NULL, &topo);
    topo.nkinds = 2;
    for (unsigned i = 0; i < 4; i++)
        topo.cpus[i].kind = 1;
    make(&topo, &request, &plan);
    assert_cpus(&plan, 0, "0,2,4,6");
    assert_cpus(&plan, 1, "1,3,5,7");
    plan_free(&plan);
    topo_free(&topo);
}

TEST(plan_parses_placements)
{
    enum placement list[PLACEMENTS];
    struct err err;
    assert_int_equal(placement_parse_list("numa,none,numa", list, &err), 2);
    assert_int_equal(list[0], PLACE_NUMA);
    assert_int_equal(list[1], PLACE_NONE);
    assert_int_equal(placement_parse("gpu-local", &list[0], &err), 0);
    assert_int_equal(list[0], PLACE_GPU_LOCAL);
    static const char *const bad[] = {"", "nuna", "numa,", ",numa", "numa, none", "NUMA", "num"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(placement_parse_list(bad[i], list, &err), -EINVAL);
        assert_non_null(strstr(err.msg, "gpu-local, package-local, remote, pcores"));
    }
}

struct planning_command {
    bool something_else;
    struct plan_options plan;
};

TEST(plan_options_fill_a_request)
{
    static const struct opt table[] = {PLAN_OPTIONS(planning_command, plan), {.name = NULL}};
    struct planning_command command = {0};
    struct plan_request request = {.workers = 3};
    struct err err;
    opts_set_defaults(table, &command);
    assert_int_equal(plan_options_apply(&command.plan, &request, &err), 0);
    assert_true(bitset_empty(&request.cpus) && !request.has_mem_policy);
    assert_int_equal(request.reserve_cores + request.threads, 0);
    assert_int_equal(opt_set(opts_find(table, "reserve"), &command, "2", &err), 0);
    assert_int_equal(opt_set(opts_find(table, "threads"), &command, "4096", &err), 0);
    assert_int_equal(opt_set(opts_find(table, "cpus"), &command, "1-2", &err), 0);
    assert_int_equal(opt_set(opts_find(table, "mem"), &command, "interleave", &err), 0);
    assert_int_equal(opt_set(opts_find(table, "cores-each"), &command, "3", &err), 0);
    assert_int_equal(opt_set(opts_find(table, "wait"), &command, "passive", &err), 0);
    assert_int_equal(plan_options_apply(&command.plan, &request, &err), 0);
    assert_int_equal(request.workers, 3);
    assert_int_equal(request.reserve_cores, 2);
    assert_int_equal(request.threads, 4096);
    assert_int_equal(bitset_count(&request.cpus), 2);
    assert_int_equal(request.mem_policy, MEM_INTERLEAVE);
    assert_true(request.has_mem_policy && request.passive);
    assert_int_equal(request.cores_each, 3);
    char text[200];
    assert_string_equal(
        plan_options_format(&command.plan, text, sizeof(text)),
        " --reserve 2 --cpus 1-2 --threads 4096 --cores-each 3 --wait passive --mem interleave");
    for (int policy = MEM_DEFAULT; policy <= MEM_INTERLEAVE; policy++)
        assert_string_equal(plan_mem_choices[policy + 1], mem_policy_name((enum mem_policy)policy));
    assert_true(opt_set(opts_find(table, "threads"), &command, "0", &err) < 0);
    assert_true(opt_set(opts_find(table, "threads"), &command, "4097", &err) < 0);
    assert_true(opt_set(opts_find(table, "reserve"), &command, "-1", &err) < 0);
    command.plan.cpus = "";
    assert_int_equal(plan_options_apply(&command.plan, &request, &err), -EINVAL);
}

TEST(plan_cores_each_cuts_slices_by_whole_cores)
{
    struct topo topo;
    struct plan plan;
    struct err err = {0};
    struct plan_request request = {
        .placement = PLACE_PARTITION, .workers = 2, .cores_each = 2, .passive = true};
    load("package:1 core:8 pu:2", NULL, &topo);
    make(&topo, &request, &plan);
    assert_cpus(&plan, 0, "0-3");
    assert_cpus(&plan, 1, "8-11");
    assert_int_equal(plan.workers[1].threads, 4);
    assert_true(plan.workers[0].passive && plan.workers[1].passive);
    plan_free(&plan);
    request.cores_each = 5;
    assert_int_equal(plan_make(&topo, &request, &plan, &err), -ENOSPC);
    assert_non_null(strstr(err.msg, "5 cores a worker, but the slice of worker 0 has 4"));
    plan_free(&plan);
    request.placement = PLACE_SIZED;
    make(&topo, &request, &plan);
    assert_int_equal(plan.status, PLAN_SKIPPED);
    assert_string_equal(plan.reason, "sized binds no worker to cores of its own");
    plan_free(&plan);
    topo_free(&topo);
}

TEST(plan_json_has_what_was_read_back)
{
    struct topo topo;
    struct plan plan;
    struct plan_request request = {.placement = PLACE_NUMA, .workers = 2, .background = 1};
    load("package:2 numa:1 core:2 pu:1", "01:00.0@0", &topo);
    make(&topo, &request, &plan);
    struct worker_result ran[1] = {0};
    bitset_set(&ran[0].cpus_actual, 1);
    bitset_set(&ran[0].mem_nodes_actual, 0);
    struct observation actual = {.nworkers = 1, .workers = ran};
    json_t *json = plan_to_json(&topo, &plan, &actual, 1);
    json_t *workers = json_object_get(json, "workers"), *first = json_array_get(workers, 0);
    assert_string_equal(json_string_value(json_object_get(first, "cpus_actual")), "1");
    assert_string_equal(json_string_value(json_object_get(first, "mem_nodes_actual")), "0");
    assert_null(json_object_get(json_array_get(workers, 1), "cpus_actual"));
    assert_null(json_object_get(first, "background"));
    assert_true(json_is_true(json_object_get(json_array_get(workers, 2), "background")));
    assert_true(json_is_null(json_object_get(json_array_get(workers, 2), "gpu")));
    json_decref(json);
    struct observation two[2] = {actual, actual}; /* a baseline: another slot's slice each time */
    struct worker_result second = {0};
    bitset_set(&second.cpus_actual, 7);
    two[1].slot = 1;
    two[1].workers = &second;
    json = plan_to_json(&topo, &plan, two, 2);
    workers = json_object_get(json, "workers");
    assert_string_equal(
        json_string_value(json_object_get(json_array_get(workers, 0), "cpus_actual")), "1");
    assert_string_equal(
        json_string_value(json_object_get(json_array_get(workers, 1), "cpus_actual")), "7");
    json_decref(json);
    plan_free(&plan);
    topo_free(&topo);
}
