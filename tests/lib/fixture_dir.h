/* An empty directory for one test: for results, or as a stand-in for "/". */
#ifndef CONTEND_TESTS_LIB_FIXTURE_DIR_H
#define CONTEND_TESTS_LIB_FIXTURE_DIR_H

#include <stddef.h>

/* Valid between set-up and tear-down. The tear-down removes the directory with all files. */
extern char fixture_dir[];
extern int fixture_dir_fd;

#define TEST_IN_DIR(name) TEST_WITHIN(name, fixture_make_dir, fixture_remove_dir)

/* Set-up and tear-down of cmocka. */
int fixture_make_dir(void **state);
int fixture_remove_dir(void **state);

/* Writes a file in the directory and makes its parents. `path` begins with "/". */
void fixture_put(const char *path, const char *text);

/* The bytes of a file in the directory, with a terminating 0; *size is their number (size may be
 * NULL). NULL if the file does not exist. The caller frees it. */
char *fixture_read(const char *path, size_t *size);

#endif
