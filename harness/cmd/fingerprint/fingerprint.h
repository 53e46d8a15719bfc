/*
 * `contend run fingerprint`: a machine as a vector of rates and retentions. Each is measured by a
 * child contend, whose result lies in a folder of DIR; DIR/fingerprint.json has the vector, which
 * `contend compare` reads.
 */
#ifndef CONTEND_CMD_FINGERPRINT_FINGERPRINT_H
#define CONTEND_CMD_FINGERPRINT_FINGERPRINT_H

#include "harness/cmd/common/cmd.h"

/* argv[0] of `contend run`. */
bool fingerprint_is_named(const char *word);

/* argv[0] is that word. */
cmd_main fingerprint_main;

/* What is printed in place of the table, and the page that is written beside it; NULL: none. */
struct fingerprint_form {
    bool json, markdown;
    const char *html;
};

/* `contend report PATH` of one: its table again. EXIT_USAGE: it is no fingerprint, or its page
 * cannot be written. */
int fingerprint_report_main(const char *path, const struct fingerprint_form *form);

/* Whether one of the paths is a fingerprint. */
bool fingerprint_is_among(const char *const *paths, size_t n);

/*
 * `contend compare A B` of two fingerprints; three or more should be alike: each against the median
 * of all. Exit code: EXIT_GOOD the same class, EXIT_VERDICT another one, EXIT_INCONCLUSIVE one
 * shares no value with the others.
 */
int fingerprint_compare_main(const char *const *paths, size_t n,
                             const struct fingerprint_form *form);

#endif
