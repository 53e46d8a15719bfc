#include "harness/engine/contract/scenario.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/lib/text.h"

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

const struct incident *incident_find(const struct incident *const *incidents, const char *name)
{
    for (; incidents && *incidents; incidents++)
        if (!strcmp((*incidents)->scenario.name, name))
            return *incidents;
    return NULL;
}

const char *incident_not_here(const struct incident *incident, unsigned nodes)
{
    if (incident->cannot)
        return str_fmt("%s", incident->cannot);
    if (nodes < incident->least_nodes)
        return str_fmt("this machine has %u NUMA node%s, and it needs %u", nodes,
                       nodes == 1 ? "" : "s", incident->least_nodes);
    return "";
}

size_t incident_changes(const struct incident *incident)
{
    const char *const *variants = incident->variants;
    size_t name = strcspn(variants[0], "="), n = 1;
    while (variants[n] && strcspn(variants[n], "=") == name &&
           !strncmp(variants[n], variants[0], name))
        n++;
    return n;
}

double incident_reported(const struct incident *incident)
{
    const struct incident_report *reported = &incident->reported;
    if (!(reported->before > 0) || !(reported->after > 0))
        return NAN;
    return reported->less_is_better ? reported->before / reported->after
                                    : reported->after / reported->before;
}

char *incident_expand(const char *text, unsigned cpus, char *buf, size_t size)
{
    const struct {
        const char *name;
        double value;
    } known[] = {{"{cpus}", cpus},
                 {"{2cpus}", 2.0 * cpus},
                 {"{quarter}", cpus / 4.0},
                 {"{quarter+}", cpus > 4 ? cpus / 4 : 1}};
    enum { KNOWN = sizeof(known) / sizeof(known[0]) };
    size_t used = 0;
    buf[0] = '\0';
    while (*text && used + 1 < size) {
        size_t i = 0;
        while (i < KNOWN && strncmp(text, known[i].name, strlen(known[i].name)) != 0)
            i++;
        if (i == KNOWN) {
            buf[used++] = *text++;
            buf[used] = '\0';
            continue;
        }
        used += (size_t)snprintf(buf + used, size - used, "%g", known[i].value);
        text += strlen(known[i].name);
    }
    return buf;
}
