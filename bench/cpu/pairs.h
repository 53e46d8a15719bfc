/*
 * Shared by the scans over all pairs of CPUs: numbering, schedules, and the values they emit.
 *
 * Players are 0..n-1, the places of CPUs in ctx->machine->cpus.
 */
#ifndef CONTEND_BENCH_CPU_PAIRS_H
#define CONTEND_BENCH_CPU_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/contract/bench.h"

/* The dimensions of their values. */
enum { BY_A = 1, BY_B };
extern const struct bench_dim pairs_dims[];

size_t pairs_count(unsigned n);

/* 0..pairs_count - 1; a != b, in either order. */
size_t pairs_index(unsigned n, unsigned a, unsigned b);

/*
 * A round-robin tournament: in pairs_slots(n) slots everybody meets everybody else once, in each
 * slot at most one. The circle method: one player stays, the others move up one seat a slot; of an
 * odd number, one rests in each slot.
 */
unsigned pairs_slots(unsigned n);

/* Whom `player` meets in `slot`; -1 = rests. */
int pairs_opponent(unsigned n, unsigned slot, unsigned player);

/*
 * A balanced plan of who is busy when: `runs` runs a pass, each with about half of the players
 * busy. Over all runs, each of the four states of any two players is equally often, and each of the
 * eight of any three: when two groups of runs differ in what b does, c does in both the same.
 * Two runs (all, nobody) would add nothing and are left out, which unbalances it by 1/runs.
 *
 * A two-level fold-over design: rows of Sylvester's Hadamard matrix and their negatives, an
 * orthogonal array of strength 3 (Hedayat, Sloane & Stufken, "Orthogonal Arrays", 1999, ch. 7).
 * Which column of it a player has is drawn anew for every pass: neighbours would otherwise be busy
 * together in a regular pattern.
 */
struct pairs_plan {
    unsigned n, passes;
    unsigned ncolumns, runs;
    unsigned *columns; /* [passes][ncolumns]; the first n of each */
};

/* How many runs a pass over n players has. */
unsigned pairs_runs(unsigned n);

/* False: no memory. Free also then. */
bool pairs_plan_init(struct pairs_plan *plan, unsigned n, unsigned passes, uint64_t seed);
void pairs_plan_free(struct pairs_plan *plan);

bool pairs_busy(const struct pairs_plan *plan, unsigned pass, unsigned run, unsigned player);

/*
 * How much a and b slow each other: sqrt(s(a,b) s(b,a)), s(a,b) = mean rate of a over the runs in
 * which b sleeps / over those in which b is busy. `rates` is [passes][runs][n]; NaN = none, as for
 * who slept. NaN where one of the four means has no rates.
 */
double pairs_slowdown(const struct pairs_plan *plan, const float *rates, unsigned a, unsigned b);

/* Fisher-Yates: order[0..n-1] becomes a random order of 0..n-1. */
void pairs_shuffle(unsigned *order, unsigned n, uint64_t seed);

/* Whether the log of values has room for `metrics` values of each pair, and one beside them. */
bool pairs_have_room(unsigned n, unsigned metrics);

/*
 * Whether all pairs of n CPUs, each for so long, one after the other, are done before a scan counts
 * as hung: half of the least that a run gives it, or so many of its budget
 * (harness/engine/run/times.c).
 */
bool pairs_fit_one_by_one(unsigned n, double pair_s, double budget_s);

/* -ENOTSUP for one CPU, and for more than `metrics` values a pair leave room for. */
int pairs_probe(const struct bench_ctx *ctx, unsigned metrics);

/*
 * Emits at the os_cpu of both, the smaller one first. NaN = not measured: emits nothing. `doubt` as
 * in bench_emit_doubt.
 */
void pairs_emit(struct bench_ctx *ctx, unsigned metric, unsigned a, unsigned b, double value,
                const char *doubt);

#endif
