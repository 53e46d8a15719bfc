/* Findings about plans: slices over packages and nodes, divided cores, far GPUs, unused CPUs. */
#include "harness/plan/check.h"
#include "tests/lib/fixture_machines.h"
#include "tests/lib/fixture_topo.h"
#include "tests/lib/unit.h"

static void check(const struct topo *topo, const struct plan_request *request,
                  struct findings *findings)
{
    struct err err = {0};
    AUTO(plan) plan = {0};
    *findings = (struct findings){0};
    if (plan_make_or_skip(topo, request, &plan, &err))
        fail_msg("%s", err.msg);
    plan_check(topo, &plan, findings);
}

/* "ID SUBJECT" of each, joined by "; ". */
static const char *list_findings(const struct findings *findings, char *buf, size_t size)
{
    size_t used = 0;
    buf[0] = '\0';
    for (size_t i = 0; i < findings->n; i++)
        used += (size_t)snprintf(buf + used, size - used, "%s%s %s", i ? "; " : "",
                                 findings->all[i].id, findings->all[i].subject);
    return buf;
}

TEST(check_finds_divided_cores_and_workers_over_packages)
{
    /* Two packages, each with two caches of two cores with two threads. */
    static const struct {
        enum placement placement;
        unsigned workers, background;
        const char *found;
    } cases[] = {
        {PLACE_NONE, 3, 0, ""},
        {PLACE_SIZED, 3, 0, ""},
        {PLACE_PASSIVE, 3, 0, ""},
        {PLACE_SAME, 3, 0, ""},
        {PLACE_SAME, 1, 0, "worker_over_packages worker 0"},
        {PLACE_PARTITION, 2, 0, ""},
        /* 0-5, 6-10, 11-15 */
        {PLACE_PARTITION, 3, 0, "worker_over_packages worker 1; cores_divided workers 1-2"},
        {PLACE_PARTITION, 2, 1, "worker_over_packages worker 1; cores_divided workers 1-2"},
        {PLACE_PARTITION, 4, 0, ""},
        {PLACE_PARTITION, 16, 0, "cores_divided workers 0-15"},
        {PLACE_PARTITION, 17, 0, ""}, /* skipped */
        {PLACE_SPREAD, 3, 0, "worker_over_packages workers 0-2"},
        {PLACE_CORES, 3, 0, "worker_over_packages worker 1"},
        {PLACE_LLC, 3, 0, ""},
        {PLACE_NUMA, 3, 0, ""},
        {PLACE_REMOTE, 3, 0, ""},
    };
    AUTO(topo) topo = fixture_topo("package:2 numa:1 l3:2 core:2 pu:2", NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char found[400];
        AUTO(findings) findings;
        struct plan_request request = {.placement = cases[i].placement,
                                       .workers = cases[i].workers,
                                       .background = cases[i].background};
        check(&topo, &request, &findings);
        assert_string_equal(list_findings(&findings, found, sizeof(found)), cases[i].found);
    }
}

/* Only placements that this machine has are recommended. */
TEST(check_advises_what_helps)
{
    static const struct {
        const char *machine;
        unsigned workers;
        const char *cpus, *advice;
    } cases[] = {
        {"package:1 core:4 pu:2", 3, "they share 1 core (CPUs 2-3)", "cores gives each"},
        {"package:1 core:4 pu:3", 5, "they share 2 cores (CPUs 6-11)", NULL},
        {"package:1 core:2 pu:2", 3, "they share 1 core (CPUs 2-3)", NULL},
        {"package:2 core:3 pu:1", 1, "CPUs of more than one package:", NULL},
        {"package:2 numa:1 core:3 pu:1", 1, "CPUs of more than one package:", "numa keeps each"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        AUTO(findings) findings;
        struct plan_request request = {.placement = PLACE_PARTITION, .workers = cases[i].workers};
        AUTO(topo) topo = fixture_topo(cases[i].machine, NULL);
        check(&topo, &request, &findings);
        assert_int_equal(findings.n, 1);
        const char *sentence = findings.all[0].sentence;
        assert_has(sentence, cases[i].cpus);
        if (cases[i].advice ? !strstr(sentence, cases[i].advice) : strchr(sentence, ';') != NULL)
            fail_msg("'%s' is not as '%s'", sentence, cases[i].advice ? cases[i].advice : "");
    }
}

/* Like check, but fails unless the findings are `found` and the last sentence is `sentence` ("" =
 * any). */
static void expect(const struct topo *topo, const struct plan_request *request, const char *found,
                   const char *sentence)
{
    char list[400];
    AUTO(findings) findings;
    check(topo, request, &findings);
    assert_string_equal(list_findings(&findings, list, sizeof(list)), found);
    if (findings.n && sentence[0])
        assert_string_equal(findings.all[findings.n - 1].sentence, sentence);
}

TEST(check_finds_slices_over_nodes_of_a_package)
{
    struct plan_request one = {.placement = PLACE_PARTITION, .workers = 1};
    struct plan_request two = {.placement = PLACE_PARTITION, .workers = 2};
    struct plan_request spread = {.placement = PLACE_SPREAD, .workers = 2};
    AUTO(topo) topo = fixture_topo("package:1 numa:2 l3:1 core:4 pu:1", NULL);
    expect(&topo, &one, "worker_over_nodes worker 0",
           "CPUs of more than one NUMA node: memory that the threads of a worker share is far from "
           "some of them; numa keeps each worker inside one node");
    expect(&topo, &two, "", "");
    expect(&topo, &spread, "worker_over_nodes workers 0-1", "");
}

/* numa is skipped if only one node has allowed memory. */
TEST(check_advises_no_placement_that_is_skipped)
{
    struct plan_request request = {.placement = PLACE_PARTITION, .workers = 1};
    AUTO(topo) topo = fixture_topo("package:2 numa:1 core:3 pu:1", NULL);
    topo.nodes[1].allowed = false;
    expect(&topo, &request, "worker_some_no_memory worker 0; worker_over_packages worker 0",
           "CPUs of more than one package: what the threads of a worker share goes from one to the "
           "other");
}

TEST(check_finds_gpus_far_from_their_workers)
{
    struct plan_request request = {.placement = PLACE_PARTITION, .workers = 2};
    AUTO(topo) topo = fixture_topo("package:2 numa:1 core:4 pu:1", "01:00.0@0,02:00.0@0");
    expect(&topo, &request, "gpu_far worker 1",
           "GPU 1 is near NUMA node 0, and its CPUs are on node 1; gpu-local gives each worker "
           "CPUs near "
           "its GPU");
    request.workers = 5; /* gpu-local has no room for five workers on four near cores */
    expect(&topo, &request, "gpu_far workers 2-4",
           "their GPUs are near other NUMA nodes than their CPUs (of worker 2: GPU 0 is near NUMA "
           "node 0, and its CPUs are on node 1)");
    request.placement = PLACE_GPU_LOCAL;
    request.workers = 2;
    expect(&topo, &request, "cpus_left CPUs 4-7",
           "4 of 8 are in no worker's slice, as each is kept inside one NUMA node; partition gives "
           "all CPUs to the workers");
    request.placement = PLACE_REMOTE; /* the placement's purpose */
    expect(&topo, &request, "", "");
    request.placement = PLACE_NONE;
    expect(&topo, &request, "", "");
    request.placement = PLACE_PARTITION;
    topo.gpus[0].node = topo.gpus[1].node = -1;
    expect(&topo, &request, "", "");
    topo.gpus[0].node = 1;
    topo.gpus[1].node = 0;
    expect(&topo, &request, "gpu_far workers 0-1",
           "their GPUs are near other NUMA nodes than their CPUs (of worker 0: GPU 0 is near NUMA "
           "node 1, and its CPUs are on node 0); gpu-local gives each worker CPUs near its GPU");
}

/* CPUs that the request leaves out are intended, and so are the second threads with `cores`. */
TEST(check_finds_cpus_that_nobody_has)
{
    static const struct {
        struct plan_request request;
        const char *found, *sentence;
    } cases[] = {
        {{.placement = PLACE_NUMA, .workers = 2},
         "cpus_left CPUs 8-15",
         "8 of 16 are in no worker's slice, as each is kept inside one NUMA node; partition gives "
         "all CPUs to the workers"},
        {{.placement = PLACE_NUMA, .workers = 2, .reserve_cores = 1},
         "cpus_left CPUs 2-3,12-15",
         "6 of 14 are in no worker's slice, as each is kept inside one NUMA node; partition gives "
         "all CPUs to the workers"},
        {{.placement = PLACE_NUMA, .workers = 4}, "", ""},
        {{.placement = PLACE_NUMA, .workers = 4, .cores_each = 1}, "", ""},
        {{.placement = PLACE_CORES, .workers = 4}, "", ""},
        {{.placement = PLACE_SAME, .workers = 4}, "", ""},
        {{.placement = PLACE_NONE, .workers = 2}, "", ""},
    };
    AUTO(topo) topo = fixture_topo("package:4 numa:1 core:2 pu:2", NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect(&topo, &cases[i].request, cases[i].found, cases[i].sentence);
}

TEST(check_finds_teams_of_unlike_cores)
{
    struct plan_request request = {.placement = PLACE_SPREAD, .workers = 3};
    AUTO(topo) topo = fixture_topo("package:1 l3:2 core:4 pu:1", NULL);
    expect(&topo, &request, "", "");
    topo.nkinds = 2;
    for (unsigned i = 0; i < 4; i++)
        topo.cpus[i].kind = 1;
    expect(&topo, &request, "team_kinds workers 0-2",
           "a team's CPUs are of unlike cores: at each barrier the faster ones wait for the slower "
           "ones; pcores gives all workers the fastest cores");
    request.placement = PLACE_SIZED;
    expect(&topo, &request, "team_kinds workers 0-2", "");
    request.threads = 1; /* single threads */
    expect(&topo, &request, "", "");
    request.threads = 0;
    request.placement = PLACE_PCORES;
    expect(&topo, &request, "cpus_left CPUs 4-7",
           "4 of 8 are in no worker's slice, as pcores leaves the slower cores to background "
           "workers");
    request.background = 1;
    expect(&topo, &request, "", "");
}

/* CPUs that pcores would not use either give no recommendation; pcores itself has the same
 * finding. */
TEST(check_of_three_kinds_of_cores)
{
    struct plan_request request = {.placement = PLACE_PCORES, .workers = 3};
    char path[] = "/tmp/contend-test-XXXXXX.xml";
    fixture_machine_write(fixture_machine("hybrid_2p8e2lpe"), path);
    AUTO(topo) topo = fixture_topo(path, NULL);
    expect(&topo, &request, "team_kinds worker 0; workers_unlike workers 1-2; cpus_left CPUs 12-13",
           "");
    request.placement = PLACE_SIZED;
    expect(&topo, &request, "team_kinds workers 0-2",
           "a team's CPUs are of unlike cores: at each barrier the faster ones wait for the slower "
           "ones");
    (void)unlink(path);
}

TEST(check_finds_cores_outside_of_the_last_level_caches)
{
    struct plan_request request = {.placement = PLACE_LLC, .workers = 2};
    AUTO(topo) topo = fixture_topo("package:1 l3:3 core:2 pu:1", NULL);
    topo.nllcs = 2;
    expect(&topo, &request, "cpus_left CPUs 4-5",
           "2 of 6 are in no worker's slice, as their cores are outside of the last-level caches; "
           "partition gives all CPUs to the workers");
}

/* The CPUs of a job's workers belong to several hosts. */
TEST(check_leaves_plans_over_several_hosts_alone)
{
    AUTO(plan) plan = {0};
    AUTO(findings) findings = {0};
    struct plan_request request = {.placement = PLACE_PARTITION, .workers = 3};
    AUTO(topo) topo = fixture_topo("package:1 core:2 pu:2", NULL);
    assert_int_equal(plan_make(&topo, &request, &plan, NULL), 0);
    for (unsigned w = 0; w < plan.nworkers; w++)
        put_text(plan.workers[w].host, "host%u", w);
    plan_check(&topo, &plan, &findings);
    assert_int_equal(findings.n, 0);
}

/* Workers on a node without memory for them, and teams on isolated CPUs. */
TEST(check_finds_cpus_that_lack_something)
{
    static const struct {
        enum placement placement;
        unsigned workers;
        bool refused, isolated;
        const char *found;
    } cases[] = {
        {PLACE_PARTITION, 2, false, false, ""},
        {PLACE_PARTITION, 2, true, false, "worker_no_memory worker 1"},
        {PLACE_PARTITION, 3, true, false,
         "worker_no_memory worker 2; worker_some_no_memory worker 1; worker_over_nodes worker 1"},
        {PLACE_NONE, 2, true, false, ""},
        {PLACE_NONE, 2, false, true, "worker_isolated workers 0-1"},
        {PLACE_PARTITION, 2, false, true, "worker_isolated worker 1"},
        {PLACE_PARTITION, 4, false, true, "worker_isolated worker 3"},
        {PLACE_CORES, 8, false, true, ""}, /* one thread a worker */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char buf[400];
        AUTO(findings) findings;
        struct plan_request request = {.placement = cases[i].placement,
                                       .workers = cases[i].workers};
        AUTO(topo) topo = fixture_topo("package:1 numa:2 core:4 pu:1", NULL);
        topo.nodes[1].allowed = !cases[i].refused;
        for (unsigned cpu = 6; cpu < 8 && cases[i].isolated; cpu++)
            bitset_set(&topo.isolated, cpu);
        check(&topo, &request, &findings);
        assert_string_equal(list_findings(&findings, buf, sizeof(buf)), cases[i].found);
    }
}
