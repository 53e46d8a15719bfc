/*
 * A TCP connection (line) from every rank of a job to rank 0, which carries only a last message.
 * The kernel closes it when a rank's process ends in any way. So rank 0 knows which rank was lost,
 * when MPI only ends or hangs (client.h). Each line is optional: the loss of a rank without one is
 * found because it does not answer.
 *
 * Rank 0 listens while the lines are made. Before, it sends random bytes, a token, through MPI.
 * Each other rank connects and sends one half of the token, and rank 0 answers with the other half.
 * The other ranks then tell through MPI whether they got the answer; a rank that gave up has no
 * line, and does not count as lost.
 */
#ifndef CONTEND_RANKS_MPI_LIFELINE_H
#define CONTEND_RANKS_MPI_LIFELINE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    LIFELINE_ADDRESSES = 8,
    LIFELINE_TOKEN = 16,
    LIFELINE_MESSAGE_MAX = 128,
    LIFELINE_INCOMING_MAX = 64
};

/* Addresses of rank 0, sent through MPI. */
struct lifeline_offer {
    unsigned char token[LIFELINE_TOKEN];
    uint16_t port; /* 0 = nowhere */
    uint16_t naddresses;
    struct lifeline_address {
        uint16_t family; /* AF_INET or AF_INET6 */
        unsigned char bytes[16];
    } addresses[LIFELINE_ADDRESSES];
};

enum lifeline_end {
    LIFELINE_ALIVE,
    LIFELINE_LEFT,    /* it ended in good order */
    LIFELINE_FAILED,  /* it failed; its message says why */
    LIFELINE_FOLLOWS, /* it ended because another rank was lost */
    LIFELINE_CLOSED   /* no last message: it was killed, or its machine is gone */
};

struct lifeline {
    unsigned n;     /* number of lines; 0 = none, and nothing is open */
    bool to_rank_0; /* we are another rank: our only line is to rank 0 */
    struct line {
        int fd; /* -1 = none */
        enum lifeline_end end;
        char message[LIFELINE_MESSAGE_MAX];
    } * line; /* at rank 0: by rank, its own unused; else: one, to rank 0 */
    int listen_fd;
    unsigned char token[LIFELINE_TOKEN];
    unsigned nincoming;
    struct lifeline_incoming { /* connections that have not sent a greeting yet */
        int fd;
        uint64_t until_ns;
    } incoming[LIFELINE_INCOMING_MAX];
    int poll_fd; /* an epoll: readable when a line has news */
};

/* Rank 0 of `size` ranks: listens, and fills the offer; port 0 if it cannot listen. */
void lifeline_offer(struct lifeline *lines, unsigned size, struct lifeline_offer *offer);

/*
 * Other ranks: tries the addresses for about limit_s, loopback addresses only if rank 0 is on the
 * same machine. False: there is no line.
 */
bool lifeline_connect(struct lifeline *lines, const struct lifeline_offer *offer, unsigned rank,
                      bool same_machine, double limit_s);

/* Rank 0: answers ranks that have connected, without waiting. Call it repeatedly. */
void lifeline_take(struct lifeline *lines);

/* Rank 0: stops listening; keeps the lines of ranks r with made[r], and watches them. */
void lifeline_finish_accepting(struct lifeline *lines, const bool *made);

/* Reads news without waiting. Returns the first lost rank, with *end and *message; -1 = none. */
int lifeline_lost(struct lifeline *lines, enum lifeline_end *end, const char **message);

/* Rank 0: true if that rank has a line, and no news of its end came. */
static inline bool lifeline_is_open(const struct lifeline *lines, unsigned rank)
{
    return rank < lines->n && lines->line[rank].fd >= 0 && !lines->line[rank].end;
}

/* The lowest rank that ended because another one was lost, and its message; -1 = none. */
int lifeline_follower(const struct lifeline *lines, const char **message);

/* Sends how this process ends; only the first call counts. News of the other side still arrive. */
void lifeline_report(struct lifeline *lines, enum lifeline_end end, const char *message);

/* Other ranks: waits until rank 0 closes its side, at most limit_s. No line: false at once. */
bool lifeline_await_first(struct lifeline *lines, double limit_s);

/* Closes all lines, with LIFELINE_LEFT unless lifeline_report was called before. */
void lifeline_close(struct lifeline *lines);

#endif
