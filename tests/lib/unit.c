/* The main of unit tests: the first argument names the file whose tests to run, without ".c"; none
 * = all. */
#include "tests/lib/unit.h"

#include <stdbool.h>
#include <unistd.h>

enum { TESTS_MAX = 512 };

static struct {
    const char *file;
    struct CMUnitTest test;
} all[TESTS_MAX];
static size_t n_all;

void unit_add(const char *file, struct CMUnitTest test)
{
    if (n_all == TESTS_MAX)
        abort();
    all[n_all].file = strrchr(file, '/') + 1;
    all[n_all++].test = test;
}

static bool is_in(const char *file, const char *name)
{
    size_t length = strlen(name);
    return strncmp(file, name, length) == 0 && strcmp(file + length, ".c") == 0;
}

int main(int argc, char **argv)
{
    static struct CMUnitTest tests[TESTS_MAX]; /* cmocka skips what is zero */
    size_t n = 0;
    /* libgomp reads it before main. Threads that spin between regions are most of what tests would
     * use. */
    if (!getenv("OMP_WAIT_POLICY") && !setenv("OMP_WAIT_POLICY", "passive", 1))
        (void)execv("/proc/self/exe", argv);
    for (size_t i = 0; i < n_all; i++)
        if (argc == 1 || is_in(all[i].file, argv[1]))
            tests[n++] = all[i].test;
    if (n == 0) {
        (void)fprintf(stderr, "%s: no tests in %s.c\n", argv[0], argc > 1 ? argv[1] : "");
        return 2;
    }
    return cmocka_run_group_tests_name(argc > 1 ? argv[1] : argv[0], tests, NULL, NULL);
}
