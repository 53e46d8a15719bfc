#include "harness/doctor/screen.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

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

int screen_open(struct screen *screen, int signal_fd, struct err *err)
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

void screen_close(struct screen *screen)
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
