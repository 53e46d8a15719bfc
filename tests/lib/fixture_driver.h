/* Tests on a made-up GPU driver, tests/lib/fake_gpu_driver.c. */
#ifndef CONTEND_TESTS_LIB_FIXTURE_DRIVER_H
#define CONTEND_TESTS_LIB_FIXTURE_DRIVER_H

/* In a check: returns the number of the line that failed. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return __LINE__;                                                                       \
    } while (0)

/*
 * Runs `check` in a child, since drivers are loaded once a process. Both drivers are `library`
 * there, and FAKE_GPU is `states` (may be NULL). Returns the child's exit code: 0 = passed.
 */
int fixture_driver_in_child(const char *library, const char *states, int (*check)(void));

/*
 * The same with a variant of the fake driver: "FULL", "BARE", "OLD", "BROKEN". Fails the test if
 * the check fails.
 */
void fixture_driver_check(const char *variant, const char *states, int (*check)(void));

/* A test that consists of one check over the full driver: its body returns 0. */
#define DRIVER_TEST(name, states)                                                                  \
    static int check_##name(void);                                                                 \
    TEST(name)                                                                                     \
    {                                                                                              \
        fixture_driver_check("FULL", states, check_##name);                                        \
    }                                                                                              \
    static int check_##name(void)

#endif
