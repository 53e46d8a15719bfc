/* Which threads of a job are outside its plan, who set their masks, and which process is which
 * worker. */
#include "harness/doctor/checks/check.h"

#include "tests/lib/fixture_view.h"
#include "tests/lib/unit.h"

static struct view_plan_worker workers[2];
static struct view_plan plan;

/* Two workers, on the CPUs of a node each; the second has a thread there. */
static void plant_plan(void)
{
    view_plant(2);
    for (size_t w = 0; w < 2; w++)
        workers[w] = (struct view_plan_worker){.number = (unsigned)w,
                                               .pid = 100 + (int)w,
                                               .cpus = machine.masks[MASK_LOW + w],
                                               .threads = 2};
    plan = (struct view_plan){.file = "plan file", .n = 2, .workers = workers};
    machine.view.plan = &plan;
    machine.processes[1].mask = MASK_HIGH;
    view_add_task(1, MASK_HIGH, 9, 1);
}

/* Looks, and then again with these masks of worker 0, which had `then` (-1 = a new thread). */
static struct plan_drift look_twice(const int *then, const int *now, size_t n, double oncpu_s)
{
    plant_plan();
    for (size_t t = 0; t < n; t++)
        view_add_task(0, then[t], oncpu_s, 0);
    machine.processes[0].mask = then[0];
    plan_look(&machine.view, &plan);
    machine.view.now_s = 1;
    for (size_t t = 0; t < n; t++) {
        struct view_task *task = &machine.tasks[0][t];
        task->mask = now[t];
        task->mask_then = then[t];
        task->since_s = now[t] == then[t] ? 0 : 1;
    }
    machine.processes[0].mask = now[0];
    plan_look(&machine.view, &plan);
    view_judge();
    return plan_drift_of(&machine.view, &machine.processes[0]);
}

TEST(only_threads_beyond_the_planned_cpus_are_outside)
{
    static const struct {
        int then[3], now[3];
        unsigned outside, fresh, returned;
    } cases[] = {{{MASK_LOW, 0, 1}, {MASK_LOW, 0, 1}, 0, 0, 0}, /* as OpenMP binds */
                 {{MASK_LOW, 0, 1}, {MASK_LOW, 2, 1}, 1, 1, 0},
                 {{MASK_LOW, 2, 1}, {MASK_LOW, 2, 1}, 1, 0, 0},
                 {{MASK_LOW, 2, 1}, {MASK_LOW, 1, 1}, 0, 0, 1},
                 {{MASK_LOW, 0, -1}, {MASK_LOW, 0, MASK_ALL}, 1, 1, 0},
                 {{MASK_LOW, 0, 1}, {MASK_ALL, MASK_ALL, MASK_ALL}, 3, 3, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct plan_drift drift = look_twice(cases[i].then, cases[i].now, 3, 1);
        assert_int_equal(drift.outside, cases[i].outside);
        assert_int_equal(drift.fresh, cases[i].fresh);
        assert_int_equal(drift.returned, cases[i].returned);
        assert_int_equal(view_look_for("plan_drift") != NULL, cases[i].outside > 0);
    }
}

/* Threads that keep the plan stay as they are. */
TEST(only_threads_outside_are_bound)
{
    look_twice((int[]){MASK_LOW, 0, 1}, (int[]){MASK_LOW, 2, 1}, 3, 1);
    const struct found *found = view_found("plan_drift");
    assert_string_equal(found->finding.command, "taskset -cp 0-1 101");
    assert_int_equal(found->binds.n, 1);
    assert_int_equal(found->binds.all[0].tid, 101);
    look_twice((int[]){0, 0, 1}, (int[]){2, 2, 2}, 3, 1);
    assert_string_equal(view_found("plan_drift")->finding.command, "taskset -acp 0-1 100");
}

/* The mask that NCCL left on the first thread, which all others inherit: CPUs of the plan, too few.
 */
TEST(busy_threads_on_a_part_of_the_plan_are_narrowed)
{
    const int all_low[] = {MASK_LOW, MASK_LOW, MASK_LOW}, all_first[] = {0, 0, 0};
    assert_int_equal(look_twice(all_low, all_first, 3, 1).outside, 0); /* few are busy */
    assert_int_equal(look_twice(all_low, all_first, 3, 6).outside, 3);
    assert_has(view_found("plan_drift")->finding.sentence, "narrowed");
    for (size_t t = 0; t < 3; t++) { /* it rests */
        machine.tasks[0][t].oncpu_s = 0;
        machine.tasks[0][t].mask_then = 0;
    }
    plan_look(&machine.view, &plan);
    assert_int_equal(plan_drift_of(&machine.view, &machine.processes[0]).outside, 3);
    assert_int_equal(plan_drift_of(&machine.view, &machine.processes[0]).fresh, 0);
    machine.tasks[0][0].mask = machine.tasks[0][1].mask = machine.tasks[0][2].mask = MASK_LOW;
    plan_look(&machine.view, &plan);
    assert_int_equal(plan_drift_of(&machine.view, &machine.processes[0]).returned, 3);
    const int bound[] = {0, 1, 1}; /* one more than CPUs, but all CPUs are in use */
    assert_int_equal(look_twice(bound, bound, 3, 6).outside, 0);
}

static const char *setter_of(const struct plan_drift *drift)
{
    const char *why;
    return plan_find_setter(&machine.view, drift, &why);
}

TEST(who_set_the_masks_is_told_by_what_changed)
{
    static const struct {
        int then[3], now[3];
        const char *setter, *with_openmp;
    } cases[] = {
        {{0, 0, 1}, {2, 2, 2}, "outside", "outside"},
        {{0, 0, 1}, {0, 2, 1}, "thread", "openmp"},
        {{0, -1, -1}, {2, 2, 2}, "unknown", "openmp"},
        {{2, -1, -1}, {2, 2, 2}, "inherited", "openmp"},
    };
    static char setting[] = "OMP_PROC_BIND=close", off[] = "OMP_PROC_BIND=false";
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct plan_drift drift = look_twice(cases[i].then, cases[i].now, 3, 1);
        machine.about[0].libraries = LIBRARY_GOMP | LIBRARY_NCCL;
        assert_string_equal(setter_of(&drift), cases[i].setter);
        machine.processes[0].settings = off;
        machine.processes[0].settings_size = sizeof(off);
        assert_string_equal(setter_of(&drift), cases[i].setter);
        machine.processes[0].settings = setting;
        machine.processes[0].settings_size = sizeof(setting);
        assert_string_equal(setter_of(&drift), cases[i].with_openmp);
    }
}

TEST(masks_of_the_first_look_are_compared_with_those_of_the_parent)
{
    static const struct {
        int mask, parent_mask, second;
        const char *setter;
    } cases[] = {{2, 2, 2, "inherited"},
                 {2, MASK_ALL, 2, "start"},
                 {MASK_LOW, MASK_ALL, 2, "thread"},
                 {2, MASK_ALL, 3, "unknown"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        plant_plan();
        view_add_task(0, cases[i].mask, 1, 0);
        view_add_task(0, cases[i].second, 1, 0);
        machine.processes[0].mask = cases[i].mask;
        machine.processes[0].parent_mask = cases[i].parent_mask;
        plan_look(&machine.view, &plan);
        const struct plan_drift drift = plan_drift_of(&machine.view, &machine.processes[0]);
        assert_string_equal(setter_of(&drift), cases[i].setter);
        assert_int_equal(drift.fresh, drift.outside);
    }
}

static int match(const pid_t *pids, size_t npids)
{
    const char *how;
    struct err err;
    workers[0].pid = workers[1].pid = 0;
    return plan_match(&machine.view, pids, npids, &plan, &how, &err);
}

TEST(more_busy_threads_and_far_pages_are_a_warning)
{
    plant_plan();
    for (int t = 0; t < 3; t++)
        view_add_task(0, MASK_LOW, 9, 1);
    machine.about[0].node_bytes[0] = machine.about[0].node_bytes[1] = UINT64_C(1) << 30;
    match((pid_t[]){100, 101}, 2);
    plan_look(&machine.view, &plan);
    view_judge();
    const struct finding *finding = &view_found("plan_exceeded")->finding;
    assert_int_equal(finding->severity, FINDING_DOUBT);
    assert_has(finding->sentence, "3 threads are busy, 2 are planned");
    assert_has(finding->sentence, "50%");
    assert_string_equal(finding->command, "migratepages 100 all 0");
    assert_null(view_look_for("plan_drift"));
}

TEST(workers_are_found_by_pid_by_rank_and_by_cpus)
{
    static char second[] = "LOCAL_RANK=1", first[] = "LOCAL_RANK=0";
    plant_plan();
    view_add_task(0, MASK_LOW, 9, 1);
    assert_int_equal(match((pid_t[]){101, 100}, 2), 0);
    assert_int_equal(workers[0].pid, 101);
    assert_int_equal(match(NULL, 0), 0);
    assert_int_equal(workers[0].pid, 100);
    machine.processes[0].settings = second;
    machine.processes[1].settings = first;
    machine.processes[0].settings_size = machine.processes[1].settings_size = sizeof(first);
    assert_int_equal(match(NULL, 0), 0);
    assert_int_equal(workers[0].pid, 101);
    machine.processes[0].settings = first; /* two jobs: the CPUs tell */
    assert_int_equal(match(NULL, 0), 0);
    assert_int_equal(workers[0].pid, 100);
    machine.tasks[0][0].mask = MASK_HIGH; /* both are as near */
    assert_int_equal(match(NULL, 0), -ESRCH);
    assert_int_equal(match((pid_t[]){100}, 1), -ESRCH);
}
