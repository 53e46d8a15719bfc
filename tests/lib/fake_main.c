/* The program over benchmarks that misbehave on purpose, with validate built in. */
#include "harness/cmd/cli_main.h"
#include "harness/cmd/common/start.h"
#include "tests/lib/fake_bench.h"

int main(int argc, char **argv)
{
    const struct cmd_env env = {
        .benches = fake_registry, .scenarios = fake_scenarios, .tools = validate_tool};
    int code;
    if (!start(&env, argc, argv, &code))
        code = cli_main(&env, argc, argv);
    return end(code);
}
