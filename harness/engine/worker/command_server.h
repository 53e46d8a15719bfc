/*
 * A user's command as a server: it is started and awaited in the worker's setup, loaded by clients,
 * and ended with the worker.
 */
#ifndef CONTEND_ENGINE_WORKER_COMMAND_SERVER_H
#define CONTEND_ENGINE_WORKER_COMMAND_SERVER_H

#include <regex.h>

#include "harness/engine/contract/command.h"
#include "harness/engine/contract/command_load.h"
#include "harness/engine/worker/command_output.h"
#include "harness/lib/bitset.h"
#include "harness/lib/sys/process.h"

/* Parts of the reasons why a server did not start. */
#define SERVER_NOT_READY " was not ready within "
#define SERVER_ENDED_EARLY " before it was ready"

/* Zeroed but for the descriptors of `output`, -1, = none. */
struct command_server {
    struct process process;
    struct command_output output;
    struct command_ready ready;
    regex_t line; /* compiled if it is ready by a line */
    bool has_line, saw_line;
};

/*
 * Starts it and returns when it is ready. An error names why not: its port is taken, it has ended,
 * or the time is over. The caller ends it, also after an error.
 */
int command_server_start(struct command_server *server, const struct user_command *command,
                         const struct bitset *cpus, struct err *err);

/* True if there is a server, and it has ended. */
bool command_server_is_lost(const struct command_server *server);

/*
 * After a run of its client, which ended with rc: a server that is lost is the reason, whatever the
 * client says, and is reaped.
 */
int command_server_judge(struct command_server *server, int rc, struct err *err);

/*
 * Sets *share to the share of time since started_ns in which the client's busiest thread ran or
 * waited for a CPU. The last call before its end counts: then its other threads are gone.
 */
void command_client_watch(const struct process *client, uint64_t started_ns, double *share);

/* Ends it and all other descendants: SIGTERM, after grace_s SIGKILL. True if it was killed. */
bool command_server_end(struct command_server *server, double grace_s);

#endif
