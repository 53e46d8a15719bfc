/*
 * What every plan promises, as properties over captured, synthetic and random machines. Captured
 * ones are in $CONTEND_TOPOLOGIES, else ../shared/topologies; without them, that test is skipped.
 */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/core/clock.h"
#include "harness/plan.h"

enum { PATH_SIZE = 512 };

static const char *topologies(void)
{
    const char *folder = getenv("CONTEND_TOPOLOGIES");
    return folder ? folder : "../shared/topologies";
}

static void load(const char *xml, const char *fake_gpus, struct topo *topo)
{
    struct topo_options options = {.xml = xml, .fake_gpus = fake_gpus};
    struct err err = {0};
    if (topo_load(&options, topo, &err))
        fail_msg("%s: %s", xml, err.msg);
}

/* A small generator, so that the same machines are tested everywhere. */
static uint64_t random_state = 88172645463325252;

static unsigned random_below(unsigned n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % n;
}

/* ---- the properties ---- */

/* What the request leaves to plan on, worked out without the planner. */
static struct bitset usable_cpus(const struct topo *topo, const struct plan_request *request)
{
    struct bitset usable = {0};
    unsigned cores = 0;
    int last_core = -1;
    for (unsigned i = 0; i < topo->ncpus; i++) {
        const struct topo_cpu *cpu = &topo->cpus[i];
        bool asked = bitset_empty(&request->cpus) || bitset_test(&request->cpus, cpu->os_cpu);
        if (!cpu->allowed || !asked)
            continue;
        if (cpu->core != last_core)
            cores++;
        last_core = cpu->core;
        if (cores > request->reserve_cores)
            bitset_set(&usable, cpu->os_cpu);
    }
    return usable;
}

enum part { PART_CORE, PART_LLC, PART_NODE };

static int part_of(const struct topo_cpu *cpu, enum part part)
{
    return part == PART_CORE ? cpu->core : part == PART_LLC ? cpu->llc : cpu->node;
}

/* How many different cores, caches or nodes a set touches. */
static unsigned parts_touched(const struct topo *topo, const struct bitset *set, enum part part)
{
    bool *seen = calloc(topo->ncpus + topo->nnodes, sizeof(*seen));
    unsigned n = 0;
    for (unsigned i = 0; i < topo->ncpus; i++) {
        int p = part_of(&topo->cpus[i], part);
        if (p >= 0 && bitset_test(set, topo->cpus[i].os_cpu) && !seen[p]) {
            seen[p] = true;
            n++;
        }
    }
    free(seen);
    return n;
}

/* True when `set` holds each core (or cache) of `usable` whole or not at all. */
static bool keeps_whole(const struct topo *topo, const struct bitset *set,
                        const struct bitset *usable, enum part part)
{
    int *state = calloc(topo->ncpus + topo->nnodes, sizeof(*state)); /* 1 inside, 2 outside */
    bool whole = true;
    for (unsigned i = 0; i < topo->ncpus; i++) {
        const struct topo_cpu *cpu = &topo->cpus[i];
        if (bitset_test(usable, cpu->os_cpu))
            state[part_of(cpu, part)] |= bitset_test(set, cpu->os_cpu) ? 1 : 2;
    }
    for (unsigned i = 0; i < topo->ncpus; i++)
        whole &= state[part_of(&topo->cpus[i], part)] != 3;
    free(state);
    return whole;
}

static int node_of(const struct topo *topo, const struct bitset *set)
{
    int first = bitset_next(set, 0);
    for (unsigned i = 0; i < topo->ncpus; i++)
        if ((int)topo->cpus[i].os_cpu == first)
            return topo->cpus[i].node;
    return -1;
}

struct spread {
    unsigned min, max;
};

static void include(struct spread *spread, unsigned value)
{
    if (spread->max == 0 || value < spread->min)
        spread->min = value;
    if (value > spread->max)
        spread->max = value;
}

static void check_fair(const char *what, struct spread spread)
{
    if (spread.max - spread.min > 1)
        fail_msg("%s: sizes from %u to %u", what, spread.min, spread.max);
}

/* What holds for every worker of every placement. */
static void check_worker(const struct topo *topo, const struct plan_request *request,
                         const struct plan *plan, unsigned w, const struct bitset *usable)
{
    const struct plan_worker *worker = &plan->workers[w];
    unsigned ncpus = bitset_count(&worker->cpus), visible = topo_visible_gpus(topo);
    assert_true(ncpus >= 1);
    assert_true(bitset_subset(&worker->cpus, usable));
    assert_int_equal(worker->background, w >= request->workers);
    if (!worker->background && request->threads)
        assert_int_equal(worker->threads, request->threads);
    else if (plan->placement == PLACE_SIZED)
        assert_int_equal(worker->threads, ncpus / plan->nworkers ? ncpus / plan->nworkers : 1);
    else
        assert_int_equal(worker->threads, ncpus);
    if (worker->background || !visible)
        assert_int_equal(worker->gpu, -1);
    else if (plan->placement != PLACE_REMOTE)
        assert_int_equal(worker->gpu, w % visible);
    assert_int_equal(bitset_empty(&worker->mem_nodes), worker->mem_policy == MEM_DEFAULT);
    for (int n = bitset_next(&worker->mem_nodes, 0); n >= 0;
         n = bitset_next(&worker->mem_nodes, (unsigned)n + 1))
        assert_true(topo->nodes[topo_node_index(topo, (unsigned)n)].allowed);
}

static void check_unpinned(const struct plan *plan, const struct bitset *usable)
{
    for (unsigned w = 0; w < plan->nworkers; w++)
        assert_true(bitset_equal(&plan->workers[w].cpus, usable));
}

/* Contiguous in os_cpu order: no worker has a CPU below one of an earlier worker. */
static void check_partition(const struct plan *plan, const struct bitset *usable)
{
    struct spread size = {0};
    struct bitset all = {0};
    for (unsigned w = 0; w < plan->nworkers; w++) {
        const struct bitset *cpus = &plan->workers[w].cpus;
        include(&size, bitset_count(cpus));
        bitset_or(&all, cpus);
        for (int cpu = bitset_next(cpus, 0); w && cpu >= 0;
             cpu = bitset_next(cpus, (unsigned)cpu + 1))
            assert_int_equal(bitset_next(&plan->workers[w - 1].cpus, (unsigned)cpu), -1);
    }
    check_fair("partition", size);
    assert_true(bitset_equal(&all, usable));
}

static void check_same(const struct plan *plan, const struct bitset *usable)
{
    const struct bitset *first = &plan->workers[0].cpus;
    unsigned n = bitset_count(usable);
    for (unsigned w = 1; w < plan->nworkers; w++)
        assert_true(bitset_equal(&plan->workers[w].cpus, first));
    assert_int_equal(bitset_count(first), (n + plan->nworkers - 1) / plan->nworkers);
    assert_int_equal(bitset_next(first, 0), bitset_next(usable, 0));
}

/* Sizes in cores, siblings together; every slice touches as many caches as one can. */
static void check_spread(const struct topo *topo, const struct plan *plan,
                         const struct bitset *usable)
{
    struct spread size = {0}, caches = {0};
    struct bitset all = {0};
    for (unsigned w = 0; w < plan->nworkers; w++) {
        const struct bitset *cpus = &plan->workers[w].cpus;
        include(&size, parts_touched(topo, cpus, PART_CORE));
        include(&caches, parts_touched(topo, cpus, PART_LLC));
        bitset_or(&all, cpus);
        assert_true(keeps_whole(topo, cpus, usable, PART_CORE));
    }
    check_fair("spread", size);
    assert_true(bitset_equal(&all, usable));
    if (size.max > 1)
        assert_true(caches.max > 1);
}

static void check_cores(const struct topo *topo, const struct plan *plan,
                        const struct bitset *usable)
{
    struct spread size = {0};
    unsigned total = 0;
    for (unsigned w = 0; w < plan->nworkers; w++) {
        unsigned ncpus = bitset_count(&plan->workers[w].cpus);
        assert_int_equal(parts_touched(topo, &plan->workers[w].cpus, PART_CORE), ncpus);
        include(&size, ncpus);
        total += ncpus;
    }
    check_fair("cores", size);
    assert_int_equal(total, parts_touched(topo, usable, PART_CORE));
}

static void check_llc(const struct topo *topo, const struct plan *plan, const struct bitset *usable)
{
    unsigned llcs = parts_touched(topo, usable, PART_LLC);
    bool enough = llcs >= plan->nworkers;
    struct spread size = {0};
    struct bitset all = {0};
    for (unsigned w = 0; w < plan->nworkers; w++) {
        const struct bitset *cpus = &plan->workers[w].cpus;
        unsigned touched = parts_touched(topo, cpus, PART_LLC);
        include(&size, touched);
        bitset_or(&all, cpus);
        assert_true(keeps_whole(topo, cpus, usable, enough ? PART_LLC : PART_CORE));
        if (!enough)
            assert_int_equal(touched, 1);
    }
    check_fair("llc", size);
    assert_true(bitset_equal(&all, usable));
}

/* Workers of one node have equal shares of it, and no node is idle while another is shared. */
static void check_node_shares(const struct topo *topo, const struct plan *plan,
                              const struct bitset *usable)
{
    struct spread *size = calloc(topo->nnodes, sizeof(*size));
    unsigned used = 0, nodes = 0;
    for (unsigned w = 0; w < plan->nworkers; w++)
        include(&size[node_of(topo, &plan->workers[w].cpus)],
                parts_touched(topo, &plan->workers[w].cpus, PART_CORE));
    for (unsigned n = 0; n < topo->nnodes; n++) {
        check_fair("node", size[n]);
        used += size[n].max > 0;
        nodes += topo->nodes[n].allowed && bitset_intersects(&topo->nodes[n].cpus, usable);
    }
    free(size);
    if (plan->placement != PLACE_GPU_LOCAL)
        assert_int_equal(used, plan->nworkers < nodes ? plan->nworkers : nodes);
}

static bool has_remote_gpu(const struct topo *topo, int node)
{
    for (unsigned g = 0; g < topo_visible_gpus(topo); g++)
        if (topo->gpus[g].node >= 0 && topo->gpus[g].node != node)
            return true;
    return false;
}

static void check_by_node(const struct topo *topo, const struct plan_request *request,
                          const struct plan *plan, const struct bitset *usable)
{
    check_node_shares(topo, plan, usable);
    for (unsigned w = 0; w < plan->nworkers; w++) {
        const struct plan_worker *worker = &plan->workers[w];
        int node = node_of(topo, &worker->cpus);
        assert_int_equal(parts_touched(topo, &worker->cpus, PART_NODE), 1);
        assert_true(keeps_whole(topo, &worker->cpus, usable, PART_CORE));
        if (plan->placement == PLACE_GPU_LOCAL && !worker->background)
            assert_int_equal(topo->gpus[worker->gpu].node, node);
        if (plan->placement == PLACE_REMOTE && worker->gpu >= 0 && has_remote_gpu(topo, node)) {
            assert_true(topo->gpus[worker->gpu].node >= 0);
            assert_int_not_equal(topo->gpus[worker->gpu].node, node);
        }
        if (request->has_mem_policy)
            continue;
        assert_int_equal(worker->mem_policy, MEM_BIND);
        assert_int_equal(bitset_count(&worker->mem_nodes), 1);
        bool local = bitset_test(&worker->mem_nodes, topo->nodes[node].os_node);
        assert_int_equal(local, plan->placement != PLACE_REMOTE);
    }
}

static void check_pcores(const struct topo *topo, const struct plan_request *request,
                         const struct plan *plan, const struct bitset *usable)
{
    struct spread front = {0}, behind = {0};
    int weakest_front = 99, strongest_behind = -1, strongest = -1;
    for (unsigned i = 0; i < topo->ncpus; i++)
        for (unsigned w = 0; w < plan->nworkers; w++) {
            int kind = topo->cpus[i].kind;
            if (bitset_test(usable, topo->cpus[i].os_cpu) && kind > strongest)
                strongest = kind;
            if (!bitset_test(&plan->workers[w].cpus, topo->cpus[i].os_cpu))
                continue;
            if (w < request->workers && kind < weakest_front)
                weakest_front = kind;
            if (w >= request->workers && kind > strongest_behind)
                strongest_behind = kind;
        }
    assert_true(strongest_behind < weakest_front);
    if (topo->nkinds == 2)
        assert_int_equal(weakest_front, strongest);
    for (unsigned w = 0; w < plan->nworkers; w++) {
        include(w < request->workers ? &front : &behind,
                parts_touched(topo, &plan->workers[w].cpus, PART_CORE));
        assert_true(keeps_whole(topo, &plan->workers[w].cpus, usable, PART_CORE));
    }
    check_fair("pcores", front);
    check_fair("pcores background", behind);
}

static void check_policy(const struct topo *topo, const struct plan_request *request,
                         const struct plan *plan, const struct bitset *usable)
{
    switch (plan->placement) {
    case PLACE_NONE:
    case PLACE_SIZED:
        check_unpinned(plan, usable);
        break;
    case PLACE_SAME:
        check_same(plan, usable);
        break;
    case PLACE_PARTITION:
        check_partition(plan, usable);
        break;
    case PLACE_SPREAD:
        check_spread(topo, plan, usable);
        break;
    case PLACE_CORES:
        check_cores(topo, plan, usable);
        break;
    case PLACE_LLC:
        check_llc(topo, plan, usable);
        break;
    case PLACE_NUMA:
    case PLACE_GPU_LOCAL:
    case PLACE_REMOTE:
        check_by_node(topo, request, plan, usable);
        break;
    case PLACE_PCORES:
        check_pcores(topo, request, plan, usable);
        break;
    case PLACEMENTS:
        fail();
    }
}

/* Refusals must have a cause that can be seen without the planner. */
static void check_refused(const struct topo *topo, const struct plan_request *request,
                          const struct bitset *usable, const struct err *err)
{
    unsigned total = request->workers + request->background, n = bitset_count(usable);
    unsigned cores = parts_touched(topo, usable, PART_CORE);
    assert_true(err->msg[0]);
    if (n == 0)
        return;
    switch (request->placement) {
    case PLACE_NONE:
    case PLACE_SIZED:
    case PLACE_SAME:
        fail_msg("refused: %s", err->msg);
        break;
    case PLACE_PARTITION:
        assert_true(total > n);
        break;
    case PLACE_SPREAD:
    case PLACE_CORES:
    case PLACE_LLC:
        assert_true(total > cores);
        break;
    case PLACE_NUMA:
    case PLACE_REMOTE: {
        unsigned nodes_cores = 0;
        for (unsigned i = 0; i < topo->nnodes; i++) {
            struct bitset local = topo->nodes[i].cpus;
            bitset_and(&local, usable);
            if (topo->nodes[i].allowed)
                nodes_cores += parts_touched(topo, &local, PART_CORE);
        }
        assert_true(total > nodes_cores);
        break;
    }
    default: /* gpu-local and pcores depend on which node and which kind */
        break;
    }
}

static void check_skipped(const struct topo *topo, const struct plan *plan,
                          const struct bitset *usable)
{
    assert_true(plan->reason[0]);
    assert_int_equal(plan->nworkers, 0);
    assert_null(plan->workers);
    if (plan->placement <= PLACE_PARTITION)
        fail_msg("skipped: %s", plan->reason);
    if (plan->placement == PLACE_LLC || plan->placement == PLACE_SPREAD)
        assert_int_equal(parts_touched(topo, usable, PART_LLC), 1);
    if (plan->placement == PLACE_CORES)
        assert_int_equal(parts_touched(topo, usable, PART_CORE), bitset_count(usable));
}

static void check_request(const struct topo *topo, const struct plan_request *request)
{
    struct bitset usable = usable_cpus(topo, request);
    struct plan plan, again;
    struct err err = {0};
    int rc = plan_make(topo, request, &plan, &err);
    if (rc) {
        assert_true(rc == -EINVAL || rc == -ENOSPC);
        check_refused(topo, request, &usable, &err);
    } else if (plan.status == PLAN_SKIPPED) {
        check_skipped(topo, &plan, &usable);
    } else {
        assert_string_equal(plan.reason, "");
        assert_int_equal(plan.nworkers, request->workers + request->background);
        for (unsigned w = 0; w < plan.nworkers; w++)
            check_worker(topo, request, &plan, w, &usable);
        if (placement_infos[plan.placement].disjoint)
            assert_false(plan_overlaps(&plan));
        check_policy(topo, request, &plan, &usable);
        assert_int_equal(plan_make(topo, request, &again, &err), 0);
        assert_int_equal(again.nworkers, plan.nworkers);
        assert_memory_equal(again.workers, plan.workers, plan.nworkers * sizeof(*plan.workers));
        plan_free(&again);
    }
    plan_free(&plan);
}

static void check_all_placements(const struct topo *topo, struct plan_request request)
{
    for (int p = 0; p < PLACEMENTS; p++) {
        request.placement = (enum placement)p;
        check_request(topo, &request);
    }
}

static void check_machine(const struct topo *topo)
{
    static const unsigned workers[] = {1, 2, 3, 4, 7, 16};
    for (size_t i = 0; i < sizeof(workers) / sizeof(workers[0]); i++)
        for (unsigned background = 0; background <= 2; background += 2)
            for (unsigned reserve = 0; reserve <= 1; reserve++)
                check_all_placements(topo, (struct plan_request){.workers = workers[i],
                                                                 .background = background,
                                                                 .reserve_cores = reserve});
}

/* ---- properties over machines ---- */

static void test_plan_properties_of_captured_machines(void **state)
{
    (void)state;
    DIR *folder = opendir(topologies());
    unsigned machines = 0;
    if (!folder) {
        print_message("%s is not there\n", topologies());
        skip();
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
        const char *dot = strrchr(entry->d_name, '.');
        char path[PATH_SIZE];
        struct topo topo;
        if (!dot || strcmp(dot, ".xml") != 0)
            continue;
        (void)snprintf(path, sizeof(path), "%s/%s", topologies(), entry->d_name);
        load(path, NULL, &topo);
        check_machine(&topo);
        topo_free(&topo);
        machines++;
    }
    (void)closedir(folder);
    assert_true(machines > 0);
}

static void test_plan_properties_of_synthetic_machines(void **state)
{
    (void)state;
    for (unsigned packages = 1; packages <= 8; packages++)
        for (unsigned smt = 1; smt <= 4; smt++) {
            char text[128], gpus[64];
            struct topo topo;
            (void)snprintf(text, sizeof(text), "package:%u numa:%u l3:%u core:%u pu:%u", packages,
                           1 + packages % 2, 1 + smt % 3, 1 + (packages * smt) % 5, smt);
            (void)snprintf(gpus, sizeof(gpus), "01:00.0@%u,02:00.0@0,03:00.0@%u", packages - 1,
                           packages / 2);
            load(text, gpus, &topo);
            check_machine(&topo);
            topo_free(&topo);
        }
}

/* Takes CPUs and memory away, and makes some cores weaker, at random. */
static void disturb(struct topo *topo)
{
    unsigned keep = 1 + random_below(100);
    topo->nkinds = 1 + random_below(3);
    for (unsigned i = 0; i < topo->ncpus; i++) {
        struct topo_cpu *cpu = &topo->cpus[i];
        cpu->allowed = random_below(100) < keep;
        cpu->kind = cpu->smt ? cpu[-1].kind : (int)random_below(topo->nkinds);
    }
    topo->cpus[random_below(topo->ncpus)].allowed = true;
    for (unsigned i = 0; i < topo->nnodes; i++)
        topo->nodes[i].allowed = random_below(10) > 0;
    for (unsigned i = 0; i < topo->ngpus; i++)
        topo->gpus[i].node = (int)random_below(topo->nnodes + 1) - 1;
}

static void random_request(const struct topo *topo, struct plan_request *request)
{
    *request = (struct plan_request){.workers = 1 + random_below(12),
                                     .background = random_below(3) ? 0 : random_below(4),
                                     .reserve_cores = random_below(3) ? 0 : random_below(4),
                                     .threads = random_below(4) ? 0 : 1 + random_below(64)};
    if (random_below(2))
        return;
    for (unsigned i = 0; i < topo->ncpus; i++)
        if (topo->cpus[i].allowed && random_below(4))
            bitset_set(&request->cpus, topo->cpus[i].os_cpu);
}

static void test_plan_properties_of_random_allowed_sets(void **state)
{
    (void)state;
    static const char *const machines[] = {
        "package:1 l3:1 core:8 pu:2",        "package:2 numa:1 l3:2 core:4 pu:2",
        "package:4 numa:2 l3:1 core:3 pu:4", "package:2 numa:4 l3:2 core:2 pu:1",
        "package:8 numa:1 l2:4 core:2 pu:2", "package:3 core:5 pu:3",
    };
    for (size_t m = 0; m < sizeof(machines) / sizeof(machines[0]); m++) {
        struct topo topo;
        struct plan_request request;
        load(machines[m], "01:00.0,02:00.0,03:00.0,04:00.0", &topo);
        for (unsigned round = 0; round < 60; round++) {
            disturb(&topo);
            random_request(&topo, &request);
            check_all_placements(&topo, request);
        }
        topo_free(&topo);
    }
}

static void test_plan_64_workers_on_4096_cpus_in_50_ms(void **state)
{
    (void)state;
    struct topo topo;
    load("package:8 numa:2 l3:8 core:8 pu:4", "01:00.0@0,02:00.0@5", &topo);
    assert_int_equal(topo.ncpus, 4096);
    for (int p = 0; p < PLACEMENTS; p++) {
        struct plan_request request = {.placement = (enum placement)p, .workers = 64};
        uint64_t best_ns = UINT64_MAX;
        for (int i = 0; i < 5; i++) { /* the machine may be busy */
            struct plan plan;
            uint64_t start_ns = clock_now_ns();
            assert_int_equal(plan_make(&topo, &request, &plan, NULL), 0);
            uint64_t elapsed_ns = clock_now_ns() - start_ns;
            best_ns = elapsed_ns < best_ns ? elapsed_ns : best_ns;
            plan_free(&plan);
        }
        if (best_ns > 50000000)
            fail_msg("%s took %.1f ms", placement_infos[p].name, (double)best_ns / 1e6);
        check_request(&topo, &request);
    }
    topo_free(&topo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_properties_of_captured_machines),
        cmocka_unit_test(test_plan_properties_of_synthetic_machines),
        cmocka_unit_test(test_plan_properties_of_random_allowed_sets),
        cmocka_unit_test(test_plan_64_workers_on_4096_cpus_in_50_ms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
