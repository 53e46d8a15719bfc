/*
 * Child processes. This is the one place that starts, signals and waits for them: kill(2) takes -1
 * for every process there is, and 0 for our own group, so that a number nobody has checked, such as
 * that of a fork that was refused, must not come near it.
 *
 * Zeroed, a struct process is none: nothing can be signalled through it. So it is when
 * process_start has failed, and from when its end was seen.
 */
#ifndef CONTEND_LIB_SYS_PROCESS_H
#define CONTEND_LIB_SYS_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "harness/lib/sys/tree.h"

struct process {
    pid_t pid;  /* for reading only; 0 = none, or its end was seen */
    int pidfd;  /* the same process, however numbers are used again; -1 = none to be had */
    bool leads; /* a process group, of its own number */
};

/*
 * The status of a process that somebody else has waited for: neither WIFEXITED nor WIFSIGNALED
 * hold.
 */
enum { PROCESS_STATUS_UNKNOWN = -1 };

/*
 * Runs `run` in a child, which ends with the code that it returns. It is killed when the thread
 * that called this ends, and does not ignore SIGPIPE, whatever we do. `leads`: it has a process
 * group of its own, so that the terminal's signals do not reach it, and what it starts can be
 * signalled with it. Errors: -errno of fork.
 */
int process_start(struct process *process, bool leads, int (*run)(void *arg), void *arg);

/*
 * In `run`: goes on as "sh -c line", without a signal blocked, with an empty stdin and what it
 * prints in out_fd; its stderr there, too, where err_fd is that. Returns, with 127, where there is
 * no shell.
 */
int process_become_shell(const char *line, int out_fd, int err_fd);

/* In `run`: the child is not killed with who has started it, as a user's program is not. */
void process_outlive_parent(void);

/* -ESRCH: there is no such process. */
int process_signal(const struct process *process, int signal);

/* The same for whatever it has started, too, where it leads a group. */
int process_signal_group(const struct process *process, int signal);

/* True once it has ended: *status is for waitpid's macros, and *process is none from then on. */
bool process_ended(struct process *process, int *status);

/* Sleeps until then. */
void process_wait(struct process *process, int *status);

/* True once it has ended, which its parent is still to be told: what it used can be read yet. */
bool process_is_over(const struct process *process);

/*
 * From now on, those below this process whose parent has ended are its children, whatever process
 * group or session they have made for themselves; or no longer.
 */
void process_adopt(bool adopts);

/* Takes in those that have ended, but for `retention`, of a process that has no other use for them.
 */
void process_reap_others(const struct process *kept);

/*
 * Signals all that live below process `root`, or this one, and not itself (tree.h): each by a
 * descriptor that was checked to be of the same process, where there are such. Returns how many
 * live, whether the signal reached them or not.
 */
unsigned process_signal_below(pid_t root, int signal);

/*
 * Kills them until there are none, taking in those that are ours. False: one does not go, such as
 * in the kernel. The root, where it is another process, must not start more meanwhile (SIGSTOP).
 */
bool process_end_below(pid_t root);

/*
 * From now on, when the parent ends, also by SIGKILL, this process ends those below it before it
 * ends itself: a thread waits for that. SIGCONT is blocked for it. Where there is no room for a
 * thread, this process ends alone, as process_start has it.
 */
void process_end_with_parent(void);

/* Those below this process at some time. */
struct process_known {
    unsigned n;
    struct tree_process all[TREE_PROCESSES];
};
void process_note_known(struct process_known *known);

/*
 * Kills those below this process that have come since, but for those that a known one has started.
 * False: one does not go.
 */
bool process_end_new(const struct process_known *known);

/*
 * At the start of a program: where the parent ignored SIGCHLD, and we inherited it, the kernel
 * drops the exit status of all children.
 */
void process_keep_children(void);

/*
 * Acts as the terminal's stop key, where SIGTSTP is not ignored. Returns when we go on: at once
 * where nobody could continue us (an orphaned process group).
 */
void process_stop_self(void);

#endif
