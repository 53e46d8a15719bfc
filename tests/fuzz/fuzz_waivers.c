/* Any text as a file of waivers: refused with a sentence, or each waiver is complete. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/validate/files.h"
#include "harness/validate/rules/rules.h"
#include "tests/fuzz/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* `lines`: number of lines in the file. */
static void check_waiver(const struct waiver *waiver, unsigned lines)
{
    if (!rule_find(waiver->rule) || !waiver->reason[0] || strlen(waiver->until) != 10 ||
        waiver->line < 1 || waiver->line > lines || strchr(waiver->unit, '\n'))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct waivers waivers;
    struct findings findings = {0};
    struct err err = {0};
    char path[256];
    unsigned lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    scratch_put("waivers.json", data, size);
    (void)snprintf(path, sizeof(path), "%s/waivers.json", scratch_path());
    int rc = waivers_read(path, &waivers, &err);
    check_refusal(rc, &err);
    for (size_t i = 0; i < waivers.n; i++)
        check_waiver(&waivers.all[i], lines);
    const struct finding finding = {
        .id = "nvlinks", .subject = "GPU 2", .outcome = OUTCOME_FAIL, .severity = FINDING_BAD};
    findings_put(&findings, &finding);
    waive_findings(&waivers, "2026-06-01", &findings);
    findings_free(&findings);
    waivers_free(&waivers);
    return 0;
}
