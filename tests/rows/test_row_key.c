/* Keys taken apart, and params, which are longer. */
#include "harness/rows/key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_key_drop_takes_out_one_part(void **state)
{
    (void)state;
    static const struct {
        const char *key, *name, *left;
    } cases[] = {
        {"a=1;b=2;c=3", "a", "b=2;c=3"}, {"a=1;b=2;c=3", "b", "a=1;c=3"},
        {"a=1;b=2;c=3", "c", "a=1;b=2"}, {"a=1", "a", ""},
        {"a=1;b=2", "d", "a=1;b=2"},     {"ab=1;b=2", "b", "ab=1"},
        {"b=1;ba=2;b=3", "b", "ba=2"},   {"a=1;b=2;b=3", "b", "a=1"},
        {"plain;b=2", "b", "plain"},     {"", "b", ""},
        {"a=x=y;b=2", "b", "a=x=y"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char key[VALUE_KEY_MAX];
        (void)snprintf(key, sizeof(key), "%s", cases[i].key);
        key_drop(key, cases[i].name);
        assert_string_equal(key, cases[i].left);
    }
}

/* As a variant of `ab` does that sets a parameter: the others stay, and whole. */
static void test_key_drop_leaves_the_rest_of_long_params(void **state)
{
    (void)state;
    static const char head[] = "rows=2048;cols=512;block=0;window=32;lambda=0.5;alpha=0.1;";
    static const char tail[] = "prefetch=2;work=normalize;busy=0;time=0.25;seed=42;slots=2";
    char params[ROW_PARAMS_MAX], left[ROW_PARAMS_MAX];
    (void)snprintf(params, sizeof(params), "%sregions=8;%s", head, tail);
    (void)snprintf(left, sizeof(left), "%s%s", head, tail);
    assert_true(strlen(left) > VALUE_KEY_MAX);
    key_drop(params, "regions");
    assert_string_equal(params, left);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_key_drop_takes_out_one_part),
        cmocka_unit_test(test_key_drop_leaves_the_rest_of_long_params),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
