#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "harness/cmd/common/cmd.h"
#include "harness/doctor/checks/live.h"
#include "harness/doctor/doctor_json.h"
#include "harness/doctor/doctor_tables.h"
#include "harness/doctor/options.h"
#include "harness/doctor/reader/reader.h"
#include "harness/lib/err.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/sys/process.h"
#include "harness/lib/sys/signals.h"
#include "harness/lib/text.h"
#include "harness/machine/gpu_health.h"

/*
 * A full-screen terminal page that is redrawn: uses the alternate screen, hides the cursor, and
 * reads keys without Enter. screen_close restores the former content.
 *
 *   struct screen screen;
 *   rc = screen_open(&screen, signals.fd, &err);
 *   while (screen_wait(&screen, seconds, &key) != SCREEN_SIGNAL && key != 'q')
 *       ... draw lines, each with SCREEN_LINE_END, between SCREEN_HOME and SCREEN_REST ...
 *   screen_close(&screen);
 */

#define SCREEN_HOME "\033[H"
#define SCREEN_LINE_END "\033[K\n" /* not after the last column, which it would clear */
#define SCREEN_REST "\033[J"       /* after the last line: clears the lines below */

/* Zeroed = closed. */
struct screen {
    bool is_open, has_keys;
    int signal_fd, resized_fd;
    struct termios before;
    sigset_t mask_before;
};

enum screen_event { SCREEN_TIME, SCREEN_KEY, SCREEN_RESIZED, SCREEN_SIGNAL };

/* Waits for an event, at most `seconds` (then SCREEN_TIME). *key: set for SCREEN_KEY, else 0. */
enum screen_event screen_wait(struct screen *screen, double seconds, char *key);

#define ENTER "\033[?1049h\033[?25l\033[2J"
#define LEAVE "\033[?25h\033[?1049l"

static void write_text(const char *text, size_t size)
{
    while (size) {
        ssize_t n = write(STDOUT_FILENO, text, size);
        if (n < 0 && errno != EINTR)
            return;
        text += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
}

/* Uses stdout, and stdin for keys if it is a terminal. A readable signal_fd wakes screen_wait. */
static int screen_open(struct screen *screen, int signal_fd, struct err *err)
{
    sigset_t resized;
    *screen = (struct screen){.signal_fd = signal_fd, .is_open = true};
    (void)sigemptyset(&resized);
    (void)sigaddset(&resized, SIGWINCH);
    (void)sigprocmask(SIG_BLOCK, &resized, &screen->mask_before);
    screen->resized_fd = signalfd(-1, &resized, SFD_CLOEXEC | SFD_NONBLOCK);
    if (screen->resized_fd < 0) {
        int rc = err_sys(err, -errno, "cannot watch for a terminal that changes its size");
        (void)sigprocmask(SIG_SETMASK, &screen->mask_before, NULL);
        *screen = (struct screen){0};
        return rc;
    }
    screen->has_keys = tcgetattr(STDIN_FILENO, &screen->before) == 0;
    if (screen->has_keys) {
        struct termios raw = screen->before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO); /* ISIG stays: Ctrl-C and Ctrl-Z are signals */
        raw.c_cc[VMIN] = 0;
        raw.c_cc[VTIME] = 0;
        screen->has_keys = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
    }
    write_text(ENTER, sizeof(ENTER) - 1);
    return 0;
}

static void screen_close(struct screen *screen)
{
    if (!screen->is_open)
        return;
    write_text(LEAVE, sizeof(LEAVE) - 1);
    if (screen->has_keys)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &screen->before);
    (void)close(screen->resized_fd);
    (void)sigprocmask(SIG_SETMASK, &screen->mask_before, NULL);
    *screen = (struct screen){0};
}

/* After a hang-up the terminal stays at end of file, so has_keys becomes false for good. */
static bool take_key(struct screen *screen, char *key)
{
    ssize_t n = read(STDIN_FILENO, key, 1);
    if (n == 1)
        return true;
    *key = 0;
    screen->has_keys = n < 0 && (errno == EINTR || errno == EAGAIN);
    return false;
}

enum screen_event screen_wait(struct screen *screen, double seconds, char *key)
{
    enum { SIGNAL, RESIZED, KEY, SOURCES };
    struct pollfd sources[SOURCES] = {
        [SIGNAL] = {.fd = screen->signal_fd, .events = POLLIN},
        [RESIZED] = {.fd = screen->resized_fd, .events = POLLIN},
        [KEY] = {.fd = screen->has_keys ? STDIN_FILENO : -1, .events = POLLIN},
    };
    struct signalfd_siginfo info;
    *key = 0;
    if (poll(sources, SOURCES, (int)ceil(fmax(seconds, 0) * 1e3)) <= 0)
        return SCREEN_TIME;
    if (sources[SIGNAL].revents)
        return SCREEN_SIGNAL;
    if (sources[RESIZED].revents) {
        while (read(screen->resized_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
            ;
        return SCREEN_RESIZED;
    }
    return take_key(screen, key) ? SCREEN_KEY : SCREEN_TIME;
}

/* contend doctor --live: shows running processes and where their time goes. */

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
