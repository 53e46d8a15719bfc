/*
 * What every plan promises, as properties over machines from tables, synthetic and random ones, and
 * over the XML files in $CONTEND_TOPOLOGIES, or in ../shared/topologies if that exists.
 */
#include <dirent.h>

#include "harness/lib/sys/clock.h"
#include "harness/plan/plan.h"
#include "tests/lib/fixture_machines.h"
#include "tests/lib/fixture_plan_properties.h"
#include "tests/lib/fixture_topo.h"
#include "tests/lib/unit.h"

enum { PATH_SIZE = 512 };

/* A small generator, so that all systems test the same machines. */
static uint64_t random_state = 88172645463325252;

static unsigned random_below(unsigned n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % n;
}

static void check_all_placements(const struct topo *topo, struct plan_request request)
{
    for (int p = 0; p < PLACEMENTS; p++) {
        request.placement = (enum placement)p;
        fixture_check_plan(topo, &request);
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

static void check_file(const char *path)
{
    AUTO(topo) topo = fixture_topo(path, NULL);
    check_machine(&topo);
}

TEST(plan_properties_of_tabled_machines)
{
    for (const struct fixture_machine *machine = fixture_machines; machine->name; machine++) {
        char path[] = "/tmp/contend-test-XXXXXX.xml";
        fixture_machine_write(machine, path);
        check_file(path);
        (void)unlink(path);
    }
}

TEST(plan_properties_of_captured_machines)
{
    const char *asked = getenv("CONTEND_TOPOLOGIES");
    const char *topologies = asked ? asked : "../shared/topologies";
    DIR *folder = opendir(topologies);
    assert_true(folder || !asked);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        const char *dot = strrchr(entry->d_name, '.');
        char path[PATH_SIZE];
        put_text(path, "%s/%s", topologies, entry->d_name);
        if (dot && strcmp(dot, ".xml") == 0)
            check_file(path);
    }
    if (folder)
        (void)closedir(folder);
}

TEST(plan_properties_of_synthetic_machines)
{
    for (unsigned packages = 1; packages <= 8; packages++)
        for (unsigned smt = 1; smt <= 4; smt++) {
            char text[128], gpus[64];
            put_text(text, "package:%u numa:%u l3:%u core:%u pu:%u", packages, 1 + packages % 2,
                     1 + smt % 3, 1 + (packages * smt) % 5, smt);
            put_text(gpus, "01:00.0@%u,02:00.0@0,03:00.0@%u", packages - 1, packages / 2);
            AUTO(topo) topo = fixture_topo(text, gpus);
            check_machine(&topo);
        }
}

/* Removes CPUs and memory, and makes some cores slower, at random. */
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

TEST(plan_properties_of_random_allowed_sets)
{
    static const char *const machines[] = {
        "package:1 l3:1 core:8 pu:2",        "package:2 numa:1 l3:2 core:4 pu:2",
        "package:4 numa:2 l3:1 core:3 pu:4", "package:2 numa:4 l3:2 core:2 pu:1",
        "package:8 numa:1 l2:4 core:2 pu:2", "package:3 core:5 pu:3",
    };
    for (size_t m = 0; m < sizeof(machines) / sizeof(machines[0]); m++) {
        struct plan_request request;
        AUTO(topo) topo = fixture_topo(machines[m], "01:00.0,02:00.0,03:00.0,04:00.0");
        const unsigned nllcs = topo.nllcs;
        for (unsigned round = 0; round < 60; round++) {
            disturb(&topo);
            topo.nllcs = nllcs > 2
                             ? nllcs - random_below(2)
                             : nllcs; /* cores of the last cache may be outside the last level */
            random_request(&topo, &request);
            check_all_placements(&topo, request);
        }
    }
}

TEST(plan_64_workers_on_4096_cpus_in_50_ms)
{
    AUTO(topo) topo = fixture_topo("package:8 numa:2 l3:8 core:8 pu:4", "01:00.0@0,02:00.0@5");
    assert_int_equal(topo.ncpus, 4096);
    for (int p = 0; p < PLACEMENTS; p++) {
        struct plan_request request = {.placement = (enum placement)p, .workers = 64};
        uint64_t best_ns = UINT64_MAX;
        for (int i = 0; i < 5; i++) { /* several tries, as the machine may be busy */
            AUTO(plan) plan;
            uint64_t start_ns = clock_now_ns();
            assert_int_equal(plan_make(&topo, &request, &plan, NULL), 0);
            uint64_t elapsed_ns = clock_now_ns() - start_ns;
            best_ns = elapsed_ns < best_ns ? elapsed_ns : best_ns;
        }
        if (best_ns > 50000000)
            fail_msg("%s took %.1f ms", placement_infos[p].name, (double)best_ns / 1e6);
        fixture_check_plan(&topo, &request);
    }
}
