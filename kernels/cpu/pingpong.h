/*
 * Two threads hand one word to and fro: what it costs to move a cache line between two CPUs.
 *
 * The asker makes the word odd, the answerer makes it even again, and each polls until the other
 * has done so. A round trip moves the line there and back, so two transfers, each a read of a line
 * that the other CPU holds modified and then the right to write it:
 *
 *   asker     pingpong_ask(&ball, 100, ...)      in both threads the same number
 *   answerer  pingpong_answer(&ball, 100, ...)   of trips, at the same time
 *
 * After n trips the word is 2n higher (mod 2^32). Give every word a line, better a page, of its
 * own. The first polls follow each other without a pause, which on current x86 takes longer than
 * the transfer; who still waits after some thousand polls pauses between them.
 *
 * `give_up` is called now and then while there is no answer; where it says true, the call returns
 * false at once, and the word is in between. NULL waits for ever.
 *
 * Source: N. Viennot, core-to-core-latency (the pattern; it swaps by compare-exchange instead);
 * Google multichase, `pingpong`.
 */
#ifndef CONTEND_KERNELS_CPU_PINGPONG_H
#define CONTEND_KERNELS_CPU_PINGPONG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct pingpong_patience {
    bool (*give_up)(void *arg);
    void *arg;
};

/* Polls until *word == value. */
bool pingpong_await(const _Atomic uint32_t *word, uint32_t value,
                    const struct pingpong_patience *patience);

bool pingpong_ask(_Atomic uint32_t *ball, uint32_t trips, const struct pingpong_patience *patience);
bool pingpong_answer(_Atomic uint32_t *ball, uint32_t trips,
                     const struct pingpong_patience *patience);

#endif
