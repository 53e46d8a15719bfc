/*
 * Any bytes as what NCCL's RAS service answers when it is asked twice, with the byte 0x1e between
 * the two: refused with a sentence, or judged and told. Also as the text of a version that has no
 * JSON.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/comms/json/ras.h"
#include "harness/comms/tables/comms.h"
#include "tests/fuzz/made_log.h"
#include "tests/fuzz/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static FILE *out;
static char *printed;
static size_t printed_size;

static void check_out(void)
{
    if (fflush(out))
        abort();
    check_printed(printed, printed_size);
    rewind(out);
}

/* False: it was refused. */
static bool read_answer(const uint8_t *part, size_t size, struct ras *ras)
{
    struct err err = {0};
    int rc = ras_from_json((const char *)part, size, ras, &err);
    check_refusal(rc, &err);
    for (size_t i = 0; i < ras->n && !rc; i++)
        if (ras_find(ras, &ras->communicator[i]) > &ras->communicator[i])
            abort();
    return !rc;
}

/* Counters of three GPUs, of which ranks of some hosts may be. */
static const struct comms_nvlink_delta counted = {
    .counted = {.host = "here",
                .counts = {.n = 3,
                           .gpu = {{"0000:01:00.0", 1000, 2000},
                                   {"", -1, -1},
                                   {"0000:03:00.0", 0, -1}}}},
    .seconds = 0.5};

static bool is_here(const char *host)
{
    return host[0] % 2 == 0;
}

static void use(const struct ras *before, const struct ras *now)
{
    struct findings findings = {0};
    struct err err = {0};
    struct comms_nvlink_delta nvlink_delta = counted;
    const struct comms_nvlink_delta_job job = {.ras = now, .is_here = is_here};
    comms_nvlink_delta_make(NULL, 0, &job, &nvlink_delta);
    if (ras_judge(before, now, 0.5, &findings, &err))
        abort();
    (void)ras_has_process(now, 7);
    struct doc doc = {0};
    ras_add_to_doc(before, now, 0.5, &findings, &doc);
    comms_nvlink_delta_add_to_doc(&nvlink_delta, &doc);
    doc_print(&doc, out, false, true);
    doc_free(&doc);
    check_out();
    json_t *json = ras_to_json(now, NULL, &nvlink_delta, &findings);
    if (!json)
        abort();
    json_decref(json);
    findings_free(&findings);
}

static void use_as_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        abort();
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    ras_print_text(text, out);
    check_out();
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ras before = {.n = 0}, now = {.n = 0};
    size_t length;
    if (!out)
        out = open_memstream(&printed, &printed_size);
    if (!out)
        abort();
    use_as_text(data, size);
    const uint8_t *part = scratch_next_part(&data, &size, &length);
    bool good = part && read_answer(part, length, &before);
    part = scratch_next_part(&data, &size, &length);
    if (good && (!part || read_answer(part, length, &now)))
        use(&before, part ? &now : &before);
    ras_free(&before);
    ras_free(&now);
    return 0;
}
