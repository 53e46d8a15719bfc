#include "tests/lib/fixture_fleet.h"

#include "harness/lib/stats.h"
#include "tests/lib/unit.h"

/* Above 0, so that its logarithm is finite. */
static double uniform(uint64_t *state)
{
    return random_share(state) + 0x1p-54;
}

/* Box and Muller 1958. */
static double normal(uint64_t *state)
{
    double radius = sqrt(-2 * log(uniform(state)));
    return radius * cos(2 * acos(-1) * uniform(state));
}

/* Student's t with 5 degrees of freedom, scaled to a standard deviation of 1. */
static double heavy(uint64_t *state)
{
    double squares = 0, top = normal(state);
    for (int i = 0; i < 5; i++) {
        double one = normal(state);
        squares += one * one;
    }
    return top / sqrt(squares / 3);
}

char *fixture_fleet_key(unsigned figure, char key[static FLEET_KEY_MAX])
{
    char params[64];
    put_text(params, "size=64;slots=1;op=%u;gpu=%u", figure / 2, figure % 2);
    const char *columns[FLEET_COLUMNS] = {"scan", "none", "1",    "foreground",
                                          "scan", params, "cuda", "rate"};
    assert_true(fleet_key_join(columns, key) > 0);
    return key;
}

static void add_value(struct fleet *fleet, uint32_t run, unsigned figure, double value)
{
    char key[FLEET_KEY_MAX];
    const struct fleet_figure of = {.unit = "GB/s", .higher = true, .value = value};
    (void)fixture_fleet_key(figure, key);
    assert_int_equal(fleet_add_value(fleet, run, key, strlen(key), &of, NULL), 0);
}

static uint32_t add_run(struct fleet *fleet, const char *name, uint64_t started)
{
    uint32_t run;
    const struct fleet_origin origin = {name, "", "1 x CPU, 2 GPUs", started};
    assert_int_equal(fleet_add_run(fleet, &origin, &run, NULL), 0);
    return run;
}

void fixture_fleet_add(struct fleet *fleet, const char *name, uint64_t started, unsigned figure,
                       double value)
{
    add_value(fleet, add_run(fleet, name, started), figure, value);
}

/* Logarithm of the factor that this run's figure is off by. */
static double off_by(const struct fixture_fleet *with, unsigned machine, unsigned run,
                     unsigned figure)
{
    unsigned runs = with->runs ? with->runs : 1;
    if (machine >= with->nbad || with->ratio <= 0 || figure != machine % with->figures)
        return 0;
    double share = with->drifts ? run / (runs - 1.0) : 1;
    return share * log(with->ratio);
}

void fixture_fleet_make(const struct fixture_fleet *with, struct fleet *fleet)
{
    uint64_t state = with->seed;
    enum { FIGURES = 600 };
    double own[FIGURES];
    assert_true(with->figures <= FIGURES);
    *fleet = (struct fleet){0};
    for (unsigned machine = 0; machine < with->machines; machine++) {
        char name[16];
        put_text(name, "m%u", machine);
        for (unsigned i = 0; i < with->figures; i++)
            own[i] = with->machine_spread * normal(&state) -
                     (with->modes && i % 2 && uniform(&state) < 0.3 ? 0.08 : 0);
        for (unsigned run = 0; run < (with->runs ? with->runs : 1); run++) {
            uint32_t number = add_run(fleet, name, run);
            for (unsigned i = 0; i < with->figures; i++) {
                double noise = with->heavy ? heavy(&state) : normal(&state);
                double away = own[i] + with->run_spread * noise + off_by(with, machine, run, i);
                if (!(with->lacks && machine < with->nbad && i % 2))
                    add_value(fleet, number, i, 100 * exp(away));
            }
        }
    }
    assert_int_equal(fleet_arrange(fleet, NULL), 0);
}
