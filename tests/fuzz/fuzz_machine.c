/* Any text as a kind of machine: refused with a sentence, or every fact can be judged. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/validate/files.h"
#include "tests/fuzz/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct machine_kind kind = {.name = "8xh100-sxm"};
    struct err err = {0};
    char path[256];
    scratch_put("machine.json", data, size);
    (void)snprintf(path, sizeof(path), "%s/machine.json", scratch_path());
    for (unsigned gpus = 0; gpus <= 8; gpus += 8) {
        int rc = machine_file_read(path, gpus, &kind, &err);
        check_refusal(rc, &err);
        for (size_t i = 0; i < kind.n && !rc; i++) {
            const struct machine_fact *fact = &kind.facts[i];
            if (!fact->source[0] || (!fact->of && fact->probe >= PROBES) ||
                (!fact->has[0] && isnan(fact->least) && isnan(fact->most)))
                abort();
        }
    }
    return 0;
}
