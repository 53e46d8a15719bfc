/* The arguments of `contend compare`. compare_history.c runs --history without BASE and NEW. */
#ifndef CONTEND_CMD_COMPARE_H
#define CONTEND_CMD_COMPARE_H

#include "harness/cmd/common/cmd.h"
#include "harness/show/json/runs.h"
#include "harness/verdict/runs/pairing.h"

struct compare_args {
    struct opt_texts history;
    double threshold;    /* percent; 0 = default */
    const char *fail_on; /* NULL = default */
    const char *allow, *junit, *html, *machine, *out;
    const char *placements; /* "P" or "BASE,NEW", with `across` */
    bool verbose, json, markdown, across;
    bool is_foreign; /* no option: files of another benchmark are among the operands */
};

/*
 * With --across: limits each side to its only placement, or to the one of args->placements. Sides
 * of unlike placements get these as names. -EINVAL: a side has several, or none.
 */
int compare_across_fill(const struct compare_args *args, const struct runs runs[PAIRING_SIDES],
                        struct pairing_runs sides[PAIRING_SIDES], struct err *err);

/* Adds a finding if rows have no pair as placements or options differ, with the commands that
 * compare them; `names` are the sides as typed. */
void compare_across_advise(const struct comparisons *comparisons,
                           const struct runs sides[PAIRING_SIDES], const struct cli *cli,
                           size_t nbase, struct findings *findings);

/* `contend compare --history DIR`, without results to compare. Returns the exit code. */
int compare_history(const struct cmd_env *env, const struct compare_args *args);

#endif
