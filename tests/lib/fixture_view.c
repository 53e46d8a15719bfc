#include "tests/lib/fixture_view.h"
#include "tests/lib/unit.h"

struct machine machine;
struct diagnosis diagnosis;

struct bitset view_range(unsigned first, unsigned last)
{
    struct bitset set = {0};
    for (unsigned cpu = first; cpu <= last; cpu++)
        bitset_set(&set, cpu);
    return set;
}

static void plant_process(size_t w)
{
    machine.processes[w] = (struct view_process){.pid = 100 + (int)w,
                                                 .parent = 1,
                                                 .name = "worker",
                                                 .state = 'R',
                                                 .watched = true,
                                                 .weight = 1024,
                                                 .mask = MASK_ALL,
                                                 .parent_mask = MASK_ALL,
                                                 .tasks = machine.tasks[w],
                                                 .about = &machine.about[w],
                                                 .cgroup = {-1, -1, -1}};
}

void view_plant(size_t workers)
{
    topo_free(&machine.topo);
    machine = (struct machine){0};
    struct view *view = &machine.view;
    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        machine.masks[cpu] = view_range(cpu, cpu);
        machine.cpus[cpu] = (struct view_cpu){.os_cpu = cpu, .idle_s = WALL_S};
    }
    machine.masks[MASK_LOW] = view_range(0, 1);
    machine.masks[MASK_HIGH] = view_range(2, 3);
    machine.masks[MASK_ALL] = view_range(0, 3);
    *view = (struct view){.wall_s = WALL_S,
                          .has_schedstat = true,
                          .masks = machine.masks,
                          .nmasks = MASK_ALL + 1,
                          .online = view_range(0, 3),
                          .cpus = machine.cpus,
                          .ncpus = CPUS,
                          .processes = machine.processes,
                          .nprocesses = workers,
                          .cgroups = &machine.group,
                          .nnodes = 2};
    view->node_cpus[0] = view_range(0, 1);
    view->node_cpus[1] = view_range(2, 3);
    for (size_t w = 0; w < workers; w++)
        plant_process(w);
}

void view_add_task(size_t worker, int mask, double oncpu_s, double wait_s)
{
    struct view_process *process = &machine.processes[worker];
    process->tasks[process->ntasks] = (struct view_task){.tid = process->pid + (int)process->ntasks,
                                                         .mask = mask,
                                                         .oncpu_s = oncpu_s,
                                                         .wait_s = wait_s};
    process->ntasks++;
    process->threads++;
    process->cpu_s += oncpu_s;
}

void view_occupy(unsigned cpu, double busy_s)
{
    machine.cpus[cpu].user_s = busy_s;
    machine.cpus[cpu].idle_s = WALL_S - busy_s;
}

void view_occupy_all(double busy_s)
{
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        view_occupy(cpu, busy_s);
}

void view_put_in_group(size_t worker, const char *path)
{
    machine.group = (struct view_cgroup){.parent = -1, .quota_cpus = NAN, .v2 = true};
    put_text(machine.group.path, "%s", path);
    machine.view.ncgroups = 1;
    machine.processes[worker].cgroup[CGROUP_CPU] = 0;
}

void view_limit(double quota_cpus, unsigned stopped, double stopped_s)
{
    view_put_in_group(0, "/sys/fs/cgroup/a");
    machine.group.quota_cpus = quota_cpus;
    machine.group.periods = 100;
    machine.group.throttled_periods = stopped;
    machine.group.throttled_s = stopped_s;
}

struct view_process *view_add_backup(unsigned threads)
{
    struct view_process *backup = &machine.processes[1];
    plant_process(1);
    backup->pid = 900;
    put_text(backup->name, "backup");
    backup->watched = false;
    backup->parent_mask = -1;
    backup->threads = threads;
    backup->cpu = 2;
    backup->cpu_s = 5;
    machine.view.nprocesses = 2;
    return backup;
}

const struct found *view_look_for(const char *id)
{
    for (size_t i = 0; i < diagnosis.n; i++)
        if (strcmp(diagnosis.all[i].finding.id, id) == 0)
            return &diagnosis.all[i];
    return NULL;
}

const struct found *view_found(const char *id)
{
    const struct found *found = view_look_for(id);
    if (!found)
        fail_msg("no finding %s", id);
    return found;
}

/* True if a task of the process, or the task itself, has another mask than `list`. */
static bool binds_anew(const struct view *view, int pid, const char *list)
{
    struct bitset cpus;
    bool is_new = false, is_known = false;
    assert_int_equal(bitset_parse(list, &cpus, NULL), 0);
    for (size_t i = 0; i < view->nprocesses; i++) {
        const struct view_process *process = &view->processes[i];
        for (size_t t = 0; t < process->ntasks; t++) {
            if (process->pid != pid && process->tasks[t].tid != pid)
                continue;
            is_known = true;
            is_new |= process->tasks[t].mask < 0 ||
                      !bitset_equal(&view->masks[process->tasks[t].mask], &cpus);
        }
    }
    return is_new || !is_known;
}

/* True if one of the processes was started without this setting. */
static bool sets_anew(const struct view *view, const struct found *found, const char *setting)
{
    bool is_new = false;
    for (unsigned i = 0; i < found->npids; i++) {
        char name[64];
        put_text(name, "%.*s", (int)strcspn(setting, "="), setting);
        const char *now = view_setting(view_find(view, found->pids[i]), name);
        is_new |= !now || strcmp(now, strchr(setting, '=') + 1) != 0;
    }
    return is_new;
}

/* Fails if a command, or a sentence, says to do what is done already. */
static void assert_changes_something(const struct view *view, const struct found *found,
                                     const char *text)
{
    char list[4096];
    int pid;
    for (const char *at = strstr(text, "taskset -"); at; at = strstr(at + 1, "taskset -")) {
        const bool is_bind = sscanf(at, "taskset -acp %4095[0-9,-] %d", list, &pid) == 2 ||
                             sscanf(at, "taskset -cp %4095[0-9,-] %d", list, &pid) == 2;
        if (is_bind && !binds_anew(view, pid, list))
            fail_msg("'%s' changes nothing", text);
        if (!is_bind && sscanf(at, "taskset -c %4095[0-9,-]", list) == 1 &&
            !binds_anew(view, found->pids[0], list))
            fail_msg("'%s' changes nothing", text);
    }
    for (unsigned i = 0; i < found->env_changes.n; i++)
        if (strchr(found->env_changes.settings[i], '=') &&
            !sets_anew(view, found, found->env_changes.settings[i]))
            fail_msg("%s was set already", found->env_changes.settings[i]);
}

void view_judge(void)
{
    diagnosis_free(&diagnosis);
    assert_int_equal(diagnosis_make(&machine.view, &diagnosis, NULL), 0);
    for (size_t i = 0; i < diagnosis.n; i++) {
        const struct found *found = &diagnosis.all[i];
        assert_changes_something(&machine.view, found, found->finding.command);
        assert_changes_something(&machine.view, found, found->finding.sentence);
    }
}

void view_plant_topo(const char *synthetic)
{
    const struct topo_options options = {.xml = synthetic};
    topo_free(&machine.topo);
    assert_int_equal(topo_load(&options, &machine.topo, NULL), 0);
    machine.host = (struct host){.topo = &machine.topo};
    machine.host.a_second = (struct host_counts){NAN, NAN, NAN, NAN};
    machine.view.host = &machine.host;
}

void view_use_gpu(size_t worker, unsigned gpu)
{
    struct view *view = &machine.view;
    for (unsigned g = 0; g < 2; g++) {
        view->gpus[g].cpus = view->node_cpus[g];
        put_text(view->gpus[g].pci_bdf, "0000:0%u:00.0", g + 1);
    }
    view->ngpus = 2;
    machine.processes[worker].gpus |= UINT64_C(1) << gpu;
}
