/* Numbers and lines for people. */
#include "harness/base/text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_percent(void **state)
{
    (void)state;
    static const struct {
        double share;
        const char *text;
    } cases[] = {{NAN, "-"},        {0, "0.00%"},      {0.00016, "0.02%"}, {0.00994, "0.99%"},
                 {0.00996, "1.0%"}, {0.0994, "9.9%"},  {0.0996, "10%"},    {0.844, "84%"},
                 {1, "100%"},       {12.345, "1234%"}, {-0.5, "-50.00%"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[32];
        assert_string_equal(text_percent(cases[i].share, text, sizeof(text)), cases[i].text);
    }
}

static void test_wrap(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    text_wrap("The words of a sentence that is longer than the eighty columns of a terminal are "
              "wrapped.",
              0, 4, out);
    text_wrap("0-1000,1002,1004,1006,1008,1010,1012,1014,1016,1018,1020,1022,1024,1026,1028", 10, 2,
              out);
    (void)fclose(out);
    assert_string_equal(text, "The words of a sentence that is longer than the eighty columns of a "
                              "terminal\n    are wrapped.\n"
                              "0-1000,1002,1004,1006,1008,1010,1012,1014,1016,1018,1020,1022,1024,"
                              "\n  1026,1028\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_percent), cmocka_unit_test(test_wrap)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
