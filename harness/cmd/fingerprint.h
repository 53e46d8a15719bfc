/*
 * `contend run fingerprint`: a machine as a vector of rates and retentions. Child runs of contend
 * measure them, with results in folders of DIR. DIR/fingerprint.json has the vector, which `contend
 * compare` reads.
 */
#ifndef CONTEND_CMD_FINGERPRINT_H
#define CONTEND_CMD_FINGERPRINT_H

#include "harness/cmd/common/cmd.h"

/* True for the word "fingerprint" after `contend run`. */
bool fingerprint_is_named(const char *word);

/* argv[0] is that word. */
cmd_main fingerprint_main;

/* What is printed in place of the table, and the page that is written too; NULL: no page. */
struct fingerprint_form {
    bool json, markdown;
    const char *html;
};

/*
 * `contend report PATH` for a fingerprint: prints its table again. Returns the exit code;
 * EXIT_USAGE: it is no fingerprint, or the page cannot be written.
 */
int fingerprint_report_main(const char *path, const struct fingerprint_form *form);

/* True if one of the paths is a fingerprint. */
bool fingerprint_is_among(const char *const *paths, size_t n);

/*
 * `contend compare A B` for two fingerprints. Three or more are each compared with the median of
 * all. Exit code: EXIT_GOOD the same class, EXIT_VERDICT different classes, EXIT_INCONCLUSIVE a
 * fingerprint has no value in common with the others.
 */
int fingerprint_compare_main(const char *const *paths, size_t n,
                             const struct fingerprint_form *form);

#endif
