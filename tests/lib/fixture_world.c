#include "tests/lib/fixture_world.h"

#include "harness/machine/gpu_driver.h"
#include "tests/lib/unit.h"

struct fixture_world fixture_world;
static struct fixture_world *const w = &fixture_world;

static void set_up_gpus(void)
{
    for (int i = 0; i < GPUS; i++) {
        struct gpu_health *health = &w->health[i];
        gpu_health_init(health);
        health->nvlinks = health->nvlinks_active = 18;
        health->ecc = health->persistence = 1;
        health->ecc_uncorrected = health->ecc_uncorrected_life = 0;
        health->rows_pending = health->rows_failed = health->mig = health->nprocesses = 0;
        health->compute_mode = GPU_MODE_DEFAULT;
        health->clock_mhz = 345;
        health->clock_max_mhz = 1980;
        health->fabric_state = NVML_FABRIC_DONE;
        health->fabric_status = 0;
        health->pcie_generation_link = health->pcie_generation_gpu = 5;
        health->pcie_width = health->pcie_width_max = 16;
        health->power_limit_w = health->power_limit_default_w = 700;
        w->gpus[i] = (struct topo_gpu){.cuda_ordinal = i, .node = -1, .health = health};
        (void)snprintf(w->gpus[i].pci_bdf, PCI_BDF_MAX, "0000:0%d:00.0", i + 1);
        put_text(w->gpus[i].name, "NVIDIA H200");
    }
}

static void set_up_bus(void)
{
    for (int i = 0; i < DEVICES; i++) {
        struct facts_device *device = &w->devices[i];
        device->kind = i < GPUS ? FACTS_GPU : i == GPUS ? FACTS_NIC : FACTS_NVSWITCH;
        device->gts = device->gts_max = 32;
        device->lanes = device->lanes_max = 16;
        device->lanes_slot = -1;
        (void)snprintf(device->bdf, PCI_BDF_MAX, "0000:0%d:00.0", i + 1);
        put_text(device->driver, "nvidia");
    }
    put_text(w->devices[2].slot, "7");
}

static void put_measured(void)
{
    for (int i = 0; i < VALUES; i++) {
        w->speeds[i].value = 100 + i % CPUS * 0.1;
        put_text(w->speeds[i].metric, "%s", i < CPUS ? "cpu_rate" : "cpu_copy");
        put_text(w->speeds[i].key, "cpu=%d", i % CPUS);
    }
    w->facts.probes[PROBE_CPU_SPEED] =
        (struct facts_probe){.status = PROBE_DONE, .n = VALUES, .values = w->speeds};
    w->bandwidth = (struct facts_value){.metric = "bandwidth", .value = 120};
    w->facts.probes[PROBE_MEMORY_BANDWIDTH] =
        (struct facts_probe){.status = PROBE_DONE, .n = 1, .values = &w->bandwidth};
}

int fixture_world_make(void **state)
{
    memset(w, 0, sizeof(*w));
    facts_init(&w->facts);
    set_up_gpus();
    set_up_bus();
    w->topo = (struct topo){.ncpus = CPUS,
                            .ncores = CPUS,
                            .nkinds = 1,
                            .nnodes = 2,
                            .ngpus = GPUS,
                            .cpus = w->cpus,
                            .nodes = w->nodes,
                            .gpus = w->gpus};
    for (unsigned i = 0; i < CPUS; i++) {
        w->cpus[i] = (struct topo_cpu){.os_cpu = i, .core = (int)i, .allowed = true};
        bitset_set(&w->nodes[i / 4].cpus, i);
    }
    w->nodes[1].os_node = 1;
    w->nodes[0].memory_bytes = w->nodes[1].memory_bytes = 1 << 30;
    for (int i = 0; i < DIMMS; i++) {
        w->dimms[i] = (struct facts_dimm){
            .size_mib = 16384, .rated_mts = 4800, .configured_mts = 4800, .data_bits = 64};
        put_text(w->dimms[i].locator, "DIMM_%c1", 'A' + i);
    }
    struct facts *facts = &w->facts;
    facts->topo = &w->topo;
    facts->pci = facts->dmi = facts->log = facts->edac = FACTS_READ;
    facts->ndevices = DEVICES;
    facts->devices = w->devices;
    facts->ndimms = DIMMS;
    facts->dimms = w->dimms;
    facts->cpus_present = facts->cpus_online = CPUS;
    facts->env.virtual_machine = facts->env.numa_balancing = 0;
    facts->env.memory_bytes = 63.0 * 0x1p30;
    facts->env.memlock_bytes = INFINITY;
    facts->rdma = facts->peermem = true;
    facts->shm_bytes = 0x1p34;
    facts->steal = facts->machine_checks = facts->throttle_events = 0;
    facts->swap_used_bytes = 0;
    put_text(facts->env.governor, "performance");
    put_text(facts->env.thp, "madvise");
    put_text(facts->env.clocksource, "tsc");
    put_measured();
    return 0;
}

int fixture_world_free(void **state)
{
    findings_free(&w->findings);
    findings_free(&w->numbers);
    return 0;
}
const struct findings *fixture_judge(const struct rules_request *request)
{
    findings_free(&w->findings);
    findings_free(&w->numbers);
    assert_int_equal(rules_judge(&w->facts, request, &w->findings, &w->numbers, NULL), 0);
    return &w->findings;
}

const struct finding *fixture_find(const struct findings *findings, const char *id,
                                   const char *unit)
{
    for (size_t i = 0; i < findings->n; i++)
        if ((!id || strcmp(findings->all[i].id, id) == 0) &&
            (!unit || strcmp(findings->all[i].subject, unit) == 0))
            return &findings->all[i];
    fail_msg("%s says nothing of '%s'", id ? id : "no rule", unit ? unit : "anything");
    return NULL;
}

const struct finding *fixture_judged(const char *id, const char *unit)
{
    static const struct rules_request all;
    return fixture_find(fixture_judge(&all), id, unit);
}

void fixture_finds(const char *id, const char *unit, enum finding_outcome outcome,
                   const char *cause, enum rule_action action)
{
    const struct finding *finding = fixture_judged(id, unit);
    if (finding->outcome != outcome || strcmp(finding->cause, cause) != 0)
        fail_msg("%s: %s, %s: %s", id, finding_outcome_name(finding->outcome), finding->cause,
                 finding->sentence);
    assert_int_equal(rule_find(id)->action, action);
}

void fixture_passes(const char *id)
{
    const struct finding *finding = fixture_judged(id, NULL);
    if (finding->outcome != OUTCOME_PASS)
        fail_msg("%s: %s: %s", id, finding_outcome_name(finding->outcome), finding->sentence);
}
