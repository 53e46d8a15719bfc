/* Which running processes --apply binds: those of a finding's command, and no other. */
#include "harness/doctor/checks/cure.h"

#include "tests/lib/fixture_view.h"
#include "tests/lib/unit.h"

static void plant_two_on_one(size_t first, int mask, int cpus_busy)
{
    for (size_t w = first; w < first + 2; w++) {
        machine.processes[w].mask = mask;
        view_add_task(w, mask, 4.9, 5);
    }
    for (int cpu = 0; cpu < cpus_busy; cpu++)
        view_occupy((unsigned)cpu, 10);
}

static void spin(size_t worker, int mask)
{
    machine.processes[worker].mask = mask;
    machine.processes[worker].samples = 1000;
    machine.processes[worker].spins = 940;
    for (int t = 0; t < 4; t++) {
        view_add_task(worker, mask, 4.9, 5);
        (void)snprintf(machine.tasks[worker][t].from, VIEW_FROM_MAX, "lib/libgomp.so.1");
    }
}

static struct cure_plan decide(const struct diagnosis *from, bool tries)
{
    struct cure_plan plan;
    assert_int_equal(cure_decide(from, tries, &plan, NULL), 0);
    return plan;
}

/* What is bound is what the command says: writes the bindings as a command again. */
static void expect_command_bound(const struct cure_plan *plan, const char *command)
{
    char text[COMMAND_MAX] = "";
    for (size_t b = 0; b < plan->binds.n; b++)
        assert_true(check_append_bind(
            &machine.view, view_find(&machine.view, plan->binds.all[b].pid), plan->binds.all[b].tid,
            &plan->binds.all[b].cpus, text, sizeof(text)));
    assert_string_equal(text, command);
}

TEST(what_is_printed_is_bound)
{
    view_plant(2);
    view_plant_topo("node:1 core:4 pu:1");
    machine.view.nnodes = 1;
    machine.view.node_cpus[0] = view_range(0, 3);
    plant_two_on_one(0, 0, 1);
    view_judge();
    ENDED_BY(cure_free) struct cure_plan plan = decide(&diagnosis, false);
    const struct found *found = view_found("masks_overlap");
    assert_int_equal(found->cure, CURE_BIND);
    assert_int_equal(plan.binds.n, 2);
    expect_command_bound(&plan, found->finding.command);
    assert_int_equal(plan.nother, 0);
}

/* Pinning two spinning teams brought 66 steps/s where 2305 were. */
TEST(teams_that_need_fewer_threads_are_not_bound)
{
    view_plant(2);
    view_plant_topo("node:2 core:2 pu:1");
    spin(0, MASK_ALL);
    spin(1, MASK_ALL);
    view_occupy_all(9.9);
    view_judge();
    for (int tries = 0; tries < 2; tries++) {
        ENDED_BY(cure_free) struct cure_plan plan = decide(&diagnosis, tries);
        assert_int_equal(plan.binds.n, 0);
        assert_int_equal(plan.nother, 1);
        assert_string_equal(plan.other[0]->finding.id, "more_threads_than_cpus");
        assert_string_equal(cure_format_other(plan.other[0]),
                            "a start with 'export OMP_NUM_THREADS=2'");
    }
}

/* One job on CPUs 2 and 3 needs fewer threads, the other one, on CPU 0, gets CPU 1. */
TEST(each_job_has_its_own_cure)
{
    view_plant(4);
    view_plant_topo("node:2 core:2 pu:1");
    plant_two_on_one(0, 0, 1);
    spin(2, MASK_HIGH);
    spin(3, MASK_HIGH);
    view_occupy(2, 9.9);
    view_occupy(3, 9.9);
    view_judge();
    ENDED_BY(cure_free) struct cure_plan plan = decide(&diagnosis, false);
    const struct found *found = view_found("masks_overlap");
    expect_command_bound(&plan, found->finding.command);
    assert_int_equal(plan.binds.n, 1); /* the other one stays where it is */
    assert_int_equal(plan.binds.all[0].pid, 101);
    assert_int_equal(plan.nother, 1);
    assert_string_equal(plan.other[0]->finding.id, "more_threads_than_cpus");
    assert_true(cure_names(plan.other[0], 102) && !cure_names(plan.other[0], 100));
}

/* Without an idle CPU the gain is not known: a trial may bind, as it is measured and undone. */
TEST(a_note_is_tried_and_not_applied)
{
    view_plant(2);
    view_plant_topo("node:2 core:2 pu:1");
    plant_two_on_one(0, MASK_LOW, 4);
    view_judge();
    const struct finding *note = &view_found("masks_overlap")->finding;
    assert_int_equal(note->severity, FINDING_NOTE);
    assert_true(note->command[0] && strstr(note->sentence, "--verify"));
    ENDED_BY(cure_free) struct cure_plan plan = decide(&diagnosis, false);
    assert_int_equal(plan.binds.n, 0);
    assert_true(plan.is_unsure);
    cure_free(&plan);
    plan = decide(&diagnosis, true);
    assert_int_equal(plan.binds.n, 2);
}

TEST(healthy_processes_are_left_alone)
{
    view_plant(2);
    for (size_t w = 0; w < 2; w++) {
        machine.processes[w].mask = (int)w;
        view_add_task(w, (int)w, 9.9, 0.1);
        view_occupy((unsigned)w, 10);
    }
    view_judge();
    ENDED_BY(cure_free) struct cure_plan plan = decide(&diagnosis, true);
    assert_int_equal(plan.binds.n, 0);
    assert_int_equal(plan.nother, 0);
    assert_false(plan.is_unsure);
}

static struct found make_found(enum cure cure, enum finding_severity severity, int pid,
                               struct check_bind *bind)
{
    struct found found = {.cure = cure, .npids = 1, .pids = {pid}};
    found.finding.severity = severity;
    if (cure == CURE_BIND)
        found.binds = (struct check_binds){1, 1, bind};
    return found;
}

/* Settings for debugging are another loss; a quota, a restart and fewer processes forbid binding.
 */
TEST(only_some_cures_forbid_a_binding)
{
    static const struct {
        enum cure other;
        enum finding_severity severity;
        int pid;
        size_t nbinds;
    } cases[] = {{CURE_SETTING, FINDING_BAD, 100, 1},  {CURE_BY_HAND, FINDING_BAD, 100, 1},
                 {CURE_RESTART, FINDING_BAD, 100, 0},  {CURE_RESTART, FINDING_DOUBT, 100, 0},
                 {CURE_RESTART, FINDING_NOTE, 100, 1}, {CURE_FEWER, FINDING_BAD, 100, 0},
                 {CURE_ADMIN, FINDING_BAD, 100, 0},    {CURE_ADMIN, FINDING_BAD, 200, 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct check_bind bind = {.pid = 100};
        struct found all[] = {make_found(CURE_BIND, FINDING_BAD, 100, &bind),
                              make_found(cases[i].other, cases[i].severity, cases[i].pid, NULL)};
        const struct diagnosis made = {.n = 2, .all = all};
        ENDED_BY(cure_free) struct cure_plan plan = decide(&made, false);
        assert_int_equal(plan.binds.n, cases[i].nbinds);
    }
}

/* Children that inherited one CPU: their gain is known only while another CPU idles. */
TEST(an_unknown_gain_is_tried_and_not_applied)
{
    for (int is_busy = 0; is_busy < 2; is_busy++) {
        view_plant(2);
        plant_two_on_one(0, 0, is_busy ? 4 : 1);
        for (size_t w = 0; w < 2; w++)
            machine.processes[w].parent_mask = 0;
        view_judge();
        const struct found *found = view_found("inherited_mask");
        assert_int_equal(isnan(found->gain.times), is_busy);
        ENDED_BY(cure_free) struct cure_plan plan = decide(&diagnosis, false);
        assert_int_equal(plan.binds.n, is_busy ? 0 : 2);
        assert_int_equal(plan.is_unsure, is_busy);
        cure_free(&plan);
        plan = decide(&diagnosis, true);
        assert_int_equal(plan.binds.n, 2);
    }
}

/* Two findings about one process: the one that costs most is applied. */
TEST(a_process_is_bound_once)
{
    struct bitset low = view_range(0, 1), high = view_range(2, 3);
    struct check_bind one = {.pid = 100, .cpus = low}, other = {.pid = 100, .cpus = high};
    struct found all[] = {make_found(CURE_BIND, FINDING_BAD, 100, &one),
                          make_found(CURE_BIND, FINDING_BAD, 100, &other)};
    const struct diagnosis made = {.n = 2, .all = all};
    ENDED_BY(cure_free) struct cure_plan plan = decide(&made, false);
    assert_int_equal(plan.binds.n, 1);
    assert_true(bitset_equal(&plan.binds.all[0].cpus, &low));
    assert_int_equal(plan.nother, 1);
}
