#include "harness/doctor/check_launch.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/doctor/check.h"

/* The next argument behind `word`, the first one of NULL; NULL: there is none. */
static const char *next_word(const struct view_process *process, const char *word)
{
    const char *end = process->command ? process->command + process->command_size : NULL;
    word = word ? word + strlen(word) + 1 : process->command;
    return word && word < end ? word : NULL;
}

static const char *base_of(const char *word)
{
    const char *slash = strrchr(word, '/');
    return slash ? slash + 1 : word;
}

static bool has_word(const struct view_process *process, const char *const *names)
{
    for (const char *word = next_word(process, NULL); word; word = next_word(process, word))
        for (const char *const *name = names; *name; name++)
            if (strcmp(base_of(word), *name) == 0)
                return true;
    return false;
}

/* The first one above it that was started by one of these names; NULL: there is none. */
static const struct view_process *
find_above(const struct view *view, const struct view_process *process, const char *const *names)
{
    for (size_t hops = 0; process && hops < view->nprocesses; hops++) {
        process = view_find(view, process->parent);
        if (process && process->command_size && has_word(process, names))
            return process;
    }
    return NULL;
}

/* Started by itself: a fork has the arguments of its parent, and Python's helpers their own. */
static const struct view_process *find_started(const struct view *view,
                                               const struct view_process *process)
{
    for (size_t hops = 0; hops < view->nprocesses; hops++) {
        const struct view_process *parent = view_find(view, process->parent);
        bool is_helper = false;
        for (const char *word = next_word(process, NULL); word; word = next_word(process, word))
            is_helper |= strstr(word, "multiprocessing.spawn") != NULL ||
                         strstr(word, "multiprocessing.forkserver") != NULL;
        bool is_fork = parent && process->command_size &&
                       parent->command_size == process->command_size &&
                       memcmp(parent->command, process->command, process->command_size) == 0;
        if (!parent || parent == process || !(is_helper || is_fork))
            break;
        process = parent;
    }
    return process;
}

static bool is_printable(const char *word)
{
    for (; *word; word++)
        if (*word < ' ' || *word > '~')
            return false;
    return true;
}

/* Its arguments from `word` on, as far as they can be shown; a blank before each. */
static void add_words(const struct view_process *process, const char *word, char *buf, size_t size)
{
    static const char more[] = " ...";
    for (; word; word = next_word(process, word)) {
        char quoted[LAUNCH_COMMAND_MAX];
        bool fits = is_printable(word) &&
                    text_shell_word(word, quoted, sizeof(quoted)) < sizeof(quoted) &&
                    check_append(buf, size - sizeof(more), " %s", quoted);
        if (!fits) {
            (void)check_append(buf, size, "%s", more);
            return;
        }
    }
}

/* A name of a unit or a container out of a path of cgroups: what may stand in one. */
static bool find_in_cgroups(const struct view *view, const struct view_process *process,
                            const char *before, const char *behind, char *name, size_t size)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.@-";
    for (int kind = 0; kind < CGROUP_KINDS; kind++) {
        const char *path =
            process->cgroup[kind] < 0 ? "" : view->cgroups[process->cgroup[kind]].path;
        for (const char *at = strstr(path, before); at; at = strstr(at, before)) {
            at += strlen(before);
            size_t length = strspn(at, plain), end = strlen(behind);
            if (length > end && length < size && (at[length] == '/' || !at[length]) &&
                strncmp(at + length - end, behind, end) == 0) {
                (void)snprintf(name, size, "%.*s", (int)(length - end), at);
                return true;
            }
        }
    }
    return false;
}

static bool is_hex(const char *text, size_t length)
{
    return strlen(text) == length && strspn(text, "0123456789abcdef") == length;
}

static bool find_container(const struct view *view, const struct view_process *process, char *id,
                           size_t size)
{
    static const char *const ways[][2] = {
        {"/docker-", ".scope"}, {"/docker/", ""}, {"/libpod-", ".scope"}, {"/libpod-", ""}};
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        if (find_in_cgroups(view, process, ways[i][0], ways[i][1], id, size) && is_hex(id, 64)) {
            id[12] = '\0';
            return true;
        }
    return false;
}

static bool is_podman(const struct view *view, const struct view_process *process)
{
    char id[80];
    return find_in_cgroups(view, process, "/libpod-", "", id, sizeof(id));
}

static bool is_in_kubernetes(const struct view *view, const struct view_process *process)
{
    for (int kind = 0; kind < CGROUP_KINDS; kind++)
        if (process->cgroup[kind] >= 0 &&
            strstr(view->cgroups[process->cgroup[kind]].path, "kubepods"))
            return true;
    return view_setting(process, "KUBERNETES_SERVICE_HOST") != NULL;
}

/* Those that only start what others ask for are nobody's job. */
static bool find_unit(const struct view *view, const struct view_process *process, char *unit,
                      size_t size)
{
    static const char *const hosts[] = {
        "user@",      "cron", "crond",   "atd",   "ssh",     "sshd", "docker",  "podman", "slurm",
        "containerd", "crio", "kubelet", "getty", "systemd", "init", "jupyter", "screen"};
    if (!find_in_cgroups(view, process, "/system.slice/", ".service", unit, size))
        return false;
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
        if (strncmp(unit, hosts[i], strlen(hosts[i])) == 0)
            return false;
    return true;
}

/* "NAME=VALUE NAME=VALUE", each with `before` and a blank between. */
static void add_each(const char *settings, const char *before, bool apart, char *buf, size_t size)
{
    while (*settings) {
        size_t length = strcspn(settings, " "), name = strcspn(settings, "=");
        if (apart)
            (void)check_append(buf, size, "%s%.*s %.*s", before, (int)name, settings,
                               (int)(length - name - 1), settings + name + 1);
        else
            (void)check_append(buf, size, "%s%.*s", before, (int)length, settings);
        settings += length + (settings[length] == ' ');
    }
}

static void add_start(const struct bitset *cpus, const char *settings, char *buf, size_t size)
{
    char list[BITSET_LIST_MAX];
    (void)check_append(buf, size, "%s%s", settings, settings[0] && cpus ? " " : "");
    if (cpus)
        (void)check_append(buf, size, "taskset -c %s", bitset_format(cpus, list, sizeof(list)));
}

static void write_unit(const char *unit, const char *settings, const struct bitset *cpus,
                       struct launch *launch)
{
    char list[BITSET_LIST_MAX], *out = launch->command;
    const size_t size = sizeof(launch->command);
    (void)check_append(out, size,
                       "sudo mkdir -p /etc/systemd/system/%s.service.d && printf '[Service]", unit);
    add_each(settings, "\\nEnvironment=", false, out, size);
    if (cpus)
        (void)check_append(out, size, "\\nCPUAffinity=%s", bitset_format(cpus, list, sizeof(list)));
    (void)check_append(out, size,
                       "\\n' | sudo tee /etc/systemd/system/%s.service.d/threads.conf && sudo "
                       "systemctl daemon-reload && sudo systemctl restart %s",
                       unit, unit);
    (void)snprintf(launch->how, sizeof(launch->how),
                   "systemd starts it as %.60s.service: the command adds a drop-in, as 'systemctl "
                   "edit' does. To take it back, delete threads.conf, reload and restart.",
                   unit);
}

/* What stands outside of all: a container, a pod, a unit. False: it is started by hand. */
static bool write_outer(const struct view *view, const struct view_process *process,
                        const char *settings, const struct bitset *cpus, struct launch *launch)
{
    char name[160], list[BITSET_LIST_MAX], *out = launch->command;
    const size_t size = sizeof(launch->command);
    if (is_in_kubernetes(view, process)) {
        (void)check_append(out, size, "kubectl set env deployment/NAME");
        add_each(settings, " ", false, out, size);
        (void)snprintf(launch->how, sizeof(launch->how),
                       "Kubernetes starts it: NAME is its deployment (or statefulset/, or 'env' in "
                       "the spec of the pod). To take it back, give each name with a '-' behind it "
                       "in place of its value.");
    } else if (find_container(view, process, name, sizeof(name))) {
        (void)check_append(out, size, "%s run", is_podman(view, process) ? "podman" : "docker");
        add_each(settings, " -e ", false, out, size);
        if (cpus)
            (void)check_append(out, size, " --cpuset-cpus=%s",
                               bitset_format(cpus, list, sizeof(list)));
        (void)check_append(out, size, " ... IMAGE");
        add_words(process, next_word(process, NULL), out, size);
        (void)snprintf(
            launch->how, sizeof(launch->how),
            "It runs in container %.12s: give 'run' the options that it had, and these. To "
            "take it back, start it without them.",
            name);
    } else if (find_unit(view, process, name, sizeof(name)))
        write_unit(name, settings, cpus, launch);
    else
        return false;
    return true;
}

static void write_mpirun(const struct view_process *above, bool is_openmpi, const char *settings,
                         struct launch *launch)
{
    char *out = launch->command;
    const size_t size = sizeof(launch->command);
    const char *word = next_word(above, NULL);
    (void)check_append(out, size, "%s", base_of(word));
    add_each(settings, is_openmpi ? " -x " : " -genv ", !is_openmpi, out, size);
    add_words(above, next_word(above, word), out, size);
    (void)snprintf(launch->how, sizeof(launch->how),
                   "%.20s starts it. To take it back, start it without these options.",
                   is_printable(base_of(word)) ? base_of(word) : "mpirun");
}

void launch_write(const struct view *view, const struct view_process *process, const char *settings,
                  const struct bitset *cpus, unsigned threads, struct launch *launch)
{
    static const char *const mpi[] = {"mpirun",  "mpiexec",       "orterun",
                                      "prterun", "mpiexec.hydra", NULL};
    static const char *const torch[] = {"torchrun", "torch.distributed.run",
                                        "torch.distributed.launch", NULL};
    const struct view_process *started = find_started(view, process), *above = NULL;
    char *out = launch->command;
    const size_t size = sizeof(launch->command);
    const bool is_openmpi = view_setting(process, "OMPI_COMM_WORLD_SIZE");
    *launch = (struct launch){0};
    if (!started->command_size)
        return;
    if ((is_openmpi || view_setting(process, "PMI_SIZE")) &&
        (above = find_above(view, process, mpi))) {
        write_mpirun(above, is_openmpi, settings, launch);
    } else if (view_setting(process, "TORCHELASTIC_RUN_ID") &&
               (above = find_above(view, process, torch))) {
        add_start(NULL, settings, out, size);
        add_words(above, next_word(above, NULL), out, size);
        (void)snprintf(launch->how, sizeof(launch->how),
                       "torchrun starts it, and hands its environment on. To take it back, start "
                       "torchrun without these variables.");
    } else if (view_setting(process, "SLURM_JOB_ID")) {
        add_start(NULL, settings, out, size);
        (void)check_append(out, size, "%ssrun --cpus-per-task=%u", out[0] ? " " : "", threads);
        add_words(started, next_word(started, NULL), out, size);
        (void)snprintf(launch->how, sizeof(launch->how),
                       "Slurm starts it: so in the job script, with #SBATCH --cpus-per-task=%u. To "
                       "take it back, submit the script without them.",
                       threads);
    } else if (!write_outer(view, process, settings, cpus, launch)) {
        add_start(cpus, settings, out, size);
        const char *word = next_word(started, NULL);
        add_words(started, word, out, size);
        (void)snprintf(launch->how, sizeof(launch->how), "To take it back, start it as before.");
    }
    if (out[0] == ' ')
        (void)memmove(out, out + 1, strlen(out));
}
