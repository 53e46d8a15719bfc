/*
 * Shared by the scans over all pairs of CPUs: numbering, schedules, and the values they emit.
 *
 * A CPU is a number 0..n-1: its index in ctx->machine->cpus.
 */
#ifndef CONTEND_BENCH_CPU_PAIRS_H
#define CONTEND_BENCH_CPU_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/engine/contract/bench.h"

/* The dimensions of the values of a pair. */
enum { BY_A = 1, BY_B };
extern const struct bench_dim pairs_dims[];

size_t pairs_count(unsigned n);

/* Returns 0..pairs_count - 1; a != b, in either order. */
size_t pairs_index(unsigned n, unsigned a, unsigned b);

/*
 * A round-robin tournament by the circle method: in pairs_slots(n) slots each CPU is paired with
 * every other CPU once, and with at most one a slot. If n is odd, one CPU sleeps in each slot.
 */
unsigned pairs_slots(unsigned n);

/* The CPU that `cpu` is paired with in `slot`; -1 = none. */
int pairs_partner(unsigned n, unsigned slot, unsigned cpu);

/*
 * A balanced plan of which CPUs are busy in which run: a pass has `runs` runs, each with about
 * half of the CPUs busy. Over all runs, the four states of any two CPUs are equally frequent,
 * and so are the eight states of any three. If runs are grouped by the state of b, any c is busy
 * equally often in both groups. The two runs with all CPUs busy, or none, would add nothing and
 * are left out, which unbalances the plan by 1/runs.
 *
 * A two-level fold-over design: rows of Sylvester's Hadamard matrix and their negatives, an
 * orthogonal array of strength 3 (Hedayat, Sloane & Stufken, "Orthogonal Arrays", 1999, ch. 7).
 * Every pass draws the column of each CPU anew: otherwise neighbouring CPUs would be busy
 * together in a regular pattern.
 */
struct pairs_plan {
    unsigned n, passes;
    unsigned ncolumns, runs;
    unsigned *columns; /* [passes][ncolumns]; the first n of each */
};

/* Runs in a pass over n CPUs. */
unsigned pairs_runs(unsigned n);

/* False: no memory; call pairs_plan_free also then. */
bool pairs_plan_init(struct pairs_plan *plan, unsigned n, unsigned passes, uint64_t seed);
void pairs_plan_free(struct pairs_plan *plan);

bool pairs_busy(const struct pairs_plan *plan, unsigned pass, unsigned run, unsigned cpu);

/*
 * How much a and b slow each other: sqrt(s(a,b) s(b,a)), where s(a,b) = mean rate of a over the
 * runs in which b sleeps / mean rate over the runs in which b is busy. `rates` is
 * [passes][runs][n]; NaN = no rate, as for a CPU that slept. Returns NaN if one of the four
 * means has no rates.
 */
double pairs_slowdown(const struct pairs_plan *plan, const float *rates, unsigned a, unsigned b);

/* Fisher-Yates: order[0..n-1] becomes a random order of 0..n-1. */
void pairs_shuffle(unsigned *order, unsigned n, uint64_t seed);

/* True if the log of values has room for `metrics` values of each pair, plus one value. */
bool pairs_have_room(unsigned n, unsigned metrics);

/*
 * True if all pairs of n CPUs, one after the other for pair_s each, end before the scan counts as
 * hung. Allows 6 s, half of the shortest time limit of a run, or 8 budgets if that is more
 * (harness/engine/times.c).
 */
bool pairs_fit_one_by_one(unsigned n, double pair_s, double budget_s);

/* -ENOTSUP for one CPU, or if the log has no room for `metrics` values of each pair. */
int pairs_probe(const struct bench_ctx *ctx, unsigned metrics);

/*
 * Emits the value for the os_cpu of a and b, the smaller number first. NaN = not measured: emits
 * nothing. `doubt` is as in bench_emit_doubt.
 */
void pairs_emit(struct bench_ctx *ctx, unsigned metric, unsigned a, unsigned b, double value,
                const char *doubt);

#endif
