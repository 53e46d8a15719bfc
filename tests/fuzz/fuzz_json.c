/* Any text as JSON with findings, which must be unchanged when written and read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/record/json_value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_findings(const json_t *json)
{
    struct findings findings, again;
    findings_from_json(json, &findings);
    json_t *written = findings_to_json(&findings);
    findings_from_json(written, &again);
    if (!written || again.n != findings.n)
        abort();
    json_decref(written);
    findings_free(&findings);
    findings_free(&again);
}

/* Bytes that JSON text excludes: a string that is not UTF-8. */
static void check_text(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);
    json_t *json = json_value_text(text);
    if (!json || json_string_length(json) != strlen(text))
        abort();
    json_decref(json);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *json = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
    if (json)
        check_findings(json);
    json_decref(json);
    if (size)
        check_text(data, size);
    return 0;
}
