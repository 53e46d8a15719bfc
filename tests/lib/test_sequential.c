/* The sequential test on simulated rounds of which the truth is known; seeds are fixed. */
#include "harness/lib/stats.h"

#include "tests/lib/fixture_result.h"
#include "tests/lib/fixture_sim.h"
#include "tests/lib/trials.h"
#include "tests/lib/unit.h"

enum { ROUNDS_MOST = 400 };

static double cauchy(uint64_t *state)
{
    return tan(3.14159265358979323846 * (sim_uniform(state) - 0.5));
}

/* A machine model: what it adds to the logarithm of one observation. */
struct machine {
    uint64_t state;
    double level; /* current level of an autocorrelated drift */
    unsigned round;
};
typedef double observe(struct machine *machine, unsigned position);

static double on_normal(struct machine *machine, unsigned position)
{
    (void)position;
    return 0.05 * sim_normal(&machine->state);
}

static double on_cauchy(struct machine *machine, unsigned position)
{
    (void)position;
    return 0.03 * cauchy(&machine->state);
}

/* A third of all launches are 40% slower. */
static double on_two_modes(struct machine *machine, unsigned position)
{
    (void)position;
    return (sim_uniform(&machine->state) < 0.33 ? 0.4 : 0) + 0.02 * sim_normal(&machine->state);
}

/* The later arm of a round is slower, and the machine slows down over time, at a varying rate. */
static double on_drift(struct machine *machine, unsigned position)
{
    machine->level = 0.95 * machine->level + 0.05 * sim_normal(&machine->state);
    return machine->level + 0.1 * position + 0.002 * machine->round +
           0.02 * sim_normal(&machine->state);
}

/* Another process disturbs one arm of a round. */
static double on_spikes(struct machine *machine, unsigned position)
{
    (void)position;
    double spike = sim_uniform(&machine->state) < 0.05 ? 1 + sim_uniform(&machine->state) : 0;
    return spike + 0.04 * sim_normal(&machine->state);
}

/* Another process slows both arms, or one of them, for about six observations. */
static double on_bursts(struct machine *machine, unsigned position)
{
    (void)position;
    if (sim_uniform(&machine->state) < (machine->level > 0 ? 0.17 : 0.08))
        machine->level = machine->level > 0 ? 0 : 0.2 + 2 * sim_uniform(&machine->state);
    return machine->level + 0.03 * sim_normal(&machine->state);
}

/* Half of all launches are 50% slower, and nothing else varies: at most one threshold separates the
 * arms. */
static double on_even_modes(struct machine *machine, unsigned position)
{
    (void)position;
    return (sim_uniform(&machine->state) < 0.5 ? 0.4 : 0) + 0.002 * sim_normal(&machine->state);
}

/* The noise is ten times as large from the sixth round on. */
static double on_louder(struct machine *machine, unsigned position)
{
    (void)position;
    return (machine->round < 6 ? 0.01 : 0.1) * sim_normal(&machine->state);
}

/* The later arm of a round is 10% slower, and nothing else varies. */
static double on_position(struct machine *machine, unsigned position)
{
    return 0.1 * position + 0.002 * sim_normal(&machine->state);
}

static double on_walk(struct machine *machine, unsigned position)
{
    (void)position;
    machine->level += 0.1 * sim_normal(&machine->state);
    return machine->level;
}

static observe *const machines[] = {on_normal, on_cauchy,     on_two_modes, on_drift,    on_spikes,
                                    on_bursts, on_even_modes, on_louder,    on_position, on_walk};
enum { MACHINES = sizeof(machines) / sizeof(machines[0]) };

struct simulated {
    double x[ROUNDS_MOST], sum[ROUNDS_MOST], scale[ROUNDS_MOST], shift[ROUNDS_MOST];
    double scratch[ROUNDS_MOST];
    bool swapped[ROUNDS_MOST];
    struct sequential of;
};

/* Rounds of two arms in random order; the second arm takes longer by `effect`, a logarithm. */
static void simulate(observe *observe_one, double effect, uint64_t seed, size_t n,
                     struct simulated *s)
{
    struct machine machine = {.state = seed};
    for (size_t t = 0; t < n; t++) {
        size_t order[2];
        double seen[2];
        random_shuffle(seed ^ ((uint64_t)t << 32), 2, order);
        machine.round = (unsigned)t;
        for (unsigned position = 0; position < 2; position++)
            seen[order[position]] = observe_one(&machine, position);
        s->x[t] = seen[1] + effect - seen[0];
        s->sum[t] = seen[1] + effect + seen[0];
        s->swapped[t] = order[0] == 1;
    }
}

/* Prepares the test for the first n simulated rounds. */
static void prepare(struct simulated *s, size_t n)
{
    s->of = (struct sequential){.x = s->x,
                                .sum = s->sum,
                                .swapped = s->swapped,
                                .scale = s->scale,
                                .shift = s->shift,
                                .scratch = s->scratch,
                                .n = n};
    sequential_prepare(&s->of);
}

static void make(struct simulated *s, observe *observe_one, double effect, uint64_t seed, size_t n)
{
    simulate(observe_one, effect, seed, n, s);
    prepare(s, n);
}

/* The number of rounds after which the test first rejects "no difference"; 0 = never. */
static size_t rejected_at(struct simulated *s, double alpha)
{
    struct sequential of = s->of;
    for (of.n = 1; of.n <= s->of.n; of.n++)
        if (sequential_above(&of, 0) >= log(2 / alpha) ||
            sequential_below(&of, 0) >= log(2 / alpha))
            return of.n;
    return 0;
}

/* Tested after every round, at most 1% of comparisons of equal arms may be wrong. */
TEST(sequential_keeps_its_error_rate)
{
    static struct simulated s;
    const unsigned n = trials(4000, 1000);
    for (size_t m = 0; m < MACHINES; m++) {
        unsigned wrong = 0;
        for (unsigned trial = 0; trial < n; trial++) {
            make(&s, machines[m], 0, 100000 * m + trial, 30);
            wrong += rejected_at(&s, 0.01) != 0;
        }
        print_message("machine %zu: %u of %u equal pairs called at 1%%\n", m, wrong, n);
        assert_true(wrong <= trials_most(n, 0.01));
    }
}

/* Large differences need six rounds: always on an undisturbed machine, elsewhere in most
 * comparisons. */
TEST(sequential_finds_large_differences_early)
{
    static struct simulated s;
    static const struct {
        observe *machine;
        double effect;
        unsigned within, share; /* rounds; percentage that is decided by then, at least */
    } cases[] = {{on_normal, 0.26, 6, 85}, {on_normal, 0.69, 6, 90},    {on_cauchy, 0.69, 11, 60},
                 {on_drift, 0.69, 6, 75},  {on_two_modes, 0.69, 7, 45}, {on_spikes, 0.26, 7, 50},
                 {on_walk, 0.69, 7, 60}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        enum { TRIALS = 400 };
        unsigned called = 0;
        for (unsigned trial = 0; trial < TRIALS; trial++) {
            make(&s, cases[i].machine, cases[i].effect, 31000 + trial, cases[i].within);
            called += rejected_at(&s, 0.01) != 0 && sequential_above(&s.of, 0) > 0;
        }
        print_message("case %zu: %u of %u called within %u rounds\n", i, called, TRIALS,
                      cases[i].within);
        assert_true(100 * called >= cases[i].share * TRIALS);
    }
}

/* An existing difference is found, with its right direction. */
TEST(sequential_finds_a_difference)
{
    static struct simulated s;
    static const double effects[] = {0.05, 0.05, 0.05, -0.08, -0.05, 0.08, 0.1, 0.08, 0.2, -0.1};
    enum { TRIALS = 100 };
    for (size_t m = 0; m < MACHINES; m++) {
        unsigned found = 0;
        size_t rounds = 0;
        for (unsigned trial = 0; trial < TRIALS; trial++) {
            make(&s, machines[m], effects[m], 77 + 1000 * m + trial, 400);
            size_t at = rejected_at(&s, 0.01);
            s.of.n = at;
            double above = sequential_above(&s.of, 0), below = sequential_below(&s.of, 0);
            found += at && (effects[m] > 0) == (above > below);
            rounds += at;
        }
        print_message("machine %zu: %u of %u found, after %.0f rounds\n", m, found, TRIALS,
                      (double)rounds / (found ? found : 1));
        assert_true(found >= 95);
    }
}

/* The interval contains the truth at all looks simultaneously, and gets narrower. */
TEST(sequential_interval_holds_the_truth)
{
    static struct simulated s;
    const unsigned n = trials(60, 10);
    for (size_t m = 0; m < MACHINES; m++) {
        unsigned missed = 0;
        for (unsigned trial = 0; trial < n; trial++) {
            bool out = false;
            make(&s, machines[m], 0.1, 5000 * m + trial, 200);
            struct sequential of = s.of;
            for (of.n = 10; of.n <= 200; of.n += 10) {
                struct sequential_interval at = sequential_interval(&of, 0.05);
                assert_true(at.low <= at.high);
                out = out || at.low > 0.1 || at.high < 0.1;
            }
            missed += out;
        }
        assert_true(missed <= trials_most(n, 0.05));
    }
    make(&s, on_normal, 0.1, 3, 300);
    struct sequential_interval late = sequential_interval(&s.of, 0.05);
    s.of.n = 40;
    struct sequential_interval early = sequential_interval(&s.of, 0.05);
    assert_true(early.high - early.low > 1.5 * (late.high - late.low));
    assert_true(late.high - late.low < 0.06);
}

/* The test just rejects the values at the ends of the interval. */
TEST(sequential_interval_is_the_test)
{
    static struct simulated s;
    make(&s, on_spikes, 0.2, 11, 120);
    struct sequential_interval at = sequential_interval(&s.of, 0.01);
    assert_true(sequential_above(&s.of, at.low) >= log(200));
    assert_true(sequential_above(&s.of, at.low + 1e-6) < log(200));
    assert_true(sequential_below(&s.of, at.high) >= log(200));
    assert_true(sequential_below(&s.of, at.high - 1e-6) < log(200));
}

/* The first five rounds prove nothing, however large the difference; nor do rounds of a single
 * order. */
TEST(sequential_needs_some_rounds)
{
    static struct simulated s;
    for (size_t t = 0; t < 16; t++) {
        s.x[t] = 3 + 0.01 * (double)(t % 3);
        s.sum[t] = 5;
        s.swapped[t] = t % 2;
    }
    prepare(&s, 16);
    assert_true(sequential_interval(&s.of, 0.01).low > 2.9);
    assert_true(sequential_interval(&s.of, 0.01).high < 3.1);
    s.of.n = 6;
    assert_true(sequential_interval(&s.of, 0.01).low > 2.9);
    assert_true(sequential_interval(&s.of, 0.01).high < 3.1);
    for (size_t t = 0; t < 6; t++)
        s.swapped[t] = true;
    assert_true(isinf(sequential_interval(&s.of, 0.01).low));
    s.swapped[2] = false;
    s.of.n = 5;
    assert_true(isinf(sequential_interval(&s.of, 0.01).low));
    assert_true(isinf(sequential_interval(&s.of, 0.01).high));
    s.of.n = 0;
    assert_true(isinf(sequential_interval(&s.of, 0.01).low));
}

/* The evidence of four rounds with the same sign, from signs alone. */
static double by_signs(void)
{
    static const double lambda[] = {0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4,
                                    0.5,  0.6,  0.7, 0.8,  0.9, 0.99};
    double mean = 0;
    for (size_t k = 0; k < 13; k++)
        mean += pow(1 + lambda[k], 4) * (k == 12 ? 1.0 / 9 : 8.0 / 9 / 12);
    return 0.8 * mean;
}

/* By hand: four rounds with the same sign have (1 + lambda)^4. The first round doubles the bet on
 * separation. The second and the fourth lie on both sides of the line and win 3.6; the third does
 * not. */
TEST(sequential_evidence_by_hand)
{
    static struct simulated s = {.x = {1, 2, 1.5, 1}, .sum = {0, 1.9, -1.5, 0.5}};
    prepare(&s, 4);
    assert_near(sequential_above(&s.of, 0), log(by_signs()));
    s.swapped[3] = true;
    assert_near(s.shift[2], 1.5 + 0.95);
    assert_near(sequential_above(&s.of, 0), log(by_signs() + 0.2 * 2 * 3.6 * 0.4 * 3.6));
    for (size_t t = 0; t < 5; t++)
        s.x[t] = 0;
    prepare(&s, 5); /* equal values are no evidence */
    assert_near(sequential_above(&s.of, 0), log(0.8));
    assert_near(sequential_below(&s.of, 0), log(0.8));
}

/* The scale of a round comes from earlier rounds: twice their median distance from their median. */
TEST(sequential_scale_by_hand)
{
    static struct simulated s = {.x = {5, 1, 3, 2, 100, 4, 0}, .sum = {5, 1, 3, 2, 100, 4, 0}};
    prepare(&s, 7);
    assert_near(s.scale[4], 2 * 1.5); /* 1 2 3 5: median 2.5, 0.5 0.5 1.5 2.5 */
    assert_near(s.scale[5], 2 * 2);   /* 1 2 3 5 100: median 3, 0 1 2 2 97: 2 */
    assert_near(s.scale[6], 2 * 1.5); /* with 4: 3.5, 0.5 0.5 1.5 1.5 2.5 96.5 */
    assert_near(s.shift[0], 0);
    assert_near(s.shift[1], 4);
    assert_near(s.shift[5], 1); /* 1 2 3 5 100: median 3 */
    assert_near(s.shift[6], 3.5);
}
