/* Where a value stands, and whose it is, as people say it. */
#ifndef CONTEND_ROWS_SAY_H
#define CONTEND_ROWS_SAY_H

#include "harness/rows/row.h"

/* "4 KiB pages, SMT sibling"; "" of NULL. Returns buf, as all of these. */
char *format_dims(const struct bench *bench, const struct dims *at, char *buf, size_t size);

/* Behind it what tells the arm from others: parameters and placement. */
char *format_arm(const struct result *result, const struct arm *arm, const struct dims *at,
                 char *buf, size_t size);

/* ", dose cpu=20%"; "" of none. Returns buf. */
enum { SAY_DOSE_MAX = DOSE_TEXT_MAX + 8 };
char *format_dose(const struct arm *arm, char buf[static SAY_DOSE_MAX]);

/* Only the parameters of that. */
char *format_params(const struct result *result, const struct arm *arm, char *buf, size_t size);

/*
 * The same in two: the arm's parameters, where the value does not stand along them, and number of
 * workers, which tell parts of a run apart; where it stands, and the placement, in such a part.
 */
char *format_part(const struct result *result, const struct arm *arm, const struct dims *at,
                  char *buf, size_t size);
char *format_in_part(const struct result *result, const struct arm *arm, const struct dims *at,
                     char *buf, size_t size);

#endif
