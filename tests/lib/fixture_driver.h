/* Tests on a made-up GPU driver, tests/lib/fake_gpu_driver.c, which is built when they run. */
#ifndef CONTEND_TESTS_LIB_FIXTURE_DRIVER_H
#define CONTEND_TESTS_LIB_FIXTURE_DRIVER_H

/* In a check: leaves it with the number of the line that failed. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return __LINE__;                                                                       \
    } while (0)

/*
 * Drivers are loaded once a process, so each check runs in a child, with that library for both
 * drivers and FAKE_GPU as `states`, which may be NULL. Returns the child's exit code: 0 = passed.
 */
int fixture_driver_in_child(const char *library, const char *states, int (*check)(void));

/*
 * The same with the fake driver, built with `define` ("-DFULL", "-DBARE", "-DOLD", "-DBROKEN");
 * fails the test when the check does. Skips it where there is no compiler.
 */
void fixture_driver_check(const char *define, const char *states, int (*check)(void));

/* A test that is one such check over the full driver: its body returns 0. */
#define DRIVER_TEST(name, states)                                                                  \
    static int check_##name(void);                                                                 \
    TEST(name)                                                                                     \
    {                                                                                              \
        fixture_driver_check("-DFULL", states, check_##name);                                      \
    }                                                                                              \
    static int check_##name(void)

#endif
