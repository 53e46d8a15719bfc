#include "harness/engine/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/engine/worker/launch.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/sys/process.h"
#include "harness/lib/text.h"

/* Orders for a guard: run argv[3 + order]. */
enum order { ORDER_BEFORE, ORDER_AFTER, ORDER_CHECK, ORDERS };
static const char *const order_names[ORDERS] = {"before", "after", "check"};

struct request {
    unsigned serial;
    enum order order;
};

struct answer {
    unsigned serial; /* of the request, to discard late answers to earlier requests */
    int status;      /* of the command: exit code, 128 + signal, GUARD_TIMED_OUT or GUARD_REFUSED */
    char text[VARIANT_READ_BACK_MAX];
};

enum {
    TICK_MS = 200,
    LIMIT_S = 60,
    ANSWER_S = 2 * LIMIT_S + 5,
    GUARD_TIMED_OUT = -1,
    GUARD_REFUSED = -2
};

/* ---- in the guard ---- */

/* Keeps the first line. */
static void trim(char *text)
{
    text[strcspn(text, "\n")] = '\0';
}

/* The process that measures has ended, or goes on without the answer: it was interrupted. */
static bool is_unwanted(void *arg)
{
    struct pollfd socket = {.fd = *(const int *)arg, .events = POLLIN};
    return poll(&socket, 1, 0) > 0;
}

/* What was begun is always undone: `after` ends by itself or at the limit. */
static void run_command(const char *text, enum order order, int fd, struct answer *answer)
{
    const struct shell shell = {.line = text,
                                .limit_s = LIMIT_S,
                                .with_errors = true,
                                .stops = order == ORDER_AFTER ? NULL : is_unwanted,
                                .stops_arg = &fd};
    int status = 0;
    if (!text[0])
        return;
    int rc = shell_run(&shell, answer->text, sizeof(answer->text), &status);
    trim(answer->text);
    answer->status = rc == -ETIME        ? GUARD_TIMED_OUT
                     : rc                ? GUARD_REFUSED
                     : WIFEXITED(status) ? WEXITSTATUS(status)
                                         : 128 + WTERMSIG(status);
}

int guard_main(int argc, char **argv)
{
    enum { ARGUMENTS = 3 + ORDERS };
    bool to_undo = false;
    struct answer answer;
    if (argc < ARGUMENTS)
        return 2;
    (void)prctl(PR_SET_PDEATHSIG, 0); /* undo process_start's: a guard outlives its parent */
    int fd = (int)strtol(argv[2], NULL, 10);
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    for (struct request request;
         recv(fd, &request, sizeof(request), 0) == (ssize_t)sizeof(request);) {
        if (request.order == ORDER_BEFORE)
            to_undo = true;
        answer = (struct answer){.serial = request.serial};
        run_command(argv[3 + (int)request.order], request.order, fd, &answer);
        if (request.order == ORDER_AFTER && !answer.status)
            to_undo = false;
        if (send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
            break;
    }
    if (to_undo)
        run_command(argv[3 + ORDER_AFTER], ORDER_AFTER, fd, &answer);
    return 0;
}

/* ---- in the process that measures ---- */

static const char *command_of(const struct variant *variant, enum order order)
{
    const char *const commands[ORDERS] = {variant->before, variant->after, variant->check};
    return commands[order];
}

static int report_failure(const struct variant *variant, enum order order,
                          const struct answer *answer, struct err *err)
{
    const char *how;
    if (answer->status == GUARD_TIMED_OUT)
        how = str_fmt("did not end within %d s", LIMIT_S);
    else if (answer->status == GUARD_REFUSED)
        how = "could not be started";
    else
        how = str_fmt("ended with exit code %d", answer->status);
    return err_set(err, -ECANCELED, "variant '%s': %s '%.80s' %s%s%.80s", variant->name,
                   order_names[order], command_of(variant, order), how, answer->text[0] ? ": " : "",
                   answer->text);
}

/*
 * Returns 0; -EINTR: a signal asks us to end, and the guard undoes by itself; -ECHILD: the guard is
 * gone, or stopped. Ctrl-Z stops us (*stopped), but not the guard, whose command runs to its end.
 */
static int await_answer(const struct guard *guard, struct signals *signals, struct answer *answer,
                        bool *stopped)
{
    struct pollfd fds[] = {{.fd = guard->fd, .events = POLLIN},
                           {.fd = signals->fd, .events = POLLIN}};
    const uint64_t until_ns = clock_now_ns() + ANSWER_S * UINT64_C(1000000000);
    for (;;) {
        int n = poll(fds, 2, TICK_MS);
        if ((n < 0 && errno != EINTR) || (!n && clock_now_ns() >= until_ns))
            return -ECHILD;
        if (signals_take(signals))
            return -EINTR;
        if (signals->stop_requested) {
            signals->stop_requested = false;
            process_stop_self();
            *stopped = true;
            continue;
        }
        if (!fds[0].revents)
            continue;
        if (recv(guard->fd, answer, sizeof(*answer), 0) != (ssize_t)sizeof(*answer))
            return -ECHILD;
        if (answer->serial == guard->serial)
            return 0;
    }
}

static int send_request(struct guards *guards, size_t v, enum order order, struct signals *signals,
                        struct answer *answer, struct err *err)
{
    const struct variant *variant = &guards->variants->all[v];
    struct guard *guard = &guards->guard[v];
    *answer = (struct answer){0};
    if (!guard->fd || !command_of(variant, order))
        return 0;
    const struct request request = {++guard->serial, order};
    guard->begun |= order == ORDER_BEFORE;
    bool sent =
        send(guard->fd, &request, sizeof(request), MSG_NOSIGNAL) == (ssize_t)sizeof(request);
    bool stopped = false;
    int rc = sent ? await_answer(guard, signals, answer, &stopped) : -ECHILD;
    if (rc == -ECHILD)
        return err_set(err, rc, "variant '%s': the process that runs its commands is gone",
                       variant->name);
    answer->text[sizeof(answer->text) - 1] = '\0';
    if (!rc && answer->status)
        rc = report_failure(variant, order, answer, err);
    /* A check stays valid after a stop, as it measures nothing. */
    return !rc && stopped && order != ORDER_CHECK ? -ERESTART : rc;
}

static int check(struct guards *guards, size_t v, struct signals *signals,
                 char text[static VARIANT_READ_BACK_MAX], struct err *err)
{
    struct answer answer;
    int rc = send_request(guards, v, ORDER_CHECK, signals, &answer, err);
    if (!rc)
        memcpy(text, answer.text, sizeof(answer.text));
    return rc;
}

static int start(struct guard *guard, const struct variant *variant, struct err *err)
{
    int fd[2];
    const char *commands[ORDERS];
    for (int i = 0; i < ORDERS; i++)
        commands[i] = command_of(variant, (enum order)i) ? command_of(variant, (enum order)i) : "";
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
        return err_sys(err, -errno, "no socket to who runs the commands of variant '%s'",
                       variant->name);
    int rc = launch_guard(fd[1], commands, &guard->process, err);
    (void)close(fd[1]);
    if (rc)
        (void)close(fd[0]);
    else
        guard->fd = fd[0];
    return rc;
}

int guards_open(struct guards *guards, struct variants *variants, struct signals *signals,
                struct err *err)
{
    int rc = 0;
    *guards = (struct guards){.variants = variants, .signals = signals};
    for (size_t v = 0; variants && v < variants->n && !rc; v++) {
        const struct variant *variant = &variants->all[v];
        if (!variant->before && !variant->after && !variant->check)
            continue;
        rc = start(&guards->guard[v], variant, err);
        if (!rc)
            rc = check(guards, v, signals, variants->state[v].initial, err);
    }
    return rc;
}

/* The index of the arm's variant; VARIANTS_MAX = none. */
static size_t variant_index(const struct guards *guards, const struct arm *arm)
{
    for (size_t v = 0; guards->variants && v < guards->variants->n; v++)
        if (arm->variant == &guards->variants->all[v])
            return v;
    return VARIANTS_MAX;
}

int guards_before(struct guards *guards, const struct arm *arm, struct signals *signals,
                  struct err *err)
{
    struct answer answer;
    size_t v = variant_index(guards, arm);
    if (v == VARIANTS_MAX)
        return 0;
    int rc = send_request(guards, v, ORDER_BEFORE, signals, &answer, err);
    return rc ? rc : check(guards, v, signals, guards->variants->state[v].during, err);
}

int guards_after(struct guards *guards, const struct arm *arm, struct signals *signals,
                 struct err *err)
{
    struct answer answer;
    size_t v = variant_index(guards, arm);
    return v == VARIANTS_MAX ? 0 : send_request(guards, v, ORDER_AFTER, signals, &answer, err);
}

static void report_read_back(const struct variant *variant, const struct variant_state *state)
{
    if (!variant->check)
        return;
    if (strcmp(state->initial, state->final) != 0)
        log_warn("variant '%s' is not undone: its check said '%s' at first, and says '%s' now",
                 variant->name, state->initial, state->final);
    if (variant->before && !strcmp(state->initial, state->during))
        log_warn("variant '%s' changed nothing that its check sees: '%s' with and without it",
                 variant->name, state->initial);
}

/* Runs `check` for the final state. */
static void check_final_state(struct guards *guards, size_t v)
{
    struct variant_state *state = &guards->variants->state[v];
    struct err err = {0};
    int rc = check(guards, v, guards->signals, state->final, &err);
    if (!rc)
        report_read_back(&guards->variants->all[v], state);
    else if (rc != -EINTR)
        log_warn("%s", err.msg);
}

/* Waits until the guard has undone all, unless a signal comes. */
static void await_end(struct guards *guards, size_t v)
{
    struct guard *guard = &guards->guard[v];
    const uint64_t until_ns = clock_now_ns() + ANSWER_S * UINT64_C(1000000000);
    int status;
    while (clock_now_ns() < until_ns && !signals_take(guards->signals))
        if (process_wait_for(&guard->process, TICK_MS * 1e-3, &status))
            return;
    log_warn("variant '%s': not waited for its after, which runs on for up to %d s",
             guards->variants->all[v].name, LIMIT_S);
}

/* A signal that has asked to end the run does not keep us from undoing; the next one does. */
void guards_close(struct guards *guards)
{
    const int interrupted = guards->signals ? guards->signals->interrupted : 0;
    if (interrupted)
        guards->signals->interrupted = 0;
    for (size_t v = 0; guards->variants && v < guards->variants->n; v++) {
        struct guard *guard = &guards->guard[v];
        if (!guard->fd)
            continue;
        if (!interrupted || guard->begun)
            check_final_state(guards, v);
        (void)close(guard->fd);
        await_end(guards, v);
        *guard = (struct guard){0};
    }
    if (interrupted)
        guards->signals->interrupted = interrupted;
}
