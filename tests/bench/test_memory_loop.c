/* The control of memory doses, against a model of the machine. */
#include "bench/dose/dose_memory.h"
#include "tests/lib/unit.h"

/* The probe's speed without aggressors beside an idle and a busy worker, and what it keeps of it
 * while so many aggressors press. */
struct model {
    double idle, busy;
    double (*kept)(unsigned active, bool busy);
    unsigned on, off; /* steps of the worker */
};

static double kept_by_one(unsigned active, bool busy)
{
    return active == 1 ? (busy ? 0.55 : 0.5) : 0.3;
}

/* One aggressor takes too little, eight are just enough. */
static double kept_by_many(unsigned active, bool busy)
{
    (void)busy;
    return 1 - 0.04 * active;
}

static struct probe_speeds step_of(const struct model *model, const struct memory_loop *loop,
                                   unsigned step)
{
    const bool busy = step % (model->on + model->off) >= model->off;
    const double resting = busy ? model->busy : model->idle;
    const double pressing = resting * model->kept(loop->active, busy);
    return (struct probe_speeds){
        .all = resting * (1 - loop->share) + pressing * loop->share,
        .resting = resting,
        .pressing = loop->share > 0 ? pressing : (double)NAN,
    };
}

struct means {
    double held, kept; /* said by the loop, and true, while the worker is busy */
};

/* After two seconds, for a minute. */
static struct means run(const struct model *model, struct memory_loop *loop)
{
    struct means sum = {0};
    unsigned n = 0;
    for (unsigned i = 0; i < 620; i++) {
        const struct probe_speeds step = step_of(model, loop, i);
        const double held = memory_loop_step(loop, &step);
        const bool busy = i % (model->on + model->off) >= model->off;
        if (i < 20 || !busy)
            continue;
        sum.held += held;
        sum.kept += step.all / step.resting;
        n++;
    }
    return (struct means){sum.held / n, sum.kept / n};
}

TEST(memory_loop_holds_its_target)
{
    static const double targets[] = {0.95, 0.8, 0.6};
    const struct model model = {10, 10, kept_by_one, 1, 0};
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        struct memory_loop loop;
        /* The calibration found an effect that is too large. */
        memory_loop_init(&loop, targets[i], 4, 1, 10, 4);
        assert_true(fabs(run(&model, &loop).kept - targets[i]) < 0.005);
    }
}

/* A worker's own traffic is no part of the dose: it moves a lot of memory every other second. */
TEST(memory_loop_holds_its_target_beside_bursts)
{
    static const unsigned on[] = {5, 10, 30};
    for (size_t i = 0; i < sizeof(on) / sizeof(on[0]); i++) {
        const struct model model = {10, 7, kept_by_one, on[i], on[i]};
        struct memory_loop loop;
        memory_loop_init(&loop, 0.8, 4, 1, 10, 5);
        const struct means means = run(&model, &loop);
        assert_true(fabs(means.held - means.kept) < 1e-9);
        assert_true(fabs(means.kept - 0.8) < 0.02);
    }
}

/* Two steps after a change the level is held again, so that short scans have the dose too. */
TEST(memory_loop_follows_its_workers_at_once)
{
    const struct model model = {10, 7, kept_by_one, 10, 10};
    struct memory_loop loop;
    memory_loop_init(&loop, 0.8, 4, 1, 10, 5);
    for (unsigned i = 0; i < 200; i++) {
        const struct probe_speeds step = step_of(&model, &loop, i);
        (void)memory_loop_step(&loop, &step);
        assert_true(i < 20 || i % 10 < 2 || fabs(step.all / step.resting - 0.8) < 0.01);
    }
}

TEST(memory_loop_takes_more_aggressors_where_few_take_too_little)
{
    const struct model model = {10, 10, kept_by_many, 1, 0};
    struct memory_loop loop;
    memory_loop_init(&loop, 0.8, 15, 1, 10, 9.6);
    assert_true(fabs(run(&model, &loop).kept - 0.8) < 0.03);
    assert_int_equal(loop.active, 8);
}

TEST(memory_loop_takes_fewer_aggressors_where_many_take_too_much)
{
    const struct model model = {10, 10, kept_by_many, 1, 0};
    struct memory_loop loop;
    memory_loop_init(&loop, 0.99, 15, 15, 10, 4);
    assert_true(fabs(run(&model, &loop).kept - 0.99) < 0.005);
    assert_true(loop.active < 8);
}

/* Out of reach: all aggressors press for most of the time, and the level says it. */
TEST(memory_loop_says_what_is_out_of_reach)
{
    const struct model model = {10, 10, kept_by_many, 1, 0};
    struct memory_loop loop;
    memory_loop_init(&loop, 0.3, 15, 15, 10, 4);
    const struct means means = run(&model, &loop);
    assert_true(fabs(loop.share - 0.9) < 1e-9);
    assert_true(fabs(means.held - (1 - 0.9 * 0.6)) < 1e-9);
}

TEST(memory_loop_without_a_dose_rests)
{
    const struct model model = {10, 7, kept_by_one, 5, 5};
    struct memory_loop loop;
    memory_loop_init(&loop, 1, 4, 1, 10, 5);
    assert_true(fabs(run(&model, &loop).held - 1) < 1e-9);
    assert_true(loop.share == 0);
}

/* A step without measurements leaves the share as it is. */
TEST(memory_loop_bears_steps_without_speeds)
{
    const struct probe_speeds none = {NAN, NAN, NAN};
    const struct model model = {10, 10, kept_by_one, 1, 0};
    struct memory_loop loop;
    memory_loop_init(&loop, 0.8, 4, 1, 10, 5);
    const double share = loop.share;
    assert_true(isnan(memory_loop_step(&loop, &none)));
    assert_true(fabs(loop.share - share) < 1e-9);
    assert_true(fabs(run(&model, &loop).kept - 0.8) < 0.02);
}
