#include "harness/core/scenario.h"

#include <stddef.h>
#include <string.h>

const struct scenario *scenario_find(const struct scenario *scenarios, const char *name)
{
    for (; scenarios->name; scenarios++)
        if (strcmp(scenarios->name, name) == 0)
            return scenarios;
    return NULL;
}
