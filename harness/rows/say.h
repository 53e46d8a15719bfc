/* Where a value stands, and whose it is, as people say it. */
#ifndef CONTEND_ROWS_SAY_H
#define CONTEND_ROWS_SAY_H

#include "harness/rows/row.h"

/* "4 KiB pages, SMT sibling"; "" of NULL. Returns buf, as all of these. */
char *say_dims(const struct bench *bench, const struct dims *at, char *buf, size_t size);

/* Behind it what tells the arm from others: parameters and placement. */
char *say_arm(const struct result *result, const struct arm *arm, const struct dims *at, char *buf,
              size_t size);

/* Only the parameters of that. */
char *say_params(const struct result *result, const struct arm *arm, char *buf, size_t size);

/*
 * The same in two: the arm's parameters, where the value does not stand along them, and number of
 * workers, which tell parts of a run apart; where it stands, and the placement, in such a part.
 */
char *say_part(const struct result *result, const struct arm *arm, const struct dims *at, char *buf,
               size_t size);
char *say_in_part(const struct result *result, const struct arm *arm, const struct dims *at,
                  char *buf, size_t size);

#endif
