#ifndef CONTEND_TESTS_LIB_PATIENCE_H
#define CONTEND_TESTS_LIB_PATIENCE_H

/* How often a test retries what load on the machine may upset. The first success ends it, so an
 * idle machine loses no time; a real fault fails every try. */
enum { PATIENCE = 100 };

#endif
