/* contend-comms, which `contend` starts. It runs no benchmark. */
#include <stdlib.h>

#include "harness/cmd/common/start.h"

int main(int argc, char **argv)
{
    const struct cmd_env env = {.tools = comms_tool};
    exit(start(&env, argc, argv, start_tool));
}
