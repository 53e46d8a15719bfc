/* Rules over made-up facts: each planted fault gives its rule, outcome, cause and action. */

#include <ctype.h>

#include "harness/machine/gpu_driver.h"
#include "tests/lib/fixture_world.h"
#include "tests/lib/unit.h"

static struct fixture_world *const w = &fixture_world;

#define SET(field, text) put_text(field, "%s", text)

/* Plants a fault, which stays, and expects the rule to find it. */
#define PLANT(fault, id, unit, outcome, cause, action)                                             \
    do {                                                                                           \
        fault;                                                                                     \
        fixture_finds(id, unit, OUTCOME_##outcome, cause, ACTION_##action);                        \
    } while (0)

static const struct rules_request all;

TEST_ON_WORLD(rules_are_well_formed)
{
    static const char *const causes[] = {"hardware", "configuration", "container", "setup"};
    const struct rule *rule;
    size_t n = 0;
    for (; (rule = rule_at(n)); n++) {
        bool known = false;
        for (const char *at = rule->id; *at; at++)
            assert_true(islower((unsigned char)*at) || isdigit((unsigned char)*at) || *at == '_');
        assert_true(strlen(rule->id) < sizeof(((struct finding *)0)->id));
        assert_ptr_equal(rule_find(rule->id), rule); /* names are unique */
        for (size_t i = 0; i < 4; i++)
            known = known || strcmp(rule->cause, causes[i]) == 0;
        assert_true(known && rule->needs[0] && rule->source[0]);
        assert_null(strpbrk(rule->about, "|")); /* it fits into a cell of the documentation */
        assert_true(rule->judge || (rule->limits->sentence && rule->passed));
        for (const struct limit *limit = rule->limits; limit->sentence; limit++)
            assert_true(limit->text || limit->setting || !strstr(limit->sentence, "{t}"));
        assert_int_equal(rule->about[strlen(rule->about) - 1], '.');
    }
    assert_in_range(n, 30, RULES_MAX);
}

static void accuses_nobody(const struct findings *findings)
{
    for (size_t i = 0; i < findings->n; i++)
        if (findings->all[i].outcome != OUTCOME_SKIP && findings->all[i].outcome != OUTCOME_PASS)
            fail_msg("%s: %s: %s", findings->all[i].id, findings->all[i].subject,
                     findings->all[i].sentence);
}

/* On a machine that reports nothing, every rule says something, and none accuses it. */
TEST_ON_WORLD(rules_of_nothing)
{
    struct topo nothing = {.ncpus = 0};
    findings_free(&w->findings);
    facts_init(&w->facts);
    w->facts.topo = &nothing;
    const struct findings *findings = fixture_judge(&all);
    for (size_t r = 0; rule_name(r); r++) {
        size_t said = 0;
        for (size_t i = 0; i < findings->n; i++)
            said += strcmp(findings->all[i].id, rule_name(r)) == 0;
        if (!said)
            fail_msg("%s says nothing", rule_name(r));
    }
    accuses_nobody(findings);
}

/* The number of a metric on a unit that was compared with its bounds; "" = the machine. */
static const struct finding *number_of(const char *metric, const char *unit)
{
    for (size_t i = 0; i < w->numbers.n; i++)
        if (strcmp(w->numbers.all[i].metric, metric) == 0 &&
            strcmp(w->numbers.all[i].subject, unit) == 0)
            return &w->numbers.all[i];
    fail_msg("no number %s of '%s'", metric, unit);
    return NULL;
}

/* Numbers that passed are recorded, too, each once, with both of its bounds. */
TEST_ON_WORLD(rules_record_numbers)
{
    (void)fixture_judge(&all);
    for (size_t i = 0; i < w->numbers.n; i++)
        assert_int_equal(w->numbers.all[i].outcome, OUTCOME_PASS);
    const struct finding *speed = number_of("cpu_rate", "CPU 2");
    assert_true(speed->low > 0 && speed->low < speed->value && isnan(speed->high));
    const struct finding *memory = number_of("memory_bandwidth", "");
    assert_true(memory->low < memory->value && memory->value < memory->high);
    const size_t n = w->numbers.n;
    w->speeds[2].value *= 0.5;
    (void)fixture_judge(&all);
    assert_int_equal(w->numbers.n, n);
    assert_int_equal(number_of("cpu_rate", "CPU 2")->outcome, OUTCOME_FAIL);
    assert_int_equal(number_of("cpu_rate", "CPU 3")->outcome, OUTCOME_PASS);
}

TEST_ON_WORLD(rules_pass_a_good_machine)
{
    const struct findings *findings = fixture_judge(&all);
    accuses_nobody(findings);
    struct rules_verdict verdict = rules_verdict(findings, true, "");
    assert_int_equal(verdict.outcome, OUTCOME_PASS);
    assert_true(verdict.count[OUTCOME_PASS] >= 25);
}

TEST_ON_WORLD(rules_count)
{
    /* The driver lacks the last GPU, which is on the bus. */
    PLANT(w->topo.ngpus = GPUS - 1, "gpus_on_bus", "GPU 0000:04:00.0", FAIL, "hardware", RESET);
    assert_true(fixture_judged("gpus_on_bus", NULL)->value == 3);
    PLANT(w->facts.container = true, "gpus_on_bus", "GPU 0000:04:00.0", WARN, "container", RESET);
    w->facts.container = false;
    PLANT(w->topo.ngpus = 0, "gpus_on_bus", "GPU 0000:03:00.0 (slot 7)", FAIL, "configuration",
          RESET);
    w->topo.ngpus = GPUS;
    PLANT(w->gpus[3].cuda_ordinal = -1, "gpus_for_cuda", NULL, FAIL, "setup", FIX);
    PLANT(w->health[1].nvlinks_active = 14, "nvlinks", "GPU 1 (0000:02:00.0)", FAIL, "hardware",
          RESET);
    PLANT(w->facts.cpus_present = CPUS + 1, "cpus_online", NULL, FAIL, "configuration", FIX);
    PLANT(SET(w->facts.env.cgroup.cpuset, "0-3"), "cpus_allowed", NULL, WARN, "container", FIX);
    assert_true(fixture_judged("cpus_allowed", NULL)->value == 4);
    PLANT(w->facts.env.cgroup.cpus_limit = 2.5, "cpu_quota", NULL, WARN, "container", FIX);
    PLANT(w->facts.env.memory_bytes = 48.0 * 0x1p30, "memory_size", NULL, FAIL, "hardware",
          REPLACE);
    PLANT(w->nodes[1].memory_bytes = 0, "numa_memory", "node 1", FAIL, "hardware", REPLACE);
}

TEST_ON_WORLD(rules_of_the_affinity)
{
    PLANT(w->cpus[0].allowed = false, "cpus_allowed", NULL, WARN, "setup", FIX);
}

TEST_ON_WORLD(rules_of_links)
{
    PLANT(w->devices[2].lanes = 8, "pcie_width", "GPU 0000:03:00.0 (slot 7)", FAIL, "hardware",
          REPLACE);
    /* The slot is too narrow. */
    PLANT(w->devices[2].lanes_slot = 8, "pcie_width", NULL, WARN, "hardware", REPLACE);
    w->devices[2].lanes = w->devices[2].lanes_max = -1; /* hidden by the VM: NVML reports it */
    fixture_passes("pcie_width");
    PLANT(w->health[2].pcie_width = 8, "pcie_width", "GPU 2 (0000:03:00.0)", FAIL, "hardware",
          REPLACE);
    PLANT(w->devices[4].gts = 8, "pcie_speed", "NIC 0000:05:00.0", WARN, "hardware", WATCH);
}

TEST_ON_WORLD(rules_of_memory)
{
    /* Four channels of 4,800 MT/s x 8 B: 153.6 GB/s. */
    fixture_passes("memory_bandwidth");
    PLANT(w->bandwidth.value = 50, "memory_bandwidth", NULL, FAIL, "hardware", REPLACE);
    assert_true(fabs(fixture_judged("memory_bandwidth", NULL)->low - 61.44) < 0.01);
    PLANT(w->bandwidth.value = 160, "memory_bandwidth", NULL, FAIL, "setup", REPLACE);
    SET(w->dimms[1].locator, "DIMM_A2"); /* memory in three channels only */
    PLANT(w->bandwidth.value = 120, "memory_bandwidth", NULL, FAIL, "setup", REPLACE);
    PLANT(w->dimms[3].configured_mts = 4000, "memory_speed", NULL, WARN, "configuration", FIX);
    PLANT(w->dimms[3].size_mib = 8192, "modules_alike", "DIMM_D1", WARN, "hardware", REPLACE);
}

TEST_ON_WORLD(rules_of_gpu_bandwidth)
{
    struct facts_value copies[2] = {{.metric = "copy_bandwidth", .key = "dir=h2d;gpu=1;mem=pinned"},
                                    {.metric = "copy_bandwidth", .key = "dir=d2h;gpu=1"}};
    struct facts_value stream = {.metric = "device_bandwidth", .key = "gpu=0;op=triad"};
    copies[0].value = copies[1].value = 55;
    stream.value = 3000;
    w->facts.probes[PROBE_GPU_COPY] =
        (struct facts_probe){.status = PROBE_DONE, .n = 2, .values = copies};
    w->facts.probes[PROBE_GPU_STREAM] =
        (struct facts_probe){.status = PROBE_DONE, .n = 1, .values = &stream};
    w->health[0].memory_clock_max_mhz = 2619; /* an H100: 3,352 GB/s */
    w->health[0].memory_bus_bits = 5120;
    fixture_passes("pcie_bandwidth");
    fixture_passes("gpu_bandwidth");
    /* Of gen 5 x16. */
    PLANT(copies[1].value = 13, "pcie_bandwidth", "GPU 1 (0000:02:00.0) d2h", FAIL, "hardware",
          REPLACE);
    PLANT(stream.value = 3500, "gpu_bandwidth", "GPU 0 (0000:01:00.0)", FAIL, "setup", REPLACE);
    stream.value = NAN;
    PLANT(SET(stream.why, "element 3 is wrong"), "gpu_bandwidth", "gpu=0;op=triad", FAIL,
          "hardware", REPLACE);
}

TEST_ON_WORLD(rules_of_symmetry)
{
    fixture_passes("cpus_alike");
    PLANT(w->speeds[5].value = 70, "cpus_alike", "CPU 5", FAIL, "hardware", WATCH);
    /* In a virtual machine CPUs may share a core. */
    w->facts.env.virtual_machine = 1;
    PLANT(w->speeds[5].value = 60, "cpus_alike", "CPU 5", WARN, "hardware", WATCH);
    w->facts.env.virtual_machine = 0;
    w->speeds[5].value = 100;
    for (int i = 0; i < 4; i++) /* all efficiency cores are slower */
        w->speeds[i].value = 60;
    fixture_finds("cpus_alike", "", OUTCOME_WARN, "hardware", ACTION_WATCH);
    w->topo.nkinds = 2;
    for (int i = 4; i < CPUS; i++)
        w->cpus[i].kind = 1;
    fixture_passes("cpus_alike");
    static const char gpu[] = "GPU 3 (0000:04:00.0)";
    PLANT(w->health[3].power_limit_w = 500, "gpus_alike", gpu, FAIL, "configuration", FIX);
    fixture_finds("gpu_power_limit", gpu, OUTCOME_WARN, "configuration", ACTION_FIX);
}

TEST_ON_WORLD(rules_of_gpu_health)
{
    static const char gpu[] = "GPU 2 (0000:03:00.0)";
    struct gpu_health *health = &w->health[2];
    PLANT(health->ecc_uncorrected = 2, "gpu_ecc", gpu, FAIL, "hardware", RESET);
    health->ecc_uncorrected = 0;
    PLANT(health->ecc = 0, "gpu_ecc", gpu, WARN, "configuration", RESET);
    PLANT(health->rows_pending = 1, "gpu_rows", gpu, FAIL, "hardware", RESET);
    health->throttle_reasons = NVML_THROTTLE_GPU_IDLE | NVML_THROTTLE_SW_POWER_CAP;
    fixture_passes("gpu_throttling"); /* both reasons are normal */
    PLANT(health->throttle_reasons = NVML_THROTTLE_HW_THERMAL, "gpu_throttling", gpu, FAIL,
          "hardware", WATCH);
    PLANT(health->persistence = 0, "gpu_persistence", gpu, WARN, "configuration", FIX);
    PLANT(health->mig = 1, "gpu_modes", gpu, WARN, "configuration", FIX);
    PLANT(health->nprocesses = 1, "gpu_processes", gpu, WARN, "setup", FIX);
    PLANT(health->fabric_state = NVML_FABRIC_NOT_STARTED, "gpu_fabric", gpu, FAIL, "configuration",
          FIX);
    /* In a virtual machine the host may run the fabric manager. */
    PLANT(w->facts.env.virtual_machine = 1, "gpu_fabric", gpu, WARN, "configuration", FIX);
    PLANT(w->facts.peermem = false, "peermem", NULL, WARN, "configuration", FIX);
}

TEST_ON_WORLD(rules_of_collectives)
{
    struct facts_value value = {.metric = "collective_busbw", .value = 200};
    struct facts_probe *peer = &w->facts.probes[PROBE_COLLECTIVE];
    *peer = (struct facts_probe){.status = PROBE_DONE, .n = 1, .values = &value};
    fixture_passes("collective_peer");
    assert_true(fixture_judged("collective_peer", NULL)->value == 200);
    *peer = (struct facts_probe){.status = PROBE_HUNG, .reason = "no progress for 30 s"};
    fixture_finds("collective_peer", NULL, OUTCOME_FAIL, "hardware", ACTION_RESET);
    *peer = (struct facts_probe){.status = PROBE_FAILED, .reason = "unhandled system error"};
    fixture_finds("collective_peer", NULL, OUTCOME_FAIL, "hardware", ACTION_RESET);
    *peer = (struct facts_probe){.status = PROBE_ABSENT, .reason = "no NCCL"};
    fixture_finds("collective_peer", NULL, OUTCOME_SKIP, "", ACTION_RESET);
}

TEST_ON_WORLD(rules_of_the_log)
{
    struct facts_event events[] = {
        {.kind = EVENT_XID, .number = 79, .unit = "0000:03:00", .count = 2},
        {.kind = EVENT_XID, .number = 31, .unit = "0000:01:00", .count = 1},
        {.kind = EVENT_SXID, .number = 12028, .unit = "0000:06:00.0", .count = 1},
        {.kind = EVENT_MACHINE_CHECK, .count = 1},
        {.kind = EVENT_AER_CORRECTED, .unit = "0000:00:01.0", .count = 9},
        {.kind = EVENT_OUT_OF_MEMORY, .count = 1}};
    struct facts_edac edac = {.name = "CPU0_DIMM_C1", .uncorrected = 1};
    w->facts.events = events;
    w->facts.nevents = sizeof(events) / sizeof(events[0]);
    w->facts.edacs = &edac;
    w->facts.nedac = 1;
    fixture_finds("xid", "GPU 0000:03:00", OUTCOME_FAIL, "hardware", ACTION_RESET);
    fixture_finds("xid", "GPU 0000:01:00", OUTCOME_WARN, "setup", ACTION_RESET);
    fixture_finds("sxid", "NVSwitch 0000:06:00.0", OUTCOME_FAIL, "hardware", ACTION_RESET);
    fixture_finds("machine_checks", NULL, OUTCOME_FAIL, "hardware", ACTION_REPLACE);
    fixture_finds("pcie_errors", "0000:00:01.0", OUTCOME_WARN, "hardware", ACTION_WATCH);
    fixture_finds("out_of_memory", NULL, OUTCOME_WARN, "configuration", ACTION_WATCH);
    fixture_finds("memory_errors", "CPU0_DIMM_C1", OUTCOME_FAIL, "hardware", ACTION_REPLACE);
    PLANT(w->devices[2].aer_nonfatal = 3, "pcie_errors", "GPU 0000:03:00.0 (slot 7)", FAIL,
          "hardware", WATCH);
    w->facts.log = FACTS_DENIED;
    assert_has(fixture_judged("xid", NULL)->sentence, "as root");
    PLANT(w->facts.throttle_events = 4, "cpu_heat", NULL, WARN, "hardware", WATCH);
}

TEST_ON_WORLD(rules_of_ports)
{
    enum { PORTS = 4 };
    struct facts_port ports[PORTS];
    for (int i = 0; i < PORTS; i++) {
        ports[i] = (struct facts_port){
            .model = "MT_1", .state = 4, .physical = 5, .rate_gbps = 400, .symbol_errors = 3};
        put_text(ports[i].name, "mlx5_%d port 1", i);
    }
    assert_int_equal(fixture_judged("rdma_ports", NULL)->outcome, OUTCOME_SKIP);
    w->facts.ports = ports;
    w->facts.nports = PORTS;
    fixture_passes("rdma_ports");
    fixture_passes("rdma_errors");
    SET(ports[3].model, "MT_2"); /* another model may be slower */
    ports[3].rate_gbps = 100;
    fixture_passes("rdma_ports");
    PLANT(ports[1].rate_gbps = 200, "rdma_ports", "mlx5_1 port 1", FAIL, "hardware", REPLACE);
    assert_true(fixture_judged("rdma_ports", NULL)->low == 400);
    ports[1].rate_gbps = 400;
    PLANT(ports[2].state = 2, "rdma_ports", "mlx5_2 port 1", FAIL, "configuration", REPLACE);
    assert_has(fixture_judged("rdma_ports", NULL)->sentence, "INIT");
    ports[0].state = ports[2].state =
        1; /* two ports without a cable: one warning, no warning about their rates */
    ports[0].physical = ports[2].physical = 2;
    ports[0].rate_gbps = 10;
    PLANT(, "rdma_ports", "mlx5_0 port 1", WARN, "configuration", REPLACE);
    assert_true(fixture_judged("rdma_ports", NULL)->value == 2);
    size_t warned = 0;
    for (size_t i = 0; i < w->findings.n; i++)
        warned += strcmp(w->findings.all[i].id, "rdma_ports") == 0;
    assert_int_equal(warned, 1);
    ports[3].downs = 10;
    fixture_passes("rdma_errors");
    PLANT(ports[3].downs = 11, "rdma_errors", "mlx5_3 port 1", WARN, "hardware", WATCH);
    PLANT(ports[0].receive_errors = 4000, "rdma_errors", "mlx5_0 port 1", WARN, "hardware", WATCH);
}

TEST_ON_WORLD(rules_of_settings)
{
    struct environment *env = &w->facts.env;
    PLANT(SET(env->governor, "powersave"), "governor", NULL, FAIL, "configuration", FIX);
    PLANT(SET(w->facts.scaling_driver, "intel_pstate"), "governor", NULL, WARN, "configuration",
          FIX);
    PLANT(env->memlock_bytes = 64 * 1024, "memlock", NULL, FAIL, "configuration", FIX);
    PLANT(w->facts.rdma = false, "memlock", NULL, FAIL, "configuration", FIX);
    PLANT(w->facts.container = true, "memlock", NULL, WARN, "container", FIX);
    env->memlock_bytes = 8 << 20;
    fixture_passes("memlock");
    PLANT(w->facts.shm_bytes = 0x1p26, "shm", NULL, WARN, "container", FIX);
    PLANT(env->numa_balancing = 1, "numa_balancing", NULL, WARN, "configuration", FIX);
    PLANT(w->facts.steal = 0.05, "steal", NULL, WARN, "setup", WATCH);
    PLANT(w->facts.swap_used_bytes = 0x1p33, "swap", NULL, WARN, "configuration", WATCH);
    PLANT(SET(env->thp, "never"), "huge_pages", NULL, WARN, "configuration", FIX);
    PLANT(SET(env->clocksource, "hpet"), "clock", NULL, WARN, "configuration", FIX);
    struct facts_value exits[] = {{.metric = "idle_exit", .key = "cpu=0", .value = 3},
                                  {.metric = "idle_exit", .key = "cpu=1", .value = 130}};
    w->facts.probes[PROBE_IDLE_EXIT] =
        (struct facts_probe){.status = PROBE_DONE, .n = 2, .values = exits};
    fixture_finds("idle_exit", NULL, OUTCOME_WARN, "configuration", ACTION_FIX);
    env->virtual_machine = 1;
    fixture_passes("idle_exit");
}

/* CPUs beyond the first 512 are compared as well; without room for all, the rule does not pass. */
TEST_ON_WORLD(rules_compare_all_cpus)
{
    enum { MANY = 2049 };
    struct facts_value *values = calloc(MANY, sizeof(*values));
    assert_non_null(values);
    for (int i = 0; i < MANY; i++) {
        values[i] = (struct facts_value){.metric = "cpu_rate", .value = i == 700 ? 50 : 100};
        put_text(values[i].key, "cpu=%d", i);
    }
    w->facts.probes[PROBE_CPU_SPEED] =
        (struct facts_probe){.status = PROBE_DONE, .n = 768, .values = values};
    fixture_finds("cpus_alike", "CPU 700", OUTCOME_FAIL, "hardware", ACTION_WATCH);
    values[700].value = 100;
    fixture_passes("cpus_alike");
    PLANT(w->facts.probes[PROBE_CPU_SPEED].n = MANY, "cpus_alike", NULL, WARN, "hardware", WATCH);
    assert_string_equal(fixture_judged("cpus_alike", NULL)->sentence,
                        "only the first 2048 CPUs were compared");
    free(values);
}
