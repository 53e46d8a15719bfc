/* Connections from ranks to rank 0 over the loopback: which ranks are lost, and how. */
#include "harness/ranks/mpi/lifeline.h"
#include "tests/lib/unit.h"

#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

enum { RANKS = 4 };

static struct lifeline_offer offer;

/* Rank 0's lines, the other ranks' lines, and the message about the last lost rank. */
static struct lifeline lines, others[RANKS];
static enum lifeline_end end;
static const char *words;

static void *connect_other(void *arg)
{
    struct lifeline *other = arg;
    unsigned rank = other->n; /* lets the test find the rank's line */
    return lifeline_connect(other, &offer, rank, true, 8) ? other : NULL;
}

static unsigned count_lines(void)
{
    unsigned n = 0;
    for (unsigned r = 0; r < lines.n; r++)
        n += lines.line[r].fd >= 0;
    return n;
}

/* As rank 0 does: accepts connections until there are `n` lines or `ms` have passed. */
static unsigned take_lines(unsigned n, unsigned ms)
{
    for (unsigned i = 0; i < ms && count_lines() < n; i++) {
        lifeline_take(&lines);
        (void)usleep(1000);
    }
    return count_lines();
}

/* Makes rank 0's lines and n of the other ranks'. */
static void make(unsigned n)
{
    pthread_t threads[RANKS];
    void *made;
    lifeline_offer(&lines, RANKS, &offer);
    if (!offer.port || !offer.naddresses) {
        print_message("no network here, not even a loopback\n");
        lifeline_close(&lines);
        skip();
    }
    for (unsigned r = 1; r <= n; r++) {
        others[r].n = r;
        assert_int_equal(pthread_create(&threads[r], NULL, connect_other, &others[r]), 0);
    }
    bool settled[RANKS] = {false};
    assert_int_equal(take_lines(n, 60000), n);
    for (unsigned r = 1; r <= n; r++) {
        assert_int_equal(pthread_join(threads[r], &made), 0);
        assert_non_null(made);
        settled[r] = true;
    }
    lifeline_finish_accepting(&lines, settled);
}

static void leave(struct lifeline *one, enum lifeline_end how, const char *last_words)
{
    lifeline_report(one, how, last_words);
    lifeline_close(one);
}

static int wait_for_lost(struct lifeline *of)
{
    int rank = -1;
    for (unsigned i = 0; i < 5000 && rank < 0; i++) {
        rank = lifeline_lost(of, &end, &words);
        (void)usleep(1000);
    }
    return rank;
}

TEST(all_alive)
{
    make(RANKS - 1);
    assert_int_equal(lifeline_lost(&lines, &end, &words), -1);
    assert_int_equal(lifeline_lost(&others[1], &end, &words), -1);
    lifeline_close(&lines);
    for (unsigned r = 1; r < RANKS; r++) {
        assert_int_equal(lifeline_lost(&others[r], &end, &words), -1);
        lifeline_close(&others[r]);
    }
}

/* Closes the line, as the kernel does when it kills a process. */
TEST(closed)
{
    make(RANKS - 1);
    leave(&others[1], LIFELINE_LEFT, "done");
    leave(&others[3], LIFELINE_FOLLOWS, "MPI ended");
    (void)shutdown(others[2].line[0].fd, SHUT_RDWR);
    assert_int_equal(wait_for_lost(&lines), 2);
    assert_int_equal(end, LIFELINE_CLOSED);
    assert_int_equal(lifeline_lost(&lines, &end, &words), -1); /* reported once */
    assert_int_equal(lines.line[1].end, LIFELINE_LEFT);
    assert_int_equal(lines.line[3].end, LIFELINE_FOLLOWS);
    lifeline_close(&others[2]);
    lifeline_close(&lines);
}

TEST(last_words)
{
    char long_message[2 * LIFELINE_MESSAGE_MAX];
    make(2);
    leave(&others[2], LIFELINE_FAILED, "killed by signal 9");
    assert_int_equal(wait_for_lost(&lines), 2);
    assert_int_equal(end, LIFELINE_FAILED);
    assert_string_equal(words, "killed by signal 9");
    memset(long_message, 'x', sizeof(long_message) - 1);
    long_message[sizeof(long_message) - 1] = '\0';
    leave(&others[1], LIFELINE_FAILED, long_message);
    assert_int_equal(wait_for_lost(&lines), 1);
    assert_int_equal(strlen(words), LIFELINE_MESSAGE_MAX - 1);
    lifeline_close(&lines);
}

/* Rank 0 can be lost as well. */
TEST(first_is_lost)
{
    make(1);
    leave(&lines, LIFELINE_FAILED, "no room");
    assert_int_equal(wait_for_lost(&others[1]), 0);
    assert_string_equal(words, "no room");
    leave(&others[1], LIFELINE_FOLLOWS, "");
}

/* A rank that ends because of another rank is not a loss to rank 0, and says why. If rank 0 ends
 * so, other ranks count it as lost. */
TEST(followers)
{
    make(2);
    assert_int_equal(lifeline_follower(&lines, &words), -1);
    lifeline_report(&others[2], LIFELINE_FOLLOWS, "MPI ended");
    for (unsigned i = 0; i < 5000 && lifeline_follower(&lines, &words) < 0; i++) {
        assert_int_equal(lifeline_lost(&lines, &end, &words), -1);
        (void)usleep(1000);
    }
    assert_int_equal(lifeline_follower(&lines, &words), 2);
    assert_string_equal(words, "MPI ended");
    lifeline_report(&lines, LIFELINE_FOLLOWS, "rank 2: MPI ended");
    assert_int_equal(wait_for_lost(&others[1]), 0);
    assert_string_equal(words, "rank 2: MPI ended");
    assert_int_equal(wait_for_lost(&others[2]), 0); /* read even after this side's own end */
    lifeline_close(&others[1]);
    lifeline_close(&others[2]);
    lifeline_close(&lines);
}

static void *close_later(void *arg)
{
    (void)usleep(200000);
    lifeline_close(arg);
    return NULL;
}

TEST(await_first)
{
    struct lifeline none = {0};
    pthread_t thread;
    make(1);
    lifeline_report(&others[1], LIFELINE_FAILED, "killed");
    assert_int_equal(pthread_create(&thread, NULL, close_later, &lines), 0);
    assert_true(lifeline_await_first(&others[1], 60));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(lifeline_await_first(&none, 60));
    lifeline_close(&others[1]);
}

/* A rank that gave up before the answer: no line exists, and no rank is lost. */
TEST(rank_that_gave_up)
{
    pthread_t thread;
    void *made;
    const bool settled[RANKS] = {[2] = true};
    lifeline_offer(&lines, RANKS, &offer);
    for (unsigned r = 1; r <= 2; r++) {
        others[r].n = r;
        assert_int_equal(pthread_create(&thread, NULL, connect_other, &others[r]), 0);
        assert_int_equal(take_lines(r, 60000), r);
        assert_int_equal(pthread_join(thread, &made), 0);
        assert_non_null(made);
    }
    (void)shutdown(others[1].line[0].fd, SHUT_RDWR);
    assert_int_equal(lifeline_lost(&lines, &end, &words), -1);
    lifeline_finish_accepting(&lines, settled);
    assert_int_equal(count_lines(), 1);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(lifeline_lost(&lines, &end, &words), -1);
        (void)usleep(1000);
    }
    (void)shutdown(others[2].line[0].fd, SHUT_RDWR);
    assert_int_equal(wait_for_lost(&lines), 2);
    lifeline_close(&others[1]);
    lifeline_close(&others[2]);
    lifeline_close(&lines);
}

/* Connections that send nothing delay nobody, even more of them than there is room for. */
TEST(silent_connections)
{
    struct lifeline other = {.n = 1};
    pthread_t thread;
    void *made;
    int silent[LIFELINE_INCOMING_MAX / 2];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    lifeline_offer(&lines, RANKS, &offer);
    address.sin_port = htons(offer.port);
    for (unsigned i = 0; i < LIFELINE_INCOMING_MAX / 2; i++) {
        silent[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(silent[i], (struct sockaddr *)&address, sizeof(address)), 0);
    }
    assert_int_equal(pthread_create(&thread, NULL, connect_other, &other), 0);
    assert_int_equal(take_lines(1, 60000), 1);
    assert_int_equal(pthread_join(thread, &made), 0);
    assert_non_null(made);
    lifeline_close(&other);
    lifeline_close(&lines);
    for (unsigned i = 0; i < LIFELINE_INCOMING_MAX / 2; i++)
        (void)close(silent[i]);
}

static void *connect_without_token(void *arg)
{
    struct lifeline *other = arg;
    struct lifeline_offer wrong = offer;
    wrong.token[3] ^= 1;
    return lifeline_connect(other, &wrong, 1, true, 1) ? other : NULL;
}

/* A connection without the right token is refused, and so is a rank that does not exist. */
TEST(connections_that_are_refused)
{
    struct lifeline refused, other = {.n = RANKS};
    pthread_t thread;
    void *made;
    lifeline_offer(&lines, RANKS, &offer);
    assert_int_equal(pthread_create(&thread, NULL, connect_without_token, &refused), 0);
    assert_int_equal(take_lines(1, 500), 0);
    assert_int_equal(pthread_join(thread, &made), 0);
    assert_null(made);
    lifeline_close(&refused);
    lifeline_close(&lines);

    lifeline_offer(&lines, RANKS, &offer);
    assert_int_equal(pthread_create(&thread, NULL, connect_other, &other), 0);
    assert_int_equal(take_lines(1, 500), 0);
    assert_int_equal(pthread_join(thread, &made), 0);
    assert_null(made);
    lifeline_close(&other);
    lifeline_close(&lines);
}

/* No listener; no line was ever opened. */
TEST(no_line)
{
    struct lifeline other, none = {0};
    lifeline_offer(&lines, RANKS, &offer);
    lifeline_finish_accepting(&lines, (const bool[RANKS]){false});
    assert_false(lifeline_connect(&other, &offer, 1, true, 1));
    assert_int_equal(lifeline_lost(&lines, &end, &words), -1);
    lifeline_close(&lines);
    lifeline_close(&other);
    offer.port = 0;
    assert_false(lifeline_connect(&other, &offer, 1, true, 1));
    lifeline_close(&other);
    assert_int_equal(lifeline_lost(&none, &end, &words), -1);
    lifeline_close(&none);
}
