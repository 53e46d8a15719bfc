/* contend top: the processes that run here and where their time goes, live. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/cmd/common/cmd.h"
#include "harness/doctor/check/live.h"
#include "harness/doctor/cmd/options.h"
#include "harness/doctor/cmd/processes.h"
#include "harness/doctor/json/top.h"
#include "harness/doctor/reader/reader.h"
#include "harness/doctor/tables/top.h"
#include "harness/lib/say/log.h"
#include "harness/lib/say/screen.h"
#include "harness/lib/say/terminal.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/process.h"
#include "harness/lib/sys/signals.h"
#include "harness/machine/gpu/state.h"

/* Of one CPU: who has less is not looked at unless asked for. */
static const double busy_share = 0.02;

struct top {
    const struct top_args *args;
    pid_t pids[OPT_TEXTS_MOST];
    struct reader reader;
    struct signals signals;
    struct screen screen;
    struct live live;
    bool on_screen;
    uint64_t gpus_ns; /* when the driver was asked last */
    double gpu_busy[VIEW_GPUS_MAX];
};

/* Who uses which GPUs, and how busy they are; false: they were asked less than a second ago. */
static bool ask_gpus(struct top *top)
{
    uint64_t now_ns = clock_now_ns();
    struct gpu_state state;
    if (top->gpus_ns && now_ns - top->gpus_ns < 1000000000)
        return false;
    top->gpus_ns = now_ns;
    processes_find_gpus(&top->reader);
    for (size_t i = 0; i < top->reader.view.ngpus; i++) {
        (void)gpu_state_read(top->reader.view.gpus[i].pci_bdf, &state);
        top->gpu_busy[i] = state.busy;
    }
    return true;
}

static int draw(struct top *top, struct err *err)
{
    struct top_style style = {.line_end = "\n"};
    if (top->args->json)
        return json_value_print(top_to_json(&top->live), top->args->once ? 2 : 0, err);
    if (top->on_screen) {
        unsigned columns = terminal_columns(STDOUT_FILENO);
        style = (struct top_style){.columns = columns > 1 ? columns - 1 : 79,
                                   .rows = terminal_rows(STDOUT_FILENO),
                                   .color = terminal_has_color(STDOUT_FILENO),
                                   .line_end = SCREEN_LINE_END};
        (void)fputs(SCREEN_HOME, stdout);
    }
    top_print(&top->live, &style, stdout);
    (void)fputs(top->on_screen ? SCREEN_REST : "\n", stdout);
    return fflush(stdout) ? err_sys(err, -EIO, "cannot write to stdout") : 0;
}

static int stop(struct top *top, struct err *err)
{
    int rc = 0;
    top->signals.stop_asked = false;
    screen_close(&top->screen);
    process_stop_self();
    if (top->on_screen)
        rc = screen_open(&top->screen, top->signals.fd, err);
    return rc ? rc : draw(top, err);
}

/* True where somebody asked to end: *rc is then -EINTR where it was a signal. */
static bool rest(struct top *top, int *rc, struct err *err)
{
    const uint64_t end_ns = clock_now_ns() + (uint64_t)(top->args->interval_s * 1e9);
    for (uint64_t now_ns = clock_now_ns(); now_ns < end_ns && !*rc; now_ns = clock_now_ns()) {
        char key;
        enum screen_event event = screen_wait(&top->screen, (double)(end_ns - now_ns) / 1e9, &key);
        if (event == SCREEN_SIGNAL && signals_take(&top->signals))
            *rc = err_set(err, -EINTR, "interrupted");
        else if (top->signals.stop_asked)
            *rc = stop(top, err);
        else if (event == SCREEN_RESIZED && top->live.wall_s > 0)
            *rc = draw(top, err);
        else if (event == SCREEN_KEY && (key == 'q' || key == 'Q'))
            return true;
    }
    return *rc != 0;
}

/* Who became busy since, or came to a GPU, is looked at from now on. */
static int watch_more(struct top *top, bool asked_gpus, struct err *err)
{
    size_t n;
    if (top->args->pids.n)
        return 0;
    if (top->args->gpu_procs) {
        int rc = asked_gpus ? processes_watch_gpu_users(&top->reader, err) : 0;
        return rc == -ESRCH ? 0 : rc;
    }
    return reader_watch_busy(&top->reader, top->args->all ? 0 : busy_share, &n, err);
}

static int look(struct top *top, struct err *err)
{
    struct reader *reader = &top->reader;
    bool asked_gpus = false;
    live_free(&top->live);
    int rc = reader_tick(reader, READER_WHOLE, err);
    if (!rc) {
        asked_gpus = ask_gpus(top);
        rc = live_make(&reader->view, top->pids, top->args->pids.n, &top->live, err);
    }
    if (rc)
        return rc;
    live_set_gpus(&top->live, top->gpu_busy, reader->view.ngpus);
    rc = draw(top, err);
    if (!rc)
        rc = watch_more(top, asked_gpus, err);
    reader_roll(reader);
    if (!rc && top->args->pids.n && !top->live.nworkers)
        rc = err_set(err, -ESRCH, "the processes that were to be shown have ended");
    return rc;
}

/* Who is busy is seen first, in a moment of its own. */
static int begin(struct top *top, struct err *err)
{
    const struct top_args *args = top->args;
    if ((args->pids.n > 0) + args->all + args->gpu_procs > 1)
        return err_set(err, -EINVAL, "--pid, --gpu-procs and --all exclude each other");
    int rc = processes_parse(&args->pids, top->pids, err);
    if (!rc)
        rc = reader_open("", &top->reader, err);
    top->reader.counts_migrations = true;
    if (!rc && args->pids.n)
        rc = reader_watch_pids(&top->reader, top->pids, args->pids.n, err);
    if (!rc && top->reader.view.hidden.npids)
        rc = reader_refuse_hidden(&top->reader, err);
    if (!rc && args->gpu_procs)
        rc = processes_watch_gpu_users(&top->reader, err);
    if (!rc && !args->pids.n && !args->gpu_procs) {
        rc = reader_mark(&top->reader, err);
        if (!rc && !args->all)
            (void)usleep(200000);
        if (!rc)
            rc = reader_tick(&top->reader, READER_WHOLE, err);
        if (!rc)
            rc = watch_more(top, false, err);
    }
    return rc ? rc : reader_mark(&top->reader, err);
}

static int run_top(struct top *top, struct err *err)
{
    int64_t left = top->args->once ? 1 : top->args->count ? top->args->count : INT64_MAX;
    int rc = begin(top, err);
    top->screen.signal_fd = top->signals.fd;
    top->screen.resized_fd = -1;
    top->on_screen = !top->args->once && !top->args->json && terminal_has_escapes(STDOUT_FILENO);
    if (!rc && top->on_screen)
        rc = screen_open(&top->screen, top->signals.fd, err);
    while (!rc && left-- > 0 && !rest(top, &rc, err))
        rc = look(top, err);
    screen_close(&top->screen);
    return rc;
}

int top_main(const struct cmd_env *env, int argc, char **argv)
{
    struct top_args args = {0};
    struct top top = {.args = &args};
    struct cli cli;
    struct err err = {0};
    int code;
    if (!cmd_parse(env, &top_command, argc, argv, &args, &cli, &code))
        return code;
    int rc = signals_open(&top.signals, &err);
    if (!rc) {
        rc = run_top(&top, &err);
        live_free(&top.live);
        reader_close(&top.reader);
        signals_close(&top.signals);
    }
    if (rc && rc != -EINTR)
        log_error("%s", err.msg);
    return !rc ? cmd_finish() : rc == -EINVAL ? EXIT_USAGE : (int)cmd_not_measured(rc);
}
