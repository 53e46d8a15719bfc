/*
 * The commands of a variant (variant.h), run by a process of its own that outlives us: whatever
 * ends this one, a crash, a kill or an interrupt, `after` is run where `before` was begun.
 *
 * The guard is this program again (engine/worker/launch.h), in a process group of its own, with
 * signals blocked. It runs one command at a time, by /bin/sh -c with stdin /dev/null, and keeps
 * what the command says; one that does not end within a minute is killed. When our end of its
 * socket is closed, it undoes what is to be undone, and ends. A kill of it, too, as of a whole
 * container, nobody can answer.
 */
#ifndef CONTEND_ENGINE_ARMS_GUARD_H
#define CONTEND_ENGINE_ARMS_GUARD_H

#include "harness/engine/arms/result.h"
#include "harness/lib/sys/process.h"
#include "harness/lib/sys/signals.h"

/* One for each variant that has commands. Zeroed = none. */
struct guards {
    struct variants *variants; /* borrowed; `state` is filled */
    struct guard {
        struct process process;
        int fd;          /* 0 = none */
        unsigned serial; /* of the last request */
    } guard[VARIANTS_MAX];
};

/*
 * Starts them, and asks `check` how things are. `variants` may be NULL. Close with guards_close,
 * also after an error: -errno of what could not be started, -ECANCELED a command failed, -EINTR.
 */
int guards_open(struct guards *guards, struct variants *variants, struct signals *signals,
                struct err *err);

/*
 * Before and after an observation of an arm; nothing where its variant has no commands. After an
 * error of the first, the second is to be called, too. Errors as above.
 */
int guards_before(struct guards *guards, const struct arm *arm, struct signals *signals,
                  struct err *err);
int guards_after(struct guards *guards, const struct arm *arm, struct signals *signals,
                 struct err *err);

/* Waits until all is undone; warns where `check` does not say so, or what was to change did not. */
void guards_close(struct guards *guards);

/* Main of a guard: argv[2] is its socket, argv[3] to argv[5] are before, after and check. */
int guard_main(int argc, char **argv);

#endif
