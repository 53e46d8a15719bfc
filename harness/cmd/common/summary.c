#include "harness/cmd/common/summary.h"

#include <errno.h>

#include "harness/show/summary/comparison.h"
#include "harness/show/summary/findings.h"
#include "harness/show/summary/sizing.h"
#include "harness/show/summary/tune.h"
#include "harness/show/table/placements.h"

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
