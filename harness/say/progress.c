#include "harness/say/progress.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "harness/say/log.h"
#include "harness/sys/clock.h"

enum { BAR_CELLS = 24 };

/* The terminal is one, so its bar is one. */
static struct {
    bool active, drawn;
    const char *label;
    size_t done, total;
    double expected_s;
    uint64_t start_ns;
} bar;

static void erase(void)
{
    if (bar.drawn)
        (void)fputs("\r\033[K", stderr);
    bar.drawn = false;
}

void progress_tick(void)
{
    if (!bar.active)
        return;
    double elapsed_s = (double)(clock_now_ns() - bar.start_ns) * 1e-9;
    /* Until a quarter is done the plan's estimate is better than the pace so far. */
    double pace_s = bar.done * 4 >= bar.total && bar.done
                        ? elapsed_s / (double)bar.done * (double)bar.total
                        : bar.expected_s;
    double left_s = pace_s > elapsed_s ? pace_s - elapsed_s : 0;
    int filled = bar.total ? (int)(bar.done * BAR_CELLS / bar.total) : 0;
    (void)fprintf(stderr, "\r\033[K[%.*s%*s] %zu/%zu  %.30s  %.0f s left", filled,
                  "========================", BAR_CELLS - filled, "", bar.done, bar.total,
                  bar.label, left_s);
    (void)fflush(stderr);
    bar.drawn = true;
}

void progress_set(const char *label, size_t done, size_t total, double expected_s)
{
    if (!bar.active) {
        if (!isatty(STDERR_FILENO))
            return;
        bar.active = true;
        bar.start_ns = clock_now_ns();
        log_set_before(erase);
    }
    bar.label = label;
    bar.done = done;
    bar.total = total;
    bar.expected_s = expected_s;
    progress_tick();
}

void progress_end(void)
{
    erase();
    bar.active = false;
    log_set_before(NULL);
}
