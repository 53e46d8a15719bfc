/* Threads that take turns at one lock, on made-up views: the convoy is named, and what only looks
 * like one is not. */
#include "harness/doctor/checks/check.h"
#include "harness/doctor/reader/host.h"

#include "tests/lib/unit.h"

enum { CPUS = 8, THREADS_MOST = 8, LOOKS = 100 };

/* Over one second. */
struct plan {
    const char *what;
    bool is_named;
    unsigned threads, mask_cpus;
    double first_s, each_s, turns, idle_s; /* idle of each CPU */
    unsigned active, running, in_futex;    /* of 100 looks; in_futex in % of those asleep */
};

static struct planted {
    struct view view;
    struct view_process process;
    struct view_task tasks[THREADS_MOST];
    struct bitset masks[1];
    struct view_cpu cpus[CPUS];
    struct host host;
    struct diagnosis diagnosis;
} planted;

static void plant(const struct plan *plan)
{
    struct planted *p = &planted;
    diagnosis_free(&p->diagnosis);
    memset(p, 0, sizeof(*p));
    p->process = (struct view_process){.pid = 100,
                                       .parent = 1,
                                       .name = "loaders",
                                       .state = 'S',
                                       .watched = true,
                                       .threads = plan->threads,
                                       .parent_mask = -1,
                                       .ntasks = plan->threads,
                                       .tasks = p->tasks,
                                       .cgroup = {-1, -1, -1}};
    for (unsigned t = 0; t < plan->threads; t++)
        p->tasks[t] = (struct view_task){.tid = 100 + (int)t,
                                         .oncpu_s = t ? plan->each_s : plan->first_s,
                                         .turns = plan->turns,
                                         .is_detailed = true};
    for (unsigned c = 0; c < CPUS; c++) {
        if (c < plan->mask_cpus)
            bitset_set(&p->masks[0], c);
        bitset_set(&p->view.online, c);
        p->cpus[c] =
            (struct view_cpu){.os_cpu = c, .user_s = 1 - plan->idle_s, .idle_s = plan->idle_s};
    }
    p->view.wall_s = 1;
    p->view.has_schedstat = true;
    p->view.nmasks = p->view.nprocesses = 1;
    p->view.masks = p->masks;
    p->view.ncpus = CPUS;
    p->view.cpus = p->cpus;
    p->view.processes = &p->process;
    p->view.pressure_share = p->view.load = NAN;
    p->view.host = &p->host;
    p->host.a_second = (struct host_counts){NAN, NAN, NAN, NAN};
    unsigned asleep = LOOKS * plan->threads - plan->running;
    p->host.convoys.n = 1;
    p->host.convoys.found[0] = (struct convoy){.pid = 100,
                                               .looks = LOOKS,
                                               .active = plan->active,
                                               .running = plan->running,
                                               .asleep = asleep,
                                               .in_futex = asleep * plan->in_futex / 100};
}

static const struct found *diagnose(void)
{
    diagnosis_free(&planted.diagnosis);
    assert_int_equal(diagnosis_make(&planted.view, &planted.diagnosis, NULL), 0);
    for (size_t i = 0; i < planted.diagnosis.n; i++)
        if (strcmp(planted.diagnosis.all[i].finding.id, "convoy") == 0)
            return &planted.diagnosis.all[i];
    return NULL;
}

static const struct plan plans[] = {
    {"one lock", true, 8, 8, 0.12, 0.12, 500, 0.8, 98, 115, 100},
    {"one lock, threads that also wait for a CPU", true, 8, 2, 0.1, 0.1, 300, 0.2, 99, 300, 95},
    {"an unfair lock", true, 4, 8, 0.55, 0.15, 900, 0.8, 100, 130, 100},
    {"one busy thread and an idle pool", false, 8, 8, 0.98, 0, 10, 0.8, 98, 98, 100},
    {"a slow stage, fed by others", false, 4, 8, 0.7, 0.1, 900, 0.8, 90, 110, 100},
    {"a pipeline that waits for a disk", false, 4, 8, 0.25, 0.25, 400, 0.8, 85, 105, 20},
    {"consumers of rare items", false, 8, 8, 0.05, 0.05, 400, 0.9, 33, 40, 100},
    {"a team between its regions", false, 4, 8, 0.25, 0.25, 400, 0.8, 25, 100, 100},
    {"a team that waits for its last", false, 4, 2, 0.28, 0.28, 900, 0.4, 90, 225, 100},
    {"a team that computes", false, 4, 8, 0.95, 0.95, 100, 0.5, 100, 390, 100},
    {"a pool with tasks for one CPU", false, 8, 8, 0.12, 0.12, 400, 0.8, 63, 100, 100},
    {"stages one after the other", false, 4, 8, 0.25, 0.25, 1, 0.8, 99, 101, 100},
    {"two threads that hand over", false, 2, 8, 0.5, 0.5, 900, 0.8, 99, 102, 100},
    {"no idle CPU", false, 8, 8, 0.12, 0.12, 500, 0.01, 98, 115, 100},
};

TEST(convoy_and_what_looks_like_one)
{
    for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
        plant(&plans[i]);
        const struct found *found = diagnose();
        if (plans[i].is_named != (found != NULL))
            fail_msg("%s: %s", plans[i].what, found ? found->finding.sentence : "not named");
        assert_true(!found || found->finding.severity == FINDING_BAD);
    }
    diagnosis_free(&planted.diagnosis);
}

TEST(convoy_names_its_cost_and_command)
{
    plant(&plans[0]);
    const struct found *found = diagnose();
    assert_true(fabs(found->cost - (1 - 0.96 / 8)) < 1e-9);
    assert_int_equal(found->pids[0], 100);
    assert_string_equal(found->finding.command, "gdb -p 100 -batch -ex 'thread apply all bt'");
    planted.host.convoys.found[0].is_python = true;
    assert_has(diagnose()->finding.command, "py-spy dump --pid 100; gdb ");
    planted.host.convoys.found[0].looks = 49; /* too few */
    planted.host.convoys.found[0].active = 49;
    assert_null(diagnose());
    plant(&plans[0]);
    planted.process.start_ticks = 7; /* another process with this pid */
    assert_null(diagnose());
    diagnosis_free(&planted.diagnosis);
}
