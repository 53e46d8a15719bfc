/*
 * A guard is a process that runs the commands of a variant (result.h) and outlives contend. If
 * contend crashes, is killed or interrupted after `before` was begun, the guard still runs `after`.
 *
 * The guard is this program again (engine/worker/launch.h), in a process group of its own, with
 * signals blocked. It runs one command at a time, by /bin/sh -c with stdin /dev/null, and keeps the
 * first line of the output. It kills a command that does not end within a minute, and `before` and
 * `check` as soon as we go on without them. When our end of its socket is closed, the guard runs
 * `after` if that is due, and ends. If the guard is killed too, as with a whole container, nothing
 * is undone.
 */
#ifndef CONTEND_ENGINE_GUARD_H
#define CONTEND_ENGINE_GUARD_H

#include "harness/engine/result.h"
#include "harness/lib/sys/process.h"
#include "harness/lib/sys/signals.h"

/* One for each variant that has commands. Zeroed = none. */
struct guards {
    struct variants *variants; /* borrowed; `state` is filled */
    struct signals *signals;   /* borrowed */
    struct guard {
        struct process process;
        int fd;          /* 0 = none */
        unsigned serial; /* of the last request */
        bool begun;      /* `before` was requested */
    } guard[VARIANTS_MAX];
};

/*
 * Starts the guards, and runs `check` for the initial state. `variants` may be NULL. Close with
 * guards_close, also after an error: -errno: a guard could not be started; -ECANCELED: a command
 * failed; -ECHILD: a guard is gone; -EINTR: a signal asked to end.
 */
int guards_open(struct guards *guards, struct variants *variants, struct signals *signals,
                struct err *err);

/*
 * Run `before` and `after` around an observation of an arm; do nothing if its variant has no
 * commands. Call guards_after also after an error of guards_before. Errors as above; -ERESTART: we
 * were stopped (Ctrl-Z) meanwhile.
 */
int guards_before(struct guards *guards, const struct arm *arm, struct signals *signals,
                  struct err *err);
int guards_after(struct guards *guards, const struct arm *arm, struct signals *signals,
                 struct err *err);

/* Waits until all is undone, or until the next signal. Warns if `check` prints something else than
 * at first, or if `before` did not change what `check` prints. */
void guards_close(struct guards *guards);

/* Main of a guard: argv[2] is its socket, argv[3] to argv[5] are before, after and check. */
int guard_main(int argc, char **argv);

#endif
