#include "tests/lib/fixture_golden.h"
#include "tests/lib/unit.h"

void fixture_golden(const char *name, const char *text)
{
    char path[256];
    put_text(path, "tests/golden/%s", name);
    bool update = getenv("CONTEND_UPDATE_GOLDEN") != NULL;
    FILE *file = fopen(path, update ? "w" : "r");
    if (!file)
        fail_msg("%s is not there; CONTEND_UPDATE_GOLDEN=1 writes it", path);
    if (update) {
        (void)fputs(text, file);
        assert_int_equal(fclose(file), 0);
        return;
    }
    size_t size = strlen(text) + 2;
    FREED char *expected = calloc(1, size);
    assert_non_null(expected);
    size_t n = fread(expected, 1, size - 1, file);
    (void)fclose(file);
    if (n != strlen(text) || memcmp(expected, text, n) != 0)
        fail_msg("this is not %s:\n%s", path, text);
}
