/* What findings change at the next start of a job: environment variables, an argument. Pure. */
#ifndef CONTEND_DOCTOR_CHECKS_ENV_CHANGES_H
#define CONTEND_DOCTOR_CHECKS_ENV_CHANGES_H

#include <stddef.h>

enum { ENV_CHANGES_MOST = 16, ENV_CHANGE_MAX = 64 };

/* Zeroed = empty. Names are ours and values are numbers: safe in a shell without quotes. */
struct env_changes {
    unsigned n;
    char settings[ENV_CHANGES_MOST][ENV_CHANGE_MAX]; /* "NAME=VALUE"; "NAME" alone means unset */
    char argument[ENV_CHANGE_MAX]; /* "-XX:NAME=VALUE", in place of another value; "" = none */
};

void env_changes_set(struct env_changes *changes, const char *name, unsigned value);
/* The same for a variable that holds an option, such as "-XX:ActiveProcessorCount=". */
void env_changes_set_option(struct env_changes *changes, const char *name, const char *option,
                            unsigned value);
void env_changes_unset(struct env_changes *changes, const char *name);

/* Adds the settings of `more` whose names are not in `changes` yet: the first one wins. */
void env_changes_join(struct env_changes *changes, const struct env_changes *more);

/* "export OMP_NUM_THREADS=8 && unset OMP_PROC_BIND", "" if empty. */
const char *env_changes_format(const struct env_changes *changes);

#endif
