/*
 * Any two texts, separated by the byte 0x1e, as the validate.json of two machines: refused with a
 * sentence, or judged as a fleet.
 */
#include "harness/validate/fleet_read.h"
#include "tests/fuzz/judged.h"
#include "tests/fuzz/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fleet fleet = {0};
    for (int i = 0; i < 2; i++) {
        size_t length;
        const uint8_t *part = scratch_next_part(&data, &size, &length);
        struct err err = {0};
        int rc = part ? fleet_add_validation_text((const char *)part, length, &fleet, &err) : 0;
        check_refusal(rc, &err);
    }
    judge_and_free(&fleet);
    return 0;
}
