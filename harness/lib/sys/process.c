#include "harness/lib/sys/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/clock.h"

enum { EXIT_ORPHAN = 127 };

/* How long killed descendants may take to end: 10 s in all. */
enum { END_TRIES = 5000, END_PAUSE_US = 2000 };

/* By system call, as glibc before 2.36 has no wrapper. Uses at most half of the descriptors. */
static int open_pidfd(pid_t pid)
{
    struct rlimit limit;
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0 || getrlimit(RLIMIT_NOFILE, &limit) || (rlim_t)fd < limit.rlim_cur / 2)
        return fd < 0 ? -1 : fd;
    (void)close(fd);
    return -1;
}

int process_start(struct process *process, bool leads, int (*run)(void *arg), void *arg)
{
    *process = (struct process){0};
    pid_t parent = getpid();
    pid_t pid = fork();
    if (!pid) {
        if (leads)
            (void)setpgid(0, 0);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)signal(SIGPIPE, SIG_DFL);
        _exit(getppid() == parent ? run(arg) : EXIT_ORPHAN); /* the parent died before prctl */
    }
    if (pid < 0)
        return -errno;
    if (leads)
        (void)setpgid(pid, pid); /* in parent and child, as either may run first */
    *process = (struct process){.pid = pid, .pidfd = open_pidfd(pid), .leads = leads};
    return 0;
}

int process_become_shell(const char *line, int out_fd, int err_fd)
{
    sigset_t none;
    int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (null_fd >= 0)
        (void)dup2(null_fd, STDIN_FILENO);
    (void)dup2(out_fd, STDOUT_FILENO);
    (void)dup2(err_fd, STDERR_FILENO);
    (void)execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    return 127;
}

void process_outlive_parent(void)
{
    (void)prctl(PR_SET_PDEATHSIG, 0);
}

int process_signal(const struct process *process, int signal)
{
    if (process->pid <= 1)
        return -ESRCH;
    if (process->pidfd >= 0) {
        if (!syscall(SYS_pidfd_send_signal, process->pidfd, signal, NULL, 0))
            return 0;
        if (errno == ESRCH)
            return -ESRCH;
    }
    /* Without pidfds (kernel, sandbox): kill(2) is safe, as the PID is not reused before the
     * process is reaped, and this module has not seen its end. */
    return kill(process->pid, signal) ? -errno : 0;
}

int process_signal_group(const struct process *process, int signal)
{
    int rc = process_signal(process, signal);
    if (process->pid > 1 && process->leads && rc != -ESRCH)
        (void)kill(-process->pid, signal);
    return rc;
}

static bool note_end(struct process *process)
{
    if (process->pidfd >= 0)
        (void)close(process->pidfd);
    *process = (struct process){0};
    return true;
}

/* For a process that waitpid rejects. Without a pidfd, assumes that it has ended. */
static bool still_runs(const struct process *process, bool sleep)
{
    struct pollfd end = {.fd = process->pidfd, .events = POLLIN};
    int n = 1;
    if (process->pidfd < 0)
        return false;
    do
        n = poll(&end, 1, sleep ? -1 : 0);
    while (n < 0 && errno == EINTR);
    return n == 0;
}

static bool reap(struct process *process, bool sleep, int *status)
{
    pid_t ended;
    *status = PROCESS_STATUS_UNKNOWN;
    if (process->pid <= 1)
        return true;
    do
        ended = waitpid(process->pid, status, sleep ? 0 : WNOHANG);
    while (ended < 0 && errno == EINTR);
    if (!ended || (ended < 0 && still_runs(process, sleep)))
        return false;
    if (ended < 0)
        *status = PROCESS_STATUS_UNKNOWN;
    return note_end(process);
}

bool process_ended(struct process *process, int *status)
{
    return reap(process, false, status);
}

void process_wait(struct process *process, int *status)
{
    (void)reap(process, true, status);
}

bool process_wait_for(struct process *process, double limit_s, int *status)
{
    const uint64_t until_ns = clock_now_ns() + (uint64_t)(limit_s * 1e9);
    while (!process_ended(process, status)) {
        struct pollfd end = {.fd = process->pidfd, .events = POLLIN};
        const uint64_t now_ns = clock_now_ns();
        if (now_ns >= until_ns)
            return false;
        const int left_ms = (int)((until_ns - now_ns) / 1000000) + 1;
        (void)poll(&end, 1, process->pidfd < 0 && left_ms > 2 ? 2 : left_ms);
    }
    return true;
}

bool process_end(struct process *process, double grace_s, int *status)
{
    static const double limit_s = 10;
    if (process_wait_for(process, grace_s, status))
        return true;
    (void)process_signal_group(process, SIGKILL);
    return process_wait_for(process, limit_s, status) || !note_end(process);
}

bool process_is_zombie(const struct process *process)
{
    siginfo_t end = {.si_pid = 0};
    if (process->pid <= 1)
        return true;
    return waitid(P_PID, (id_t)process->pid, &end, WEXITED | WNOHANG | WNOWAIT) || end.si_pid;
}

void process_adopt(bool adopts)
{
    (void)prctl(PR_SET_CHILD_SUBREAPER, adopts ? 1 : 0);
}

static bool is_either(pid_t pid, const struct process *one, const struct process *other)
{
    return (one && pid == one->pid) || (other && pid == other->pid);
}

void process_reap_others(const struct process *kept, const struct process *too)
{
    for (;;) {
        siginfo_t end = {.si_pid = 0};
        if (waitid(P_ALL, 0, &end, WEXITED | WNOHANG | WNOWAIT) || !end.si_pid)
            return;
        if (is_either(end.si_pid, kept, too))
            break;
        (void)waitpid(end.si_pid, NULL, WNOHANG);
    }
    /* waitid would name it again; /proc also shows the children behind it that have ended. */
    struct tree_process below[TREE_PROCESSES];
    unsigned n = tree_list(getpid(), below, TREE_PROCESSES);
    for (unsigned i = 0; i < n; i++)
        if (below[i].ended && below[i].parent == getpid() && !is_either(below[i].pid, kept, too))
            (void)waitpid(below[i].pid, NULL, WNOHANG);
}

/* The process may have ended since it was listed, and its PID may have been reused. */
static void signal_one(const struct tree_process *of, int signal)
{
    const struct process one = {.pid = of->pid, .pidfd = (int)syscall(SYS_pidfd_open, of->pid, 0)};
    if (tree_is_same(of))
        (void)process_signal(&one, signal);
    if (one.pidfd >= 0)
        (void)close(one.pidfd);
}

unsigned process_signal_below(pid_t root, int signal)
{
    struct tree_process below[TREE_PROCESSES];
    unsigned n = tree_list(root, below, TREE_PROCESSES), live = 0;
    for (unsigned i = 0; i < n; i++)
        if (!below[i].ended && below[i].pid > 1) {
            live++;
            signal_one(&below[i], signal);
        }
    return live;
}

bool process_end_below(pid_t root)
{
    unsigned left = 1;
    for (int i = 0; left && i < END_TRIES; i++) {
        left = process_signal_below(root, SIGKILL);
        if (root == getpid())
            process_reap_others(NULL, NULL);
        if (left)
            (void)usleep(END_PAUSE_US);
    }
    return !left;
}

/* SIGCONT may also come from other senders, so each time the thread checks the parent. */
static void *await_end_of_parent(void *arg)
{
    sigset_t continued;
    int signal;
    (void)sigemptyset(&continued);
    (void)sigaddset(&continued, SIGCONT);
    while (getppid() == (pid_t)(intptr_t)arg)
        (void)sigwait(&continued, &signal);
    (void)process_end_below(getpid());
    _exit(EXIT_ORPHAN);
}

void process_end_with_parent(void)
{
    sigset_t continued;
    pthread_t thread;
    (void)sigemptyset(&continued);
    (void)sigaddset(&continued, SIGCONT);
    (void)pthread_sigmask(SIG_BLOCK, &continued, NULL);
    /* Until the last line, PDEATHSIG is still SIGKILL. Then SIGCONT: besides SIGKILL, the only
     * signal that reaches a stopped process. */
    if (pthread_create(&thread, NULL, await_end_of_parent, (void *)(intptr_t)getppid()))
        return;
    (void)pthread_detach(thread);
    (void)prctl(PR_SET_PDEATHSIG, SIGCONT);
}

void process_note_known(struct process_known *known)
{
    known->n = tree_list(getpid(), known->all, TREE_PROCESSES);
}

static bool is_known(const struct process_known *known, const struct tree_process *of)
{
    for (unsigned i = 0; i < known->n; i++)
        if (known->all[i].pid == of->pid && known->all[i].started == of->started)
            return true;
    return false;
}

/* True if the parent, which comes earlier in the list, is marked. */
static bool is_below(const struct tree_process *list, const bool *marked, unsigned at)
{
    for (unsigned i = 0; i < at; i++)
        if (list[i].pid == list[at].parent)
            return marked[i];
    return false;
}

unsigned process_signal_new(const struct process_known *known, int signal)
{
    struct tree_process below[TREE_PROCESSES];
    bool spared[TREE_PROCESSES];
    unsigned n = tree_list(getpid(), below, TREE_PROCESSES), left = 0;
    for (unsigned i = 0; i < n; i++) {
        spared[i] = is_known(known, &below[i]) || is_below(below, spared, i);
        if (spared[i])
            continue;
        left++;
        if (below[i].ended && below[i].parent == getpid() && signal == SIGKILL)
            (void)waitpid(below[i].pid, NULL, WNOHANG);
        else if (!below[i].ended && below[i].pid > 1)
            signal_one(&below[i], signal);
    }
    return left;
}

bool process_end_new(const struct process_known *known)
{
    unsigned left = 1;
    for (int i = 0; left && i < END_TRIES; i++) {
        left = process_signal_new(known, SIGKILL);
        if (left)
            (void)usleep(END_PAUSE_US);
    }
    return !left;
}

/* Returns how many of its threads were bound otherwise. */
static unsigned bind_threads(pid_t pid, const struct bitset *cpus)
{
    struct bitset mask;
    unsigned moved = 0;
    DIR *tasks = task_open(pid);
    for (pid_t tid; (tid = task_next(&tasks));) {
        if (affinity_get(tid, &mask) || bitset_equal(&mask, cpus))
            continue;
        (void)affinity_set(tid, cpus);
        moved++;
    }
    return moved;
}

int process_bind_tree(pid_t root, const struct bitset *cpus)
{
    enum { LOOKS = 50 };
    struct tree_process all[TREE_PROCESSES];
    unsigned moved = 1;
    for (int look = 0; moved && look < LOOKS; look++) {
        unsigned n = tree_list(root, all, TREE_PROCESSES);
        moved = bind_threads(root, cpus);
        for (unsigned i = 0; i < n; i++)
            moved += bind_threads(all[i].pid, cpus);
    }
    return moved ? -EBUSY : 0;
}

void process_keep_children(void)
{
    (void)signal(SIGCHLD, SIG_DFL);
}

void process_stop_self(void)
{
    sigset_t stop, before;
    (void)sigemptyset(&stop);
    (void)sigaddset(&stop, SIGTSTP);
    (void)sigprocmask(SIG_BLOCK, &stop, &before);
    (void)raise(SIGTSTP);
    (void)sigprocmask(SIG_UNBLOCK, &stop, NULL);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

enum { TICK_MS = 20 };

struct output {
    const struct shell *shell;
    int fd, write_fd;
    char *text;
    size_t used, size;
};

static int become_shell(void *arg)
{
    const struct output *output = arg;
    return process_become_shell(output->shell->line, output->write_fd,
                                output->shell->with_errors ? output->write_fd : STDERR_FILENO);
}

/* Reads the output so far. */
static void take(struct output *output)
{
    char piece[512];
    ssize_t n;
    while ((n = read(output->fd, piece, sizeof(piece))) > 0) {
        size_t room = output->size - 1 - output->used;
        size_t taken = (size_t)n < room ? (size_t)n : room;
        memcpy(output->text + output->used, piece, taken);
        output->used += taken;
        output->text[output->used] = '\0';
        if (!taken)
            return; /* endless output must not keep us from the time */
    }
}

static int await(struct output *output, struct process *process, int *status)
{
    const struct shell *shell = output->shell;
    const uint64_t until_ns = clock_now_ns() + (uint64_t)(shell->limit_s * 1e9);
    struct pollfd fds[] = {{.fd = output->fd, .events = POLLIN},
                           {.fd = process->pidfd, .events = POLLIN}};
    int rc = 0;
    while (!rc && !process_ended(process, status)) {
        (void)poll(fds, 2, TICK_MS);
        take(output);
        if (fds[0].revents & POLLHUP)
            fds[0].fd = -1; /* it closed its output and runs on */
        if (clock_now_ns() >= until_ns)
            rc = -ETIME;
        else if (shell->stops && shell->stops(shell->stops_arg))
            rc = -EINTR;
    }
    if (rc)
        (void)process_end(process, 0, status);
    take(output);
    return rc;
}

int shell_run(const struct shell *shell, char *text, size_t size, int *status)
{
    int pipe_fd[2];
    struct process process;
    text[0] = '\0';
    if (pipe2(pipe_fd, O_CLOEXEC))
        return -errno;
    (void)fcntl(pipe_fd[0], F_SETFL, O_NONBLOCK);
    struct output output = {shell, pipe_fd[0], pipe_fd[1], text, 0, size};
    int rc = process_start(&process, true, become_shell, &output);
    (void)close(pipe_fd[1]);
    if (!rc)
        rc = await(&output, &process, status);
    (void)close(pipe_fd[0]);
    return rc;
}
