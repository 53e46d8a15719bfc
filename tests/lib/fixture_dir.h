/* An empty directory for one test: for results, or in place of "/". */
#ifndef CONTEND_TESTS_LIB_FIXTURE_DIR_H
#define CONTEND_TESTS_LIB_FIXTURE_DIR_H

#include <stddef.h>

/* Between set-up and tear-down, which removes all that is in it. */
extern char fixture_dir[];
extern int fixture_dir_fd;

#define TEST_IN_DIR(name) TEST_WITHIN(name, fixture_make_dir, fixture_remove_dir)

/* Set-up and tear-down of cmocka. */
int fixture_make_dir(void **state);
int fixture_remove_dir(void **state);

/* Writes a file in it, and the directories above that. `path` begins with "/". */
void fixture_put(const char *path, const char *text);

/* The bytes of a file in it with a 0 behind them, and how many they are (size may be NULL); NULL
 * where it is not there. Free it. */
char *fixture_read(const char *path, size_t *size);

#endif
