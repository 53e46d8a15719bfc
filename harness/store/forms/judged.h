/* What was found, in JSON: equal units that differ, and the topology as measured. */
#ifndef CONTEND_STORE_FORMS_JUDGED_H
#define CONTEND_STORE_FORMS_JUDGED_H

#include <jansson.h>

#include "harness/engine/discover/measured.h"
#include "harness/machine/topo/topo.h"
#include "harness/verdict/odd/symmetry.h"

/*
 * [{"bench", "placement", "params", "metric", "unit", "better", "of": "gpu"|"rank"|"pair", "key",
 *   "units", "verdict": "none"|"alike"|"odd"|"two"|"split", "typical", "spread",
 *   "odd": [{"of", "id", "other", "pci_bdf", "value", "ratio", "z"}]}]
 * One a comparison; [] for NULL. NULL: no memory. The caller owns the result.
 */
json_t *symmetry_to_json(const struct symmetry *symmetry, const struct topo *topo);

/*
 * topo_to_json with "measured": {"scans", "floating", "sibling_pairs", "floating_pairs",
 * "median_ns", "findings": as findings_to_json,
 * "cpus": [{"cpu", "core", "llc", "package"}]}. NULL: no memory. The caller owns the result.
 */
json_t *topo_measured_to_json(const struct topo *topo, const struct measured *measured);

#endif
