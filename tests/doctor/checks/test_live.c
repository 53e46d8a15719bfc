/* The live view of workers, from made-up views, and its drawing. */
#include "harness/doctor/checks/live.h"

#include "harness/doctor/doctor_json.h"
#include "harness/doctor/doctor_tables.h"
#include "tests/lib/unit.h"

enum { CPUS = 4, PROCESSES = 3 };

/* A worker (100) with a helper (101), which share CPU 1; a separate one (200) on all CPUs. */
static struct planted {
    struct view view;
    struct view_process processes[PROCESSES];
    struct view_task tasks[PROCESSES];
    struct bitset masks[2];
    struct view_cpu cpus[CPUS];
    struct view_cgroup group;
} planted;

static void plant_processes(struct planted *p)
{
    static const struct view_task tasks[PROCESSES] = {
        ENTRY(.tid = 100, .mask = 0, .oncpu_s = 1.2, .wait_s = 0.6, .is_detailed = true, .cpu = 1,
              .migrations = 4),
        ENTRY(.tid = 101, .mask = 0, .oncpu_s = 0.6, .wait_s = 1.4, .is_detailed = true, .cpu = 1,
              .migrations = NAN),
        ENTRY(.tid = 200, .mask = 1, .oncpu_s = 1, .wait_s = 0, .is_detailed = true, .cpu = 3,
              .migrations = NAN),
    };
    static const char *const names[] = {"train", "loader", "other"};
    memcpy(p->tasks, tasks, sizeof(tasks));
    for (int i = 0; i < PROCESSES; i++) {
        p->processes[i] = (struct view_process){.pid = i == 2 ? 200 : 100 + i,
                                                .parent = i == 1 ? 100 : 1,
                                                .state = 'R',
                                                .watched = true,
                                                .threads = 1,
                                                .cpu = tasks[i].cpu,
                                                .mask = tasks[i].mask,
                                                .parent_mask = -1,
                                                .cpu_s = tasks[i].oncpu_s,
                                                .ntasks = 1,
                                                .tasks = &p->tasks[i],
                                                .cgroup = {-1, -1, -1}};
        (void)snprintf(p->processes[i].name, VIEW_NAME_MAX, "%s", names[i]);
    }
    p->processes[2].cgroup[CGROUP_CPU] = 0;
    p->processes[2].gpus = 2;
}

static int set_up(void **state)
{
    struct planted *p = &planted;
    memset(p, 0, sizeof(*p));
    (void)bitset_parse("0-1", &p->masks[0], NULL);
    (void)bitset_parse("0-3", &p->masks[1], NULL);
    p->group = (struct view_cgroup){.path = "/sys/fs/cgroup/job",
                                    .parent = -1,
                                    .quota_cpus = 1.5,
                                    .periods = 20,
                                    .throttled_periods = 5,
                                    .throttled_s = 9};
    for (unsigned c = 0; c < CPUS; c++)
        p->cpus[c] = (struct view_cpu){.os_cpu = c,
                                       .user_s = (double[]){0.2, 2, 1, 1}[c],
                                       .idle_s = (double[]){1.8, 0, 1, 1}[c]};
    plant_processes(p);
    p->view = (struct view){.wall_s = 2,
                            .has_schedstat = true,
                            .pressure_share = 0.25,
                            .load = 3,
                            .own_s = 0.002,
                            .nmasks = 2,
                            .masks = p->masks,
                            .ncpus = CPUS,
                            .cpus = p->cpus,
                            .nprocesses = PROCESSES,
                            .processes = p->processes,
                            .ncgroups = 1,
                            .cgroups = &p->group,
                            .ngpus = 2};
    (void)bitset_parse("0-3", &p->view.online, NULL);
    return 0;
}

static void make(const pid_t *pids, size_t n, struct live *live)
{
    assert_int_equal(live_make(&planted.view, pids, n, live, NULL), 0);
}

TEST_WITHIN(live_trees, set_up, NULL)
{
    AUTO(live) live;
    const double busy[] = {NAN, 0.5};
    make(NULL, 0, &live);
    assert_int_equal(live.nworkers, 2);
    const struct live_worker *one = &live.workers[0], *other = &live.workers[1];
    assert_int_equal(one->pid, 100); /* wants most CPU time */
    assert_int_equal(one->nprocesses, 2);
    assert_true(fabs(one->oncpu - 0.9) < 1e-9 && fabs(one->queue - 1) < 1e-9);
    assert_true(fabs(one->blocked - 0.1) < 1e-9);
    assert_true(one->migrations == 2 && isnan(one->throttled));
    assert_true(fabs(one->used[1] - 0.9) < 1e-9 && one->used[3] == 0);
    assert_string_equal(one->wait_cause, "itself");
    assert_string_equal(other->wait_cause, "");
    assert_true(other->throttled == 0.25 && isnan(other->migrations));
    live_set_gpus(&live, busy, 2);
    assert_true(isnan(one->gpu_busy) && other->gpu_busy == 0.5);
    assert_true(fabs(live.busy - 0.525) < 1e-9 && live.own == 0.001);
}

TEST_WITHIN(live_named_processes, set_up, NULL)
{
    AUTO(live) live;
    const pid_t pids[] = {101};
    planted.tasks[1].oncpu_s = planted.tasks[1].wait_s =
        0; /* named on the command line, so shown although it is idle */
    make(pids, 1, &live);
    assert_int_equal(live.nworkers, 1);
    assert_int_equal(live.workers[0].pid, 101);
    assert_string_equal(live.workers[0].wait_cause, "");
    live_free(&live);
    make(NULL, 0, &live);
    assert_int_equal(live.workers[0].nprocesses, 1);
}

TEST_WITHIN(live_because_of_another, set_up, NULL)
{
    AUTO(live) live;
    planted.tasks[0] = planted.tasks[1] = (struct view_task){.tid = 100,
                                                             .mask = 0,
                                                             .oncpu_s = 0.1,
                                                             .wait_s = 1.9,
                                                             .is_detailed = true,
                                                             .cpu = 1,
                                                             .migrations = NAN};
    planted.processes[0].cpu_s = planted.processes[1].cpu_s = 0.1;
    make(NULL, 0, &live);
    assert_string_equal(live.workers[0].wait_cause, "200 other");
}

static char *drawn(const struct live_style *style)
{
    AUTO(live) live;
    char *text = NULL;
    make(NULL, 0, &live);
    FILE *out = unit_print_into(&text);
    live_print(&live, style, out);
    (void)fclose(out);
    return text;
}

TEST_WITHIN(top_as_text, set_up, NULL)
{
    FREED char *text = drawn(&(struct live_style){.line_end = "\n"});
    assert_string_equal(
        text, "2 workers, 4 CPUs 52% busy, 0% stolen, load 3.0, pressure 25%, own 0.10%\n"
              "     PID NAME             THR    ON QUEUE BLOCK MOVES QUOTA  GPU BECAUSE OF\n"
              "     100 train              2  0.90  1.00  0.10     2     -    - itself\n"
              "     200 other              1  0.50  0.00  0.50     -   25%    -\n"
              "\n"
              "     CPU 0 to 3\n"
              "     100 .#\n"
              "     200 ...+\n"
              " workers .1.1\n");
}

static unsigned count_lines(const char *text)
{
    unsigned n = 0;
    for (; (text = strchr(text, '\n')); text++)
        n++;
    return n;
}

TEST_WITHIN(top_fits_any_terminal, set_up, NULL)
{
    for (unsigned rows = 1; rows < 14; rows++)
        for (unsigned columns = 1; columns < 90; columns += 11) {
            char *text =
                drawn(&(struct live_style){.columns = columns, .rows = rows, .line_end = "\n"});
            assert_in_range(count_lines(text), 0, rows > 2 ? rows : 3);
            for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
                assert_in_range(strlen(line), 0, columns);
            free(text);
        }
    /* One mark for two CPUs shows the busier one. */
    FREED char *text = drawn(&(struct live_style){.columns = 11, .line_end = "\n"});
    assert_has(text, "     100 #\n");
    assert_has(text, "     200 .+\n");
    free(text);
    text = drawn(&(struct live_style){.line_end = "\n", .rows = 5});
    assert_has(text, "other");
    assert_lacks(text, "CPU 0");
    free(text);
    text = drawn(&(struct live_style){.line_end = "\n", .rows = 4});
    assert_has(text, "and 2 more");
}

TEST_WITHIN(top_as_json, set_up, NULL)
{
    AUTO(live) live;
    make(NULL, 0, &live);
    json_auto_t *json = live_to_json(&live);
    assert_non_null(json);
    const json_t *one = json_array_get(json_object_get(json, "workers"), 0);
    assert_int_equal(json_integer_value(json_object_get(one, "pid")), 100);
    assert_true(json_is_null(json_object_get(one, "throttled")));
    assert_true(json_real_value(json_object_get(json_object_get(one, "used"), "1")) > 0.8);
}
