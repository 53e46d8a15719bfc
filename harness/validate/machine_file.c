#include "harness/validate/machine_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/record/json_value.h"
#include "harness/validate/entries.h"

#define SCHEMA "contend-machine"

unsigned machine_name_split(const char *name, const char **file)
{
    size_t digits = strspn(name, "0123456789");
    unsigned long n = digits > 0 && digits < 5 && name[digits] == 'x' ? strtoul(name, NULL, 10) : 0;
    *file = n ? name + digits + 1 : name;
    return (unsigned)n;
}

static int find_measured(const char *name)
{
    int probe = 0;
    while (probe < PROBES && strcmp(facts_probe_names[probe], name) != 0)
        probe++;
    return probe;
}

static int take(struct entries *entries, json_t *entry)
{
    struct machine_kind *kind = entries->arg;
    const char *name = "", *measured = "", *metric = "", *key = "", *has = "", *unit = "",
               *source = "";
    int gpus = 0;
    json_t *least = NULL, *most = NULL;
    int rc = entries_unpack(entries, entry, "{s?s, s?s, s?s, s?s, s?s, s?o, s?o, s?s, s?i, s:s !}",
                            "fact", &name, "measured", &measured, "metric", &metric, "key", &key,
                            "has", &has, "least", &least, "most", &most, "unit", &unit, "gpus",
                            &gpus, "source", &source);
    if (rc)
        return rc;
    struct machine_fact fact = {.of = machine_known_find(name),
                                .probe = (enum facts_probe_name)find_measured(measured),
                                .least = json_value_number_of(entry, "least"),
                                .most = json_value_number_of(entry, "most"),
                                .gpus = gpus > 0 ? (unsigned)gpus : 0};
    const bool is_text = fact.of && machine_known_is_text(fact.of);
    const bool is_number = !isnan(fact.least) || !isnan(fact.most);
    const char *wrong = (name[0] != 0) == (measured[0] != 0)
                            ? "needs either a fact or what is measured"
                        : name[0] && !fact.of ? "is not known"
                        : measured[0] && (fact.probe == PROBES || !metric[0])
                            ? "names no measurement and metric of validate.json"
                        : is_text == is_number || is_text != (has[0] != 0)
                            ? is_text ? "needs a text: has" : "needs a number: least, most or both"
                        : fact.least > fact.most       ? "has least above most"
                        : !source[strspn(source, " ")] ? "has no source"
                        : kind->n == MACHINE_FACTS_MAX ? "is one too many"
                                                       : NULL;
    if (wrong)
        return entries_refuse(entries, "the fact '%.31s' %s", name[0] ? name : metric, wrong);
    text_set(fact.metric, "%s", metric);
    text_set(fact.key, "%s", key);
    text_set(fact.has, "%s", has);
    text_set(fact.unit, "%s", unit);
    text_set(fact.source, "%s", source);
    kind->facts[kind->n++] = fact;
    return 0;
}

static int read_header(const struct entries *entries, unsigned gpus, struct machine_kind *kind)
{
    const json_t *whole = entries->whole;
    const char *schema = json_string_value(json_object_get(whole, "schema"));
    const char *expect = json_string_value(json_object_get(whole, "expect"));
    const json_int_t version = json_integer_value(json_object_get(whole, "schema_version"));
    const bool counts = json_is_true(json_object_get(whole, "gpus"));
    const char *path = entries->path;
    if (!schema || strcmp(schema, SCHEMA) != 0)
        return err_set(entries->err, -EINVAL, "%.150s: schema is not \"" SCHEMA "\"", path);
    if (version != MACHINE_SCHEMA_VERSION)
        return err_set(entries->err, -EINVAL,
                       "%.150s: schema_version is %lld, and this version reads %d", path, version,
                       MACHINE_SCHEMA_VERSION);
    if (counts != (gpus > 0))
        return err_set(entries->err, -EINVAL,
                       counts ? "%.150s: how many GPUs? --machine 8xNAME"
                              : "%.150s: its GPUs are not counted by the name",
                       path);
    if (counts)
        text_append(kind->expect, sizeof(kind->expect), ",", "gpus=%u", gpus);
    if (expect)
        text_append(kind->expect, sizeof(kind->expect), ",", "%s", expect);
    return 0;
}

int machine_file_read(const char *path, unsigned gpus, struct machine_kind *kind, struct err *err)
{
    struct entries entries = {.path = path, .what = "machine", .arg = kind};
    kind->n = 0;
    kind->expect[0] = '\0';
    int rc = entries_open(&entries, err);
    if (!rc)
        rc = read_header(&entries, gpus, kind);
    if (!rc)
        rc = entries_read(&entries, "facts", take);
    entries_close(&entries);
    return rc;
}
