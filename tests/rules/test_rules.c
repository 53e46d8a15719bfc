/* Rules over facts that are made up: each planted fault gives its rule, outcome, class and action.
 */
#include "harness/rules/expect.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/gpu/driver.h"
#include "harness/gpu/health.h"
#include "harness/rules/check.h"

enum { CPUS = 8, GPUS = 4, DEVICES = 6, DIMMS = 4, VALUES = 2 * CPUS };

/* A good machine: eight CPUs, two nodes, four GPUs, a NIC, an NVSwitch, four memory modules. */
static struct world {
    struct topo topo;
    struct topo_cpu cpus[CPUS];
    struct topo_node nodes[2];
    struct topo_gpu gpus[GPUS];
    struct gpu_health health[GPUS];
    struct facts_device devices[DEVICES];
    struct facts_dimm dimms[DIMMS];
    struct facts_value speeds[VALUES], bandwidth;
    struct facts facts;
    struct findings findings;
} w;

static void set_up_gpus(void)
{
    for (int i = 0; i < GPUS; i++) {
        struct gpu_health *health = &w.health[i];
        gpu_health_init(health);
        health->nvlinks = health->nvlinks_active = 18;
        health->ecc = 1;
        health->ecc_uncorrected = health->ecc_uncorrected_life = 0;
        health->rows_pending = health->rows_failed = 0;
        health->persistence = 1;
        health->compute_mode = GPU_MODE_DEFAULT;
        health->mig = 0;
        health->nprocesses = 0;
        health->clock_mhz = 345;
        health->clock_max_mhz = 1980;
        health->fabric_state = NVML_FABRIC_DONE;
        health->fabric_status = 0;
        health->pcie_generation_link = health->pcie_generation_gpu = 5;
        health->pcie_width = health->pcie_width_max = 16;
        health->power_limit_w = health->power_limit_default_w = 700;
        w.gpus[i] = (struct topo_gpu){.cuda_ordinal = i, .node = -1, .health = health};
        (void)snprintf(w.gpus[i].pci_bdf, PCI_BDF_MAX, "0000:0%d:00.0", i + 1);
        (void)snprintf(w.gpus[i].name, sizeof(w.gpus[i].name), "NVIDIA H200");
    }
}

static void set_up_bus(void)
{
    for (int i = 0; i < DEVICES; i++) {
        w.devices[i] = (struct facts_device){.kind = i < GPUS    ? FACTS_GPU
                                                     : i == GPUS ? FACTS_NIC
                                                                 : FACTS_NVSWITCH,
                                             .gts = 32,
                                             .gts_max = 32,
                                             .lanes = 16,
                                             .lanes_max = 16,
                                             .lanes_slot = -1};
        (void)snprintf(w.devices[i].bdf, PCI_BDF_MAX, "0000:0%d:00.0", i + 1);
        (void)snprintf(w.devices[i].driver, sizeof(w.devices[i].driver), "nvidia");
    }
    (void)snprintf(w.devices[2].slot, sizeof(w.devices[2].slot), "7");
}

static void put_measured(void)
{
    struct facts_probe *speed = &w.facts.probes[PROBE_CPU_SPEED];
    for (int i = 0; i < VALUES; i++) {
        w.speeds[i].value = 100 + i % CPUS * 0.1;
        (void)snprintf(w.speeds[i].metric, sizeof(w.speeds[i].metric), "%s",
                       i < CPUS ? "cpu_rate" : "cpu_copy");
        (void)snprintf(w.speeds[i].key, sizeof(w.speeds[i].key), "cpu=%d", i % CPUS);
    }
    *speed = (struct facts_probe){.status = PROBE_DONE, .n = VALUES, .values = w.speeds};
    w.bandwidth = (struct facts_value){.metric = "bandwidth", .value = 120};
    w.facts.probes[PROBE_MEMORY_BANDWIDTH] =
        (struct facts_probe){.status = PROBE_DONE, .n = 1, .values = &w.bandwidth};
}

static int set_up(void **state)
{
    (void)state;
    memset(&w, 0, sizeof(w));
    facts_init(&w.facts);
    set_up_gpus();
    set_up_bus();
    w.topo = (struct topo){.ncpus = CPUS,
                           .ncores = CPUS,
                           .nkinds = 1,
                           .nnodes = 2,
                           .ngpus = GPUS,
                           .cpus = w.cpus,
                           .nodes = w.nodes,
                           .gpus = w.gpus};
    for (unsigned i = 0; i < CPUS; i++) {
        w.cpus[i] = (struct topo_cpu){.os_cpu = i, .core = (int)i, .allowed = true};
        bitset_set(&w.nodes[i / 4].cpus, i);
    }
    for (unsigned i = 0; i < 2; i++) {
        w.nodes[i].os_node = i;
        w.nodes[i].memory_bytes = 1 << 30;
    }
    for (int i = 0; i < DIMMS; i++) {
        w.dimms[i] = (struct facts_dimm){
            .size_mib = 16384, .rated_mts = 4800, .configured_mts = 4800, .data_bits = 64};
        (void)snprintf(w.dimms[i].locator, sizeof(w.dimms[i].locator), "DIMM_%c1", 'A' + i);
    }
    struct facts *facts = &w.facts;
    facts->topo = &w.topo;
    facts->pci = facts->dmi = facts->log = facts->edac = FACTS_READ;
    facts->ndevices = DEVICES;
    facts->devices = w.devices;
    facts->ndimms = DIMMS;
    facts->dimms = w.dimms;
    facts->cpus_present = facts->cpus_online = CPUS;
    facts->env.virtual_machine = 0;
    facts->env.memory_bytes = 63.0 * 0x1p30;
    facts->env.memlock_bytes = INFINITY;
    facts->env.numa_balancing = 0;
    facts->rdma = facts->peermem = true;
    facts->shm_bytes = 0x1p34;
    facts->steal = facts->machine_checks = facts->throttle_events = 0;
    facts->swap_bytes = facts->swap_used_bytes = 0;
    (void)snprintf(facts->env.governor, sizeof(facts->env.governor), "performance");
    (void)snprintf(facts->env.thp, sizeof(facts->env.thp), "madvise");
    (void)snprintf(facts->env.clocksource, sizeof(facts->env.clocksource), "tsc");
    put_measured();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    findings_free(&w.findings);
    return 0;
}

static const struct findings *judge_with(const struct rules_request *request)
{
    struct err err;
    findings_free(&w.findings);
    assert_int_equal(rules_judge(&w.facts, request, &w.findings, &err), 0);
    return &w.findings;
}

/* What a rule says on these facts, of a unit; NULL = any, the first. */
static const struct finding *judged(const char *id, const char *unit)
{
    static const struct rules_request all;
    const struct findings *findings = judge_with(&all);
    for (size_t i = 0; i < findings->n; i++)
        if (strcmp(findings->all[i].id, id) == 0 &&
            (!unit || strcmp(findings->all[i].subject, unit) == 0))
            return &findings->all[i];
    fail_msg("%s says nothing of '%s'", id, unit ? unit : "anything");
    return NULL;
}

static void check(const char *id, const char *unit, enum finding_outcome outcome, const char *cause,
                  enum rule_action action)
{
    const struct finding *finding = judged(id, unit);
    if (finding->outcome != outcome || strcmp(finding->cause, cause) != 0)
        fail_msg("%s: %s, %s: %s", id, finding_outcome_name(finding->outcome), finding->cause,
                 finding->sentence);
    assert_int_equal(rule_find(id)->action, action);
}

static void passes(const char *id)
{
    const struct finding *finding = judged(id, NULL);
    if (finding->outcome != OUTCOME_PASS)
        fail_msg("%s: %s: %s", id, finding_outcome_name(finding->outcome), finding->sentence);
}

static void test_rules_are_well_formed(void **state)
{
    (void)state;
    static const char *const causes[] = {"hardware", "configuration", "container", "setup"};
    size_t n = 0;
    for (const struct rule *const *table = rule_tables; *table; table++)
        for (const struct rule *rule = *table; rule->id; rule++, n++) {
            bool known = false;
            for (const char *at = rule->id; *at; at++)
                assert_true(islower((unsigned char)*at) || isdigit((unsigned char)*at) ||
                            *at == '_');
            assert_true(strlen(rule->id) < sizeof(((struct finding *)0)->id));
            assert_ptr_equal(rule_find(rule->id), rule); /* no other one has the name */
            for (size_t i = 0; i < 4; i++)
                known = known || strcmp(rule->cause, causes[i]) == 0;
            assert_true(known && rule->judge && rule->needs[0] && rule->source[0]);
            assert_int_equal(rule->about[strlen(rule->about) - 1], '.');
        }
    assert_in_range(n, 30, RULES_MAX);
}

/* Of a machine that tells nothing, no rule is silent, and none accuses it. */
static void test_rules_of_nothing(void **state)
{
    (void)state;
    static const struct rules_request all;
    struct topo nothing = {.ncpus = 0};
    findings_free(&w.findings);
    facts_init(&w.facts);
    w.facts.topo = &nothing;
    const struct findings *findings = judge_with(&all);
    for (const struct rule *const *table = rule_tables; *table; table++)
        for (const struct rule *rule = *table; rule->id; rule++) {
            size_t said = 0;
            for (size_t i = 0; i < findings->n; i++)
                said += strcmp(findings->all[i].id, rule->id) == 0;
            if (!said)
                fail_msg("%s says nothing", rule->id);
        }
    for (size_t i = 0; i < findings->n; i++)
        if (findings->all[i].outcome != OUTCOME_SKIP && findings->all[i].outcome != OUTCOME_PASS)
            fail_msg("%s: %s", findings->all[i].id, findings->all[i].sentence);
}

static void test_rules_pass_a_good_machine(void **state)
{
    (void)state;
    static const struct rules_request all;
    const struct findings *findings = judge_with(&all);
    for (size_t i = 0; i < findings->n; i++)
        if (findings->all[i].outcome != OUTCOME_SKIP && findings->all[i].outcome != OUTCOME_PASS)
            fail_msg("%s: %s: %s", findings->all[i].id, findings->all[i].subject,
                     findings->all[i].sentence);
    struct rules_verdict verdict = rules_verdict(findings, true);
    assert_int_equal(verdict.outcome, OUTCOME_PASS);
    assert_true(verdict.count[OUTCOME_PASS] >= 25);
}

static void test_rules_count(void **state)
{
    (void)state;
    w.topo.ngpus = GPUS - 1; /* the last one is on the bus alone */
    check("gpus_on_bus", "0000:04:00.0", OUTCOME_FAIL, "hardware", ACTION_RESET);
    assert_true(judged("gpus_on_bus", NULL)->value == 3);
    w.facts.container = true;
    check("gpus_on_bus", "0000:04:00.0", OUTCOME_WARN, "container", ACTION_RESET);
    w.facts.container = false;
    w.topo.ngpus = 0;
    check("gpus_on_bus", "0000:03:00.0 (slot 7)", OUTCOME_FAIL, "configuration", ACTION_RESET);
    w.topo.ngpus = GPUS;
    w.gpus[3].cuda_ordinal = -1;
    check("gpus_for_cuda", NULL, OUTCOME_WARN, "setup", ACTION_MEND);
    w.health[1].nvlinks_active = 14;
    check("nvlinks", "GPU 1 (0000:02:00.0)", OUTCOME_FAIL, "hardware", ACTION_RESET);
    w.facts.cpus_present = CPUS + 1;
    check("cpus_online", NULL, OUTCOME_FAIL, "configuration", ACTION_MEND);
    (void)snprintf(w.facts.env.cgroup.cpuset, sizeof(w.facts.env.cgroup.cpuset), "0-3");
    check("cpus_allowed", NULL, OUTCOME_WARN, "container", ACTION_MEND);
    assert_true(judged("cpus_allowed", NULL)->value == 4);
    w.facts.env.cgroup.cpus_limit = 2.5;
    check("cpu_quota", NULL, OUTCOME_WARN, "container", ACTION_MEND);
    w.facts.env.memory_bytes = 48.0 * 0x1p30;
    check("memory_size", NULL, OUTCOME_FAIL, "hardware", ACTION_REPLACE);
    w.nodes[1].memory_bytes = 0;
    check("numa_memory", "node 1", OUTCOME_FAIL, "hardware", ACTION_REPLACE);
}

static void test_rules_of_the_affinity_are_of_the_set_up(void **state)
{
    (void)state;
    w.cpus[0].allowed = false;
    check("cpus_allowed", NULL, OUTCOME_WARN, "setup", ACTION_MEND);
}

static void test_rules_of_links(void **state)
{
    (void)state;
    w.devices[2].lanes = 8;
    check("pcie_width", "GPU 0000:03:00.0 (slot 7)", OUTCOME_FAIL, "hardware", ACTION_REPLACE);
    w.devices[2].lanes_slot = 8; /* it is in a short slot */
    check("pcie_width", NULL, OUTCOME_WARN, "hardware", ACTION_REPLACE);
    w.devices[2].lanes = w.devices[2].lanes_max = -1; /* hidden: NVML tells */
    passes("pcie_width");
    w.health[2].pcie_width = 8;
    check("pcie_width", "GPU 2 (0000:03:00.0)", OUTCOME_FAIL, "hardware", ACTION_REPLACE);
    w.devices[4].gts = 8;
    check("pcie_speed", "NIC 0000:05:00.0", OUTCOME_WARN, "hardware", ACTION_WATCH);
}

static void test_rules_of_memory(void **state)
{
    (void)state;
    /* Four channels of 4,800 MT/s x 8 B: 153.6 GB/s. */
    passes("memory_bandwidth");
    w.bandwidth.value = 50;
    check("memory_bandwidth", NULL, OUTCOME_FAIL, "hardware", ACTION_REPLACE);
    assert_true(fabs(judged("memory_bandwidth", NULL)->low - 61.44) < 0.01);
    w.bandwidth.value = 160;
    check("memory_bandwidth", NULL, OUTCOME_FAIL, "setup", ACTION_REPLACE);
    (void)snprintf(w.dimms[1].locator, sizeof(w.dimms[1].locator), "DIMM_A2"); /* three channels */
    w.bandwidth.value = 120;
    check("memory_bandwidth", NULL, OUTCOME_FAIL, "setup", ACTION_REPLACE);
    w.dimms[3].configured_mts = 4000;
    check("memory_speed", NULL, OUTCOME_WARN, "configuration", ACTION_MEND);
    w.dimms[3].size_mib = 8192;
    check("modules_alike", "DIMM_D1", OUTCOME_WARN, "hardware", ACTION_REPLACE);
}

static void test_rules_of_gpu_bandwidth(void **state)
{
    (void)state;
    struct facts_value copies[2] = {{.metric = "copy_bandwidth", .key = "dir=h2d;gpu=1;mem=pinned"},
                                    {.metric = "copy_bandwidth", .key = "dir=d2h;gpu=1"}};
    struct facts_value stream = {.metric = "device_bandwidth", .key = "gpu=0;op=triad"};
    copies[0].value = copies[1].value = 55;
    stream.value = 3000;
    w.facts.probes[PROBE_GPU_COPY] =
        (struct facts_probe){.status = PROBE_DONE, .n = 2, .values = copies};
    w.facts.probes[PROBE_GPU_STREAM] =
        (struct facts_probe){.status = PROBE_DONE, .n = 1, .values = &stream};
    w.health[0].memory_clock_max_mhz = 2619; /* an H100: 3,352 GB/s */
    w.health[0].memory_bus_bits = 5120;
    passes("pcie_bandwidth");
    passes("gpu_bandwidth");
    copies[1].value = 13; /* of gen 5 x16 */
    check("pcie_bandwidth", "GPU 1 (0000:02:00.0) d2h", OUTCOME_FAIL, "hardware", ACTION_REPLACE);
    stream.value = 3500;
    check("gpu_bandwidth", "GPU 0 (0000:01:00.0)", OUTCOME_FAIL, "setup", ACTION_REPLACE);
    stream.value = NAN;
    (void)snprintf(stream.why, sizeof(stream.why), "element 3 is wrong");
    check("gpu_bandwidth", "gpu=0;op=triad", OUTCOME_FAIL, "hardware", ACTION_REPLACE);
}

static void test_rules_of_symmetry(void **state)
{
    (void)state;
    passes("cpus_alike");
    w.speeds[5].value = 70;
    check("cpus_alike", "CPU 5", OUTCOME_FAIL, "hardware", ACTION_WATCH);
    w.facts.env.virtual_machine = 1; /* whose CPUs may share a core */
    check("cpus_alike", "CPU 5", OUTCOME_WARN, "hardware", ACTION_WATCH);
    w.speeds[5].value = 100;
    for (int i = 0; i < 4; i++) /* efficiency cores are slower, all of them */
        w.speeds[i].value = 60;
    check("cpus_alike", "", OUTCOME_WARN, "hardware", ACTION_WATCH);
    w.topo.nkinds = 2;
    for (int i = 4; i < CPUS; i++)
        w.cpus[i].kind = 1;
    passes("cpus_alike");
    w.health[3].power_limit_w = 500;
    check("gpus_alike", "GPU 3 (0000:04:00.0)", OUTCOME_FAIL, "configuration", ACTION_MEND);
    check("gpu_power_limit", "GPU 3 (0000:04:00.0)", OUTCOME_WARN, "configuration", ACTION_MEND);
}

static void test_rules_of_gpu_health(void **state)
{
    (void)state;
    static const char gpu[] = "GPU 2 (0000:03:00.0)";
    struct gpu_health *health = &w.health[2];
    health->ecc_uncorrected = 2;
    check("gpu_ecc", gpu, OUTCOME_FAIL, "hardware", ACTION_RESET);
    health->ecc_uncorrected = 0;
    health->ecc = 0;
    check("gpu_ecc", gpu, OUTCOME_WARN, "configuration", ACTION_RESET);
    health->rows_pending = 1;
    check("gpu_rows", gpu, OUTCOME_FAIL, "hardware", ACTION_RESET);
    health->throttle_reasons = NVML_THROTTLE_GPU_IDLE | NVML_THROTTLE_SW_POWER_CAP;
    passes("gpu_throttling"); /* both are usual */
    health->throttle_reasons = NVML_THROTTLE_HW_THERMAL;
    check("gpu_throttling", gpu, OUTCOME_FAIL, "hardware", ACTION_WATCH);
    health->persistence = 0;
    check("gpu_persistence", gpu, OUTCOME_WARN, "configuration", ACTION_MEND);
    health->mig = 1;
    check("gpu_modes", gpu, OUTCOME_WARN, "configuration", ACTION_MEND);
    health->nprocesses = 1;
    check("gpu_processes", gpu, OUTCOME_WARN, "setup", ACTION_MEND);
    health->fabric_state = NVML_FABRIC_NOT_STARTED;
    check("gpu_fabric", gpu, OUTCOME_FAIL, "configuration", ACTION_MEND);
    w.facts.env.virtual_machine = 1; /* whose host may have the fabric manager */
    check("gpu_fabric", gpu, OUTCOME_WARN, "configuration", ACTION_MEND);
    w.facts.peermem = false;
    check("peermem", NULL, OUTCOME_WARN, "configuration", ACTION_MEND);
}

static void test_rules_of_collectives(void **state)
{
    (void)state;
    struct facts_value value = {.metric = "collective_busbw", .value = 200};
    struct facts_probe *peer = &w.facts.probes[PROBE_COLLECTIVE];
    *peer = (struct facts_probe){.status = PROBE_DONE, .n = 1, .values = &value};
    passes("collective_peer");
    assert_true(judged("collective_peer", NULL)->value == 200);
    *peer = (struct facts_probe){.status = PROBE_HUNG, .reason = "no progress for 30 s"};
    check("collective_peer", NULL, OUTCOME_FAIL, "hardware", ACTION_RESET);
    *peer = (struct facts_probe){.status = PROBE_FAILED, .reason = "unhandled system error"};
    check("collective_peer", NULL, OUTCOME_FAIL, "hardware", ACTION_RESET);
    *peer = (struct facts_probe){.status = PROBE_ABSENT, .reason = "no NCCL"};
    check("collective_peer", NULL, OUTCOME_SKIP, "", ACTION_RESET);
}

static void test_rules_of_the_log(void **state)
{
    (void)state;
    struct facts_event events[] = {
        {.kind = EVENT_XID, .number = 79, .unit = "0000:03:00", .count = 2},
        {.kind = EVENT_XID, .number = 31, .unit = "0000:01:00", .count = 1},
        {.kind = EVENT_SXID, .number = 12028, .unit = "0000:06:00.0", .count = 1},
        {.kind = EVENT_MACHINE_CHECK, .count = 1},
        {.kind = EVENT_AER_CORRECTED, .unit = "0000:00:01.0", .count = 9},
        {.kind = EVENT_OUT_OF_MEMORY, .count = 1}};
    struct facts_edac edac = {.name = "CPU0_DIMM_C1", .uncorrected = 1};
    w.facts.events = events;
    w.facts.nevents = sizeof(events) / sizeof(events[0]);
    w.facts.edacs = &edac;
    w.facts.nedac = 1;
    check("xid", "GPU 0000:03:00", OUTCOME_FAIL, "hardware", ACTION_RESET);
    check("xid", "GPU 0000:01:00", OUTCOME_WARN, "setup", ACTION_RESET);
    check("sxid", "NVSwitch 0000:06:00.0", OUTCOME_FAIL, "hardware", ACTION_RESET);
    check("machine_checks", NULL, OUTCOME_FAIL, "hardware", ACTION_REPLACE);
    check("pcie_errors", "0000:00:01.0", OUTCOME_WARN, "hardware", ACTION_WATCH);
    check("out_of_memory", NULL, OUTCOME_WARN, "configuration", ACTION_WATCH);
    check("memory_errors", "CPU0_DIMM_C1", OUTCOME_FAIL, "hardware", ACTION_REPLACE);
    w.devices[2].aer_nonfatal = 3;
    check("pcie_errors", "0000:03:00.0 (slot 7)", OUTCOME_FAIL, "hardware", ACTION_WATCH);
    w.facts.log = FACTS_DENIED;
    assert_non_null(strstr(judged("xid", NULL)->sentence, "as root"));
    w.facts.throttle_events = 4;
    check("cpu_heat", NULL, OUTCOME_WARN, "hardware", ACTION_WATCH);
}

static void test_rules_of_settings(void **state)
{
    (void)state;
    struct environment *env = &w.facts.env;
    (void)snprintf(env->governor, sizeof(env->governor), "powersave");
    check("governor", NULL, OUTCOME_FAIL, "configuration", ACTION_MEND);
    (void)snprintf(w.facts.scaling_driver, sizeof(w.facts.scaling_driver), "intel_pstate");
    check("governor", NULL, OUTCOME_WARN, "configuration", ACTION_MEND);
    env->memlock_bytes = 64 * 1024;
    check("memlock", NULL, OUTCOME_FAIL, "configuration", ACTION_MEND);
    w.facts.rdma = false;
    check("memlock", NULL, OUTCOME_FAIL, "configuration", ACTION_MEND);
    w.facts.container = true;
    check("memlock", NULL, OUTCOME_WARN, "container", ACTION_MEND);
    env->memlock_bytes = 8 << 20;
    passes("memlock");
    w.facts.shm_bytes = 0x1p26;
    check("shm", NULL, OUTCOME_WARN, "container", ACTION_MEND);
    env->numa_balancing = 1;
    check("numa_balancing", NULL, OUTCOME_WARN, "configuration", ACTION_MEND);
    w.facts.steal = 0.05;
    check("steal", NULL, OUTCOME_WARN, "setup", ACTION_WATCH);
    w.facts.swap_used_bytes = 0x1p33;
    check("swap", NULL, OUTCOME_WARN, "configuration", ACTION_WATCH);
    (void)snprintf(env->thp, sizeof(env->thp), "never");
    check("huge_pages", NULL, OUTCOME_WARN, "configuration", ACTION_MEND);
    (void)snprintf(env->clocksource, sizeof(env->clocksource), "hpet");
    check("clock", NULL, OUTCOME_WARN, "configuration", ACTION_MEND);
    struct facts_value exits[] = {{.metric = "idle_exit", .key = "cpu=0", .value = 3},
                                  {.metric = "idle_exit", .key = "cpu=1", .value = 130}};
    w.facts.probes[PROBE_IDLE_EXIT] =
        (struct facts_probe){.status = PROBE_DONE, .n = 2, .values = exits};
    check("idle_exit", NULL, OUTCOME_WARN, "configuration", ACTION_MEND);
    env->virtual_machine = 1;
    passes("idle_exit");
}

/* What was required and did not run is never a pass. */
static void test_rules_required(void **state)
{
    (void)state;
    const struct rules_request request = {
        .nrequired = 1,
        .required = {rule_find("collective_peer")},
        .nonly = 2,
        .only = {rule_find("collective_peer"), rule_find("clock")}};
    const struct findings *findings = judge_with(&request);
    assert_int_equal(findings->n, 3); /* --only, and gpus_judged with what is of GPUs */
    assert_int_equal(rules_probes(&request), 1u << PROBE_COLLECTIVE);
    struct rules_verdict verdict = rules_verdict(findings, false);
    assert_int_equal(verdict.outcome, OUTCOME_ERROR);
    assert_non_null(strstr(verdict.text, "collective_peer"));
    w.facts.probes[PROBE_CPU_SPEED].status = PROBE_FAILED;
    check("cpus_alike", NULL, OUTCOME_ERROR, "", ACTION_WATCH); /* its subject is here */
}

static void test_rules_look_twice(void **state)
{
    (void)state;
    static const struct rules_request all;
    struct findings first = {0}, again = {0};
    struct err err;
    w.speeds[5].value = 70;
    w.speeds[CPUS + 1].value = 70;
    w.health[1].nvlinks_active = 14; /* not measured: not looked at again */
    assert_int_equal(rules_judge(&w.facts, &all, &first, &err), 0);
    assert_int_equal(rules_doubted(&first), 1u << PROBE_CPU_SPEED);
    w.speeds[5].value = 71;
    w.speeds[CPUS + 1].value = 100;
    w.speeds[6].value = 72;
    assert_int_equal(rules_judge(&w.facts, &all, &again, &err), 0);
    assert_int_equal(rules_second_look(&first, &again, 1u << PROBE_CPU_SPEED, &err), 0);
    findings_free(&w.findings);
    w.findings = first;
    unsigned seen = 0;
    for (size_t i = 0; i < first.n; i++) {
        const struct finding *finding = &first.all[i];
        if (strcmp(finding->subject, "CPU 5") == 0) {
            seen++;
            assert_int_equal(finding->outcome, OUTCOME_FAIL);
            assert_string_equal(finding->evidence,
                                "first look FAIL (70 G/s), second FAIL (71 G/s)");
        } else if (strcmp(finding->subject, "CPU 1") == 0) {
            seen++;
            assert_int_equal(finding->outcome, OUTCOME_WARN);
            assert_string_equal(finding->evidence, "first look FAIL (70 GB/s), second not seen");
        } else if (strcmp(finding->subject, "CPU 6") == 0) {
            seen++;
            assert_int_equal(finding->outcome, OUTCOME_WARN);
        } else if (strcmp(finding->id, "nvlinks") == 0) {
            assert_string_equal(finding->evidence, "");
        }
    }
    assert_int_equal(seen, 3);
    findings_free(&again);
}

/* Two looks at the same copies: of each direction of each GPU. */
static const struct finding *look_twice_at_copies(int slow_first, int slow_again)
{
    enum { COPIES = 2 * GPUS };
    static const struct rules_request request;
    static struct facts_value copies[COPIES];
    struct findings first = {0}, again = {0};
    struct err err;
    for (int look = 0; look < 2; look++) {
        for (int i = 0; i < COPIES; i++) {
            copies[i] =
                (struct facts_value){.metric = "copy_bandwidth",
                                     .value = i == (look ? slow_again : slow_first) ? 20 : 55};
            (void)snprintf(copies[i].key, sizeof(copies[i].key), "dir=%s;gpu=%d",
                           i < GPUS ? "h2d" : "d2h", i % GPUS);
        }
        w.facts.probes[PROBE_GPU_COPY] =
            (struct facts_probe){.status = PROBE_DONE, .n = COPIES, .values = copies};
        assert_int_equal(rules_judge(&w.facts, &request, look ? &again : &first, &err), 0);
    }
    assert_int_equal(rules_second_look(&first, &again, 1u << PROBE_GPU_COPY, &err), 0);
    findings_free(&again);
    findings_free(&w.findings);
    w.findings = first;
    for (size_t i = 0; i < first.n; i++)
        if (strcmp(first.all[i].id, "gpu_copies_alike") == 0)
            return &first.all[i];
    return NULL;
}

/* One direction the first time and the other the second is nothing that was seen twice. */
static void test_rules_look_twice_at_each_direction(void **state)
{
    (void)state;
    const struct finding *finding = look_twice_at_copies(2, 2);
    assert_int_equal(finding->outcome, OUTCOME_FAIL);
    assert_string_equal(finding->metric, "copy_bandwidth_h2d");
    assert_string_equal(finding->evidence, "first look FAIL (20 GB/s), second FAIL (20 GB/s)");
    finding = look_twice_at_copies(2, GPUS + 2);
    assert_int_equal(finding->outcome, OUTCOME_WARN);
    assert_string_equal(finding->evidence, "first look FAIL (20 GB/s), second not seen");
    unsigned late = 0;
    for (size_t i = 0; i < w.findings.n; i++)
        late += strcmp(w.findings.all[i].metric, "copy_bandwidth_d2h") == 0 &&
                strcmp(w.findings.all[i].evidence, "on the second look alone") == 0;
    assert_int_equal(late, 1);
}

/* A CPU behind the first 512 is one of them, too; what there is no room for is no pass. */
static void test_rules_compare_all_cpus(void **state)
{
    (void)state;
    enum { MANY = 2049 };
    struct facts_value *values = calloc(MANY, sizeof(*values));
    assert_non_null(values);
    for (int i = 0; i < MANY; i++) {
        values[i] = (struct facts_value){.metric = "cpu_rate", .value = i == 700 ? 50 : 100};
        (void)snprintf(values[i].key, sizeof(values[i].key), "cpu=%d", i);
    }
    w.facts.probes[PROBE_CPU_SPEED] =
        (struct facts_probe){.status = PROBE_DONE, .n = 768, .values = values};
    check("cpus_alike", "CPU 700", OUTCOME_FAIL, "hardware", ACTION_WATCH);
    values[700].value = 100;
    passes("cpus_alike");
    w.facts.probes[PROBE_CPU_SPEED].n = MANY;
    check("cpus_alike", NULL, OUTCOME_WARN, "hardware", ACTION_WATCH);
    assert_string_equal(judged("cpus_alike", NULL)->sentence,
                        "the first 2048 CPUs were compared with each other, and no more");
    free(values);
}

/* A measurement that failed the second time, or hung, refutes nothing. */
static void test_rules_stand_where_the_second_look_fails(void **state)
{
    (void)state;
    static const struct rules_request all;
    static const enum facts_probe_status ends[] = {PROBE_FAILED, PROBE_HUNG, PROBE_ABSENT};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct findings first = {0}, again = {0};
        struct err err;
        w.speeds[5].value = 70;
        w.facts.probes[PROBE_CPU_SPEED].status = PROBE_DONE;
        assert_int_equal(rules_judge(&w.facts, &all, &first, &err), 0);
        w.facts.probes[PROBE_CPU_SPEED].status = ends[i];
        assert_int_equal(rules_judge(&w.facts, &all, &again, &err), 0);
        assert_int_equal(rules_second_look(&first, &again, 1u << PROBE_CPU_SPEED, &err), 0);
        unsigned seen = 0;
        for (size_t k = 0; k < first.n; k++)
            if (strcmp(first.all[k].subject, "CPU 5") == 0) {
                seen++;
                assert_int_equal(first.all[k].outcome, OUTCOME_FAIL);
                assert_int_equal(first.all[k].severity, FINDING_BAD);
            }
        assert_int_equal(seen, 1);
        findings_free(&first);
        findings_free(&again);
    }
}

static void test_rules_verdict_names_and_sorts(void **state)
{
    (void)state;
    static const struct rules_request all;
    w.topo.ngpus = 2; /* two are lost */
    w.facts.steal = 0.5;
    w.facts.probes[PROBE_CPU_SPEED].status = PROBE_FAILED;
    (void)judge_with(&all);
    rules_sort(&w.findings);
    for (size_t i = 1; i < w.findings.n; i++)
        if (w.findings.all[i].outcome == OUTCOME_FAIL)
            assert_int_equal(w.findings.all[i - 1].outcome, OUTCOME_FAIL);
    assert_int_equal(w.findings.all[w.findings.n - 1].outcome, OUTCOME_PASS);
    struct rules_verdict verdict = rules_verdict(&w.findings, false);
    assert_int_equal(verdict.outcome, OUTCOME_FAIL);
    assert_int_equal(verdict.count[OUTCOME_FAIL], 2);
    assert_int_equal(verdict.rules, 1);
    assert_string_equal(verdict.text, "FAIL: 1 rule (hardware: reset gpus_on_bus)");
    verdict = rules_verdict(&w.findings, true);
    assert_int_equal(verdict.rules, 2);
}

/* Where nothing was looked at there is nothing that passed. */
static void test_rules_skipped_are_no_pass(void **state)
{
    (void)state;
    const struct rules_request request = {.nonly = 2,
                                          .only = {rule_find("gpus_on_bus"), rule_find("xid")}};
    w.topo.ngpus = 0;
    w.facts.ndevices = 0;
    w.facts.log = FACTS_DENIED;
    struct rules_verdict verdict = rules_verdict(judge_with(&request), true);
    assert_int_equal(verdict.outcome, OUTCOME_SKIP);
    assert_string_equal(verdict.text, "SKIP: nothing was judged, 3 skipped");
}

static void expect_verdict(const struct rules_request *request, enum finding_outcome outcome,
                           const char *part)
{
    struct rules_verdict verdict = rules_verdict(judge_with(request), false);
    if (verdict.outcome != outcome || !strstr(verdict.text, part))
        fail_msg("not %s with '%s': %s", finding_outcome_name(outcome), part, verdict.text);
}

static struct rules_request only_these(const char *a, const char *b)
{
    return (struct rules_request){.nonly = 2, .only = {rule_find(a), rule_find(b)}};
}

/* What the machine is for was not judged: no pass, however many other rules passed. */
static void test_rules_of_no_gpu_are_no_pass(void **state)
{
    (void)state;
    static const struct rules_request all;
    struct rules_request none = {0}, four = {0}, kind = {.of_known_kind = true};
    struct rules_request required = {.nrequired = 1, .required = {rule_find("gpus_judged")}};
    struct rules_request some = only_these("cpus_online", "gpu_ecc");
    struct rules_request cpus = only_these("cpus_online", "clock");
    struct err err = {0};
    assert_int_equal(expect_parse("gpus=0", &none, &err), 0);
    assert_int_equal(expect_parse("gpus=4", &four, &err), 0);
    w.facts.cpus_online = w.facts.cpus_present = CPUS;
    expect_verdict(&all, OUTCOME_PASS, "PASS: ");
    expect_verdict(&some, OUTCOME_PASS, "PASS: "); /* and gpus_judged with it */
    w.topo.ngpus = 0;
    /* On the bus of a container, not handed in, or meant for a guest: warnings alone. */
    w.facts.container = true;
    expect_verdict(&all, OUTCOME_SKIP,
                   "4 NVIDIA GPUs are on the PCI bus, and none answers in this");
    w.facts.container = false;
    for (int i = 0; i < GPUS; i++)
        (void)snprintf(w.devices[i].driver, sizeof(w.devices[i].driver), "vfio-pci");
    expect_verdict(&all, OUTCOME_SKIP, "4 NVIDIA GPUs are on the PCI bus, and none answers (");
    expect_verdict(&none, OUTCOME_PASS, "PASS: ");
    /* Never there, of another vendor, or a bus that nobody shows. */
    w.facts.ndevices = 0;
    expect_verdict(&all, OUTCOME_SKIP, "no GPU was judged: no NVIDIA GPU is on the PCI bus (");
    expect_verdict(&all, OUTCOME_SKIP, "--expect gpus=0");
    expect_verdict(&some, OUTCOME_SKIP, "1 rule passed");
    expect_verdict(&cpus, OUTCOME_PASS, "PASS: ");
    expect_verdict(&none, OUTCOME_PASS, "PASS: ");
    expect_verdict(&kind, OUTCOME_PASS, "PASS: ");
    expect_verdict(&four, OUTCOME_FAIL, "expected");
    expect_verdict(&required, OUTCOME_ERROR, "gpus_judged");
    (void)snprintf(w.facts.other_gpus, sizeof(w.facts.other_gpus), "8 AMD GPUs are there");
    expect_verdict(&all, OUTCOME_SKIP, "on the PCI bus; 8 AMD GPUs are there (");
    expect_verdict(&none, OUTCOME_PASS, "1 warning,");
    w.facts.other_gpus[0] = '\0';
    w.facts.pci = FACTS_ABSENT;
    expect_verdict(&all, OUTCOME_SKIP, "the PCI bus cannot be read (");
    w.topo.ngpus = GPUS;
    expect_verdict(&all, OUTCOME_PASS, "PASS: ");
}

static const struct finding *expected(const char *text, const char *unit)
{
    struct rules_request request = {.nonly = 1, .only = {rule_find("cpus_online")}};
    struct err err = {0};
    if (expect_parse(text, &request, &err))
        fail_msg("%s: %s", text, err.msg);
    const struct findings *findings = judge_with(&request);
    for (size_t i = 0; i < findings->n; i++)
        if (strcmp(findings->all[i].id, "expected") == 0 &&
            strcmp(findings->all[i].subject, unit) == 0)
            return &findings->all[i];
    fail_msg("%s: nothing is said of '%s'", text, unit);
    return NULL;
}

/* What never was on the bus is missed by nobody who was not told of it. */
static void test_rules_expect(void **state)
{
    (void)state;
    w.facts.env.memory_bytes = 15.5 * 0x1p30;
    w.facts.cpus_online = CPUS;
    const struct finding *finding = expected("gpus=4,cpus=8,nodes=2,memory=16G,nics=1", "");
    assert_int_equal(finding->outcome, OUTCOME_PASS);
    assert_string_equal(finding->sentence,
                        "4 GPUs, 8 CPUs, 2 NUMA nodes, 16 GiB of memory, 1 NICs, "
                        "as expected");
    finding = expected("gpus=8", "GPUs");
    assert_int_equal(finding->outcome, OUTCOME_FAIL);
    assert_string_equal(finding->cause, "hardware");
    assert_string_equal(finding->sentence, "4 of the 8 that are expected");
    assert_string_equal(finding->evidence, "4 on the PCI bus");
    assert_true(finding->value == 4 && finding->low == 8);
    finding = expected("memory=18G", "memory");
    assert_int_equal(finding->outcome, OUTCOME_FAIL);
    assert_string_equal(finding->sentence, "15.5 GiB of the 18 that are expected");
    assert_int_equal(expected("gpus=4,cpus=4", "CPUs")->outcome, OUTCOME_WARN);
    assert_int_equal(expected("memory=1G", "")->outcome, OUTCOME_PASS);
    w.topo.ngpus = 0;
    assert_int_equal(expected("gpus=0", "")->outcome, OUTCOME_PASS);
    /* What cannot be counted is no pass. */
    w.facts.pci = FACTS_DENIED;
    finding = expected("nics=1", "");
    assert_int_equal(finding->outcome, OUTCOME_ERROR);
    assert_int_equal(rules_verdict(&w.findings, false).outcome, OUTCOME_ERROR);
    w.facts.env.memory_bytes = NAN;
    finding = expected("memory=16G", "");
    assert_int_equal(finding->outcome, OUTCOME_ERROR);
    assert_null(strstr(finding->sentence, "PCI"));
    assert_non_null(strstr(finding->sentence, "memory is expected and cannot be known here: "));
}

static void test_rules_expect_nothing_else(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } bad[] = {{"gpu=8", "'gpu=8' is not NAME=COUNT of gpus, cpus, "},
               {"gpus", "'gpus' is not NAME=COUNT of "},
               {"", "'' is not NAME=COUNT of "},
               {"gpus=8,", "'' is not NAME=COUNT of "},
               {",gpus=8", "'' is not NAME=COUNT of "},
               {"gpus=", "'gpus=' is no count of 0 to 1000000"},
               {"gpus=-1", "is no count"},
               {"gpus=8x", "is no count"},
               {"cpus=1000001", "is no count"},
               {"memory=much", "is no size, such as memory=512G"},
               {"gpus=8,cpus=4,gpus=8", "gpus is given twice"}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rules_request request = {0};
        struct err err = {0};
        assert_int_equal(expect_parse(bad[i].text, &request, &err), -EINVAL);
        if (!strstr(err.msg, bad[i].why))
            fail_msg("'%s': %s", bad[i].text, err.msg);
    }
}

#define ON_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_WORLD(test_rules_are_well_formed),
        ON_WORLD(test_rules_of_nothing),
        ON_WORLD(test_rules_pass_a_good_machine),
        ON_WORLD(test_rules_count),
        ON_WORLD(test_rules_of_the_affinity_are_of_the_set_up),
        ON_WORLD(test_rules_of_links),
        ON_WORLD(test_rules_of_memory),
        ON_WORLD(test_rules_of_gpu_bandwidth),
        ON_WORLD(test_rules_of_symmetry),
        ON_WORLD(test_rules_of_gpu_health),
        ON_WORLD(test_rules_of_collectives),
        ON_WORLD(test_rules_of_the_log),
        ON_WORLD(test_rules_of_settings),
        ON_WORLD(test_rules_required),
        ON_WORLD(test_rules_look_twice),
        ON_WORLD(test_rules_stand_where_the_second_look_fails),
        ON_WORLD(test_rules_verdict_names_and_sorts),
        ON_WORLD(test_rules_look_twice_at_each_direction),
        ON_WORLD(test_rules_compare_all_cpus),
        ON_WORLD(test_rules_skipped_are_no_pass),
        ON_WORLD(test_rules_of_no_gpu_are_no_pass),
        ON_WORLD(test_rules_expect),
        ON_WORLD(test_rules_expect_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
