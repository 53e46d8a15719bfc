/* The checks of the machine apart from its processes, on made-up views: each check finds its
 * planted fault, and nothing below its threshold. */
#include "harness/doctor/checks/check.h"
#include "harness/doctor/reader/host.h"

#include "harness/machine/topo.h"
#include "tests/lib/unit.h"

/* Eight CPUs, and four worker threads with one CPU each: pid 100 on CPUs 0-1, pid 200 on 2-3. */
enum { CPUS = 8, PROCESSES = 3, WATCHED = 2 };

static struct planted {
    struct view view;
    struct view_process processes[PROCESSES];
    struct view_task tasks[WATCHED][2];
    struct bitset masks[PROCESSES]; /* the last mask belongs to a process that is not watched */
    struct view_cpu cpus[CPUS];
    struct view_cgroup groups[2];
    struct host host;
    struct diagnosis diagnosis;
} planted;

static void plant_processes(struct planted *p)
{
    for (int i = 0; i < WATCHED; i++) {
        bitset_set(&p->masks[i], (unsigned)(2 * i));
        bitset_set(&p->masks[i], (unsigned)(2 * i + 1));
        for (int t = 0; t < 2; t++)
            p->tasks[i][t] = (struct view_task){
                .tid = 100 * (i + 1) + t, .mask = i, .oncpu_s = 2, .cpu = 2 * i + t};
        p->processes[i] = (struct view_process){.pid = 100 * (i + 1),
                                                .parent = 1,
                                                .name = "worker",
                                                .state = 'R',
                                                .watched = true,
                                                .threads = 2,
                                                .cpu = 2 * i,
                                                .mask = i,
                                                .parent_mask = -1,
                                                .cpu_s = 4,
                                                .ntasks = 2,
                                                .tasks = p->tasks[i],
                                                .cgroup = {1, 1, 1}};
    }
    p->processes[2] = (struct view_process){.pid = 300,
                                            .parent = 1,
                                            .name = "other",
                                            .state = 'S',
                                            .cpu = 6,
                                            .mask = WATCHED,
                                            .parent_mask = -1,
                                            .cgroup = {-1, -1, -1}};
}

static void plant_groups(struct planted *p)
{
    for (int g = 0; g < 2; g++) {
        p->groups[g] = (struct view_cgroup){.parent = g - 1,
                                            .v2 = true,
                                            .quota_cpus = NAN,
                                            .periods = NAN,
                                            .throttled_periods = NAN,
                                            .throttled_s = NAN};
        put_text(p->groups[g].path, "/sys/fs/cgroup%s", g ? "/job" : "");
    }
}

static int set_up(void **state)
{
    struct planted *p = &planted;
    memset(p, 0, sizeof(*p));
    p->view = (struct view){.wall_s = 2,
                            .now_s = 10000,
                            .has_schedstat = true,
                            .pressure_share = NAN,
                            .load = NAN,
                            .nmasks = PROCESSES,
                            .masks = p->masks,
                            .ncpus = CPUS,
                            .cpus = p->cpus,
                            .nprocesses = PROCESSES,
                            .processes = p->processes,
                            .ncgroups = 2,
                            .cgroups = p->groups,
                            .nnodes = 2,
                            .host = &p->host};
    for (unsigned c = 0; c < CPUS; c++) {
        bitset_set(&p->view.online, c);
        bitset_set(&p->masks[WATCHED], c);
        bitset_set(&p->view.node_cpus[c / 4], c);
        p->cpus[c] =
            (struct view_cpu){.os_cpu = c, .user_s = c < 4 ? 2 : 0, .idle_s = c < 4 ? 0 : 2};
    }
    plant_processes(p);
    plant_groups(p);
    p->host.a_second = (struct host_counts){NAN, NAN, NAN, NAN};
    return 0;
}

static int tear_down(void **state)
{
    diagnosis_free(&planted.diagnosis);
    return 0;
}

/* The finding of that id; NULL = none. */
static const struct found *diagnose(const char *id)
{
    const struct found *found = NULL;
    diagnosis_free(&planted.diagnosis);
    assert_int_equal(diagnosis_make(&planted.view, &planted.diagnosis, NULL), 0);
    for (size_t i = 0; i < planted.diagnosis.n; i++)
        if (strcmp(planted.diagnosis.all[i].finding.id, id) == 0) {
            assert_null(found);
            found = &planted.diagnosis.all[i];
        }
    return found;
}

static void assert_calm(void)
{
    (void)diagnose("");
    for (size_t i = 0; i < planted.diagnosis.n; i++)
        print_message("%s: %s\n", planted.diagnosis.all[i].finding.id,
                      planted.diagnosis.all[i].finding.sentence);
    assert_int_equal(planted.diagnosis.n, 0);
}

TEST_WITHIN(host_well_placed_has_no_finding, set_up, tear_down)
{
    assert_calm();
    planted.view.host = NULL;
    assert_calm();
}

TEST_WITHIN(host_numa_balancing, set_up, tear_down)
{
    planted.host.a_second.numa_faults = 1000;
    planted.host.a_second.numa_moved = 100;
    assert_calm();
    planted.host.a_second.numa_faults = 100000; /* 0.15 of 4 CPUs */
    const struct found *found = diagnose("numa_balancing");
    assert_non_null(found);
    assert_true(fabs(found->cost - (0.15 + 0.0005) / 4) < 1e-9);
    assert_string_equal(found->finding.command,
                        "echo 0 | sudo tee /proc/sys/kernel/numa_balancing");
    planted.view.nnodes = 1;
    planted.view.node_cpus[0] = planted.view.online;
    assert_calm();
}

TEST_WITHIN(host_clocks, set_up, tear_down)
{
    struct host_cpu *cpus = planted.host.cpus;
    cpus[0] = (struct host_cpu){.os_cpu = 0, .now_mhz = 1700, .base_mhz = 2000};
    cpus[1] = (struct host_cpu){.os_cpu = 6, .now_mhz = 800, .base_mhz = 2000}; /* an idle CPU */
    planted.host.ncpus = 2;
    assert_calm(); /* 85%, and no setting saves power */
    put_text(planted.host.preference, "balance_power");
    assert_true(fabs(diagnose("clock_governor")->cost - 0.15) < 1e-9);
    put_text(planted.host.governor, "powersave");
    put_text(planted.host.clock_driver, "intel_pstate");
    planted.host.preference[0] = '\0';
    assert_calm(); /* powersave of this driver is no such setting */
    cpus[0].now_mhz = 1200;
    assert_has(diagnose("clock_governor")->finding.sentence, "a power limit");
    cpus[0].now_mhz = 2600;
    planted.host.a_second.throttles = 3;
    assert_non_null(diagnose("thermal_throttling"));
    planted.host.a_second.throttled_s = 0.001;
    assert_calm();
    planted.host.a_second.throttled_s = 0.4;
    assert_true(fabs(diagnose("thermal_throttling")->cost - 0.1) < 1e-9);
}

TEST_WITHIN(host_memory, set_up, tear_down)
{
    struct host_memory *memories = planted.host.memories;
    planted.host.nmemories = 2;
    memories[0] = (struct host_memory){.some = 0.3, .limit_bytes = NAN, .used = 0.5};
    memories[1] = (struct host_memory){.path = "/sys/fs/cgroup/job",
                                       .some = 0.3,
                                       .refaults = 900,
                                       .limit_bytes = 1 << 30,
                                       .used = 0.99};
    const struct found *found = diagnose("memory_pressure"); /* reported once, for the cgroup */
    assert_non_null(found);
    assert_int_equal(found->npids, 2);
    assert_true(found->cost == 0.3);
    assert_has(found->finding.evidence, "900 pages/s read again; limit 1 GiB");
    memories[0].some = 0.1; /* no group waits longer than the machine */
    assert_true(diagnose("memory_pressure")->cost == 0.1);
    memories[0].some = 0.01;
    assert_calm();
    memories[0].some = NAN;
    assert_true(diagnose("memory_pressure")->cost == 0.3);
    memories[1].some = 0.01;
    assert_calm(); /* pages are read again, but nothing waits for them */
    memories[1].some = NAN;
    memories[1].refaults = 100;
    assert_calm();
    memories[1].refaults = 300;
    assert_true(fabs(diagnose("memory_pressure")->cost - 0.03) < 1e-9);
}

/* Pages that a reclaimer dropped are read again, or another group waits for memory. */
TEST_WITHIN(host_memory_that_is_free, set_up, tear_down)
{
    struct host_memory *memories = planted.host.memories;
    planted.host.nmemories = 2;
    memories[0] =
        (struct host_memory){.some = NAN, .refaults = 5667, .limit_bytes = NAN, .used = 0.13};
    memories[1] = (struct host_memory){.path = "/sys/fs/cgroup/job",
                                       .some = NAN,
                                       .refaults = 5667,
                                       .limit_bytes = NAN,
                                       .used = NAN};
    assert_calm();
    memories[1].used = 0.5; /* a limit that is far */
    assert_calm();
    memories[0].some = 0.4;
    assert_calm();
    memories[1].some = 0.4;
    assert_calm();
    memories[0].scans = 100;
    assert_true(diagnose("memory_pressure")->cost == 0.4);
    memories[0].scans = 0;
    memories[0].used = 0.97;
    assert_int_equal(diagnose("memory_pressure")->npids, 2);
    memories[1].some = 0;
    assert_string_equal(diagnose("memory_pressure")->finding.subject, ""); /* the machine's own */
}

TEST_WITHIN(host_memory_kills, set_up, tear_down)
{
    struct host_memory *memories = planted.host.memories;
    planted.host.nmemories = 2;
    memories[0] = (struct host_memory){.some = 0.3, .kills = 1, .used = 0.5};
    memories[1] = (struct host_memory){.path = "/sys/fs/cgroup/job", .limit_bytes = NAN};
    assert_calm(); /* by the limit of another group */
    memories[0].scans = 100;
    assert_has(diagnose("memory_pressure")->finding.evidence, "1 killed");
    memories[0].scans = 0;
    memories[1].kills = 2;
    assert_has(diagnose("memory_pressure")->finding.evidence, "2 killed");
}

/* Waits of the machine, its traffic, and that of worker 100, whose threads run for so long. */
static const struct found *diagnose_storage(double waits, double mib, double own_mib, double runs_s)
{
    planted.host.a_second = (struct host_counts){NAN, NAN, NAN, NAN, waits, mib * (1 << 20)};
    planted.processes[0].disk_bytes = own_mib * (1 << 20);
    for (int t = 0; t < 2; t++)
        planted.tasks[0][t].oncpu_s = runs_s; /* of two seconds */
    return diagnose("storage");
}

TEST_WITHIN(host_storage, set_up, tear_down)
{
    const struct found *found = diagnose_storage(0.5, 10, 19, 0.6);
    assert_non_null(found);
    assert_int_equal(found->finding.severity, FINDING_DOUBT);
    assert_int_equal(found->npids, 1);
    assert_int_equal(found->pids[0], 100);
    assert_true(found->cost == 0.5);
    planted.tasks[0][0].is_detailed = planted.tasks[0][1].is_detailed = true;
    assert_true(fabs(diagnose_storage(0.9, 10, 19, 0.6)->cost - 0.7) < 1e-9); /* blocked for less */
    assert_null(diagnose_storage(0.9, 10, 19, 1.9)); /* what it writes costs it nothing */
    assert_null(diagnose_storage(0.9, 20, 19, 0.6)); /* others' traffic */
    assert_null(diagnose_storage(0.9, 10, NAN, 0.6));
    assert_null(diagnose_storage(0.19, 10, 19, 0.6));
    assert_null(diagnose_storage(NAN, 10, 19, 0.6));
    planted.host.nmemories = 1; /* pages that were dropped are read again */
    planted.host.memories[0] = (struct host_memory){.some = 0.3, .used = 0.99};
    assert_null(diagnose_storage(0.9, 10, 19, 0.6));
    assert_non_null(diagnose("memory_pressure"));
}

static void plant_topo(const char *text, struct topo *topo)
{
    const struct topo_options options = {.xml = text};
    assert_int_equal(topo_load(&options, topo, NULL), 0);
    planted.host.topo = topo;
}

TEST_WITHIN(host_shared_cores, set_up, tear_down)
{
    AUTO(topo) topo;
    plant_topo("package:1 l3:1 core:4 pu:2", &topo);
    assert_calm(); /* one core for each thread */
    planted.view.nnodes = 1;
    planted.view.node_cpus[0] = planted.view.online;
    planted.masks[0] = planted.masks[1] = (struct bitset){0};
    bitset_set(&planted.masks[0], 0);
    bitset_set(&planted.masks[0], 2);
    bitset_set(&planted.masks[1], 1);
    bitset_set(&planted.masks[1], 3);
    const struct found *found = diagnose("shared_cores");
    assert_non_null(found);
    assert_int_equal(found->npids, 2);
    assert_string_equal(found->finding.command, "taskset -acp 4,6 200");
    assert_true(fabs(found->cost - 0.35) <
                1e-9); /* 2 cores do the work of 2.6 threads instead of 4 */
    bitset_parse("4,6", &planted.masks[1], NULL);
    assert_calm(); /* after the command was applied */
    topo_free(&topo);
    /* With a worker on every core, no better placement exists. */
    plant_topo("package:1 l3:1 core:2 pu:2", &topo);
    bitset_parse("1,3", &planted.masks[1], NULL);
    assert_null(diagnose("shared_cores"));
}

TEST_WITHIN(host_gpus, set_up, tear_down)
{
    AUTO(topo) topo;
    struct gpu_health health;
    const struct topo_options options = {.xml = "package:1 core:8 pu:1",
                                         .fake_gpus = "0000:01:00.0@0"};
    assert_int_equal(topo_load(&options, &topo, NULL), 0);
    gpu_health_init(&health);
    health.nprocesses = 1;
    health.ecc_corrected = 3;
    planted.host.topo = &topo;
    planted.host.gpus = &health;
    assert_calm(); /* users of the GPU and corrected errors need no fix */
    health.pcie_width = 8;
    health.pcie_width_max = 16;
    health.persistence = 0;
    assert_has(diagnose("gpu_pcie")->finding.sentence, "x8 of x16");
    assert_string_equal(diagnose("gpu_persistence")->finding.command, "sudo nvidia-smi -pm 1");
    planted.view.is_root = true; /* root may lack sudo */
    assert_string_equal(diagnose("gpu_persistence")->finding.command, "nvidia-smi -pm 1");
    health.rows_pending = 1; /* the other GPUs are not reset */
    assert_string_equal(diagnose("gpu_memory")->finding.command,
                        "nvidia-smi --gpu-reset -i 0000:01:00.0");
    gpu_health_init(&health);
    struct facts_event events[] = {
        ENTRY(.kind = EVENT_XID, .number = 79, .count = 1, .last_s = 9000, .unit = "0000:01:00.0",
              .line = "NVRM: Xid"),
        ENTRY(.kind = EVENT_XID, .number = 13, .count = 1, .last_s = 100)};
    planted.host.log.nevents = 2;
    planted.host.log.events = events; /* one event is older than an hour */
    assert_has(diagnose("gpu_xid")->finding.sentence, "Xid 79");
}

TEST_WITHIN(host_hung, set_up, tear_down)
{
    planted.host.hung = (struct hung){.n = 1};
    planted.host.hung.found[0] = (struct hung_process){.pid = 300, .threads = 1, .then_s = 9998.5};
    const struct found *found = diagnose("hung");
    assert_int_equal(found->finding.severity, FINDING_DOUBT);
    assert_string_equal(found->finding.evidence, "no thread ran for 1.5 s");
    assert_string_equal(found->finding.command, "gdb -p 300 -batch -ex 'thread apply all bt'");
    planted.host.hung.named = planted.host.hung.found[0].is_python = true;
    found = diagnose("hung");
    assert_int_equal(found->finding.severity, FINDING_BAD);
    assert_has(found->finding.command, "py-spy dump --pid 300; gdb ");
}
