#include "harness/mpi_client.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/core/bitset.h"
#include "harness/launch.h"
#include "harness/mpi_link.h"

enum { END_MS = 60000 };

/* A message under way; a request's handle is its place + 1. */
struct message {
    void *into; /* NULL: it is sent */
    size_t bytes;
    bool used;
};

static struct client {
    pid_t pid; /* 0 = not started */
    int fd;
    bool reaped;
    int status;  /* of waitpid */
    bool silent; /* it missed a call: what it says now would be the answer to another */
    bool ending; /* the ranks wait for each other, for END_MS and as the launcher lets them */
    struct signals *signals;
    int watched_fd; /* -1 = none */
    double last_words_s;
    struct message *messages;
    unsigned nmessages;
} client = {.fd = -1, .watched_fd = -1};

bool mpi_client_ended(int *status)
{
    if (client.pid && !client.reaped)
        client.reaped = waitpid(client.pid, &client.status, WNOHANG) == client.pid;
    *status = client.status;
    return client.reaped;
}

void mpi_client_share_cpus(void)
{
    struct bitset cpus = {0};
    if (syscall(SYS_sched_getaffinity, 0, sizeof(cpus.word), cpus.word) > 0)
        (void)syscall(SYS_sched_setaffinity, client.pid, sizeof(cpus.word), cpus.word);
}

void mpi_client_watch(int fd)
{
    client.watched_fd = fd;
}

pid_t mpi_client_pid(void)
{
    return client.pid;
}

/* The socket is closed: the process is dead, or about to be. */
static int explain_end(char *msg, size_t size)
{
    if (!client.reaped)
        client.reaped = waitpid(client.pid, &client.status, 0) == client.pid;
    int signal = WIFSIGNALED(client.status) ? WTERMSIG(client.status) : 0;
    bool killed = signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
    if (signal)
        (void)snprintf(msg, size, "the MPI process was %s by signal %d (%s)",
                       killed ? "killed" : "ended", signal, strsignal(signal));
    else
        (void)snprintf(msg, size, "the MPI process ended with code %d", WEXITSTATUS(client.status));
    return killed ? -ECHILD : -ECONNABORTED;
}

/* Until the process has something to say; not for long once we were asked to stop. */
static int await_answer(void)
{
    struct pollfd fds[] = {{.fd = client.fd, .events = POLLIN},
                           {.fd = client.signals->fd, .events = POLLIN},
                           {.fd = client.watched_fd, .events = POLLIN}};
    int patience_ms = client.ending ? END_MS : (int)(client.last_words_s * 1e3);
    bool hurry = client.ending;
    for (;;) {
        hurry |= signals_take(client.signals) || fds[2].revents;
        int n = poll(fds, hurry ? 1 : 3, hurry ? patience_ms : -1);
        if (n > 0 && fds[0].revents)
            return 0;
        if (n == 0)
            break;
    }
    client.silent = true;
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
    int rc = await_answer();
    if (!rc)
        rc = mpi_link_read(client.fd, reply, sizeof(*reply));
    if (rc)
        return fail_link(rc, msg, size);
    if (reply->rc)
        (void)snprintf(msg, size, "%s", reply->msg);
    return reply->rc;
}

static int ask(const struct mpi_link_call *call, const void *payload, const int *fds,
               struct mpi_link_reply *reply, char *msg, size_t size)
{
    int rc = client.silent   ? -ETIME
             : client.reaped ? -EPIPE
                             : mpi_link_write_call(client.fd, call, fds);
    if (!rc && payload)
        rc = mpi_link_write(client.fd, payload, call->bytes);
    return rc ? fail_link(rc, msg, size) : take_reply(reply, msg, size);
}

static int take_world(const struct mpi_link_reply *reply, struct mpi_ops_world *world)
{
    return reply->bytes == sizeof(*world) ? mpi_link_read(client.fd, world, sizeof(*world))
                                          : -EPROTO;
}

int mpi_client_start(struct signals *signals, double last_words_s, struct mpi_ops_world *world,
                     struct err *err)
{
    int ends[2];
    char msg[200] = "";
    struct mpi_link_reply reply = {0};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return err_sys(err, -errno, "cannot make a socket to the MPI process");
    client = (struct client){
        .fd = ends[0], .signals = signals, .watched_fd = -1, .last_words_s = last_words_s};
    int rc = launch_mpi(ends[1], &client.pid, err);
    (void)close(ends[1]);
    if (rc)
        return rc;
    rc = take_reply(&reply, msg, sizeof(msg));
    if (!rc)
        rc = fail_link(take_world(&reply, world), msg, sizeof(msg));
    return rc ? err_set(err, rc, "%s", msg) : 0;
}

/* ---- messages ---- */

static int find_place(unsigned *place)
{
    for (*place = 0; *place < client.nmessages; (*place)++)
        if (!client.messages[*place].used)
            return 0;
    unsigned more = client.nmessages ? 2 * client.nmessages : 16;
    struct message *larger = realloc(client.messages, more * sizeof(*larger));
    if (!larger)
        return -ENOMEM;
    memset(larger + client.nmessages, 0, (more - client.nmessages) * sizeof(*larger));
    client.messages = larger;
    client.nmessages = more;
    return 0;
}

static int begin(enum mpi_link_kind kind, unsigned peer, struct message message,
                 const void *payload, struct mpi_ops_request *request, char *msg, size_t size)
{
    unsigned place;
    struct mpi_link_reply reply;
    if (find_place(&place)) {
        (void)snprintf(msg, size, "no memory for messages");
        return -ENOMEM;
    }
    int rc = ask(
        &(struct mpi_link_call){.kind = kind, .peer = peer, .token = place, .bytes = message.bytes},
        payload, NULL, &reply, msg, size);
    if (rc)
        return rc;
    client.messages[place] = message;
    client.messages[place].used = true;
    *request = (struct mpi_ops_request){.handle = place + 1, .active = true};
    return 0;
}

static int client_send(unsigned to, const void *data, size_t bytes, struct mpi_ops_request *request,
                       char *msg, size_t size)
{
    return begin(MPI_LINK_SEND, to, (struct message){.bytes = bytes}, data, request, msg, size);
}

static int client_receive(unsigned from, void *data, size_t bytes, struct mpi_ops_request *request,
                          char *msg, size_t size)
{
    return begin(MPI_LINK_RECEIVE, from, (struct message){.into = data, .bytes = bytes}, NULL,
                 request, msg, size);
}

static int client_test(struct mpi_ops_request *request, bool *done, char *msg, size_t size)
{
    struct mpi_link_reply reply;
    *done = !request->active;
    if (*done)
        return 0;
    struct message *message = &client.messages[request->handle - 1];
    int rc =
        ask(&(struct mpi_link_call){.kind = MPI_LINK_TEST, .token = (unsigned)request->handle - 1},
            NULL, NULL, &reply, msg, size);
    if (!rc && reply.done && message->into)
        rc = fail_link(mpi_link_read(client.fd, message->into, message->bytes), msg, size);
    if (rc)
        return rc;
    *done = reply.done;
    request->active = message->used = !reply.done;
    return 0;
}

/* ---- the end ---- */

static void client_end(void)
{
    char msg[200];
    struct mpi_link_reply reply;
    client.ending = true;
    if (!ask(&(struct mpi_link_call){.kind = MPI_LINK_END}, NULL, NULL, &reply, msg, sizeof(msg)))
        (void)explain_end(msg, sizeof(msg));
    free(client.messages);
    client.messages = NULL;
    client.nmessages = 0;
    (void)close(client.fd);
    client.fd = -1;
}

static void client_abort(int code)
{
    char msg[200];
    struct mpi_link_reply reply;
    (void)ask(&(struct mpi_link_call){.kind = MPI_LINK_ABORT, .code = code}, NULL, NULL, &reply,
              msg, sizeof(msg));
}

const struct mpi_ops mpi_client_ops = {
    .abi = MPI_OPS_ABI,
    .end = client_end,
    .abort = client_abort,
    .send = client_send,
    .receive = client_receive,
    .test = client_test,
};

/* ---- the worker ---- */

int mpi_client_serve(int arena_fd, int event_fd, unsigned index, struct err *err)
{
    char msg[200] = "";
    const int fds[MPI_LINK_FDS] = {arena_fd, event_fd};
    struct mpi_link_reply reply;
    int rc = ask(&(struct mpi_link_call){.kind = MPI_LINK_SERVE, .index = index}, NULL, fds, &reply,
                 msg, sizeof(msg));
    return rc ? err_set(err, rc, "%s", msg) : 0;
}

bool mpi_client_joined(void)
{
    char msg[200];
    struct mpi_link_reply reply;
    int rc =
        ask(&(struct mpi_link_call){.kind = MPI_LINK_JOIN}, NULL, NULL, &reply, msg, sizeof(msg));
    return rc ? client.reaped : reply.done;
}
