#include "harness/validate/json.h"

#include "harness/record/json_machine.h"
#include "harness/record/json_value.h"
#include "version.h"

static json_t *counts_to_json(const struct rules_verdict *verdict)
{
    static const enum finding_outcome told[] = {OUTCOME_PASS, OUTCOME_WARN, OUTCOME_FAIL,
                                                OUTCOME_SKIP, OUTCOME_ERROR};
    json_t *object = json_object();
    for (size_t i = 0; object && i < sizeof(told) / sizeof(told[0]); i++)
        (void)json_object_set_new(object, finding_outcome_name(told[i]),
                                  json_integer(verdict->count[told[i]]));
    return object;
}

/* The findings in their usual form, plus kind and action of the rule. */
static json_t *judged_to_json(const struct findings *findings)
{
    json_t *array = findings_to_json(findings);
    for (size_t i = 0; array && i < findings->n; i++) {
        const struct rule *rule = rule_find(findings->all[i].id);
        json_t *object = json_array_get(array, i);
        (void)json_object_set_new(object, "kind", json_string(rule_kind_name(rule->kind)));
        (void)json_object_set_new(object, "action", json_string(rule_action_name(rule->action)));
    }
    return array;
}

static json_t *value_to_json(const char *probe, const struct facts_value *value)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:b, s:o, s:o}", "probe", probe, "metric",
                     value->metric, "key", value->key, "unit", json_value_text(value->unit),
                     "better", json_value_text(value->better), "gates", value->gating, "value",
                     json_value_real(value->value), "why", json_value_text_or_null(value->why));
}

static json_t *measured_to_json(const struct facts *facts)
{
    json_t *array = json_array();
    for (int p = 0; array && p < PROBES; p++)
        for (size_t i = 0; i < facts->probes[p].n; i++)
            (void)json_array_append_new(
                array, value_to_json(facts_probe_names[p], &facts->probes[p].values[i]));
    return array;
}

static json_t *from_machine(const struct facts *facts)
{
    struct machine_parts parts;
    machine_parts_of(&facts->env, facts->topo, &parts);
    return machine_to_json(&parts);
}

json_t *validation_to_json(const struct validation *validation)
{
    const struct rules_verdict *verdict = validation->verdict;
    return json_pack(
        "{s:i, s:o, s:o, s:s, s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:o}", "schema", 1, "host",
        json_value_text(validation->facts->host), "machine", from_machine(validation->facts), "utc",
        validation->utc, "contend", CONTEND_VERSION, "profile", validation->profile, "took_s",
        json_value_real(validation->took_s), "verdict", finding_outcome_name(verdict->outcome),
        "text", json_value_text(verdict->text), "counts", counts_to_json(verdict), "findings",
        judged_to_json(validation->findings), "measured", measured_to_json(validation->facts));
}
