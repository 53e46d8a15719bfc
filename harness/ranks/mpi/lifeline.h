/*
 * A connection from every rank of a job to rank 0, on which nothing is said but last words: the
 * kernel closes it when a rank's process ends, however. So rank 0 can tell who was lost, where MPI
 * only ends, or hangs (client.h). It is TCP beside MPI, and each line is optional: a rank that
 * cannot reach rank 0 so is found by its silence.
 *
 * Rank 0 listens while the lines are made. It gave out random bytes through MPI: who comes says one
 * half of them, rank 0 answers with the other, and the guests tell through MPI whether they were
 * answered; of one that had given up by then there is no line, and no loss.
 */
#ifndef CONTEND_RANKS_MPI_LIFELINE_H
#define CONTEND_RANKS_MPI_LIFELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LIFELINE_ADDRESSES = 8, LIFELINE_TOKEN = 16, LIFELINE_WORDS = 128, LIFELINE_COMING = 64 };

/* Where rank 0 can be reached: sent through MPI. */
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
    LIFELINE_LEFT,    /* in good order */
    LIFELINE_FAILED,  /* its words say why */
    LIFELINE_FOLLOWS, /* it ends because another one was lost */
    LIFELINE_CLOSED   /* without a word: it was killed, or its machine is gone */
};

struct lifeline {
    unsigned n; /* lines; 0 = none at all, and nothing is open */
    bool guest; /* not rank 0's */
    struct line {
        int fd; /* -1 = none */
        enum lifeline_end end;
        char words[LIFELINE_WORDS];
    } * line; /* of rank 0: by rank, its own unused; of others: one, to rank 0 */
    int listen_fd;
    unsigned char token[LIFELINE_TOKEN];
    unsigned ncoming;
    struct lifeline_coming { /* who has not said yet who it is */
        int fd;
        uint64_t until_ns;
    } coming[LIFELINE_COMING];
    int poll_fd; /* readable when a line has news: an epoll */
};

/* Rank 0: listens, and fills the offer; port 0 where it cannot. `size` ranks. */
void lifeline_offer(struct lifeline *lines, unsigned size, struct lifeline_offer *offer);

/*
 * Other ranks: tries the addresses for about limit_s; the loopback only if rank 0 is on the same
 * machine. False: there is no line.
 */
bool lifeline_connect(struct lifeline *lines, const struct lifeline_offer *offer, unsigned rank,
                      bool same_machine, double limit_s);

/* Rank 0: answers those who have come, without waiting for others. To be called again and again. */
void lifeline_take(struct lifeline *lines);

/* Rank 0: stops listening; from now on the lines of ranks r are heard whose made[r] is true. */
void lifeline_settle(struct lifeline *lines, const bool *made);

/* Reads what there is, without waiting: the first rank that is lost, with how; -1 = nobody. */
int lifeline_lost(struct lifeline *lines, enum lifeline_end *end, const char **words);

/* Rank 0: whether that rank has a line, and nothing was heard of its end. */
static inline bool lifeline_holds(const struct lifeline *lines, unsigned rank)
{
    return rank < lines->n && lines->line[rank].fd >= 0 && !lines->line[rank].end;
}

/* The first by number of the ranks that ended because of another one, with its words; -1. */
int lifeline_follower(const struct lifeline *lines, const char **words);

/* Says how this process ends; the first time counts. The other side's end can still be heard. */
void lifeline_report(struct lifeline *lines, enum lifeline_end end, const char *words);

/* Guests: until rank 0 has closed its side, for at most limit_s. False at once without a line. */
bool lifeline_await_first(struct lifeline *lines, double limit_s);

/* Closes all lines; what was not said before is LIFELINE_LEFT. */
void lifeline_close(struct lifeline *lines);

#endif
