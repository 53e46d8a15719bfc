/* What findings say to set at the next start of a job: read back from their commands. Pure. */
#ifndef CONTEND_DOCTOR_CURE_H
#define CONTEND_DOCTOR_CURE_H

#include "harness/doctor/check.h"

enum { CURE_MOST = 16, CURE_TEXT_MAX = 512 };

struct cure {
    size_t n;
    char *env[CURE_MOST]; /* "NAME=VALUE", in text; of "NAME" alone: it is unset */
    char text[CURE_TEXT_MAX];
    size_t used;
};

/*
 * Of "export NAME=VALUE ..." and "unset NAME ..." in the commands, the first of each name: what
 * costs most comes first. n = 0: no finding is cured by a variable.
 */
void cure_make(const struct diagnosis *diagnosis, struct cure *cure);

/* "export OMP_NUM_THREADS=8 && unset OMP_PROC_BIND".
 * Returns buf. */
char *cure_format(const struct cure *cure, char *buf, size_t size);

#endif
