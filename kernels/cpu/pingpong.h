/*
 * Two threads change one word in turn: the cost to move a cache line between two CPUs.
 *
 * The asker makes the word odd, the answerer makes it even again, and each polls until the other
 * has done so. A round trip moves the line there and back. That is two transfers, each a read of a
 * line that the other CPU holds modified, followed by a request for ownership:
 *
 *   asker     pingpong_ask(&word, 100, ...)      the same number of trips in both
 *   answerer  pingpong_answer(&word, 100, ...)   threads, at the same time
 *
 * After n trips the word is 2n higher (mod 2^32). Give every word its own cache line, better its
 * own page. The first polls have no pause between them, since a pause takes longer than the
 * transfer on current x86; after some thousand polls, a waiting thread pauses between polls.
 *
 * `give_up` is called from time to time while a thread waits; if it returns true, the call returns
 * false at once, with the word in an intermediate state. With a NULL timeout it waits forever.
 *
 * Source: N. Viennot, core-to-core-latency (the pattern; it swaps by compare-exchange instead);
 * Google multichase, `pingpong`.
 */
#ifndef CONTEND_KERNELS_CPU_PINGPONG_H
#define CONTEND_KERNELS_CPU_PINGPONG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct pingpong_timeout {
    bool (*give_up)(void *arg);
    void *arg;
};

/* Polls until *word == value: true; false: gave up. */
bool pingpong_await(const _Atomic uint32_t *word, uint32_t value,
                    const struct pingpong_timeout *timeout);

bool pingpong_ask(_Atomic uint32_t *word, uint32_t trips, const struct pingpong_timeout *timeout);
bool pingpong_answer(_Atomic uint32_t *word, uint32_t trips,
                     const struct pingpong_timeout *timeout);

#endif
