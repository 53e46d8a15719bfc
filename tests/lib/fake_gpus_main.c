/* The program with collectives alone, over fake_gpus.h in place of CUDA's runtime. */
#include "bench/registry.h"
#include "harness/cmd/cli_main.h"
#include "harness/cmd/common/start.h"

int main(int argc, char **argv)
{
    static const struct bench *const benches[] = {&bench_collective, NULL};
    static const struct scenario scenarios[] = {{.name = NULL}};
    const struct cmd_env env = {.benches = benches, .scenarios = scenarios};
    int code;
    if (!start(&env, argc, argv, &code))
        code = cli_main(&env, argc, argv);
    return end(code);
}
