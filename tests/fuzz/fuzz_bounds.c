/* Any text as a file of bounds: refused with a sentence, or unchanged by writing and reading. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/validate/files.h"
#include "tests/fuzz/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_file(const char *name, struct bounds *bounds, struct err *err)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", scratch_path(), name);
    return bounds_file_read(path, bounds, err);
}

static void write_again(const struct bounds *bounds)
{
    char path[256];
    struct err err = {0};
    (void)snprintf(path, sizeof(path), "%s/again.json", scratch_path());
    scratch_put("again.json", NULL, 0);
    if (bounds_file_write(path, bounds, 0, &err))
        abort();
}

static void check_same(const struct bounds *bounds, const struct bounds *again)
{
    if (again->n != bounds->n || again->nleft_out != bounds->nleft_out ||
        again->machines != bounds->machines || strcmp(again->kind, bounds->kind) != 0 ||
        strcmp(again->how, bounds->how) != 0)
        abort();
    for (size_t i = 0; i < bounds->n; i++)
        if (strcmp(again->all[i].key, bounds->all[i].key) != 0 ||
            strcmp(again->all[i].unit, bounds->all[i].unit) != 0 ||
            again->all[i].higher != bounds->all[i].higher)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bounds bounds, again;
    struct err err = {0};
    scratch_put("bounds.json", data, size);
    int rc = read_file("bounds.json", &bounds, &err);
    check_refusal(rc, &err);
    if (!rc) {
        write_again(&bounds);
        if (read_file("again.json", &again, &err))
            abort();
        check_same(&bounds, &again);
        bounds_free(&again);
    }
    bounds_free(&bounds);
    return 0;
}
