/*
 * resume.bin: what `run --resume` reads, beside a result whose rounds are not all there. It holds
 * times, seed and the observations of each finished round, as this build has them in memory.
 */
#ifndef CONTEND_STORE_FILES_CHECKPOINT_H
#define CONTEND_STORE_FILES_CHECKPOINT_H

#include "harness/engine/run/observe.h"
#include "harness/lib/files/growing.h"

#define CHECKPOINT_NAME "resume.bin"

/* Creates it, or empties it, with what the rounds of the run have in common. */
int checkpoint_open(struct growing_file *file, int dir_fd, const struct result *result,
                    const struct observe_config *config, struct err *err);

/* Appends a round, and brings it to the disk. */
int checkpoint_append(struct growing_file *file, const struct result *result, unsigned round,
                      struct err *err);

/*
 * Takes times, seed and `rounds` rounds into a plan that has no observations yet, and opens the
 * file behind them. -EINVAL: it is damaged, of another build, or lacks one of them.
 */
int checkpoint_reopen(struct growing_file *file, int dir_fd, unsigned rounds, struct result *result,
                      struct observe_config *config, struct err *err);

#endif
