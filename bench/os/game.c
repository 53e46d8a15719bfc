#include "bench/os/game.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/os/working_set.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/futex.h"

int game_open(struct game **game, uint64_t *const sets[2], struct err *err)
{
    struct game *made =
        mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return err_set(err, -ENOMEM, "cannot map what two players share");
    *game = made;
    for (unsigned who = 0; who < 2; who++) {
        made->pipes[who][0] = made->pipes[who][1] = -1;
        made->sets[who] = sets[who];
    }
    for (unsigned who = 0; who < 2; who++)
        if (pipe(made->pipes[who]))
            return err_sys(err, -errno, "cannot make a pipe");
    return 0;
}

void game_close(struct game *game)
{
    if (!game)
        return;
    for (unsigned end = 0; end < 4; end++)
        if (game->pipes[end / 2][end % 2] >= 0)
            (void)close(game->pipes[end / 2][end % 2]);
    (void)munmap(game, sizeof(*game));
}

void game_begin(struct game *game, enum game_how how, size_t words, uint64_t slice_ns)
{
    atomic_store(&game->ball, 0);
    game->over = false;
    game->how = how;
    game->words = words;
    game->repeat.slice_ns = slice_ns;
    game->passes = game->yields = 0;
    game->failed[0] = game->failed[1] = 0;
    game->wrong[0] = game->wrong[1] = false;
}

static int write_word(int fd)
{
    int word = 0;
    ssize_t wrote;
    do
        wrote = write(fd, &word, sizeof(word));
    while (wrote < 0 && errno == EINTR);
    return wrote == sizeof(word) ? 0 : -errno;
}

static int read_word(int fd)
{
    int word;
    ssize_t got;
    do
        got = read(fd, &word, sizeof(word));
    while (got < 0 && errno == EINTR);
    return got == sizeof(word) ? 0 : -EPIPE;
}

static int pass_ball(struct game *game, unsigned who)
{
    if (game->how == GAME_PIPE)
        return write_word(game->pipes[who][1]);
    if (game->how == GAME_FUTEX)
        futex_set(&game->ball, 1 - who);
    else
        atomic_store_explicit(&game->ball, 1 - who, memory_order_release);
    return 0;
}

static int await_ball(struct game *game, unsigned who)
{
    if (game->how == GAME_PIPE)
        return read_word(game->pipes[1 - who][0]);
    if (game->how == GAME_FUTEX) {
        futex_wait_while(&game->ball, 1 - who);
        return 0;
    }
    uint64_t yields = 0;
    for (; atomic_load_explicit(&game->ball, memory_order_acquire) != who; yields++)
        (void)sched_yield();
    if (who == 0)
        game->yields += yields;
    return 0;
}

/* `n` trips there and back. */
static uint64_t serve_batch(void *arg, uint64_t n)
{
    struct game *game = arg;
    if (!game->repeat.nbatches)
        game->yields = 0; /* the last batch was not timed */
    uint64_t start_ns = clock_now_ns();
    for (uint64_t i = 0; i < n; i++) {
        working_set_go_over(game->sets[0], game->words);
        int rc = pass_ball(game, 0);
        if (!rc)
            rc = await_ball(game, 0);
        if (rc) {
            game->failed[0] = rc;
            return 0;
        }
    }
    game->passes += n;
    return clock_now_ns() - start_ns;
}

static void serve(struct game *game)
{
    game->round_trip_us = repeat_time(&game->repeat, serve_batch, game);
    game->over = true;
    (void)pass_ball(game, 0);
}

static void return_serves(struct game *game)
{
    while (!(game->failed[1] = await_ball(game, 1)) && !game->over) {
        working_set_go_over(game->sets[1], game->words);
        if ((game->failed[1] = pass_ball(game, 1)))
            return;
    }
}

void game_play(void *arg, unsigned who)
{
    struct game *game = arg;
    memset(game->sets[who], 0, game->words * sizeof(uint64_t));
    if (who == 0)
        serve(game);
    else
        return_serves(game);
    game->wrong[who] = !working_set_holds(game->sets[who], game->words, game->passes);
}

/* What one player calls for a pass and for the next ball, with nobody there. */
static void call_once(struct game *game)
{
    if (game->how == GAME_PIPE) {
        (void)write_word(game->pipes[0][1]);
        (void)read_word(game->pipes[0][0]);
    } else if (game->how == GAME_FUTEX) {
        futex_set(&game->ball, 1);
        (void)syscall(SYS_futex, &game->ball, FUTEX_WAIT, 0, NULL, NULL, 0); /* not 0: at once */
    } else {
        (void)sched_yield();
    }
}

static uint64_t call_batch(void *arg, uint64_t n)
{
    uint64_t start_ns = clock_now_ns();
    for (uint64_t i = 0; i < n; i++)
        call_once(arg);
    return clock_now_ns() - start_ns;
}

static uint64_t set_batch(void *arg, uint64_t n)
{
    struct game *game = arg;
    uint64_t start_ns = clock_now_ns();
    for (uint64_t i = 0; i < n; i++)
        working_set_go_over(game->sets[0], game->words);
    return clock_now_ns() - start_ns;
}

double game_time_calls(struct game *game, enum game_how how)
{
    game->how = how;
    return repeat_time(&game->repeat, call_batch, game);
}

double game_time_set(struct game *game, size_t words)
{
    game->words = words;
    memset(game->sets[0], 0, words * sizeof(uint64_t));
    return repeat_time(&game->repeat, set_batch, game);
}
