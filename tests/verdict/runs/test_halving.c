/* The search on simulated settings whose true rates are known. */
#include "harness/lib/stats.h"
#include "harness/verdict/runs/halving.h"
#include "tests/lib/fixture_sim.h"
#include "tests/lib/unit.h"

enum { ARMS = 48, SEARCHES = 400, FRESH = 15 };

struct machine {
    size_t n;
    double rate[ARMS];
    struct halving_arm arms[ARMS];
    double noise,
        drift; /* standard deviations of the logarithm: of an arm's round, of a round as a whole */
    uint64_t chance;
};

/* A third of the settings is two to forty times slower, like oversubscribed ones; the others at
 * most 40%. */
static void make_machine(struct machine *machine, size_t n, uint64_t seed)
{
    *machine = (struct machine){.n = n, .noise = 0.05, .drift = 0.2, .chance = seed};
    for (size_t i = 0; i < n; i++) {
        double loss = sim_uniform(&machine->chance) < 0.33
                          ? 2 * exp(3 * sim_uniform(&machine->chance))
                          : 1 + 0.4 * sim_uniform(&machine->chance);
        machine->rate[i] = 1000 / loss;
        machine->arms[i].effort = (unsigned)(random_next(&machine->chance) % 6);
    }
}

/* Measures a round; returns its time, 1 s for each arm. */
static double measure(struct machine *machine, double *rates)
{
    double drift = machine->drift * sim_normal(&machine->chance), seconds = 0;
    for (size_t i = 0; i < machine->n; i++) {
        rates[i] = machine->rate[i] * exp(drift + machine->noise * sim_normal(&machine->chance));
        seconds += !machine->arms[i].dropped;
    }
    return seconds;
}

static void search(struct machine *machine, struct halving *halving, double budget_s)
{
    double rates[ARMS];
    *halving = (struct halving){
        .n = machine->n, .arms = machine->arms, .budget_s = budget_s, .tolerance = 0.05};
    do {
        double seconds = measure(machine, rates);
        assert_int_equal(halving_record(halving, rates, seconds, NULL), 0);
    } while (halving_goes_on(halving));
}

/* Like tune: the simplest setting that fresh rounds do not show to be further behind. */
static size_t choose(struct machine *machine, const struct halving *halving)
{
    size_t leader = halving_leader(halving);
    const size_t simple[] = {halving_possible(halving, leader), halving_simplest(halving, leader)};
    double ahead[2][FRESH], rates[ARMS];
    for (size_t r = 0; r < FRESH; r++) {
        (void)measure(machine, rates);
        for (size_t i = 0; i < 2; i++)
            ahead[i][r] = rates[leader] / rates[simple[i]];
    }
    for (size_t i = 0; i < 2; i++) {
        bool behind = stats_sort_median(ahead[i], FRESH) > 1.05 &&
                      stats_median_interval(ahead[i], FRESH).low > 1;
        if (!behind)
            return simple[i];
    }
    return leader;
}

static double best_rate(const struct machine *machine)
{
    double best = 0;
    for (size_t i = 0; i < machine->n; i++)
        best = fmax(best, machine->rate[i]);
    return best;
}

/* Checks the leader of the search; for the chosen one the tolerance is 5%, and rounds differ by
 * 5%. */
TEST(halving_finds_a_setting_near_the_best)
{
    static const size_t sizes[] = {2, 5, 12, 24, ARMS};
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        unsigned led = 0, chosen = 0;
        double spent = 0;
        for (unsigned i = 0; i < SEARCHES; i++) {
            struct machine machine;
            AUTO(halving) halving;
            make_machine(&machine, sizes[s], 7919 * (uint64_t)i + sizes[s]);
            search(&machine, &halving, 10 * (double)sizes[s]);
            double best = best_rate(&machine);
            led += machine.rate[halving_leader(&halving)] >= best / 1.03;
            chosen += machine.rate[choose(&machine, &halving)] >= best / 1.07;
            spent += halving.spent_s / (double)sizes[s] / SEARCHES;
        }
        print_message(
            "%zu settings: leader %u of %d within 3%%, chosen %u within 7%%, %.1f rounds\n",
            sizes[s], led, SEARCHES, chosen, spent);
        assert_true(led >= 0.95 * SEARCHES && chosen >= 0.9 * SEARCHES);
    }
}

TEST(halving_prefers_the_simpler_of_equals)
{
    unsigned simplest = 0;
    for (unsigned i = 0; i < SEARCHES; i++) {
        struct machine machine;
        AUTO(halving) halving;
        make_machine(&machine, 8, i);
        for (size_t a = 0; a < machine.n; a++) {
            machine.rate[a] = a < 4 ? 100 : 50;
            machine.arms[a].effort =
                4 - (unsigned)a % 4; /* the last of the fast settings needs least effort */
        }
        machine.noise = 0.01;
        search(&machine, &halving, 80);
        simplest += choose(&machine, &halving) == 3;
    }
    print_message("the simplest of four equals in %u of %d\n", simplest, SEARCHES);
    assert_true(simplest >= 0.95 * SEARCHES);
}

TEST(halving_keeps_to_its_time)
{
    static const double budgets[] = {0, 10, 25, 60, 200};
    for (size_t b = 0; b < sizeof(budgets) / sizeof(budgets[0]); b++) {
        struct machine machine;
        AUTO(halving) halving;
        make_machine(&machine, 20, b);
        search(&machine, &halving, budgets[b]);
        assert_true(halving.spent_s <= fmax(budgets[b], 20)); /* at least one round */
        assert_true(halving_left(&halving) <= 11);            /* and one cut */
    }
}

TEST(halving_leaves_out_what_failed)
{
    struct halving_arm arms[3] = {{.effort = 0}, {.effort = 1}, {.effort = 2}};
    AUTO(halving) halving = {.n = 3, .arms = arms, .budget_s = 100, .tolerance = 0.03};
    assert_int_equal(halving_record(&halving, (double[]){100, NAN, 99}, 3, NULL), 0);
    assert_true(arms[1].failed && arms[1].dropped);
    assert_true(halving_goes_on(&halving));
    assert_int_equal(halving_leader(&halving), 0);
    assert_int_equal(halving_record(&halving, (double[]){0, 100, 99}, 3, NULL), 0);
    assert_true(arms[0].failed && isnan(halving_ahead(&halving, 1, 0)));
    assert_int_equal(halving_leader(&halving), 2);
    assert_int_equal(halving_simplest(&halving, 2), 2);
    assert_int_equal(halving_record(&halving, (double[]){100, 100, 0}, 3, NULL), 0);
    assert_int_equal(halving_left(&halving), 0);
    assert_int_equal(halving_leader(&halving), 3);
    assert_false(halving_goes_on(&halving));
}

/* With rounds that measured only some arms, differences between rounds do not count as differences
 * between arms. */
TEST(halving_compares_in_common_rounds_alone)
{
    struct halving_arm arms[2] = {{.effort = 0}, {.effort = 1}};
    AUTO(halving) halving = {.n = 2, .arms = arms, .budget_s = 100, .tolerance = 0.03};
    assert_int_equal(halving_record(&halving, (double[]){100, 102}, 1, NULL), 0);
    arms[0].dropped = true;
    assert_int_equal(halving_record(&halving, (double[]){100, 300}, 1, NULL), 0);
    assert_true(fabs(halving_ahead(&halving, 1, 0) - log(1.02)) < 1e-12);
    assert_int_equal(halving_simplest(&halving, 1), 0);
}
