/* Expected texts in tests/golden/. CONTEND_UPDATE_GOLDEN=1 rewrites them: then read the diff. */
#ifndef CONTEND_TESTS_LIB_FIXTURE_GOLDEN_H
#define CONTEND_TESTS_LIB_FIXTURE_GOLDEN_H

/* Fails the running cmocka test unless tests/golden/<name> equals `text`, byte for byte. */
void fixture_golden(const char *name, const char *text);

#endif
