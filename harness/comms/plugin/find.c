#include "harness/comms/plugin/find.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/engine/worker/launch.h"

#define FILE_NAME "libcontend_comms.so"
#define NAMED_BY "CONTEND_COMMS_PLUGIN" /* a variable that names another plugin file */

int comms_plugin_find(char *path, size_t size, struct err *err)
{
    static const char *const places[] = {"", "lib/", "../lib/contend/"};
    char program[PATH_MAX] = "";
    const char *named = getenv(NAMED_BY);
    if (named && *named) {
        (void)snprintf(path, size, "%s", named);
        return access(path, R_OK) ? err_sys(err, -errno, "cannot read '%.150s'", path) : 0;
    }
    (void)launch_find_program(program, sizeof(program), NULL);
    const char *folder = dirname(program);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        (void)snprintf(path, size, "%s/%s" FILE_NAME, folder, places[i]);
        if (!access(path, R_OK))
            return 0;
    }
    return err_set(err, -ENOENT,
                   FILE_NAME " is not beside this program: set " NAMED_BY " to its file");
}

int comms_plugin_check(const char *path, struct err *err)
{
    const char *other = getenv(COMMS_PLUGIN_VARIABLE);
    if (!other || !*other || strcmp(other, path) == 0)
        return 0;
    return err_set(err, -EBUSY,
                   "another profiler plugin is set, and NCCL takes only one: " COMMS_PLUGIN_VARIABLE
                   "=%.100s; unset it to use this one",
                   other);
}
