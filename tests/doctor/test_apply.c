/* Binding running processes, and what of them has ended meanwhile. */
#include "harness/doctor/apply.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/doctor/apply_plan.h"
#include "harness/sys/affinity.h"
#include "tests/lib/fixture_dir.h"
#include "tests/lib/fixture_view.h"

static unsigned long long start_of(pid_t pid)
{
    char path[64], text[1024] = "";
    unsigned long long ticks = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
    (void)fclose(file);
    const char *at = strrchr(text, ')');
    assert_non_null(at);
    for (int field = 2; field < 22; field++)
        at = strchr(at + 1, ' ');
    assert_int_equal(sscanf(at, "%llu", &ticks), 1);
    return ticks;
}

static struct apply_process start(bool is_lead)
{
    struct apply_process process = {.name = "worker", .is_lead = is_lead};
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(180);
        for (;;)
            (void)pause();
    }
    process.pid = child;
    process.start_ticks = start_of(child);
    bitset_set(&process.cpus, 0);
    return process;
}

static void end(const struct apply_process *process)
{
    (void)kill(process->pid, SIGKILL);
    (void)waitpid(process->pid, NULL, 0);
}

/* The first CPU that we may run on, for all of them. */
static bool choose_cpu(struct apply_process *processes, size_t n)
{
    struct bitset mine;
    if (affinity_get(0, &mine))
        return false;
    for (size_t i = 0; i < n; i++) {
        processes[i].cpus = (struct bitset){0};
        bitset_set(&processes[i].cpus, (unsigned)bitset_next(&mine, 0));
    }
    return true;
}

static void test_apply_leaves_out_helpers_that_have_ended(void **state)
{
    struct apply_process all[] = {start(true), start(false), start(false)};
    char path[256];
    struct bitset before, now;
    struct err err;
    size_t bound, restored, gone;
    (void)state;
    assert_true(choose_cpu(all, 3));
    assert_int_equal(affinity_get(all[0].pid, &before), 0);
    (void)snprintf(path, sizeof(path), "%s/state", fixture_dir);
    end(&all[1]);
    assert_int_equal(apply_bind(all, 3, path, &bound, &err), 0);
    assert_int_equal(bound, 2);
    for (int i = 0; i < 3; i += 2) {
        assert_int_equal(affinity_get(all[i].pid, &now), 0);
        assert_true(bitset_equal(&now, &all[i].cpus));
    }
    assert_int_equal(apply_undo(path, &restored, &gone, &err), 0);
    assert_int_equal(restored, 2);
    assert_int_equal(gone, 0);
    assert_int_equal(affinity_get(all[0].pid, &now), 0);
    assert_true(bitset_equal(&now, &before));
    end(&all[0]);
    end(&all[2]);
}

static void test_apply_changes_nothing_without_a_lead(void **state)
{
    struct apply_process all[] = {start(true), start(true)};
    char path[256];
    struct bitset before, now;
    struct err err;
    size_t bound;
    (void)state;
    assert_true(choose_cpu(all, 2));
    assert_int_equal(affinity_get(all[0].pid, &before), 0);
    (void)snprintf(path, sizeof(path), "%s/state", fixture_dir);
    end(&all[1]);
    assert_int_equal(apply_bind(all, 2, path, &bound, &err), -ESRCH);
    assert_int_equal(bound, 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(affinity_get(all[0].pid, &now), 0);
    assert_true(bitset_equal(&now, &before));
    end(&all[0]);
}

/* Two GPUs of two nodes, and the process that was started first uses the second one. */
static void test_apply_plans_near_gpus(void **state)
{
    static const char *const placements[] = {"partition", "gpu-local"};
    struct machine machine;
    struct topo_gpu gpus[2] = {{.pci_bdf = "0000:01:00.0", .node = 0, .cuda_ordinal = -1},
                               {.pci_bdf = "0000:02:00.0", .node = 1, .cuda_ordinal = -1}};
    struct err err;
    (void)state;
    view_plant(&machine, 2);
    view_plant_topo(&machine, "node:2 core:2 pu:1");
    for (size_t w = 0; w < 2; w++)
        view_add_task(&machine, w, MASK_ALL, 9, 1);
    view_use_gpu(&machine, 0, 1);
    view_use_gpu(&machine, 1, 0);
    machine.topo.gpus = gpus;
    machine.topo.ngpus = 2;
    for (int i = 0; i < 2; i++) {
        const struct view_process *leads[2];
        struct plan plan = {0};
        assert_int_equal(apply_find_leads(&machine.view, leads), 2);
        assert_int_equal(
            apply_plan(&machine.view, &machine.topo, leads, 2, placements[i], &plan, &err), 0);
        for (size_t w = 0; w < 2; w++) {
            const struct bitset near =
                view_range(leads[w]->pid == 100 ? 2 : 0, leads[w]->pid == 100 ? 3 : 1);
            assert_true(bitset_equal(&plan.workers[w].cpus, &near));
            assert_int_equal(plan.workers[w].gpu, leads[w]->pid == 100);
        }
        plan_free(&plan);
    }
    machine.processes[0].gpus = 0;
    const struct view_process *leads[2];
    struct plan plan = {0};
    assert_int_equal(apply_find_leads(&machine.view, leads), 2);
    assert_int_equal(apply_plan(&machine.view, &machine.topo, leads, 2, "gpu-local", &plan, &err),
                     -EINVAL);
    assert_string_equal(err.msg, "which GPU worker 1 uses is not known");
    plan_free(&plan);
    machine.topo.gpus = NULL;
    machine.topo.ngpus = 0;
    topo_free(&machine.topo);
}

int main(void)
{
#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, fixture_make_dir, fixture_remove_dir)
    const struct CMUnitTest tests[] = {
        TEST(test_apply_leaves_out_helpers_that_have_ended),
        TEST(test_apply_changes_nothing_without_a_lead),
        TEST(test_apply_plans_near_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
