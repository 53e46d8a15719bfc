/* The placement package-local, and teams under a quota of CPU time. */
#include "harness/plan/check.h"
#include "tests/lib/fixture_topo.h"
#include "tests/lib/unit.h"

struct machine {
    const char *xml, *gpus;
};

/* "CPUS memory NODES; ..." of all workers, or the reason why there is no plan. */
static void describe(const struct topo *topo, const struct plan_request *request, char *buf,
                     size_t size)
{
    AUTO(plan) plan = {0};
    struct err err = {0};
    size_t used = 0;
    if (plan_make_or_skip(topo, request, &plan, &err))
        fail_msg("%s", err.msg);
    (void)snprintf(buf, size, "%s", plan.reason);
    for (unsigned w = 0; w < plan.nworkers; w++)
        used += (size_t)snprintf(buf + used, size - used, "%s%s %s %s", w ? "; " : "",
                                 bitset_format(&plan.workers[w].cpus),
                                 mem_policy_name(plan.workers[w].mem_policy),
                                 bitset_format(&plan.workers[w].mem_nodes));
}

static const struct machine two_of_two = {"package:2 numa:2 core:4 pu:2",
                                          "01:00.0@1,02:00.0@1,81:00.0@2"};

TEST(package_local_shares_the_package_near_node_first)
{
    static const struct machine one_gpu = {"package:2 numa:2 core:4 pu:2", "01:00.0@1"};
    static const struct machine even = {"package:2 numa:4 core:2 pu:1",
                                        "01:00.0@3,02:00.0@3,03:00.0@1,04:00.0@1"};
    static const struct {
        const struct machine *machine;
        unsigned workers, background;
        const char *cpus, *plan;
    } cases[] = {
        /* Each worker gets half of the near node and half of the other node. */
        {&two_of_two, 3, 0, "", "0-3,8-11 preferred 1; 4-7,12-15 preferred 1; 16-31 preferred 2"},
        {&one_gpu, 1, 0, "", "0-15 preferred 1"},
        {&one_gpu, 3, 0, "", "0-1,8-11 preferred 1; 2-5,12-13 preferred 1; 6-7,14-15 preferred 1"},
        {&even, 4, 0, "", "0,6 preferred 3; 1,7 preferred 3; 2,4 preferred 1; 3,5 preferred 1"},
        /* Background workers take the package with most free CPUs. */
        {&one_gpu, 1, 1, "", "0-15 preferred 1; 16-31 default "},
        {&one_gpu, 1, 1, "0-15", "8-15 preferred 1; 0-7 default "},
        {&one_gpu, 1, 0, "0-7,16-31", "no package of a GPU has a second NUMA node: see gpu-local"},
        {&two_of_two, 3, 0, "0-3,8-9,24-31",
         "0-1,8-9 preferred 1; 2-3 preferred 1; 24-31 preferred 2"},
        {&one_gpu, 1, 0, "16-31",
         "GPU 0000:01:00.0 is near a package that has no CPU that we may use"},
        {&one_gpu, 9, 0, "",
         "placement 'package-local' cannot put 9 workers into package 0: there are 8 cores to use"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char plan[1024];
        struct plan_request request = {.placement = PLACE_PACKAGE_LOCAL,
                                       .workers = cases[i].workers,
                                       .background = cases[i].background};
        AUTO(topo) topo = fixture_topo(cases[i].machine->xml, cases[i].machine->gpus);
        if (cases[i].cpus[0])
            assert_int_equal(bitset_parse(cases[i].cpus, &request.cpus, NULL), 0);
        describe(&topo, &request, plan, sizeof(plan));
        assert_string_equal(plan, cases[i].plan);
    }
}

TEST(package_local_is_refused_where_it_would_be_gpu_local)
{
    static const struct {
        struct machine machine;
        const char *reason;
    } cases[] = {
        {{"package:2 numa:1 core:4 pu:2", "01:00.0@0,81:00.0@1"},
         "no package of a GPU has a second"},
        {{"package:2 numa:2 core:4 pu:2", NULL}, "there is no GPU to be local to"},
        {{"package:2 numa:2 core:4 pu:2", "01:00.0"}, "which package GPU 0000:01:00.0 is near"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char plan[1024];
        struct plan_request request = {.placement = PLACE_PACKAGE_LOCAL, .workers = 2};
        AUTO(topo) topo = fixture_topo(cases[i].machine.xml, cases[i].machine.gpus);
        describe(&topo, &request, plan, sizeof(plan));
        assert_has(plan, cases[i].reason);
    }
}

/* The nearest other node comes first: 0 and 1 are near each other, as are 2 and 3. */
TEST(package_local_takes_near_nodes_before_far_ones)
{
    static const struct machine one_package = {"package:1 numa:4 core:2 pu:1",
                                               "01:00.0@2,02:00.0@0"};
    static const unsigned distances[16] = {10, 12, 20, 20, 12, 10, 20, 20,
                                           20, 20, 10, 12, 20, 20, 12, 10};
    char plan[1024];
    struct plan_request request = {.placement = PLACE_PACKAGE_LOCAL, .workers = 2};
    AUTO(topo) topo = fixture_topo(one_package.xml, one_package.gpus);
    free(topo.distances);
    topo.distances = malloc(sizeof(distances));
    assert_non_null(topo.distances);
    memcpy(topo.distances, distances, sizeof(distances));
    describe(&topo, &request, plan, sizeof(plan));
    assert_string_equal(plan, "4-7 preferred 2; 0-3 preferred 0");
}

static void find(const struct topo *topo, const struct plan_request *request, const char *id,
                 char *sentence, size_t size)
{
    AUTO(plan) plan = {0};
    AUTO(findings) findings = {0};
    struct err err = {0};
    sentence[0] = '\0';
    if (plan_make(topo, request, &plan, &err))
        fail_msg("%s", err.msg);
    plan_check(topo, &plan, &findings);
    for (size_t i = 0; i < findings.n; i++)
        if (!strcmp(findings.all[i].id, id))
            (void)snprintf(sentence, size, "%s", findings.all[i].sentence);
}

TEST(package_local_is_advised_where_gpu_local_leaves_cpus)
{
    char sentence[900];
    struct plan_request request = {.placement = PLACE_GPU_LOCAL, .workers = 3};
    AUTO(topo) topo = fixture_topo(two_of_two.xml, two_of_two.gpus);
    find(&topo, &request, "cpus_left", sentence, sizeof(sentence));
    assert_string_equal(sentence, "16 of 32 are in no worker's slice, as each is kept inside one "
                                  "NUMA node; package-local gives them to the workers whose GPUs "
                                  "are on that package");
    request.placement = PLACE_PACKAGE_LOCAL;
    find(&topo, &request, "cpus_left", sentence, sizeof(sentence));
    assert_string_equal(sentence, "");
    find(&topo, &request, "worker_over_nodes", sentence, sizeof(sentence));
    assert_string_equal(sentence, "");
    find(&topo, &request, "gpu_far", sentence, sizeof(sentence));
    assert_string_equal(sentence, "");
    request.workers = 2;
    request.gpus = (const int[]){0, 0};
    find(&topo, &request, "cpus_left", sentence, sizeof(sentence));
    assert_string_equal(sentence, "16 of 32 are in no worker's slice, as each is kept inside the "
                                  "package of a GPU; partition gives all CPUs to the "
                                  "workers");
}

TEST(teams_are_no_larger_than_a_quota)
{
    static const struct machine eight = {"package:1 core:8 pu:1", NULL};
    static const struct {
        struct plan_request request;
        unsigned threads;
        const char *says; /* "" = no message */
    } cases[] = {
        {{.placement = PLACE_SIZED, .workers = 1, .cpu_quota = 0.5}, 1, "Raise the quota"},
        {{.placement = PLACE_SIZED, .workers = 1, .cpu_quota = 2.5}, 2, "2 threads in all"},
        {{.placement = PLACE_SIZED, .workers = 2, .cpu_quota = 6}, 3, "6 threads in all"},
        {{.placement = PLACE_SIZED, .workers = 2, .cpu_quota = 8}, 4, ""},
        {{.placement = PLACE_SIZED, .workers = 2, .cpu_quota = 1e30}, 4, ""},
        {{.placement = PLACE_SIZED, .workers = 2}, 4, ""},
        {{.placement = PLACE_PARTITION, .workers = 2, .cpu_quota = 2}, 1, "2 threads in all"},
        {{.placement = PLACE_PARTITION, .workers = 4, .cpu_quota = 2}, 1, "plan fewer workers"},
        {{.placement = PLACE_SIZED, .workers = 2, .threads = 3, .cpu_quota = 2},
         3,
         "plan fewer threads"},
        {{.placement = PLACE_NONE, .workers = 2, .cpu_quota = 2}, 8, "plan fewer threads"},
        {{.placement = PLACE_PASSIVE, .workers = 2, .cpu_quota = 2}, 8, "plan fewer threads"},
    };
    AUTO(topo) topo = fixture_topo(eight.xml, eight.gpus);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char sentence[900];
        AUTO(plan) plan = {0};
        assert_int_equal(plan_make(&topo, &cases[i].request, &plan, NULL), 0);
        assert_int_equal(plan.workers[0].threads, cases[i].threads);
        find(&topo, &cases[i].request, "cpu_quota", sentence, sizeof(sentence));
        if (cases[i].says[0] ? !strstr(sentence, cases[i].says) : sentence[0])
            fail_msg("case %zu: '%s', not '%s'", i, sentence, cases[i].says);
    }
}
