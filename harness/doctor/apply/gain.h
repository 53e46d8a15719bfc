/*
 * The gain of a change: the speed of a job in blocks of time, from its progress, and the ratio of
 * pairs of blocks with its interval. Pure.
 */
#ifndef CONTEND_DOCTOR_APPLY_GAIN_H
#define CONTEND_DOCTOR_APPLY_GAIN_H

#include <stdbool.h>
#include <stddef.h>

/* When a number was first seen: a total that grows, or a rate. */
struct gain_sample {
    double at_s, value;
};

/*
 * How fast a total grew from one time to the other, a second. It counts the part between of the
 * steps at both ends, so that a slow job is not measured in whole steps. The first sample is the
 * total when the block began, the others are sorted. NaN: fewer than two steps ended there.
 */
double gain_growth(const struct gain_sample *samples, size_t n, double from_s, double to_s);

/* How many of them were seen from the one time to the other. */
size_t gain_count(const struct gain_sample *samples, size_t n, double from_s, double to_s);

/*
 * The mean of the rates seen from the one time to the other; `leave_first`: the first of them is an
 * average of time before. NaN where there is none.
 */
double gain_mean(const struct gain_sample *samples, size_t n, double from_s, double to_s,
                 bool leave_first);

enum { GAIN_PAIRS_LEAST = 2, GAIN_PAIRS_WANTED = 6, GAIN_PAIRS_MOST = 64 };

/*
 * How long the next blocks are at the least, so that GAIN_PAIRS_WANTED pairs fit into what is left
 * of the time, each block behind a change that takes so long; `done` pairs were measured.
 */
double gain_block_s(double left_s, double change_s, size_t done, double shortest_s,
                    double longest_s);

enum gain_verdict {
    GAIN_PROVEN,  /* the interval is above 1 */
    GAIN_NONE,    /* more than 5% is excluded, or it is slower */
    GAIN_UNCLEAR, /* neither; or fewer than GAIN_PAIRS_LEAST pairs */
};
/* "proven", "none", "unclear": for scripts. */
extern const char *const gain_verdict_names[];

/* Rates of neighbouring blocks without the change and with it. */
struct gain_pairs {
    size_t n;
    bool are_starts; /* each block is of a job started for it: gain_make */
    double before[GAIN_PAIRS_MOST], after[GAIN_PAIRS_MOST];
};

struct gain {
    enum gain_verdict verdict;
    double before, after;    /* mean rates */
    double ratio, low, high; /* after to before; NaN = not known */
};

/*
 * The geometric mean of the ratios, and its 95% interval by Student's t over logarithms. For one
 * job that runs, over those of the ratios: drift of the machine cancels within a pair.
 *
 * Starts differ by themselves, and the two of a pair are no more alike than others. So their
 * interval is by how much those of the same kind differ, pooled: with two pairs a third as wide.
 * Where the change does nothing, both kinds are of one distribution, and 2.5% of trials call it a
 * gain, however few pairs. For the size of a gain, starts are taken to differ as much with the
 * change as without; where the one kind hardly differs, two pairs cover 85%, four 91%.
 *
 * All rates are above 0.
 */
struct gain gain_make(const struct gain_pairs *pairs);

#endif
