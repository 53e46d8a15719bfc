#include "harness/show/result.h"

#include "harness/show/comparison.h"
#include "harness/show/dosing.h"
#include "harness/show/escape.h"
#include "harness/show/run.h"
#include "harness/show/sizing.h"
#include "harness/show/tune.h"

void result_add_tables(const struct recorded *recorded, struct doc *doc)
{
    if (recorded->result.purpose == PURPOSE_TUNE)
        tune_add_to_doc(&recorded->analysis, doc);
    else if (recorded->result.purpose == PURPOSE_SIZING)
        sizing_add_to_doc(&recorded->analysis, doc);
    else if (recorded->result.purpose == PURPOSE_DOSE)
        dosing_add_to_doc(&recorded->analysis, doc);
    else
        run_add_to_doc(&recorded->analysis, doc);
}

void result_add_to_doc(const struct recorded *recorded, struct doc *doc)
{
    doc_findings(doc, &recorded->findings, DOC_LEADING);
    if (recorded->comparisons.n)
        comparisons_add_to_doc(&recorded->comparisons, doc);
    else
        result_add_tables(recorded, doc);
    doc_findings(doc, &recorded->findings, DOC_REST);
}

void result_add_source(const struct recorded *recorded, const char *path, struct doc *doc)
{
    const char *commit = recorded->commit;
    doc_gap(doc);
    doc_text(doc, "Results: %s", path);
    if (recorded->version)
        doc_text(doc, "Measured by contend %s%s%s%s", recorded->version, commit ? " (commit " : "",
                 commit ? commit : "", commit ? ")" : "");
}

void result_print_markdown(const struct recorded *recorded, const char *path, FILE *out)
{
    struct doc doc = {0};
    (void)fputs("### contend: ", out);
    escape_markdown(recorded->result.scenario, out);
    (void)fputc('\n', out);
    result_add_to_doc(recorded, &doc);
    result_add_source(recorded, path, &doc);
    doc_print_markdown(&doc, out);
    doc_free(&doc);
}
