/* Facts of a made-up machine, for the rules of contend validate. */
#ifndef CONTEND_TESTS_LIB_FIXTURE_WORLD_H
#define CONTEND_TESTS_LIB_FIXTURE_WORLD_H

#include "harness/machine/gpu_health.h"
#include "harness/validate/rules/rules.h"

enum { CPUS = 8, GPUS = 4, DEVICES = 6, DIMMS = 4, VALUES = 2 * CPUS };

/* A machine without faults: eight CPUs, two nodes, four GPUs, a NIC, an NVSwitch, four memory
 * modules. */
struct fixture_world {
    struct topo topo;
    struct topo_cpu cpus[CPUS];
    struct topo_node nodes[2];
    struct topo_gpu gpus[GPUS];
    struct gpu_health health[GPUS];
    struct facts_device devices[DEVICES];
    struct facts_dimm dimms[DIMMS];
    struct facts_value speeds[VALUES], bandwidth;
    struct facts facts;
    struct findings findings, numbers;
};
extern struct fixture_world fixture_world;

/* Set-up and tear-down of cmocka; the machine starts without faults. */
int fixture_world_make(void **state);
int fixture_world_free(void **state);
#define TEST_ON_WORLD(name) TEST_WITHIN(name, fixture_world_make, fixture_world_free)

/* What the rules say of these facts. Stays in fixture_world.findings until the next call. */
const struct findings *fixture_judge(const struct rules_request *request);

/* What a rule says of a unit, in those findings or by judging now; unit NULL = the first finding of
 * that id. Fails the test if there is none. */
const struct finding *fixture_find(const struct findings *findings, const char *id,
                                   const char *unit);
const struct finding *fixture_judged(const char *id, const char *unit);

/* Fails the test if the rule says anything else. */
void fixture_finds(const char *id, const char *unit, enum finding_outcome outcome,
                   const char *cause, enum rule_action action);
void fixture_passes(const char *id);

#endif
