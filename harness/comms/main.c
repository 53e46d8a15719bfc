/* contend-comms, which `contend` starts. It runs no benchmark. */
#include <stdlib.h>

#include "harness/cmd/common/start.h"

int main(int argc, char **argv)
{
    const struct cmd_env env = {.tools = comms_tool};
    int code;
    if (!start(&env, argc, argv, &code))
        code = start_tool(&env, argc, argv);
    exit(end(code));
}
