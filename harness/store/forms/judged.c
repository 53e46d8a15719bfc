#include "harness/store/forms/judged.h"

#include <math.h>

#include "harness/engine/discover/scans.h"
#include "harness/store/json/findings.h"
#include "harness/store/json/machine.h"
#include "harness/store/json/value.h"

static json_t *odd_to_json(const struct symmetry_comparison *c, const struct topo *topo)
{
    json_t *odds = json_array();
    for (size_t i = 0; i < c->nodd; i++) {
        const struct symmetry_unit *unit = &c->odd[i];
        (void)json_array_append_new(
            odds, json_pack("{s:s, s:i, s:o, s:o, s:o, s:o, s:o}", "of",
                            symmetry_kind_name(unit->kind), "id", unit->id, "other",
                            unit->other < 0 ? json_null() : json_integer(unit->other), "pci_bdf",
                            json_value_text(symmetry_unit_bdf(topo, unit)), "value",
                            json_value_real(unit->value.value), "ratio",
                            json_value_real(unit->ratio), "z", json_value_real(unit->z)));
    }
    return odds;
}

static json_t *comparison_to_json(const struct symmetry_comparison *c, const struct topo *topo)
{
    bool judged = c->verdict != OUTLIER_NONE;
    char key[DIMS_KEY_MAX];
    json_t *object = json_pack(
        "{s:s, s:s, s:o, s:s, s:o, s:s, s:s, s:o, s:I, s:s, s:o, s:o, s:o}", "bench", c->row->bench,
        "placement", c->row->placement, "params", json_value_text(c->row->params), "metric",
        c->row->metric, "unit", json_value_text(c->row->unit), "better", c->row->better, "of",
        symmetry_kind_name(c->kind), "key",
        json_value_text(dims_format(c->row->arm->bench, &c->dims, key)), "units", (json_int_t)c->n,
        "verdict", outlier_verdict_name(c->verdict), "typical",
        json_value_real(judged ? c->typical : (double)NAN), "spread",
        json_value_real(judged ? c->spread : (double)NAN), "odd", odd_to_json(c, topo));
    if (object && c->power_limited)
        (void)json_object_set_new(object, "power_limited", json_true());
    return object;
}

json_t *symmetry_to_json(const struct symmetry *symmetry, const struct topo *topo)
{
    json_t *array = json_array();
    for (size_t i = 0; array && symmetry && i < symmetry->n; i++)
        if (json_array_append_new(array, comparison_to_json(&symmetry->all[i], topo))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *measured_to_json(const struct measured *measured)
{
    json_t *cpus = json_array();
    for (unsigned i = 0; i < measured->ncpus; i++)
        (void)json_array_append_new(
            cpus, json_pack("{s:i, s:i, s:i, s:i}", "cpu", (int)measured->cpus[i].os_cpu, "core",
                            measured->cpus[i].core, "llc", measured->cpus[i].llc, "package",
                            measured->cpus[i].package));
    return json_pack("{s:i, s:b, s:i, s:i, s:o, s:o, s:o}", "scans", SCANS_REPEATS, "floating",
                     measured->floating, "sibling_pairs", (int)measured->sibling_pairs,
                     "floating_pairs", (int)measured->floating_pairs, "median_ns",
                     json_value_real(measured->median_ns), "findings",
                     findings_to_json(&measured->findings), "cpus", cpus);
}

json_t *topo_measured_to_json(const struct topo *topo, const struct measured *measured)
{
    json_t *json = topo_to_json(topo);
    (void)json_object_set_new(json, "measured", measured_to_json(measured));
    return json;
}
