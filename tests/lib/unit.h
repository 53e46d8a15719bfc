/*
 * A unit test: TEST(name) { ... } in tests/<room>/test_<module>.c, which cmocka runs when
 * units_<room> gets the argument test_<module>. A test registers itself; there is no list to
 * maintain.
 */
#ifndef TESTS_LIB_UNIT_H
#define TESTS_LIB_UNIT_H

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Callbacks of tests need little of what they are told. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* TEST_WITHIN calls `setup` before the test and `teardown` after it, also if it fails; NULL =
 * none. */
#define TEST(name) TEST_WITHIN(name, NULL, NULL)
#define TEST_WITHIN(name, setup, teardown)                                                         \
    static void test_##name(void **state);                                                         \
    __attribute__((constructor)) static void add_##name(void)                                      \
    {                                                                                              \
        unit_add(__FILE__, (struct CMUnitTest){#name, test_##name, setup, teardown, NULL});        \
    }                                                                                              \
    static void test_##name(void **state)

/* BEFORE_TESTS { ... }, once a file: returns 0, or the exit code to end with. */
enum { UNIT_SKIPPED = 77 }; /* the tests cannot run here */
#define BEFORE_TESTS                                                                               \
    static int before_tests(void);                                                                 \
    __attribute__((constructor)) static void add_before(void)                                      \
    {                                                                                              \
        unit_before(__FILE__, before_tests);                                                       \
    }                                                                                              \
    static int before_tests(void)

/* Skips the test if an emulator of another CPU (tests/aarch64.sh) stands between it and the kernel.
 */
static inline void unit_skip_emulated(const char *why)
{
    if (!getenv("QEMU_LD_PREFIX"))
        return;
    print_message("not in an emulator: %s\n", why);
    skip();
}

/* Once before and once after all tests of a file. */
#define AROUND_TESTS(setup, teardown)                                                              \
    __attribute__((constructor)) static void add_around(void)                                      \
    {                                                                                              \
        unit_around(__FILE__, setup, teardown);                                                    \
    }

/* Of a local variable that a function, or TYPE_free, or free ends with its block. */
#define ENDED_BY(function) __attribute__((cleanup(function)))
#define AUTO(type) ENDED_BY(type##_free) struct type
#define FREED ENDED_BY(unit_free_pointer)
static inline void unit_free_pointer(void *pointer)
{
    free(*(void **)pointer);
}

/* An element of a table: clang-format fills its lines, but gives each value of a long {} a line. */
#define ENTRY(...)                                                                                 \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* snprintf into an array. */
#define put_text(array, ...) ((void)snprintf(array, sizeof(array), __VA_ARGS__))

/* A stream into *text, which is complete when it is closed. Free it. */
static inline FILE *unit_print_into(char **text)
{
    static size_t size;
    FILE *out = open_memstream(text, &size);
    assert_non_null(out);
    return out;
}

/* A text with that part in it, or without it. */
#define assert_has(text, part) unit_assert_has(text, part, true, __FILE__, __LINE__)
#define assert_lacks(text, part) unit_assert_has(text, part, false, __FILE__, __LINE__)
static inline void unit_assert_has(const char *text, const char *part, bool has, const char *file,
                                   int line)
{
    if (text && (strstr(text, part) != NULL) == has)
        return;
    print_error("'%s' is %s: %s\n", part, has ? "not in" : "in", text ? text : "(none)");
    _fail(file, line);
}

/* Called by constructors before main, in the order of the tests in a file. */
void unit_add(const char *file, struct CMUnitTest test);
void unit_before(const char *file, int (*before)(void));
void unit_around(const char *file, CMFixtureFunction setup, CMFixtureFunction teardown);

#endif
