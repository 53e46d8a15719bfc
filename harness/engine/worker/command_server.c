#include "harness/engine/worker/command_server.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "harness/engine/worker/command_start.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/net.h"
#include "harness/lib/text.h"

enum { LOOK_MS = 20, ENDS_MS = 200 };
/* An answer may wait for output that nobody reads meanwhile. */
static const double answer_s = 2;

static void take_line(void *arg, const char *line, bool cut)
{
    struct command_server *server = arg;
    (void)cut;
    server->saw_line =
        server->saw_line || (server->has_line && !regexec(&server->line, line, 0, NULL, 0));
}

bool command_server_is_lost(const struct command_server *server)
{
    return server->process.pid && process_is_zombie(&server->process);
}

void command_client_watch(const struct process *client, uint64_t started_ns, double *share)
{
    struct tree_process below[TREE_PROCESSES];
    uint64_t busiest_ns = 0, now_ns = clock_now_ns();
    if (*share > 0 && process_is_zombie(client))
        return;
    unsigned n = tree_list(client->pid, below, TREE_PROCESSES);
    for (unsigned i = 0; i <= n; i++) {
        pid_t pid = i < n ? below[i].pid : client->pid;
        DIR *tasks = task_open(pid);
        struct task_times times;
        for (pid_t tid; (tid = task_next(&tasks));)
            if (task_read_times(pid, tid, &times) && times.oncpu_ns + times.wait_ns > busiest_ns)
                busiest_ns = times.oncpu_ns + times.wait_ns;
    }
    *share = (double)busiest_ns / (double)(now_ns - started_ns);
}

/* The error for a server that has ended `when`. */
static int report(struct command_server *server, const char *when, struct err *err)
{
    int status = 0;
    process_wait(&server->process, &status);
    command_output_read(&server->output);
    command_output_close(&server->output);
    return command_judge("the server", status, when, &server->output, true, err);
}

int command_server_judge(struct command_server *server, int rc, struct err *err)
{
    struct pollfd end = {.fd = server->process.pidfd, .events = POLLIN};
    if (rc) /* perhaps since the server is just ending */
        (void)poll(&end, 1, ENDS_MS);
    return command_server_is_lost(server) ? report(server, " under load", err) : rc;
}

/* Sleeps until it prints something, it ends, or a moment is over. */
static void rest(struct command_server *server)
{
    struct pollfd fds[] = {
        {.fd = server->process.pid ? server->process.pidfd : -1, .events = POLLIN},
        {.fd = server->output.fd, .events = POLLIN}};
    (void)poll(fds, 2, LOOK_MS);
    command_output_read(&server->output);
}

static bool is_ready(struct command_server *server)
{
    const struct command_ready *ready = &server->ready;
    if (ready->by == READY_LINE)
        return server->saw_line;
    return ready->by == READY_TCP ? net_accepts(ready->port)
                                  : net_answers_get(ready->port, ready->text, answer_s);
}

static int await(struct command_server *server, const struct user_command *command, struct err *err)
{
    const uint64_t until_ns = clock_now_ns() + (uint64_t)(command->ready_limit_s * 1e9);
    for (;;) {
        bool ready = is_ready(server);
        if (command_server_is_lost(server))
            return report(server, SERVER_ENDED_EARLY, err);
        if (ready)
            return 0;
        if (clock_now_ns() >= until_ns)
            return err_set(err, -ETIMEDOUT,
                           "the server" SERVER_NOT_READY
                           "%s s (--ready %.60s, --setup-limit)%.140s",
                           units_plain(command->ready_limit_s, 3), command->options.ready,
                           command_output_format_last(&server->output));
        struct str_mark mark = str_mark();
        rest(server);
        process_reap_others(&server->process, NULL);
        str_release(mark);
    }
}

int command_server_start(struct command_server *server, const struct user_command *command,
                         const struct bitset *cpus, struct err *err)
{
    struct command_ready *ready = &server->ready;
    server->output.line = take_line;
    server->output.arg = server;
    int rc = command_ready_parse(command->options.ready, ready, err);
    if (!rc && ready->by == READY_LINE)
        server->has_line = !regcomp(&server->line, ready->text, REG_EXTENDED);
    else if (!rc && net_accepts(ready->port))
        rc = err_set(err, -EADDRINUSE,
                     "port %u is taken: another program listens there; {port} is a free one",
                     ready->port);
    if (!rc)
        rc = command_start(command->argv, cpus, false, &server->process, &server->output.fd, err);
    return rc ? rc : await(server, command, err);
}

bool command_server_end(struct command_server *server, double grace_s)
{
    const uint64_t kill_ns = clock_now_ns() + (uint64_t)(grace_s * 1e9);
    struct tree_process any;
    bool told = false, killed = false;
    int status;
    if (server->process.pid)
        (void)process_signal(&server->process, SIGTERM);
    while (server->process.pid || tree_list(getpid(), &any, 1)) {
        if (!server->process.pid && !told) { /* what it left behind */
            (void)process_signal_below(getpid(), SIGTERM);
            told = true;
        }
        killed = clock_now_ns() >= kill_ns;
        if (killed && !process_end_below(getpid()))
            break;
        rest(server);
        if (server->process.pid)
            (void)process_ended(&server->process, &status);
        process_reap_others(&server->process, NULL);
    }
    command_output_free(&server->output);
    if (server->has_line)
        regfree(&server->line);
    return killed;
}
