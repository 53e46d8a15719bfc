/*
 * Child processes. Only this module starts, signals and waits for them. kill(2) takes -1 for every
 * process on the machine and 0 for the caller's group, so an unchecked PID, such as that of a
 * failed fork, must never reach it.
 *
 * A zeroed struct process means no process: nothing can be signalled through it. It is zeroed after
 * process_start has failed, and after the end of the process was seen.
 */
#ifndef CONTEND_LIB_SYS_PROCESS_H
#define CONTEND_LIB_SYS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "harness/lib/sys/task.h"

struct process {
    pid_t pid;  /* read only; 0 = none, or its end was seen */
    int pidfd;  /* names the process even after its PID is reused; -1 = not available */
    bool leads; /* it leads a process group, whose ID is its PID */
};

/*
 * Status of a process whose exit status another waiter took: neither WIFEXITED nor WIFSIGNALED
 * holds.
 */
enum { PROCESS_STATUS_UNKNOWN = -1 };

/*
 * Runs `run` in a child, whose exit code is the return value. The child is killed when the calling
 * thread ends, and has the default action for SIGPIPE. `leads`: it leads a new process group, so
 * that the terminal's signals do not reach it, and it can be signalled with its descendants.
 * Errors: -errno of fork.
 */
int process_start(struct process *process, bool leads, int (*run)(void *arg), void *arg);

/*
 * For use in `run`: executes "sh -c line" with no signal blocked, stdin from /dev/null, stdout to
 * out_fd and stderr to err_fd. Returns only if there is no shell, with 127.
 */
int process_become_shell(const char *line, int out_fd, int err_fd);

/* For use in `run`: the child is no longer killed with its parent, as for a user's program. */
void process_outlive_parent(void);

/* -ESRCH: no such process; or another negative errno. */
int process_signal(const struct process *process, int signal);

/* Also signals the process group, if the process leads one. */
int process_signal_group(const struct process *process, int signal);

/* True once it has ended: *status is for waitpid's macros, and *process becomes none. */
bool process_ended(struct process *process, int *status);

/* Sleeps until it has ended, then as process_ended. */
void process_wait(struct process *process, int *status);

/* The same for at most so long. False: it still runs. */
bool process_wait_for(struct process *process, double limit_s, int *status);

/*
 * Waits for its end; kills it and its group after grace_s. Of a process that the kernel holds, as
 * for a disk that does not answer, it waits no longer than 10 s: false, and it is left to init.
 */
bool process_end(struct process *process, double grace_s, int *status);

/* True once it has ended, but does not reap it: its resource use can still be read. */
bool process_is_zombie(const struct process *process);

/*
 * Makes this process adopt all descendants whose parent ends, in any process group or session
 * (PR_SET_CHILD_SUBREAPER); or ends that.
 */
void process_adopt(bool adopts);

/* Reaps all ended children but these two, which may be NULL, and drops their status. Of those that
 * ended behind a kept one, only the first TREE_PROCESSES of tree_list. */
void process_reap_others(const struct process *kept, const struct process *too);

/*
 * Signals all live descendants of process `root` (task.h), which may be this process, but not
 * `root` itself. Uses pidfds, checked against PID reuse, where the kernel has them. Returns the
 * number of live descendants, also if a signal failed.
 */
unsigned process_signal_below(pid_t root, int signal);

/*
 * Kills all descendants until none is left, and reaps own children if root is this process. False:
 * a process does not end, for example in the kernel. Another root must not start processes
 * meanwhile (SIGSTOP).
 */
bool process_end_below(pid_t root);

/*
 * Makes this process kill its descendants, then exit, when its parent ends, also by SIGKILL. A
 * thread waits for that with sigwait, so SIGCONT is blocked. If no thread can be started, only this
 * process is killed, as process_start sets up.
 */
void process_end_with_parent(void);

/* The descendants of this process at the time of process_note_known. */
struct process_known {
    unsigned n;
    struct tree_process all[TREE_PROCESSES];
};
void process_note_known(struct process_known *known);

/*
 * Signals the descendants started since process_note_known, except descendants of known processes;
 * 0 only counts them. SIGKILL also reaps own children that ended. Returns how many there were.
 */
unsigned process_signal_new(const struct process_known *known, int signal);

/* Kills these descendants. False: a process does not end. */
bool process_end_new(const struct process_known *known);

/* Binds all threads of `root` and its descendants, again until none is bound otherwise. -EBUSY:
 * some cannot be bound, or bind themselves again and again. */
int process_bind_tree(pid_t root, const struct bitset *cpus);

/*
 * Restores the default for SIGCHLD; call it at program start. A parent may have ignored SIGCHLD,
 * which is inherited and makes the kernel drop the exit status of all children.
 */
void process_keep_children(void);

/*
 * Stops this process as the terminal's stop key does, unless SIGTSTP is ignored. Returns when it is
 * continued; at once in an orphaned process group, where nobody could continue it.
 */
void process_stop_self(void);

/* Runs a shell command and keeps the begin of its output: with a time limit, and until a signal. */
struct shell {
    const char *line;
    double limit_s;
    bool with_errors;         /* keeps stderr too; else it is that of this process */
    bool (*stops)(void *arg); /* true: end it now; asked 50 times a second; NULL = never */
    void *stops_arg;
};

/*
 * Waits for the end of the shell, whether or not its output is open, then returns 0 and *status for
 * waitpid's macros. Output that does not fit into `text` is dropped. -ETIME and -EINTR: it did not
 * end within the limit, or before `stops`, and was killed with its process group; other -errno: it
 * could not be started.
 */
int shell_run(const struct shell *shell, char *text, size_t size, int *status);

#endif
