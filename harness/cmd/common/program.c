#include "harness/cmd/common/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/engine/worker/launch.h"
#include "harness/lib/text.h"

char *program_name(const char *argv0, char *buf, size_t size)
{
    const char *front = getenv("CONTEND_PROGRAM");
    const char *name = front && front[0] ? front : argv0 ? argv0 : "";
    size_t needs = text_shell_word(name, buf, size);
    if (!name[0] || needs >= size || strpbrk(name, "\n\r\t\033"))
        (void)snprintf(buf, size, "contend");
    return buf;
}

int program_beside(const char *name, char *path, size_t size, struct err *err)
{
    int rc = launch_find_program(path, size, err);
    char *end = rc ? NULL : strrchr(path, '/');
    if (end)
        (void)snprintf(end + 1, size - (size_t)(end + 1 - path), "%s", name);
    return rc;
}

int program_share(const char *name, char *path, size_t size, struct err *err)
{
    static const char *const folders[] = {"", "../share/contend/"};
    char program[PROGRAM_PATH_MAX];
    int rc = launch_find_program(program, sizeof(program), err);
    if (rc)
        return rc;
    char *end = strrchr(program, '/');
    for (size_t i = 0; end && i < sizeof(folders) / sizeof(folders[0]); i++) {
        int n =
            snprintf(path, size, "%.*s%s%s", (int)(end + 1 - program), program, folders[i], name);
        if (n > 0 && (size_t)n < size && !access(path, R_OK))
            return 0;
    }
    return err_set(err, -ENOENT, "%s is neither beside %.100s nor in ../share/contend", name,
                   program);
}
