/* Joins benchmarks and harness. Nothing else knows both, and nothing else ends the process. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/registry.h"
#include "harness/cmd/cli_main.h"
#include "harness/comms/cmd/run_comms.h"
#include "harness/validate/rules/rules.h"

int main(int argc, char **argv)
{
    const struct cmd_env env = {.benches = bench_registry,
                                .scenarios = scenario_registry,
                                .comms = &run_comms_hooks,
                                .rule_name = rule_name};
    int code = cli_main(&env, argc, argv);
    if (fflush(stdout) && !code) {
        perror("contend: stdout");
        code = EXIT_NOT_RUN;
    }
    exit(code);
}
