/* contend-validate, the program that `contend validate` starts: links benchmarks and rules. */
#include <stdlib.h>

#include "bench/registry.h"
#include "harness/cmd/common/start.h"

int main(int argc, char **argv)
{
    const struct cmd_env env = {
        .benches = bench_registry, .scenarios = scenario_registry, .tools = validate_tool};
    int code;
    if (!start(&env, argc, argv, &code))
        code = start_tool(&env, argc, argv);
    exit(end(code));
}
