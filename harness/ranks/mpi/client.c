#include "harness/ranks/mpi/client.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/engine/worker/launch.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/clock.h"
#include "harness/ranks/mpi/link.h"

/*
 * How long to wait for the process: for a call, an abort, and its exit. The start and the end of
 * MPI wait for the slowest rank, which may start late or still draw its figures.
 */
enum { CALL_MS = 180000, START_MS = 600000, END_MS = 600000, ABORT_MS = 5000, EXIT_MS = 5000 };

/* A socket that polls as writable takes this much at once (net/unix/af_unix.c, unix_writable). */
enum { CHUNK = 32768 };

static struct client {
    struct process process;
    int fd;
    bool reaped;
    int status;       /* for waitpid's macros */
    bool missed_call; /* it missed a call: its next reply would answer an earlier one */
    bool ending;      /* in the end of MPI, signals do not shorten the wait */
    int answer_limit_ms;
    struct signals *signals;
    int watched_fd; /* -1 = none */
    double stop_grace_s;
    struct mpi_ops_world world;
    void *all; /* of the current exchange: buffer for the data of all ranks */
    size_t all_bytes;
} client = {.fd = -1, .watched_fd = -1};

bool mpi_client_ended(int *status)
{
    if (client.process.pid)
        client.reaped = process_ended(&client.process, &client.status);
    *status = client.status;
    return client.reaped;
}

void mpi_client_share_cpus(void)
{
    struct bitset cpus;
    if (client.process.pid && !affinity_get(0, &cpus))
        (void)affinity_set(client.process.pid, &cpus);
}

void mpi_client_watch(int fd)
{
    client.watched_fd = fd;
}

void mpi_client_kill(void)
{
    (void)process_signal_group(&client.process, SIGKILL);
}

pid_t mpi_client_pid(void)
{
    return client.process.pid;
}

/* For a closed socket: waits for the process's end, and says how it ended. */
static int explain_end(char *msg, size_t size)
{
    static const double end_s = 10;
    if (client.process.pid)
        (void)process_end(&client.process, end_s, &client.status);
    client.reaped = true;
    int signal = WIFSIGNALED(client.status) ? WTERMSIG(client.status) : 0;
    /* Other signals, such as SIGABRT and SIGPIPE, may come from MPI itself. */
    bool killed = signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP ||
                  signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE;
    if (signal)
        (void)snprintf(msg, size, "the MPI process was %s by signal %d (%s)",
                       killed ? "killed" : "ended", signal, strsignal(signal));
    else if (WIFEXITED(client.status))
        (void)snprintf(msg, size, "the MPI process ended with code %d", WEXITSTATUS(client.status));
    else
        (void)snprintf(msg, size, "the MPI process ended, and nothing says how");
    return killed ? -ECHILD : -ECONNABORTED;
}

/*
 * Waits until the process has sent something (POLLIN) or has room (POLLOUT). Waits stop_grace_s at
 * most once we were asked to stop, or a lifeline has news. -ETIME.
 */
static int await_process(short events)
{
    struct pollfd fds[] = {{.fd = client.fd, .events = events},
                           {.fd = client.signals->fd, .events = POLLIN},
                           {.fd = client.watched_fd, .events = POLLIN}};
    uint64_t until_ns = clock_now_ns() + (uint64_t)client.answer_limit_ms * 1000000;
    bool hurry = client.ending;
    for (;;) {
        uint64_t now_ns = clock_now_ns();
        uint64_t last_ns = now_ns + (uint64_t)(client.stop_grace_s * 1e9);
        if (!hurry && (signals_take(client.signals) || fds[2].revents)) {
            hurry = true;
            until_ns = last_ns < until_ns ? last_ns : until_ns;
        }
        int left_ms = until_ns > now_ns ? (int)((until_ns - now_ns) / 1000000) + 1 : 0;
        int n = poll(fds, hurry ? 1 : 3, left_ms);
        if (n > 0 && fds[0].revents)
            return 0;
        if (!left_ms)
            break;
    }
    client.missed_call = true;
    return -ETIME;
}

static int fail_link(int rc, char *msg, size_t size)
{
    if (rc == -EPIPE)
        return explain_end(msg, size);
    if (rc == -ETIME)
        (void)snprintf(msg, size, "the MPI process does not answer");
    else if (rc)
        (void)snprintf(msg, size, "the MPI process cannot be reached: %s", strerror(-rc));
    return rc;
}

static int take_reply(struct mpi_link_reply *reply, char *msg, size_t size)
{
    int rc = await_process(POLLIN);
    if (!rc)
        rc = mpi_link_read(client.fd, reply, sizeof(*reply));
    if (rc)
        return fail_link(rc, msg, size);
    if (reply->rc)
        (void)snprintf(msg, size, "%.199s", reply->msg);
    return reply->rc;
}

static int send_payload(const char *data, size_t bytes)
{
    int rc = 0;
    for (size_t sent = 0; sent < bytes && !rc; sent += CHUNK) {
        size_t left = bytes - sent;
        rc = await_process(POLLOUT);
        if (!rc)
            rc = mpi_link_write(client.fd, data + sent, left < CHUNK ? left : CHUNK);
    }
    return rc;
}

/* Sends a call, with its payload of call->bytes unless that is NULL. */
static int send_call(const struct mpi_link_call *call, const void *payload, const int *fds,
                     char *msg, size_t size)
{
    int rc = client.missed_call ? -ETIME : client.reaped ? -EPIPE : await_process(POLLOUT);
    if (!rc)
        rc = mpi_link_write_call(client.fd, call, fds);
    if (!rc && payload)
        rc = send_payload(payload, call->bytes);
    return fail_link(rc, msg, size);
}

static int call_process(const struct mpi_link_call *call, const int *fds,
                        struct mpi_link_reply *reply, char *msg, size_t size)
{
    int rc = send_call(call, NULL, fds, msg, size);
    return rc ? rc : take_reply(reply, msg, size);
}

static int take_world(const struct mpi_link_reply *reply, struct mpi_ops_world *world)
{
    return reply->bytes == sizeof(*world) ? mpi_link_read(client.fd, world, sizeof(*world))
                                          : -EPROTO;
}

int mpi_client_start(struct signals *signals, double stop_grace_s, struct mpi_ops_world *world,
                     struct err *err)
{
    int ends[2];
    char msg[200] = "";
    struct mpi_link_reply reply = {0};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return err_sys(err, -errno, "cannot make a socket to the MPI process");
    client = (struct client){.fd = ends[0],
                             .signals = signals,
                             .watched_fd = -1,
                             .stop_grace_s = stop_grace_s,
                             .answer_limit_ms = START_MS};
    int rc = launch_mpi(ends[1], &client.process, err);
    (void)close(ends[1]);
    if (rc)
        return rc;
    rc = take_reply(&reply, msg, sizeof(msg));
    if (!rc)
        rc = fail_link(take_world(&reply, world), msg, sizeof(msg));
    client.answer_limit_ms = CALL_MS;
    client.world = *world;
    return rc ? err_set(err, rc, "%s", msg) : 0;
}

/* ---- messages ---- */

static int client_begin(const void *mine, size_t bytes, void *all, bool spread, char *msg,
                        size_t size)
{
    const struct mpi_link_call call = {.kind = MPI_LINK_EXCHANGE, .bytes = bytes, .spread = spread};
    client.all = all;
    client.all_bytes = spread || !client.world.rank ? client.world.size * bytes : 0;
    return send_call(&call, mine, NULL, msg, size);
}

static int client_test(bool *done, unsigned *rank, char *msg, size_t size)
{
    struct mpi_link_reply reply = {0};
    int rc = call_process(&(struct mpi_link_call){.kind = MPI_LINK_POLL}, NULL, &reply, msg, size);
    *done = reply.done;
    *rank = reply.rank;
    if (rc || !reply.done)
        return rc;
    rc = reply.bytes == client.all_bytes ? 0 : -EPROTO;
    if (!rc && reply.bytes)
        rc = mpi_link_read(client.fd, client.all, reply.bytes);
    return fail_link(rc, msg, size);
}

/* ---- the end ---- */

/* Waits for the exit after the end of MPI, where MPI's exit handlers can still hang. */
static void await_exit(void)
{
    int status;
    for (unsigned ms = 0; ms < EXIT_MS && !mpi_client_ended(&status); ms++)
        (void)usleep(1000);
    if (!mpi_client_ended(&status))
        mpi_client_kill();
}

static void client_end(void)
{
    char msg[200];
    struct mpi_link_reply reply;
    client.ending = true;
    client.answer_limit_ms = END_MS;
    if (!call_process(&(struct mpi_link_call){.kind = MPI_LINK_END}, NULL, &reply, msg,
                      sizeof(msg)))
        await_exit();
    (void)close(client.fd);
    client.fd = -1;
}

static void client_abort(int code)
{
    char msg[200];
    struct mpi_link_reply reply;
    client.ending = true;
    client.answer_limit_ms = ABORT_MS;
    (void)call_process(&(struct mpi_link_call){.kind = MPI_LINK_ABORT, .code = code}, NULL, &reply,
                       msg, sizeof(msg));
}

const struct mpi_calls mpi_client_calls = {
    .begin = client_begin, .test = client_test, .end = client_end, .abort = client_abort};

/* ---- the worker ---- */

int mpi_client_serve(int shared_fd, int event_fd, unsigned index, struct err *err)
{
    char msg[200] = "";
    const int fds[MPI_LINK_FDS] = {shared_fd, event_fd};
    struct mpi_link_reply reply;
    int rc = call_process(&(struct mpi_link_call){.kind = MPI_LINK_SERVE, .index = index}, fds,
                          &reply, msg, sizeof(msg));
    return rc ? err_set(err, rc, "%s", msg) : 0;
}

bool mpi_client_joined(void)
{
    char msg[200];
    struct mpi_link_reply reply;
    int rc = call_process(&(struct mpi_link_call){.kind = MPI_LINK_JOIN}, NULL, &reply, msg,
                          sizeof(msg));
    return rc ? client.reaped : reply.done;
}
