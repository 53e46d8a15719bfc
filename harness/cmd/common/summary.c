#include "harness/cmd/common/summary.h"

#include <errno.h>

#include "harness/show/summary/comparison.h"
#include "harness/show/summary/findings.h"
#include "harness/show/summary/sizing.h"
#include "harness/show/summary/tune.h"
#include "harness/show/table/placements.h"
#include "harness/store/forms/forms.h"
#include "harness/store/json/comparison.h"
#include "harness/store/json/findings.h"
#include "harness/store/json/rows.h"

void summary_print(const struct recorded *recorded, FILE *out, bool color)
{
    const struct comparison_view view = {.explain = true, .color = color};
    findings_print_first(&recorded->findings, out, color);
    if (recorded->comparisons.n)
        comparisons_print(&recorded->comparisons, &view, out);
    else if (recorded->result.purpose == PURPOSE_TUNE)
        tune_print(&recorded->analysis, out, color);
    else if (recorded->result.purpose == PURPOSE_SIZING)
        sizing_print(&recorded->analysis, out, color);
    else
        placements_print(&recorded->analysis, out, color);
    findings_print(&recorded->findings, out, color);
}

void summary_print_source(const struct recorded *recorded, const char *path)
{
    (void)printf("\nResults: %s\n", path);
    if (recorded->version)
        (void)printf("Measured by contend %s%s%s%s\n", recorded->version,
                     recorded->commit ? " (commit " : "", recorded->commit ? recorded->commit : "",
                     recorded->commit ? ")" : "");
}

int summary_format(const struct recorded *recorded, char **text, size_t *size, struct err *err)
{
    *text = NULL;
    FILE *out = open_memstream(text, size);
    if (!out)
        return err_set(err, -ENOMEM, "no memory for the summary");
    summary_print(recorded, out, false);
    return fclose(out) ? err_set(err, -ENOMEM, "no memory for the summary") : 0;
}

static json_t *comparisons_as_json(const struct recorded *recorded)
{
    return json_pack("{s:O?, s:o, s:o}", "variants", json_object_get(recorded->record, "variants"),
                     "comparisons", comparisons_to_json(&recorded->comparisons), "findings",
                     findings_to_json(&recorded->findings));
}

json_t *summary_to_json(const struct recorded *recorded)
{
    if (json_object_get(recorded->record, "variants"))
        return comparisons_as_json(recorded);
    if (recorded->result.purpose == PURPOSE_TUNE)
        return json_pack("{s:o, s:o, s:o}", "recommended",
                         recommended_to_json(&recorded->analysis, &recorded->findings), "settings",
                         tune_to_json(&recorded->analysis), "findings",
                         findings_to_json(&recorded->findings));
    if (recorded->result.purpose == PURPOSE_SIZING)
        return json_pack("{s:o, s:o}", "sizing", sizing_to_json(&recorded->analysis), "findings",
                         findings_to_json(&recorded->findings));
    return rows_to_json(&recorded->analysis);
}
