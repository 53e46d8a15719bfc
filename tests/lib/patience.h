#ifndef CONTEND_TESTS_LIB_PATIENCE_H
#define CONTEND_TESTS_LIB_PATIENCE_H

/* How often what a busy machine may upset is tried again before a test fails. One success ends it,
 * so a machine that is not busy does not wait; what is broken fails each time. */
enum { PATIENCE = 100 };

#endif
