/* The rules of each placement, one by one. test_plan_properties.c has the promises common to
 * all. */
#include "harness/lib/text.h"
#include "harness/plan/options.h"
#include "harness/plan/plan.h"
#include "harness/record/json_machine.h"
#include "tests/lib/fixture_machines.h"
#include "tests/lib/fixture_topo.h"
#include "tests/lib/unit.h"

enum what { CPUS, NODES, GPUS };

/* For each worker its CPUs, its memory nodes or its GPU, separated by " | "; or the reason why
 * there is no plan. */
static const char *plan_of(const struct topo *topo, const struct plan_request *request,
                           enum what what)
{
    static char text[600];
    const char *list;
    AUTO(plan) plan;
    struct err err = {0};
    size_t used = 0;
    int rc = plan_make(topo, request, &plan, &err);
    put_text(text, "%s", rc ? err.msg : plan.reason);
    assert_true(rc || plan.status == (plan.reason[0] ? PLAN_SKIPPED : PLAN_OK));
    for (unsigned w = 0; !rc && w < plan.nworkers; w++) {
        const struct plan_worker *worker = &plan.workers[w];
        if (what == GPUS)
            list = str_fmt("%d", worker->gpu);
        else
            list = bitset_format(what == CPUS ? &worker->cpus : &worker->mem_nodes);
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", w ? " | " : "", list);
    }
    return text;
}

struct row {
    struct plan_request request;
    const char *plan; /* the text of plan_of, or a part of the reason */
};

static void check_rows(const struct topo *topo, enum what what, size_t n, const struct row *rows)
{
    for (size_t i = 0; i < n; i++) {
        const char *plan = plan_of(topo, &rows[i].request, what);
        bool none = strpbrk(rows[i].plan, "abcdefghijklmnopqrstuvwxyz") != NULL;
        if (none ? !strstr(plan, rows[i].plan) : strcmp(plan, rows[i].plan) != 0)
            fail_msg("row %zu: '%s', not '%s'", i, plan, rows[i].plan);
    }
}

#define CHECK_ROWS(topo, what, rows) check_rows(topo, what, sizeof(rows) / sizeof((rows)[0]), rows)

/* Checks the CPUs on a machine given as a synthetic description. */
static void check_cpus(const char *machine, const char *gpus, struct plan_request request,
                       const char *plan)
{
    AUTO(topo) topo = fixture_topo(machine, gpus);
    check_rows(&topo, CPUS, 1, &(struct row){request, plan});
}

/* Two packages, each with two caches of two cores with two threads. */
TEST(plan_slices_of_each_placement)
{
    static const struct row rows[] = {
        {{.placement = PLACE_NONE, .workers = 3}, "0-15 | 0-15 | 0-15"},
        {{.placement = PLACE_SIZED, .workers = 3}, "0-15 | 0-15 | 0-15"},
        {{.placement = PLACE_SAME, .workers = 3}, "0-5 | 0-5 | 0-5"},
        {{.placement = PLACE_PARTITION, .workers = 3}, "0-5 | 6-10 | 11-15"},
        {{.placement = PLACE_SPREAD, .workers = 3}, "0-1,6-7,12-13 | 2-3,8-9,14-15 | 4-5,10-11"},
        {{.placement = PLACE_CORES, .workers = 3}, "0,2,4 | 6,8,10 | 12,14"},
        {{.placement = PLACE_LLC, .workers = 3}, "0-7 | 8-11 | 12-15"},
        /* near their GPUs, while these nodes have room */
        {{.placement = PLACE_NUMA, .workers = 3}, "8-15 | 0-3 | 4-7"},
        {{.placement = PLACE_GPU_LOCAL, .workers = 3}, "8-11 | 0-7 | 12-15"},
        {{.placement = PLACE_REMOTE, .workers = 3}, "8-15 | 0-3 | 4-7"},
    };
    AUTO(topo) topo = fixture_topo("package:2 numa:1 l3:2 core:2 pu:2", "01:00.0@1,02:00.0@0");
    CHECK_ROWS(&topo, CPUS, rows);
}

/* Near each worker's GPU as long as nodes, or caches, stay evenly filled: not half of them on the
 * other node. */
TEST(plan_numa_and_llc_are_near_their_gpus)
{
    static const struct row rows[] = {
        {{.placement = PLACE_NUMA, .workers = 4}, "0-3 | 4-7 | 8-11 | 12-15"},
        {{.placement = PLACE_LLC, .workers = 4}, "0-3 | 4-7 | 8-11 | 12-15"},
    };
    AUTO(topo)
    topo = fixture_topo("package:2 numa:1 l3:1 core:8 pu:1",
                        "01:00.0@0,02:00.0@0,03:00.0@1,04:00.0@1");
    CHECK_ROWS(&topo, CPUS, rows);
}

/* Fewer workers than nodes: they get the nodes of their GPUs, even if one of their cores is
 * reserved. */
TEST(plan_numa_takes_the_nodes_of_gpus)
{
    static const char four[] = "package:4 numa:1 core:4 pu:1";
    const struct plan_request numa = {.placement = PLACE_NUMA, .workers = 2};
    check_cpus(four, "01:00.0@1,02:00.0@3", numa, "4-7 | 12-15");
    check_cpus(four, "01:00.0@3,02:00.0@0",
               (struct plan_request){.placement = PLACE_NUMA, .workers = 2, .reserve_cores = 2},
               "12-15 | 2-3");
    check_cpus(four, "01:00.0@2,02:00.0@2", numa, "8-11 | 0-3");
    check_cpus(four, "01:00.0@2", numa, "8-11 | 0-3");
    check_cpus(four, "01:00.0", numa, "0-3 | 4-7"); /* the GPU's node is unknown */
    check_cpus(four, "01:00.0@1,02:00.0@3",
               (struct plan_request){.placement = PLACE_REMOTE, .workers = 2}, "4-7 | 12-15");
}

/* The third cache belongs to cores without the last cache level. */
TEST(plan_llc_leaves_cores_without_one_out)
{
    static const struct row two[] = {{{.placement = PLACE_LLC, .workers = 2}, "0-1 | 2-3"},
                                     {{.placement = PLACE_LLC, .workers = 3}, "0 | 2-3 | 1"}};
    static const struct row one[] = {{{.placement = PLACE_LLC, .workers = 3},
                                      "fewer than two last-level caches (L3) have usable CPUs"}};
    AUTO(topo) topo = fixture_topo("package:1 l3:3 core:2 pu:1", NULL);
    topo.nllcs = 2;
    CHECK_ROWS(&topo, CPUS, two);
    topo.nllcs = 1;
    CHECK_ROWS(&topo, CPUS, one);
}

/* CPUs of a node without memory use a far node's; no slice mixes them with that node's CPUs. */
TEST(plan_numa_leaves_cpus_without_memory_out)
{
    static const struct row rows[] = {{{.placement = PLACE_NUMA, .workers = 2}, "0-1 | 2-3"}};
    AUTO(topo) topo = fixture_topo("package:3 numa:1 core:2 pu:1", NULL);
    topo.cpus[4].node = topo.cpus[5].node = 0;
    CHECK_ROWS(&topo, CPUS, rows);
}

/* Grace, Altra and Graviton; a node that is a GPU's memory gets no worker, and no worker's memory.
 */
TEST(plan_arm_servers)
{
    static const struct {
        const char *machine;
        struct row cpus, memory;
    } cases[] = {
        {"superchips_gpu_memory",
         {{.placement = PLACE_NUMA, .workers = 4}, "0-35 | 36-71 | 72-107 | 108-143"},
         {{.placement = PLACE_NUMA, .workers = 4}, "0 | 0 | 1 | 1"}},
        {"superchips_gpu_memory",
         {{.placement = PLACE_GPU_LOCAL, .workers = 2}, "0-71 | 72-143"},
         {{.placement = PLACE_GPU_LOCAL, .workers = 2}, "0 | 1"}},
        {"superchip_one_gpu",
         {{.placement = PLACE_PARTITION, .workers = 2}, "0-35 | 36-71"},
         {{.placement = PLACE_NUMA, .workers = 2}, "fewer than two of the 2 NUMA nodes have both"}},
        {"altra_two_sockets",
         {{.placement = PLACE_NUMA, .workers = 2}, "80-159 | 0-79"},
         {{.placement = PLACE_NUMA, .workers = 2}, "1 | 0"}},
        {"altra_two_sockets",
         {{.placement = PLACE_LLC, .workers = 2}, "0-79 | 80-159"},
         {{.placement = PLACE_CORES, .workers = 2}, "one usable thread a core"}},
        {"graviton_one_node",
         {{.placement = PLACE_PARTITION, .workers = 4}, "0-15 | 16-31 | 32-47 | 48-63"},
         {{.placement = PLACE_NUMA, .workers = 4}, "the system reports one NUMA node"}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char path[] = "/tmp/contend-XXXXXX.xml";
        fixture_machine_write(fixture_machine(cases[i].machine), path);
        AUTO(topo) topo = fixture_topo(path, NULL);
        (void)unlink(path);
        check_rows(&topo, CPUS, 1, &cases[i].cpus);
        check_rows(&topo, NODES, 1, &cases[i].memory);
    }
}

/* Fewer workers than GPUs: GPUs of all nodes that have CPUs for them, in order. */
TEST(plan_takes_gpus_of_all_nodes)
{
    static const struct row rows[] = {
        {{.placement = PLACE_PARTITION, .workers = 1}, "0"},
        {{.placement = PLACE_PARTITION, .workers = 2}, "0 | 4"},
        {{.placement = PLACE_PARTITION, .workers = 3}, "0 | 1 | 4"},
        {{.placement = PLACE_PARTITION, .workers = 6}, "0 | 1 | 2 | 4 | 5 | 6"},
        {{.placement = PLACE_PARTITION, .workers = 8}, "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7"},
        /* all of node 0 is reserved */
        {{.placement = PLACE_PARTITION, .workers = 2, .reserve_cores = 4}, "4 | 5"},
        {{.placement = PLACE_PARTITION, .workers = 6, .reserve_cores = 4}, "0 | 1 | 4 | 5 | 6 | 7"},
    };
    static const struct row bound[] = {{{.placement = PLACE_PARTITION, .workers = 2}, "0 | 1"}};
    static const struct row local[] = {
        {{.placement = PLACE_GPU_LOCAL, .workers = 2}, "0-7 | 8-15"}};
    static const struct row unknown[] = {{{.placement = PLACE_PARTITION, .workers = 1}, "0"}};
    AUTO(topo)
    topo = fixture_topo("package:2 numa:1 core:4 pu:2",
                        "01:00.0@0,02:00.0@0,03:00.0@0,04:00.0@0,81:00.0@1,82:00.0@1,"
                        "83:00.0@1,84:00.0@1");
    CHECK_ROWS(&topo, GPUS, rows);
    CHECK_ROWS(&topo, CPUS, local); /* workers run on both nodes */
    topo.nodes[1].allowed = false;  /* its memory is not allowed */
    CHECK_ROWS(&topo, GPUS, bound);
    topo.nodes[1].allowed = true;
    topo.gpus[0].node = -1; /* unknown nodes are no reason to take another GPU */
    CHECK_ROWS(&topo, GPUS, unknown);
}

/* Sets distance(a, b) for all pairs of n nodes. */
static void set_distances(struct topo *topo, unsigned n,
                          unsigned (*distance)(unsigned a, unsigned b))
{
    free(topo->distances);
    topo->distances = calloc((size_t)n * n, sizeof(*topo->distances));
    assert_non_null(topo->distances);
    for (unsigned i = 0; i < n * n; i++)
        topo->distances[i] = i / n == i % n ? 10 : distance(i / n, i % n);
}

/* 0 and 3 are the farthest from each other, and so are 1 and 2. */
static unsigned far_across(unsigned a, unsigned b)
{
    return a + b == 3 ? 30 : 20;
}

static unsigned far_packages(unsigned a, unsigned b)
{
    return a / 2 == b / 2 ? 12 : 21;
}

TEST(plan_remote_takes_memory_and_gpu_of_the_far_node)
{
    static const struct row nodes[] = {{{.placement = PLACE_REMOTE, .workers = 3}, "3 | 2 | 1"}};
    /* Among equally far nodes each gets one worker before any gets two. */
    static const struct row spread[] = {
        {{.placement = PLACE_REMOTE, .workers = 4}, "2 | 3 | 0 | 1"}};
    /* Sharing a GPU while another is idle would measure the sharing. */
    static const struct row idle[] = {{{.placement = PLACE_REMOTE, .workers = 2}, "0 | 1"}};
    struct topo topo =
        fixture_topo("package:4 numa:1 core:2 pu:1", "01:00.0@0,02:00.0@1,03:00.0@2,04:00.0@3");
    set_distances(&topo, 4, far_across);
    CHECK_ROWS(&topo, NODES, nodes);
    CHECK_ROWS(&topo, GPUS, nodes);
    topo_free(&topo);
    topo = fixture_topo("package:2 numa:2 core:2 pu:1", NULL);
    set_distances(&topo, 4, far_packages);
    CHECK_ROWS(&topo, NODES, spread);
    topo_free(&topo);
    topo = fixture_topo("package:2 numa:1 core:2 pu:1", "01:00.0@0,02:00.0@0");
    CHECK_ROWS(&topo, GPUS, idle);
    topo_free(&topo);
}

/* Four of eight cores are of the faster kind, and come first. */
static struct topo hybrid(void)
{
    struct topo topo = fixture_topo("package:1 l3:1 core:8 pu:1", NULL);
    topo.nkinds = 2;
    for (unsigned i = 0; i < 4; i++)
        topo.cpus[i].kind = 1;
    return topo;
}

TEST(plan_of_two_kinds_of_cores)
{
    static const struct row rows[] = {
        {{.placement = PLACE_PCORES, .workers = 2}, "0-1 | 2-3"},
        {{.placement = PLACE_PCORES, .workers = 2, .background = 3}, "0-1 | 2-3 | 4-5 | 6 | 7"},
        /* partition gives the first workers all cores of the kind that comes first */
        {{.placement = PLACE_SPREAD, .workers = 2}, "0,2,4,6 | 1,3,5,7"},
    };
    AUTO(topo) topo = hybrid();
    CHECK_ROWS(&topo, CPUS, rows);
}

#define MEMORY(where, policy)                                                                      \
    {                                                                                              \
        .placement = (where), .workers = 2, .has_mem_policy = true, .mem_policy = (policy)         \
    }

TEST(plan_memory_override)
{
    static const struct row rows[] = {
        {MEMORY(PLACE_NONE, MEM_INTERLEAVE), "0-1 | 0-1"},
        {MEMORY(PLACE_PARTITION, MEM_BIND), "0 | 1"},
        {MEMORY(PLACE_NUMA, MEM_DEFAULT), " | "},
        {MEMORY(PLACE_NUMA, MEM_PREFERRED), "0 | 1"},
        {MEMORY(PLACE_SPREAD, MEM_BIND), "0-1 | 0-1"},
        {MEMORY(PLACE_SPREAD, MEM_PREFERRED), "0 | 0"},
        {MEMORY(PLACE_REMOTE, MEM_PREFERRED), "1 | 0"},
    };
    static const struct row nearest[] = {{MEMORY(PLACE_PARTITION, MEM_BIND), "1 | 1"},
                                         {MEMORY(PLACE_SPREAD, MEM_PREFERRED), "1 | 1"}};
    static const struct row refused[] = {{MEMORY(PLACE_PARTITION, MEM_BIND), "no NUMA node"}};
    AUTO(topo) topo = fixture_topo("package:2 numa:1 core:2 pu:1", NULL);
    CHECK_ROWS(&topo, NODES, rows);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        AUTO(plan) plan;
        assert_int_equal(plan_make(&topo, &rows[i].request, &plan, NULL), 0);
        assert_int_equal(plan.workers[0].mem_policy, rows[i].request.mem_policy);
    }
    topo.nodes[0].allowed = false;
    CHECK_ROWS(&topo, NODES, nearest);
    topo.nodes[1].allowed = false;
    CHECK_ROWS(&topo, CPUS, refused);
}

TEST(plan_refuses_with_the_numbers)
{
    static const struct {
        struct plan_request request;
        int code;
        const char *says;
    } cases[] = {
        {{.placement = PLACE_PARTITION, .workers = 5},
         -ENOSPC,
         "each of 5 workers a CPU of its own: there are 4"},
        {{.placement = PLACE_GPU_LOCAL, .workers = 3},
         -ENOSPC,
         "3 workers near their GPUs on NUMA node 0: there are 2 cores"},
        {{.workers = 1, .reserve_cores = 4}, -EINVAL, "reserve of 4 cores leaves nothing of the 4"},
        {{.workers = 1, .cpus = {{1 << 3 | 1 << 7}}},
         -EINVAL,
         "CPUs 7 are not there or not allowed; allowed: 0-3"},
        {{.workers = 0}, -EINVAL, "0 workers"},
        {{.workers = 4000000000, .background = 4000000000}, -EINVAL, "up to 8192"},
        {{.workers = 1}, -EINVAL, "no CPU"}, /* if no CPU is allowed */
    };
    AUTO(topo) topo = fixture_topo("package:2 numa:1 core:2 pu:1", "01:00.0@0");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        AUTO(plan) plan;
        struct err err = {0};
        for (unsigned c = 0; c < topo.ncpus; c++)
            topo.cpus[c].allowed = i + 1 < sizeof(cases) / sizeof(cases[0]);
        assert_int_equal(plan_make(&topo, &cases[i].request, &plan, &err), cases[i].code);
        assert_has(err.msg, cases[i].says);
    }
}

TEST(plan_skips_with_the_reason)
{
    static const struct row rows[] = {
        {{.placement = PLACE_SPREAD, .workers = 2}, "one last-level cache"},
        {{.placement = PLACE_CORES, .workers = 2}, "one usable thread a core"},
        {{.placement = PLACE_LLC, .workers = 2}, "fewer than two last-level caches (L3)"},
        {{.placement = PLACE_NUMA, .workers = 2}, "the system reports one NUMA node"},
        {{.placement = PLACE_GPU_LOCAL, .workers = 2}, "the system reports one NUMA node"},
        {{.placement = PLACE_REMOTE, .workers = 2}, "the system reports one NUMA node"},
        {{.placement = PLACE_PCORES, .workers = 2}, "one kind"},
    };
    AUTO(topo) topo = fixture_topo("package:1 l3:1 core:4 pu:1", NULL);
    CHECK_ROWS(&topo, CPUS, rows);
}

/* One thread a core, or a single cache, is no reason to skip a placement if partition makes other
 * slices. */
TEST(plan_expresses_what_partition_does_not)
{
    static const char interleaved[] = "package:1 l3:1 core:4 pu:2(indexes=0,4,1,5,2,6,3,7)";
    static const char in_turn[] = "package:2 numa:1 core:4 pu:1(indexes=0,2,4,6,1,3,5,7)";
    const struct plan_request cores = {.placement = PLACE_CORES, .workers = 2};
    const struct plan_request spread = {.placement = PLACE_SPREAD, .workers = 2};
    struct plan_request request = cores;
    check_cpus(in_turn, NULL, cores, "0,2,4,6 | 1,3,5,7");
    check_cpus("package:2 numa:1 core:4 pu:1", NULL, cores, "cores would equal partition");
    request.workers = 9;
    check_cpus("package:2 numa:1 core:4 pu:1", NULL, request, "and fewer than workers");
    check_cpus(interleaved, NULL, spread, "0,2,4,6 | 1,3,5,7");
    check_cpus("package:1 l3:1 core:4 pu:2", NULL, spread,
               "partition gives workers whole cores of it too");
    request = spread;
    request.cores_each = 1;
    check_cpus(interleaved, NULL, request, "partition gives workers whole cores of it too");
    request = spread;
    request.workers = 5;
    check_cpus(interleaved, NULL, request, "of fewer cores than workers");
    request.workers = 3; /* partition: 0-2, 3-5, 6-7 */
    check_cpus("package:1 l3:1 core:4 pu:2", NULL, request, "0-1,6-7 | 2-3 | 4-5");
}

/* Halves of a core do not count as cores, however Linux numbers the second threads. */
TEST(plan_cores_each_cuts_slices_by_whole_cores)
{
    static const char interleaved[] = "package:1 l3:1 core:4 pu:2(indexes=0,4,1,5,2,6,3,7)";
    struct plan_request request = {.placement = PLACE_PARTITION, .workers = 2, .cores_each = 1};
    AUTO(plan) plan;
    check_cpus(interleaved, NULL, request, "0,4 | 2,6");
    request.cores_each = PLAN_CORES_ALL;
    check_cpus(interleaved, NULL, request, "0-1,4-5 | 2-3,6-7");
    request.cores_each = 5;
    check_cpus("package:1 core:8 pu:2", NULL, request,
               "5 cores a worker, but the slice of worker 0 has 4");
    request.placement = PLACE_SIZED;
    check_cpus("package:1 core:8 pu:2", NULL, request, "sized binds no worker to cores of its own");
    request = (struct plan_request){
        .placement = PLACE_PARTITION, .workers = 2, .cores_each = 2, .passive = true};
    check_cpus("package:1 core:8 pu:2", NULL, request, "0-3 | 8-11");
    AUTO(topo) topo = fixture_topo("package:1 core:8 pu:2", NULL);
    assert_int_equal(plan_make(&topo, &request, &plan, NULL), 0);
    assert_int_equal(plan.workers[1].threads, 4);
    assert_true(plan.workers[0].passive && plan.workers[1].passive);
}

TEST(plan_divides_cores_along_nodes_while_they_have_room)
{
    static const struct {
        unsigned cores[3];
        const char *cpus[3];
    } cases[] = {
        {{4, 8, 4}, {"0-3", "8-15", "4-7"}},
        {{4, 12, 0}, {"0-3", "4-15", ""}},
        {{6, 6, 4}, {"0-5", "8-13", "6-7,14-15"}},
        {{8, 2, 6}, {"0-7", "8-9", "10-15"}},
    };
    AUTO(topo) topo = fixture_topo("package:2 numa:1 core:8 pu:1", NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        AUTO(plan) plan = {0};
        struct err err = {0};
        const struct plan_request request = {.placement = PLACE_PARTITION,
                                             .workers = cases[i].cores[2] ? 3 : 2,
                                             .cores = cases[i].cores};
        assert_int_equal(plan_make(&topo, &request, &plan, &err), 0);
        for (unsigned w = 0; w < plan.nworkers; w++)
            assert_string_equal(bitset_format(&plan.workers[w].cpus), cases[i].cpus[w]);
    }
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
        assert_has(err.msg, "gpu-local, package-local, remote, pcores");
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
    opts_set_defaults(table, &command);
    assert_int_equal(plan_options_apply(&command.plan, &request, NULL), 0);
    assert_true(bitset_empty(&request.cpus) && !request.has_mem_policy);
    assert_int_equal(request.reserve_cores + request.threads, 0);
    assert_int_equal(opt_set(opts_find(table, "reserve"), &command, "2", NULL), 0);
    assert_int_equal(opt_set(opts_find(table, "threads"), &command, "4096", NULL), 0);
    assert_int_equal(opt_set(opts_find(table, "cpus"), &command, "1-2", NULL), 0);
    assert_int_equal(opt_set(opts_find(table, "mem"), &command, "interleave", NULL), 0);
    assert_int_equal(opt_set(opts_find(table, "cores-each"), &command, "3", NULL), 0);
    assert_int_equal(opt_set(opts_find(table, "wait"), &command, "passive", NULL), 0);
    assert_int_equal(plan_options_apply(&command.plan, &request, NULL), 0);
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
    assert_true(opt_set(opts_find(table, "threads"), &command, "0", NULL) < 0);
    assert_true(opt_set(opts_find(table, "threads"), &command, "4097", NULL) < 0);
    assert_true(opt_set(opts_find(table, "reserve"), &command, "-1", NULL) < 0);
    command.plan.cpus = "";
    assert_int_equal(plan_options_apply(&command.plan, &request, NULL), -EINVAL);
}

TEST(plan_json_has_what_was_read_back)
{
    AUTO(plan) plan;
    struct plan_request request = {.placement = PLACE_NUMA, .workers = 2, .background = 1};
    AUTO(topo) topo = fixture_topo("package:2 numa:1 core:2 pu:1", "01:00.0@0");
    assert_int_equal(plan_make(&topo, &request, &plan, NULL), 0);
    struct worker_result ran[1] = {0};
    bitset_set(&ran[0].cpus_actual, 1);
    bitset_set(&ran[0].mem_nodes_actual, 0);
    struct observation actual = {.nworkers = 1, .workers = ran};
    json_auto_t *json = plan_to_json(&topo, &plan, &actual, 1);
    json_t *workers = json_object_get(json, "workers"), *first = json_array_get(workers, 0);
    assert_string_equal(json_string_value(json_object_get(first, "cpus_actual")), "1");
    assert_string_equal(json_string_value(json_object_get(first, "mem_nodes_actual")), "0");
    assert_null(json_object_get(json_array_get(workers, 1), "cpus_actual"));
    assert_null(json_object_get(first, "background"));
    assert_true(json_is_true(json_object_get(json_array_get(workers, 2), "background")));
    assert_true(json_is_null(json_object_get(json_array_get(workers, 2), "gpu")));
    json_decref(json);
    struct observation two[2] = {actual,
                                 actual}; /* a baseline, in another slot's slice each time */
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
}

/* Doses run on the workers' CPUs or on the remaining CPUs; placement rules ignore them. */
TEST(plan_dose_is_beside_the_workers)
{
    static const struct {
        enum dose_kind kind;
        const char *cpus, *has; /* available CPUs; CPUs of the dose's worker */
    } cases[] = {{DOSE_CPU, "0-7", "0-7"},
                 {DOSE_CPU, "0-5", "0-5"},
                 {DOSE_THROTTLE, "0-5", "0-5"},
                 {DOSE_BANDWIDTH, "0-5", "6-7"},
                 {DOSE_LATENCY, "0,2", "1,3-7"}};
    AUTO(topo) topo = fixture_topo("package:1 core:8 pu:1", NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        AUTO(plan) plan;
        struct plan_request request = {.placement = PLACE_PARTITION, .workers = 2};
        assert_int_equal(bitset_parse(cases[i].cpus, &request.cpus, NULL), 0);
        assert_int_equal(plan_make(&topo, &request, &plan, NULL), 0);
        assert_int_equal(plan_add_dose(&topo, cases[i].kind, &plan, NULL), 0);
        assert_int_equal(plan.nworkers, 3);
        assert_int_equal(plan_requested(&plan), 2);
        const struct plan_worker *dose = &plan.workers[2];
        assert_string_equal(bitset_format(&dose->cpus), cases[i].has);
        assert_int_equal(dose->threads, bitset_count(&dose->cpus));
        assert_true(dose->background && dose->gpu == -1);
        assert_false(plan_overlaps(&plan) || plan_is_oversubscribed(&plan));
    }
}

TEST(plan_dose_of_memory_wants_cpus_of_its_own)
{
    static const struct {
        const char *machine, *says;
    } cases[] = {{"package:1 core:8 pu:1", "such as with --cpus 0-5"},
                 {"package:1 core:16 pu:1", "such as with --cpus 0-11"},
                 {"package:1 core:3 pu:1", "such as with --cpus 0"},
                 {"package:1 core:2 pu:1", "2 are allowed: only a dose of cpu"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        AUTO(plan) plan;
        struct err err = {0};
        AUTO(topo) topo = fixture_topo(cases[i].machine, NULL);
        struct plan_request request = {.placement = PLACE_PARTITION, .workers = 2};
        assert_int_equal(plan_make(&topo, &request, &plan, NULL), 0);
        assert_int_equal(plan_add_dose(&topo, DOSE_BANDWIDTH, &plan, &err), -EINVAL);
        assert_has(err.msg, cases[i].says);
    }
}

TEST(plan_sets_cores_apart_for_clients)
{
    static const struct {
        const char *machine, *cpus;
        unsigned workers, cores, reserve, background;
        const char *rest, *apart; /* rest: NULL = an error */
    } cases[] = {
        {"package:1 core:8 pu:2", NULL, 2, 0, 0, 0, "0-13", "14-15"},
        {"package:2 core:8 pu:1", NULL, 2, 0, 0, 0, "0-13", "14-15"},
        {"package:2 core:8 pu:1", "4-7", 2, 0, 0, 0, "4-6", "7"},
        {"package:1 core:2 pu:1", NULL, 1, 0, 0, 0, "0", "1"},
        {"package:1 core:2 pu:1", NULL, 2, 0, 0, 0, "", "0-1"}, /* a server would have no core */
        {"package:1 core:2 pu:1", NULL, 1, 0, 0, 1, "", "0-1"}, /* the background would have none */
        {"package:1 core:4 pu:1", NULL, 2, 0, 0, 1, "0-2", "3"},
        {"package:1 core:4 pu:1", NULL, 2, 0, 2, 0, "", "0-3"},
        {"package:1 core:4 pu:1", NULL, 4, 3, 0, 0, "0", "1-3"},
        {"package:1 core:4 pu:1", NULL, 1, 4, 0, 0, NULL, NULL},
        {"package:1 core:4 pu:1", NULL, 1, 2, 2, 0, NULL, NULL},
        {"package:1 core:4 pu:1", "9", 1, 1, 0, 0, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        AUTO(topo) topo = fixture_topo(cases[i].machine, NULL);
        struct plan_request request = {.workers = cases[i].workers,
                                       .reserve_cores = cases[i].reserve,
                                       .background = cases[i].background};
        struct bitset apart = {0};
        if (cases[i].cpus)
            assert_int_equal(bitset_parse(cases[i].cpus, &request.cpus, NULL), 0);
        int rc = plan_set_apart(&topo, cases[i].cores, &request, &apart, NULL);
        assert_int_equal(rc, cases[i].rest ? 0 : -EINVAL);
        if (rc)
            continue;
        assert_string_equal(bitset_format(&request.cpus), cases[i].rest);
        assert_string_equal(bitset_format(&apart), cases[i].apart);
    }
}
