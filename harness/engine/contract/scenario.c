#include "harness/engine/contract/scenario.h"

#include <stddef.h>
#include <string.h>

const struct scenario *scenario_find(const struct scenario *scenarios, const char *name)
{
    for (; scenarios->name; scenarios++)
        if (strcmp(scenarios->name, name) == 0)
            return scenarios;
    return NULL;
}

bool scenario_repeats(const struct scenario *scenario, const struct scenario_part *part)
{
    for (const struct scenario_part *earlier = scenario->parts; earlier < part; earlier++)
        if (strcmp(earlier->foreground, part->foreground) == 0)
            return true;
    return false;
}
