/*
 * The core program: links benchmarks, commands, and the names of rules. Only a main ends a process.
 * CONTEND_TOOLS: commands of tools that are linked into this program; usually none.
 */
#include <stdlib.h>

#include "bench/incidents/incidents.h"
#include "bench/registry.h"
#include "harness/cmd/cli_main.h"
#include "harness/cmd/common/start.h"
#include "harness/validate/rules/rules.h"

int main(int argc, char **argv)
{
    const struct cmd_env env = {.benches = bench_registry,
                                .families = bench_families,
                                .scenarios = scenario_registry,
                                .incidents = incident_registry,
                                .rule_name = rule_name,
                                .tools = CONTEND_TOOLS};
    int code;
    if (!start(&env, argc, argv, &code))
        code = cli_main(&env, argc, argv);
    exit(end(code));
}
