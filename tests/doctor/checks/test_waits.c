/* The lock of Python's interpreter, and loaders, on made-up views: each is named, and what only
 * looks like one is not. */
#include "tests/lib/fixture_view.h"
#include "tests/lib/unit.h"

enum { LOOKS = 100 };

/* Two threads; at LOOKS instants so many ran and waited for the interpreter, in all. */
static void plant_python(unsigned running, unsigned in_python)
{
    view_plant(1);
    view_add_task(0, MASK_ALL, 4, 0);
    view_add_task(0, MASK_ALL, 4, 0);
    view_occupy(0, 8);
    machine.host.convoys.n = 1;
    machine.host.convoys.found[0] = (struct convoy){.pid = 100,
                                                    .is_python = true,
                                                    .looks = LOOKS,
                                                    .active = LOOKS,
                                                    .running = running,
                                                    .asleep = 2 * LOOKS - running,
                                                    .in_futex = in_python,
                                                    .in_python = in_python};
    machine.view.host = &machine.host;
}

TEST(waits_for_the_interpreter)
{
    plant_python(100, 100);
    const struct found *found = view_judge_first("interpreter_lock");
    assert_int_equal(found->finding.severity, FINDING_BAD);
    assert_true(found->cost == 0.5);
    assert_int_equal(found->pids[0], 100);
    assert_string_equal(found->finding.command, "py-spy top --gil --pid 100");
    view_occupy_all(10); /* no CPU idles, and the lock is still what they wait for */
    view_judge_first("interpreter_lock");
}

TEST(waits_for_the_interpreter_that_are_short)
{
    plant_python(200, 49); /* a fifth of the time that they want to run */
    view_judge_lacks("interpreter_lock");
    plant_python(20, 9); /* seldom */
    view_judge_lacks("interpreter_lock");
    plant_python(100, 100);
    machine.host.convoys.found[0].looks = 49;
    view_judge_lacks("interpreter_lock");
    plant_python(100, 100);
    machine.processes[0].start_ticks = 7; /* another process with this pid */
    view_judge_lacks("interpreter_lock");
}

/* A convoy too: then its lock is known. */
TEST(waits_for_the_interpreter_are_one_finding)
{
    plant_python(100, 300);
    for (size_t t = 0; t < 2; t++)
        machine.tasks[0][t].turns = 5000;
    view_add_task(0, MASK_ALL, 4, 0);
    machine.tasks[0][2].turns = 5000;
    machine.host.convoys.found[0].asleep = 300;
    view_judge_first("interpreter_lock");
    view_judge_lacks("convoy");
    machine.host.convoys.found[0].in_python = 0;
    view_judge_first("convoy");
}

/* A trainer, two loaders, with these shares of a CPU, and a child that does nothing. */
static void plant_loaders(double trainer, double loader, double last)
{
    view_plant(4);
    machine.processes[3].parent = 100;
    view_add_task(0, MASK_ALL, trainer * WALL_S, 0);
    for (size_t w = 1; w < 3; w++) {
        machine.processes[w].parent = 100;
        view_add_task(w, MASK_ALL, (w == 1 ? loader : last) * WALL_S, 0);
    }
    view_occupy_all(WALL_S);
    machine.host.a_second.disk_waits_s = 0.01;
    machine.view.host = &machine.host;
}

/* The child starts the loaders, as a fork server does. */
static void plant_server(void)
{
    plant_loaders(0.1, 0.98, 0.95);
    machine.processes[1].parent = machine.processes[2].parent = 103;
}

TEST(loaders_that_lack_cpu_time)
{
    plant_loaders(0.1, 0.98, 0.95);
    const struct found *found = view_judge_found("slow_loaders");
    assert_int_equal(found->finding.severity, FINDING_NOTE); /* no CPU is left */
    assert_int_equal(found->pids[0], 100);
    assert_true(fabs(found->cost - 0.9) < 1e-9);
    assert_has(found->finding.evidence, "storage during 1.0% of the time");
    view_occupy(3, 0);
    found = view_judge_found("slow_loaders");
    assert_int_equal(found->finding.severity, FINDING_DOUBT);
    assert_has(found->finding.sentence, "Start more of them");
    plant_server();
    assert_int_equal(view_judge_found("slow_loaders")->pids[0], 100);
}

TEST(loaders_that_are_not_the_limit)
{
    static const double cases[][3] = {
        {0.1, 0.98, 0.8},    /* one waits: the queue is full, or it waits for data */
        {0.9, 0.98, 0.98},   /* the trainer computes, too */
        {0.005, 0.98, 0.98}, /* a shell that waits for its children */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        plant_loaders(cases[i][0], cases[i][1], cases[i][2]);
        view_judge_lacks("slow_loaders");
    }
    plant_loaders(0.1, 0.98, 0.98);
    machine.processes[2].parent = 1; /* one child: a pipe, more likely */
    view_judge_lacks("slow_loaders");
    plant_server();
    machine.processes[0].autogroup = 7; /* a terminal, and its shell */
    view_judge_lacks("slow_loaders");
}
