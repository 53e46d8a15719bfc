/* The main of unit tests: the argument names the file whose tests run, without ".c". */
#include "tests/lib/unit.h"

enum { TESTS_MAX = 512, FILES_MAX = 64 };

static struct {
    const char *file;
    struct CMUnitTest test;
} all[TESTS_MAX];
static size_t n_all;

static struct around {
    const char *file;
    int (*before)(void);
    CMFixtureFunction setup, teardown;
} arounds[FILES_MAX];

void unit_add(const char *file, struct CMUnitTest test)
{
    if (n_all == TESTS_MAX)
        abort();
    all[n_all].file = strrchr(file, '/') + 1;
    all[n_all++].test = test;
}

static struct around *around(const char *file)
{
    size_t i = 0;
    while (i < FILES_MAX && arounds[i].file && strcmp(arounds[i].file, file) != 0)
        i++;
    if (i == FILES_MAX)
        abort();
    arounds[i].file = file;
    return &arounds[i];
}

void unit_before(const char *file, int (*before)(void))
{
    around(strrchr(file, '/') + 1)->before = before;
}

void unit_around(const char *file, CMFixtureFunction setup, CMFixtureFunction teardown)
{
    struct around *one = around(strrchr(file, '/') + 1);
    one->setup = setup;
    one->teardown = teardown;
}

int main(int argc, char **argv)
{
    static struct CMUnitTest tests[TESTS_MAX]; /* cmocka skips entries that are zero */
    char file[128];
    size_t n = 0;
    /* libgomp reads this variable before main. Threads that spin between regions would use most of
     * the tests' CPU time. */
    if (!getenv("OMP_WAIT_POLICY") && !setenv("OMP_WAIT_POLICY", "passive", 1))
        (void)execv("/proc/self/exe", argv);
    put_text(file, "%s.c", argc == 2 ? argv[1] : "");
    for (size_t i = 0; i < n_all; i++)
        if (strcmp(all[i].file, file) == 0)
            tests[n++] = all[i].test;
    if (n == 0) {
        (void)fprintf(stderr, "usage: %s FILE: there are no tests in '%s'\n", argv[0], file);
        return 2;
    }
    const struct around *one = around(file);
    int rc = one->before ? one->before() : 0;
    return rc ? rc : cmocka_run_group_tests_name(file, tests, one->setup, one->teardown);
}
