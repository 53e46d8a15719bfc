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

/* `contend report PATH` of one: its table again. */
int fingerprint_report_main(const char *path);

/* `contend compare A B` of two fingerprints. Exit code: EXIT_GOOD the same class, EXIT_VERDICT
 * another one, EXIT_INCONCLUSIVE they share no value. */
int fingerprint_compare_main(const char *a, const char *b, bool json);
/* `contend compare A B C...` of three or more, which should be alike: the same codes. */
int fingerprint_fleet_main(const char *const *paths, size_t n, bool json);

#endif
