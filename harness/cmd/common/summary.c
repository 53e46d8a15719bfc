#include "harness/cmd/common/summary.h"

#include <errno.h>

#include "harness/lib/sys/log.h"
#include "harness/record/findings.h"
#include "harness/show/json/forms.h"
#include "harness/show/json/result_json.h"
#include "harness/show/json/rows.h"
#include "harness/show/result.h"

static void print(struct doc *doc, bool all, FILE *out, bool color)
{
    if (doc->failed)
        log_error("out of memory for the summary; rows.csv has everything");
    doc_print(doc, out, color, all);
    doc_free(doc);
}

void summary_print(const struct recorded *recorded, const char *path, bool all, FILE *out,
                   bool color)
{
    struct doc doc = {0};
    result_add_to_doc(recorded, &doc);
    if (path)
        result_add_source(recorded, path, &doc);
    if (path && !all)
        doc_text(&doc, "Details: contend report -v %s", path);
    print(&doc, all, out, color);
}

int summary_format(const struct recorded *recorded, char **text, size_t *size, struct err *err)
{
    *text = NULL;
    FILE *out = open_memstream(text, size);
    if (!out)
        return err_set(err, -ENOMEM, "no memory for the summary");
    summary_print(recorded, NULL, true, out, false);
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
    if (recorded->result.purpose == PURPOSE_DOSE)
        return json_pack("{s:o, s:o}", "dosing", dosing_to_json(&recorded->analysis), "findings",
                         findings_to_json(&recorded->findings));
    return rows_to_json(&recorded->analysis);
}
