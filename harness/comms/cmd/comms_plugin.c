#include "harness/comms/cmd/comms_plugin.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/engine/worker/launch.h"

const struct comms_library comms_plugin = {"libcontend_comms.so", "CONTEND_COMMS_PLUGIN",
                                           COMMS_PLUGIN_VARIABLE, "profiler plugin", "NCCL"};
const struct comms_library comms_injection = {"libcontend_copies.so", "CONTEND_COPIES_LIBRARY",
                                              COMMS_INJECTION_VARIABLE, "injection", "CUDA"};

int comms_library_find(const struct comms_library *library, char *path, size_t size,
                       struct err *err)
{
    static const char *const places[] = {"", "lib/", "../lib/contend/"};
    char program[PATH_MAX] = "";
    const char *named = getenv(library->named_by);
    if (named && *named) {
        (void)snprintf(path, size, "%s", named);
        return access(path, R_OK) ? err_sys(err, -errno, "cannot read '%.150s'", path) : 0;
    }
    (void)launch_find_program(program, sizeof(program), NULL);
    const char *folder = dirname(program);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        (void)snprintf(path, size, "%s/%s%s", folder, places[i], library->file);
        if (!access(path, R_OK))
            return 0;
    }
    return err_set(err, -ENOENT, "%s is not beside this program: set %s to its file", library->file,
                   library->named_by);
}

int comms_library_check(const struct comms_library *library, const char *path, struct err *err)
{
    const char *other = getenv(library->variable);
    if (!other || !*other || strcmp(other, path) == 0)
        return 0;
    return err_set(err, -EBUSY,
                   "another %s is set, and %s takes only one: %s=%.100s; unset it to use this one",
                   library->what, library->loader, library->variable, other);
}
