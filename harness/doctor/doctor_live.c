/* contend doctor --live: shows running processes and where their time goes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/cmd/common/cmd.h"
#include "harness/doctor/checks/live.h"
#include "harness/doctor/live.h"
#include "harness/doctor/options.h"
#include "harness/doctor/reader/processes.h"
#include "harness/doctor/reader/reader.h"
#include "harness/doctor/screen.h"
#include "harness/doctor/tables_live.h"
#include "harness/lib/str.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/sys/process.h"
#include "harness/lib/sys/signals.h"
#include "harness/lib/sys/terminal.h"
#include "harness/machine/state.h"

/* Share of one CPU: a process with less is not watched unless asked for. */
static const double busy_share = 0.02;

struct session {
    const struct doctor_args *args;
    pid_t pids[OPT_TEXTS_MOST];
    struct reader reader;
    struct signals signals;
    struct screen screen;
    struct live live;
    bool on_screen;
    uint64_t gpus_ns; /* last query of the driver */
    double gpu_busy[VIEW_GPUS_MAX];
};

/* Reads GPU users and GPU use; false: the last query was less than a second ago. */
static bool ask_gpus(struct session *session)
{
    uint64_t now_ns = clock_now_ns();
    struct gpu_state state;
    if (session->gpus_ns && now_ns - session->gpus_ns < 1000000000)
        return false;
    session->gpus_ns = now_ns;
    processes_find_gpus(&session->reader);
    for (size_t i = 0; i < session->reader.view.ngpus; i++) {
        (void)gpu_state_read(session->reader.view.gpus[i].pci_bdf, &state);
        session->gpu_busy[i] = state.busy;
    }
    return true;
}

static int draw(struct session *session, struct err *err)
{
    struct live_style style = {.line_end = "\n"};
    if (session->args->json)
        return json_value_print(live_to_json(&session->live), session->args->looks == 1 ? 2 : 0,
                                err);
    if (session->on_screen) {
        unsigned columns = terminal_columns(STDOUT_FILENO);
        style = (struct live_style){.columns = columns > 1 ? columns - 1 : 79,
                                    .rows = terminal_rows(STDOUT_FILENO),
                                    .color = terminal_has_color(STDOUT_FILENO),
                                    .line_end = SCREEN_LINE_END};
        (void)fputs(SCREEN_HOME, stdout);
    }
    live_print(&session->live, &style, stdout);
    (void)fputs(session->on_screen ? SCREEN_REST : "\n", stdout);
    return fflush(stdout) ? err_sys(err, -EIO, "cannot write to stdout") : 0;
}

static int stop(struct session *session, struct err *err)
{
    int rc = 0;
    session->signals.stop_requested = false;
    screen_close(&session->screen);
    process_stop_self();
    if (session->on_screen)
        rc = screen_open(&session->screen, session->signals.fd, err);
    return rc ? rc : draw(session, err);
}

/* Waits for the next update. True = end: after q, or with *rc set (-EINTR after a signal). */
static bool rest(struct session *session, int *rc, struct err *err)
{
    const double look_s = session->args->look_s > 0 ? session->args->look_s : 1;
    const uint64_t end_ns = clock_now_ns() + (uint64_t)(look_s * 1e9);
    for (uint64_t now_ns = clock_now_ns(); now_ns < end_ns && !*rc; now_ns = clock_now_ns()) {
        char key;
        enum screen_event event =
            screen_wait(&session->screen, (double)(end_ns - now_ns) / 1e9, &key);
        if (event == SCREEN_SIGNAL && signals_take(&session->signals))
            *rc = err_set(err, -EINTR, "interrupted");
        else if (session->signals.stop_requested)
            *rc = stop(session, err);
        else if (event == SCREEN_RESIZED && session->live.wall_s > 0)
            *rc = draw(session, err);
        else if (event == SCREEN_KEY && (key == 'q' || key == 'Q'))
            return true;
    }
    return *rc != 0;
}

/* Also watches processes that became busy, or began to use a GPU, since the last look. */
static int watch_more(struct session *session, bool asked_gpus, struct err *err)
{
    size_t n;
    if (session->args->pids.n)
        return 0;
    if (session->args->gpu_procs) {
        int rc = asked_gpus ? processes_watch_gpu_users(&session->reader, err) : 0;
        return rc == -ESRCH ? 0 : rc;
    }
    return reader_watch_busy(&session->reader, session->args->all ? 0 : busy_share, &n, err);
}

static int look(struct session *session, struct err *err)
{
    struct reader *reader = &session->reader;
    bool asked_gpus = false;
    live_free(&session->live);
    int rc = reader_tick(reader, READER_WHOLE, err);
    if (!rc) {
        asked_gpus = ask_gpus(session);
        rc = live_make(&reader->view, session->pids, session->args->pids.n, &session->live, err);
    }
    if (rc)
        return rc;
    live_set_gpus(&session->live, session->gpu_busy, reader->view.ngpus);
    rc = draw(session, err);
    if (!rc)
        rc = watch_more(session, asked_gpus, err);
    reader_roll(reader);
    if (!rc && session->args->pids.n && !session->live.nworkers)
        rc = err_set(err, -ESRCH, "the processes to show have ended");
    return rc;
}

/* Watches for 0.2 s first to find the busy processes. */
static int begin(struct session *session, struct err *err)
{
    const struct doctor_args *args = session->args;
    int rc = reader_open("", &session->reader, err);
    session->reader.counts_migrations = true;
    if (!rc)
        rc = processes_watch(&args->pids, args->gpu_procs, &session->reader, session->pids, err);
    if (!rc && session->reader.view.hidden.npids)
        rc = reader_refuse_hidden(&session->reader, err);
    if (!rc && !args->pids.n && !args->gpu_procs) {
        rc = reader_mark(&session->reader, err);
        if (!rc && !args->all)
            (void)usleep(200000);
        if (!rc)
            rc = reader_tick(&session->reader, READER_WHOLE, err);
        if (!rc)
            rc = watch_more(session, false, err);
    }
    return rc ? rc : reader_mark(&session->reader, err);
}

static int run(struct session *session, struct err *err)
{
    int64_t left = session->args->looks ? session->args->looks : INT64_MAX;
    int rc = begin(session, err);
    session->screen.signal_fd = session->signals.fd;
    session->screen.resized_fd = -1;
    session->on_screen =
        session->args->looks != 1 && !session->args->json && terminal_has_escapes(STDOUT_FILENO);
    if (!rc && session->on_screen)
        rc = screen_open(&session->screen, session->signals.fd, err);
    const struct str_mark before = str_mark();
    while (!rc && left-- > 0 && !rest(session, &rc, err)) {
        rc = look(session, err);
        str_release(before);
    }
    screen_close(&session->screen);
    return rc;
}

int doctor_live(const struct doctor_args *args)
{
    struct session session = {.args = args};
    struct err err = {0};
    int rc = signals_open(&session.signals, &err);
    if (!rc) {
        rc = run(&session, &err);
        live_free(&session.live);
        reader_close(&session.reader);
        signals_close(&session.signals);
    }
    if (rc && rc != -EINTR)
        log_error("%s", err.msg);
    return !rc ? cmd_finish() : rc == -EINVAL ? EXIT_USAGE : (int)cmd_not_measured(rc);
}
