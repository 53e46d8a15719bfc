/* Cure: environment variables that findings set or unset at the next start of a job. Pure. */
#ifndef CONTEND_DOCTOR_CHECK_CURE_H
#define CONTEND_DOCTOR_CHECK_CURE_H

#include <stdbool.h>
#include <stddef.h>

enum { CURE_MOST = 16, CURE_SETTING_MAX = 48 };

/* Zeroed = empty. Names are ours and values are numbers: safe in a shell without quotes. */
struct cure {
    unsigned n;
    char settings[CURE_MOST][CURE_SETTING_MAX]; /* "NAME=VALUE"; "NAME" alone means unset */
};

void cure_set(struct cure *cure, const char *name, unsigned value);
void cure_unset(struct cure *cure, const char *name);

/* Adds the settings of `more` whose names are not in `cure` yet: the first one wins. */
void cure_join(struct cure *cure, const struct cure *more);

/* "export OMP_NUM_THREADS=8 && unset OMP_PROC_BIND", "" if empty. Returns buf. */
char *cure_format(const struct cure *cure, char *buf, size_t size);

#endif
