#include "harness/validate/json.h"

#include <math.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/record/json_machine.h"
#include "harness/record/json_value.h"
#include "version.h"

static json_t *counts_to_json(const struct rules_verdict *verdict)
{
    static const enum finding_outcome told[] = {OUTCOME_PASS, OUTCOME_WARN, OUTCOME_FAIL,
                                                OUTCOME_SKIP, OUTCOME_ERROR};
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
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
        (void)json_value_add(json_array_get(array, i), "kind:t action:t",
                             rule_kind_name(rule->kind), rule_action_name(rule->action));
    }
    return array;
}

static json_t *value_to_json(const char *probe, const struct facts_value *value)
{
    return json_value_object("probe:t metric:t key:t unit:t better:t gates:b value:r why:T", probe,
                             value->metric, value->key, value->unit, value->better, value->gating,
                             value->value, value->why);
}

static json_t *measured_to_json(const struct facts *facts)
{
    json_t *array = json_array();
    for (int p = 0; p < PROBES; p++)
        for (size_t i = 0; i < facts->probes[p].n; i++)
            json_value_append(&array,
                              value_to_json(facts_probe_names[p], &facts->probes[p].values[i]));
    return array;
}

json_t *validation_to_json(const struct validation *validation)
{
    const struct rules_verdict *verdict = validation->verdict;
    const struct facts *facts = validation->facts;
    struct machine_parts parts;
    machine_parts_of(&facts->env, facts->topo, &parts);
    return json_value_object("schema:i host:t machine:o utc:t contend:t profile:t took_s:r "
                             "verdict:t text:t counts:o findings:o measured:o",
                             1, facts->host, machine_to_json(&parts), validation->utc,
                             CONTEND_VERSION, validation->profile, validation->took_s,
                             finding_outcome_name(verdict->outcome), verdict->text,
                             counts_to_json(verdict), judged_to_json(validation->findings),
                             measured_to_json(facts));
}

/* "bandwidth_triad_nt_2" for the key "op=triad;stores=nt;threads=2"; a GPU is the rank, ":2". */
static const char *name_superbench(const struct facts_value *value)
{
    const char *name = str_fmt("%s", value->metric), *rank = "";
    for (const char *at = value->key; *at; at += strspn(at, ";")) {
        const int length = (int)strcspn(at, ";");
        const char *equals = memchr(at, '=', (size_t)length);
        const char *text = equals ? equals + 1 : at;
        const char *part = str_fmt("%.*s", (int)(at + length - text), text);
        if (!strncmp(at, "gpu=", strlen("gpu=")))
            rank = str_fmt(":%s", part);
        else
            str_add(&name, "_", "%s", part);
        at += length;
    }
    return str_fmt("%s%s", name, rank);
}

static void set_superbench(json_t *line, const char *name, double value)
{
    (void)json_object_set_new(line, str_fmt("contend/%s", name), json_value_real(value));
}

json_t *validation_to_superbench(const struct validation *validation)
{
    const struct findings *findings = validation->findings;
    json_t *line = json_value_object("node:t contend/return_code:i", validation->facts->host,
                                     validation->code);
    for (size_t i = 0; line && i < findings->n; i++) {
        const struct finding *finding = &findings->all[i];
        const bool fails = finding->outcome == OUTCOME_FAIL || finding->outcome == OUTCOME_ERROR;
        const json_t *said = json_object_get(line, str_fmt("contend/%s", finding->id));
        if (finding->outcome != OUTCOME_SKIP && (!said || fails))
            set_superbench(line, finding->id, !fails);
    }
    for (int p = 0; p < PROBES; p++)
        for (size_t i = 0; i < validation->facts->probes[p].n; i++) {
            const struct facts_value *value = &validation->facts->probes[p].values[i];
            if (value->gating && isfinite(value->value))
                set_superbench(line, str_fmt("%s/%s", facts_probe_names[p], name_superbench(value)),
                               value->value);
        }
    return line;
}
