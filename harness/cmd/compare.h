/* The arguments of `contend compare`; --history alone has a file of its own. */
#ifndef CONTEND_CMD_COMPARE_H
#define CONTEND_CMD_COMPARE_H

#include "harness/cmd/common/cmd.h"

struct compare_args {
    struct opt_texts history;
    double threshold;    /* percent; 0 = the usual */
    const char *fail_on; /* NULL = the usual */
    const char *allow, *junit, *html, *machine, *out;
    bool verbose, json, markdown;
};

/* `contend compare --history DIR`, without results to compare. The exit code. */
int compare_history(const struct cmd_env *env, const struct compare_args *args);

#endif
