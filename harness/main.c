/* Joins benchmarks and harness. Nothing else knows both, and nothing else ends the process. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/registry.h"
#include "harness/cmd/cli_main.h"

int main(int argc, char **argv)
{
    const struct cmd_env env = {.benches = bench_registry, .scenarios = scenario_registry};
    int code = cli_main(&env, argc, argv);
    if (fflush(stdout) && !code) {
        perror("contend: stdout");
        code = EXIT_NOT_RUN;
    }
    exit(code);
}
