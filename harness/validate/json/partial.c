#include "harness/validate/json/partial.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/machine/facts/key.h"
#include "harness/store/json/value.h"
#include "harness/validate/json/validation.h"
#include "version.h"

/* What must be the same. */
static json_t *header_of(const struct facts *facts, const char *profile)
{
    struct machine_parts parts;
    struct machine_key key;
    machine_parts_of(&facts->env, facts->topo, &parts);
    machine_key_make(&parts, &key);
    return json_pack("{s:s, s:s, s:s, s:s}", "machine", key.key, "contend", CONTEND_VERSION,
                     "commit", contend_commit, "profile", profile);
}

json_t *partial_to_json(const struct facts *facts, const char *profile)
{
    json_t *document = header_of(facts, profile), *ended = json_object();
    for (int p = 0; p < PROBES && ended; p++)
        if (facts->probes[p].ended)
            (void)json_object_set_new(ended, facts_probe_names[p],
                                      json_integer((json_int_t)facts->probes[p].ended));
    if (!json_value_add(document, "schema:i ended:o measured:o", 1, ended,
                        validation_measured(facts)))
        return document;
    json_decref(document);
    return NULL;
}

static int check(const json_t *partial, const char *profile, const struct facts *facts,
                 struct err *err)
{
    json_t *header = header_of(facts, profile), *value;
    const char *key;
    int rc = header ? 0 : err_set(err, -ENOMEM, "no memory for " PARTIAL_NAME);
    json_object_foreach(header, key, value)
    {
        const char *then = json_value_text_of(partial, key);
        if (!rc && strcmp(then, json_string_value(value)) != 0)
            rc = err_set(err, -EINVAL, "another %s: '%.80s' then, '%.80s' now", key, then,
                         json_string_value(value));
    }
    json_decref(header);
    return rc;
}

static int take_value(const json_t *from, struct facts_probe *probe, struct err *err)
{
    struct facts_value value = {.value = json_value_number_of(from, "value"),
                                .unit = json_string_value(json_object_get(from, "unit")),
                                .better = json_string_value(json_object_get(from, "better")),
                                .gating = json_is_true(json_object_get(from, "gates"))};
    text_set(value.metric, "%s", json_value_text_of(from, "metric"));
    text_set(value.key, "%s", json_value_text_of(from, "key"));
    text_set(value.why, "%s", json_value_text_of(from, "why"));
    return facts_put(probe, &value, err);
}

int partial_take(const json_t *partial, const char *profile, time_t now, struct facts *facts,
                 unsigned *known, struct err *err)
{
    const json_t *ended = json_object_get(partial, "ended");
    int rc = check(partial, profile, facts, err);
    *known = 0;
    for (int p = 0; p < PROBES && !rc; p++) {
        struct facts_probe *probe = &facts->probes[p];
        double at = json_value_number_of(ended, facts_probe_names[p]);
        size_t i;
        json_t *value;
        if (!(fabs(difftime(now, (time_t)at)) <= PARTIAL_OLDEST_S))
            continue;
        *known |= 1u << p;
        probe->status = PROBE_DONE;
        probe->ended = (time_t)at;
        json_array_foreach(json_object_get(partial, "measured"), i, value)
        {
            if (!rc && !strcmp(json_value_text_of(value, "probe"), facts_probe_names[p]))
                rc = take_value(value, probe, err);
        }
    }
    return rc || *known ? rc : err_set(err, -EINVAL, "nothing was measured in the last 24 hours");
}
