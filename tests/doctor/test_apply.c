/* Binds running processes, some of which end meanwhile. */
#include "harness/doctor/apply.h"

#include <signal.h>
#include <sys/wait.h>

#include "harness/doctor/apply_plan.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/task.h"
#include "tests/lib/fixture_dir.h"
#include "tests/lib/fixture_view.h"
#include "tests/lib/unit.h"

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
    process.start_ticks = task_started(child, 0);
    bitset_set(&process.cpus, 0);
    return process;
}

static void end(const struct apply_process *process)
{
    (void)kill(process->pid, SIGKILL);
    (void)waitpid(process->pid, NULL, 0);
}

/* Chooses the first CPU that this process may use, for all of them. */
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

TEST_IN_DIR(apply_leaves_out_helpers_that_have_ended)
{
    struct apply_process all[] = {start(true), start(false), start(false)};
    char path[256];
    struct bitset before, now;
    size_t bound;
    struct apply_left left;
    assert_true(choose_cpu(all, 3));
    assert_int_equal(affinity_get(all[0].pid, &before), 0);
    put_text(path, "%s/state", fixture_dir);
    end(&all[1]);
    assert_int_equal(apply_bind(all, 3, APPLY_KEPT, path, &bound, NULL), 0);
    assert_int_equal(bound, 2);
    for (int i = 0; i < 3; i += 2) {
        assert_int_equal(affinity_get(all[i].pid, &now), 0);
        assert_true(bitset_equal(&now, &all[i].cpus));
    }
    assert_int_equal(apply_undo(path, 0, &left, NULL), 0);
    assert_int_equal(left.nlive, 2);
    assert_int_equal(left.nended, 0);
    assert_int_equal(affinity_get(all[0].pid, &now), 0);
    assert_true(bitset_equal(&now, &before));
    end(&all[0]);
    end(&all[2]);
}

TEST_IN_DIR(apply_changes_nothing_without_a_lead)
{
    struct apply_process all[] = {start(true), start(true)};
    char path[256];
    struct bitset before, now;
    size_t bound;
    assert_true(choose_cpu(all, 2));
    assert_int_equal(affinity_get(all[0].pid, &before), 0);
    put_text(path, "%s/state", fixture_dir);
    end(&all[1]);
    assert_int_equal(apply_bind(all, 2, APPLY_KEPT, path, &bound, NULL), -ESRCH);
    assert_int_equal(bound, 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(affinity_get(all[0].pid, &now), 0);
    assert_true(bitset_equal(&now, &before));
    end(&all[0]);
}

/* A worker that starts another worker whenever it reads a byte. */
static struct apply_process start_parent(int *ask_fd, int *tell_fd)
{
    struct apply_process process = {.name = "worker", .is_lead = true};
    int ask[2], tell[2];
    assert_int_equal(pipe(ask) | pipe(tell), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char byte;
        (void)alarm(180);
        (void)close(ask[1]);
        while (read(ask[0], &byte, 1) == 1) {
            pid_t below = fork();
            if (below == 0) {
                (void)alarm(180);
                for (;;)
                    (void)pause();
            }
            if (write(tell[1], &below, sizeof(below)) != sizeof(below))
                _exit(1);
        }
        _exit(0);
    }
    (void)close(ask[0]);
    (void)close(tell[1]);
    *ask_fd = ask[1];
    *tell_fd = tell[0];
    process.pid = child;
    process.start_ticks = task_started(child, 0);
    return process;
}

static pid_t grow(int ask_fd, int tell_fd)
{
    pid_t below;
    assert_int_equal(write(ask_fd, "", 1), 1);
    assert_int_equal(read(tell_fd, &below, sizeof(below)), sizeof(below));
    return below;
}

static void assert_mask(pid_t pid, const struct bitset *mask)
{
    struct bitset now;
    assert_int_equal(affinity_get(pid, &now), 0);
    assert_true(bitset_equal(&now, mask));
}

/* Processes that the worker starts after it was listed are bound as well, and those that it starts
 * while bound get their masks back, unless they chose other masks. */
TEST_IN_DIR(apply_follows_what_is_started_meanwhile)
{
    struct bitset before, other = {0};
    struct apply_left left;
    char path[256];
    int ask, tell;
    size_t bound;
    assert_int_equal(affinity_get(0, &before), 0);
    if (bitset_count(&before) < 2)
        skip();
    ENDED_BY(end) struct apply_process worker = start_parent(&ask, &tell);
    assert_true(choose_cpu(&worker, 1));
    bitset_set(&other, (unsigned)bitset_next(&before, (unsigned)bitset_next(&before, 0) + 1));
    put_text(path, "%s/state", fixture_dir);
    pid_t older = grow(ask, tell);
    assert_int_equal(apply_bind(&worker, 1, APPLY_TRIAL, path, &bound, NULL), 0);
    assert_int_equal(bound, 2);
    assert_mask(older, &worker.cpus);
    pid_t newer = grow(ask, tell), wilful = grow(ask, tell);
    assert_mask(newer, &worker.cpus);
    assert_int_equal(affinity_set(wilful, &other), 0);
    assert_int_equal(apply_undo(path, getpid(), &left, NULL), 0);
    assert_mask(worker.pid, &before);
    assert_mask(older, &before);
    assert_mask(newer, &before);
    assert_mask(wilful, &other);
    (void)kill(older, SIGKILL);
    (void)kill(newer, SIGKILL);
    (void)kill(wilful, SIGKILL);
    (void)close(ask);
    (void)close(tell);
}

/* Owners of a trial: at work, dead, from before a reboot, and on another host. */
TEST_IN_DIR(apply_knows_whose_trial_it_is)
{
    unit_skip_emulated("qemu makes up /proc/self/stat");
    ENDED_BY(end) struct apply_process worker = start(true);
    struct apply_left left;
    struct apply_state kept;
    char path[256], text[4096], edited[4096];
    size_t bound;
    assert_true(choose_cpu(&worker, 1));
    put_text(path, "%s/state", fixture_dir);
    assert_int_equal(apply_state_read(path, &kept, NULL), 0);
    assert_int_equal(kept.left.kind, APPLY_LEFT_NONE);
    assert_int_equal(apply_bind(&worker, 1, APPLY_TRIAL, path, &bound, NULL), 0);
    assert_int_equal(apply_bind(&worker, 1, APPLY_KEPT, path, &bound, NULL), -EEXIST);
    assert_int_equal(apply_undo(path, getpid() + 1, &left, NULL), -EBUSY);
    assert_int_equal(left.kind, APPLY_LEFT_AT_WORK);
    assert_int_equal(left.owner, getpid());

    FILE *file = fopen(path, "re");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    (void)fclose(file);
    int owner;
    char place[512];
    unsigned long long ticks;
    assert_int_equal(
        sscanf(text, "contend doctor state 3 trial %d %llu %511[^\n]", &owner, &ticks, place), 3);
    char host[128], boot[128], pids[128];
    assert_int_equal(sscanf(place, "%127s %127s %127s", host, boot, pids), 3);
    const char *masks = strchr(text, '\n') + 1;
    const struct {
        const char *host, *boot, *pids;
        unsigned long long ticks;
        enum apply_left_kind kind;
        size_t live;
    } cases[] = {{host, boot, pids, ticks - 1, APPLY_LEFT_BEHIND, 1},
                 {host, "another", pids, ticks, APPLY_LEFT_BEHIND, 0},
                 {host, boot, "pid:[1]", ticks, APPLY_LEFT_ELSEWHERE, 1},
                 {"elsewhere", boot, pids, ticks, APPLY_LEFT_ELSEWHERE, 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        put_text(edited, "contend doctor state 3 trial %d %llu %s %s %s\n%s", owner, cases[i].ticks,
                 cases[i].host, cases[i].boot, cases[i].pids, masks);
        file = fopen(path, "we");
        assert_non_null(file);
        assert_true(fputs(edited, file) >= 0);
        (void)fclose(file);
        assert_int_equal(apply_state_read(path, &kept, NULL), 0);
        free(kept.masks);
        assert_int_equal(kept.left.kind, cases[i].kind);
        assert_int_equal(kept.left.nlive, cases[i].live);
    }
    assert_int_equal(apply_undo(path, getpid(), &left, NULL), -EXDEV);
    assert_mask(worker.pid, &worker.cpus);
}

/* A state of which a part is missing is not undone in part: the rest would be lost. */
TEST_IN_DIR(apply_undoes_all_of_a_state_or_nothing)
{
    struct apply_process workers[] = {start(true), start(true)};
    struct apply_left left;
    char path[256], text[4096];
    size_t bound;
    assert_true(choose_cpu(workers, 2));
    put_text(path, "%s/state", fixture_dir);
    assert_int_equal(apply_bind(workers, 2, APPLY_KEPT, path, &bound, NULL), 0);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    const size_t size = fread(text, 1, sizeof(text), file);
    (void)fclose(file);
    for (size_t cut = 0; cut + 1 < size; cut++) { /* the last newline is not needed */
        assert_int_equal(truncate(path, 0), 0);
        file = fopen(path, "we");
        assert_non_null(file);
        assert_int_equal(fwrite(text, 1, cut, file), cut);
        (void)fclose(file);
        assert_int_equal(apply_undo(path, 0, &left, NULL), -EINVAL);
        assert_int_equal(access(path, F_OK), 0);
        assert_mask(workers[0].pid, &workers[0].cpus);
    }
    end(&workers[0]);
    end(&workers[1]);
}

/* The second one learns who holds the lock, and gets it after that one is killed. */
TEST_IN_DIR(apply_locks_out_a_second_contend)
{
    struct apply_lock lock, second;
    struct err err;
    char path[256], who[32];
    int ready[2];
    put_text(path, "%s/state", fixture_dir);
    assert_int_equal(pipe(ready), 0);
    pid_t holder = fork();
    assert_true(holder >= 0);
    if (holder == 0) {
        (void)alarm(180);
        if (apply_lock_take(path, &lock, &err) || write(ready[1], "", 1) != 1)
            _exit(1);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(ready[0], who, 1), 1);
    assert_int_equal(apply_lock_take(path, &second, &err), -EBUSY);
    put_text(who, "(%d)", (int)holder);
    assert_has(err.msg, who);
    (void)kill(holder, SIGKILL);
    (void)waitpid(holder, NULL, 0);
    assert_int_equal(apply_lock_take(path, &second, &err), 0);
    apply_lock_release(&second);
    put_text(path, "%s/state.lock", fixture_dir);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(symlink("/dev/null", path), 0);
    put_text(path, "%s/state", fixture_dir);
    assert_int_equal(apply_lock_take(path, &second, &err), -ELOOP);
    (void)close(ready[0]);
    (void)close(ready[1]);
}

/* Two jobs on CPUs 0 and 1 get idle CPUs; of busy ones only those that this process may use. */
TEST_IN_DIR(apply_plans_on_idle_cpus)
{
    for (int busy = 0; busy < 2; busy++) {
        const struct view_process *leads[2];
        AUTO(plan) plan = {0};
        struct bitset dealt = {0}, expected = view_range(2, 3);
        const struct bitset low = view_range(0, 1);
        view_plant(2);
        view_plant_topo("node:2 core:2 pu:1");
        for (size_t w = 0; w < 2; w++) {
            machine.processes[w].mask = MASK_LOW;
            view_add_task(w, MASK_LOW, 9, 1);
            view_occupy((unsigned)w, WALL_S);
            view_occupy((unsigned)w + 2, busy ? WALL_S : 0);
        }
        if (busy)
            bitset_and(&expected, affinity_at_start());
        bitset_or(&expected, &low);
        assert_int_equal(apply_find_leads(&machine.view, leads), 2);
        assert_int_equal(
            apply_plan(&machine.view, &machine.topo, leads, 2, "partition", &plan, NULL), 0);
        for (size_t w = 0; w < 2; w++)
            bitset_or(&dealt, &plan.workers[w].cpus);
        assert_true(bitset_equal(&dealt, &expected));
    }
}

/* Two GPUs on two nodes; the process that was started first uses the second GPU. */
TEST_IN_DIR(apply_plans_near_gpus)
{
    static const char *const placements[] = {"partition", "gpu-local"};
    struct topo_gpu gpus[2] = {{.pci_bdf = "0000:01:00.0", .node = 0, .cuda_ordinal = -1},
                               {.pci_bdf = "0000:02:00.0", .node = 1, .cuda_ordinal = -1}};
    struct err err;
    view_plant(2);
    view_plant_topo("node:2 core:2 pu:1");
    for (size_t w = 0; w < 2; w++)
        view_add_task(w, MASK_ALL, 9, 1);
    view_use_gpu(0, 1);
    view_use_gpu(1, 0);
    machine.topo.gpus = gpus;
    machine.topo.ngpus = 2;
    for (int i = 0; i < 2; i++) {
        const struct view_process *leads[2];
        AUTO(plan) plan = {0};
        assert_int_equal(apply_find_leads(&machine.view, leads), 2);
        assert_int_equal(
            apply_plan(&machine.view, &machine.topo, leads, 2, placements[i], &plan, &err), 0);
        for (size_t w = 0; w < 2; w++) {
            const struct bitset near =
                view_range(leads[w]->pid == 100 ? 2 : 0, leads[w]->pid == 100 ? 3 : 1);
            assert_true(bitset_equal(&plan.workers[w].cpus, &near));
            assert_int_equal(plan.workers[w].gpu, leads[w]->pid == 100);
        }
    }
    machine.processes[0].gpus = 0;
    const struct view_process *leads[2];
    AUTO(plan) plan = {0};
    assert_int_equal(apply_find_leads(&machine.view, leads), 2);
    assert_int_equal(apply_plan(&machine.view, &machine.topo, leads, 2, "gpu-local", &plan, &err),
                     -EINVAL);
    assert_string_equal(err.msg, "which GPU worker 1 uses is not known");
    machine.topo.gpus = NULL;
    machine.topo.ngpus = 0;
}
