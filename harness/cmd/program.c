#include "harness/cmd/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"

char *program_name(const char *argv0, char *buf, size_t size)
{
    const char *front = getenv("CONTEND_PROGRAM");
    const char *name = front && front[0] ? front : argv0 ? argv0 : "";
    size_t needs = text_shell_word(name, buf, size);
    if (!name[0] || needs >= size || strpbrk(name, "\n\r\t\033"))
        (void)snprintf(buf, size, "contend");
    return buf;
}
