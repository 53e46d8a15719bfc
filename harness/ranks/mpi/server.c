#include "harness/ranks/mpi/server.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/contract/mpi_ops.h"
#include "harness/engine/worker/launch.h"
#include "harness/engine/worker/shared.h"
#include "harness/engine/worker/worker.h"
#include "harness/lib/say/log.h"
#include "harness/ranks/mpi/exchange.h"
#include "harness/ranks/mpi/link.h"

struct server {
    int fd;
    const struct bench *const *benches;
    const struct mpi_ops *ops;
    struct mpi_ops_world world;
    struct exchange exchange;
    struct mpi_link_reply state; /* of the exchange; after a failure there is no further one */
    /* The worker. */
    struct shared *shared; /* NULL = no worker */
    unsigned index;
    pthread_t thread;
    _Atomic bool ended;
};

/* ---- start ---- */

static const struct mpi_ops *load_from(const char *path, struct err *err)
{
    /* Global: MPI's own plugins look for its symbols. */
    void *module = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!module) {
        (void)err_set(err, -ENOENT, "the MPI module cannot be loaded: %.150s", dlerror());
        return NULL;
    }
    const struct mpi_ops *ops = dlsym(module, MPI_OPS_SYMBOL);
    if (ops && ops->abi == MPI_OPS_ABI)
        return ops;
    (void)err_set(err, -ENOENT, "contend_mpi.so is of another version of this program");
    return NULL;
}

static const struct mpi_ops *load_module(struct err *err)
{
    static const char *const places[] = {"contend_mpi.so", "lib/contend_mpi.so",
                                         "../lib/contend/contend_mpi.so"};
    char program[4096] = "", path[4200];
    const char *named = getenv("CONTEND_MPI_MODULE");
    if (named && *named)
        return load_from(named, err);
    (void)launch_find_program(program, sizeof(program), NULL);
    const char *folder = dirname(program);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, places[i]);
        if (!access(path, R_OK))
            return load_from(path, err);
    }
    (void)err_set(err, -ENOENT,
                  "contend_mpi.so is not beside this program: install MPI (Debian: "
                  "libopenmpi-dev) and build again, or name it by CONTEND_MPI_MODULE");
    return NULL;
}

static int reply_with(const struct server *server, struct mpi_link_reply reply, const void *payload)
{
    int rc = mpi_link_write(server->fd, &reply, sizeof(reply));
    return rc || !payload ? rc : mpi_link_write(server->fd, payload, reply.bytes);
}

/* Starts MPI, and tells the client whether it started. */
static int start(struct server *server)
{
    struct err err = {0};
    struct mpi_link_reply reply = {.bytes = sizeof(server->world)};
    server->ops = load_module(&err);
    server->exchange = (struct exchange){.ops = server->ops, .world = &server->world, .most = 32};
    if (!server->ops)
        reply.rc = err.code;
    else if (server->ops->start(&server->world, reply.msg, sizeof(reply.msg)))
        reply.rc = -EIO;
    if (err.code)
        (void)snprintf(reply.msg, sizeof(reply.msg), "%s", err.msg);
    int rc = reply_with(server, reply, reply.rc ? NULL : &server->world);
    return rc ? rc : reply.rc;
}

/* ---- messages ---- */

/* Returns -errno of the link, or -ENOMEM; test_exchange reports errors of the exchange. */
static int begin_exchange(struct server *server, const struct mpi_link_call *call)
{
    struct mpi_link_reply *state = &server->state;
    void *mine = malloc(call->bytes + 1);
    int rc = mine ? mpi_link_read(server->fd, mine, call->bytes) : -ENOMEM;
    if (rc) {
        free(mine);
        return rc;
    }
    state->rc = exchange_begin(&server->exchange, mine, call->bytes, call->spread, &state->rank,
                               state->msg, sizeof(state->msg));
    return 0;
}

static int test_exchange(struct server *server)
{
    struct exchange *exchange = &server->exchange;
    struct mpi_link_reply *reply = &server->state;
    if (!reply->rc)
        reply->rc =
            exchange_test(exchange, &reply->done, &reply->rank, reply->msg, sizeof(reply->msg));
    reply->done &= !reply->rc;
    reply->bytes = reply->done && exchange->all ? server->world.size * exchange->bytes : 0;
    return reply_with(server, *reply, reply->bytes ? exchange->all : NULL);
}

/* ---- the worker ---- */

static void *work(void *arg)
{
    struct server *server = arg;
    struct shared_worker *slot = &server->shared->worker[server->index];
    enum worker_state end = launch_bind(&slot->plan, &slot->err);
    if (end == WORKER_LAUNCHED && !server->world.threads) {
        (void)err_set(&slot->err, -ENOTSUP,
                      "this MPI does not allow calls from a thread (MPI_THREAD_MULTIPLE)");
        end = WORKER_SKIPPED;
    }
    if (end == WORKER_LAUNCHED)
        worker_serve(bench_find(server->benches, slot->bench), server->shared, server->index,
                     server->ops);
    else
        shared_set_state(server->shared, slot, end);
    atomic_store(&server->ended, true);
    shared_wake(server->shared);
    return NULL;
}

static int begin_work(struct server *server, unsigned index, int shared_fd, struct err *err)
{
    if (server->shared)
        return err_set(err, -EBUSY, "the worker of an earlier arm is still there");
    server->shared = shared_attach(shared_fd, err);
    if (!server->shared)
        return err->code;
    server->index = index;
    atomic_store(&server->ended, false);
    int error = pthread_create(&server->thread, NULL, work, server);
    if (!error)
        return 0;
    shared_destroy(server->shared);
    server->shared = NULL;
    return err_sys(err, -error, "cannot start a thread for the worker");
}

static int serve(struct server *server, const struct mpi_link_call *call, const int *fds)
{
    struct err err = {0};
    struct mpi_link_reply reply = {0};
    shared_wake_through(fds[1]);
    reply.rc = begin_work(server, call->index, fds[0], &err);
    (void)close(fds[0]);
    (void)snprintf(reply.msg, sizeof(reply.msg), "%s", err.msg);
    return reply_with(server, reply, NULL);
}

static int join(struct server *server)
{
    struct mpi_link_reply reply = {.done = !server->shared || atomic_load(&server->ended)};
    if (server->shared && reply.done) {
        (void)pthread_join(server->thread, NULL);
        shared_destroy(server->shared);
        server->shared = NULL;
    }
    return reply_with(server, reply, NULL);
}

/* ---- calls ---- */

static int answer(struct server *server, const struct mpi_link_call *call, const int *fds)
{
    switch (call->kind) {
    case MPI_LINK_EXCHANGE:
        return begin_exchange(server, call);
    case MPI_LINK_POLL:
        return test_exchange(server);
    case MPI_LINK_SERVE:
        return serve(server, call, fds);
    case MPI_LINK_JOIN:
        return join(server);
    case MPI_LINK_END:
        server->ops->end();
        return reply_with(server, (struct mpi_link_reply){0}, NULL);
    case MPI_LINK_ABORT:
        server->ops->abort(call->code);
        break;
    }
    return -EPROTO;
}

int mpi_server_main(const struct bench *const *benches, int argc, char **argv)
{
    static struct server server;
    struct mpi_link_call call;
    int fds[MPI_LINK_FDS];
    if (argc != 3) {
        log_error("'%s' is internal: contend starts its MPI processes by it", LAUNCH_MPI_COMMAND);
        return 2;
    }
    server.fd = (int)strtol(argv[2], NULL, 10);
    (void)fcntl(server.fd, F_SETFD, FD_CLOEXEC);
    server.benches = benches;
    int rc = start(&server);
    while (!rc) {
        rc = mpi_link_read_call(server.fd, &call, fds);
        if (!rc)
            rc = answer(&server, &call, fds);
        if (!rc && call.kind == MPI_LINK_END)
            return 0;
    }
    return 2;
}
