/* The arguments of `contend compare`. compare_history.c runs --history without BASE and NEW. */
#ifndef CONTEND_CMD_COMPARE_H
#define CONTEND_CMD_COMPARE_H

#include "harness/cmd/common/cmd.h"

struct compare_args {
    struct opt_texts history;
    double threshold;    /* percent; 0 = default */
    const char *fail_on; /* NULL = default */
    const char *allow, *junit, *html, *machine, *out;
    bool verbose, json, markdown;
};

/* `contend compare --history DIR`, without results to compare. Returns the exit code. */
int compare_history(const struct cmd_env *env, const struct compare_args *args);

#endif
