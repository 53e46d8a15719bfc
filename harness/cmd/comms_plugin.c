#include "harness/cmd/comms_plugin.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/worker/launch.h"

#define PLUGIN_FILE "libcontend_comms.so"

int comms_plugin_find(char *path, size_t size, struct err *err)
{
    static const char *const places[] = {PLUGIN_FILE, "lib/" PLUGIN_FILE,
                                         "../lib/contend/" PLUGIN_FILE};
    char program[PATH_MAX] = "";
    const char *named = getenv("CONTEND_COMMS_PLUGIN");
    if (named && *named) {
        (void)snprintf(path, size, "%s", named);
        return access(path, R_OK) ? err_sys(err, -errno, "cannot read '%.150s'", path) : 0;
    }
    (void)launch_find_program(program, sizeof(program), NULL);
    const char *folder = dirname(program);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        (void)snprintf(path, size, "%s/%s", folder, places[i]);
        if (!access(path, R_OK))
            return 0;
    }
    return err_set(err, -ENOENT,
                   PLUGIN_FILE " is not beside this program: name it by CONTEND_COMMS_PLUGIN");
}

int comms_plugin_check(const char *plugin, struct err *err)
{
    const char *other = getenv(COMMS_PLUGIN_VARIABLE);
    if (!other || !*other || strcmp(other, plugin) == 0)
        return 0;
    return err_set(
        err, -EBUSY,
        "another profiler plugin is set, and NCCL has one place for it: " COMMS_PLUGIN_VARIABLE
        "=%.100s; unset it to use this one",
        other);
}
