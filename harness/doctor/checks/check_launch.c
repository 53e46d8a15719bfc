#include "harness/doctor/checks/check_launch.h"

#include <stdio.h>
#include <string.h>

#include "harness/doctor/checks/check.h"
#include "harness/lib/text.h"

/* The argument after `word`, the first one if `word` is NULL; NULL: there is none. */
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

/* Programs that start the processes of a job: those that users type, then their helpers. */
static const char *const mpi[] = {"mpirun", "mpiexec", "orterun", "prterun", NULL};
static const char *const torch[] = {"torchrun", "torch.distributed.run", "torch.distributed.launch",
                                    NULL};
static const char *const agents[] = {"orted", "prted", "hydra_pmi_proxy", "slurmstepd", NULL};

/* True also for "mpirun.openmpi" and "slurmstepd: [7.0]". */
static bool is_named(const char *word, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(base_of(word), name, length) == 0 && strchr(".:", base_of(word)[length]);
}

static const char *find_word(const struct view_process *process, const char *const *names)
{
    for (const char *word = next_word(process, NULL); word; word = next_word(process, word))
        for (const char *const *name = names; *name; name++)
            if (is_named(word, *name))
                return word;
    return NULL;
}

/* The nearest ancestor whose arguments include one of these names; NULL: there is none. */
static const struct view_process *
find_above(const struct view *view, const struct view_process *process, const char *const *names)
{
    for (size_t hops = 0; process && hops < view->nprocesses; hops++) {
        process = view_find(view, process->parent);
        if (process && process->command_size && find_word(process, names))
            return process;
    }
    return NULL;
}

const struct view_process *launch_find_launcher(const struct view *view,
                                                const struct view_process *process)
{
    static const char *const *const all[] = {mpi, torch, agents};
    for (size_t hops = 0; process && hops < view->nprocesses; hops++) {
        process = view_find(view, process->parent);
        for (size_t i = 0; process && process->command_size && i < sizeof(all) / sizeof(all[0]);
             i++)
            if (find_word(process, all[i]))
                return process;
    }
    return NULL;
}

/* The process that was started with its own command line: skips forks, which have the arguments of
 * their parent, and helpers of Python's multiprocessing. */
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

const char *launch_find_argument(const struct view_process *process, const char *option)
{
    const char *found = NULL;
    for (const char *word = next_word(process, NULL); word; word = next_word(process, word))
        if (strncmp(word, option, strcspn(option, "=") + 1) == 0)
            found = word;
    return found;
}

/*
 * Adds the arguments from `word` up to `end`. False: some cannot be shown, and end as " ...".
 * `argument` replaces those of its name, or comes after the name of the JVM; "" = no change.
 */
static bool add_words(const struct view_process *process, const char *word, const char *end,
                      const char *argument, char *buf, size_t size)
{
    static const char more[] = " ...";
    const size_t name = strcspn(argument, "=") + 1;
    const bool is_there = argument[0] && launch_find_argument(process, argument);
    for (; word != end; word = next_word(process, word)) {
        const bool is_other = is_there && strncmp(word, argument, name) == 0;
        bool fits = is_printable(word) && check_append(buf, size - sizeof(more), " %s",
                                                       is_other ? argument : text_shell_word(word));
        if (fits && argument[0] && !is_there && strcmp(base_of(word), "java") == 0)
            fits = check_append(buf, size - sizeof(more), " %s", argument);
        if (!fits) {
            (void)check_append(buf, size, "%s", more);
            return false;
        }
    }
    return true;
}

/* Finds the name of a unit or container in the cgroup paths: the text between `before` and
 * `behind`, if it has only characters of such names. */
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

/* Services that only start other people's programs do not count as the job's unit. */
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

/* Adds each NAME=VALUE after `before`, with `behind` in place of '='. */
static void add_changes(const struct env_changes *env_changes, const char *before, char behind,
                        char *buf, size_t size)
{
    for (unsigned i = 0; i < env_changes->n; i++) {
        const char *setting = env_changes->settings[i], *value = strchr(setting, '=');
        if (value)
            (void)check_append(buf, size, "%s%.*s%c%s", before, (int)(value - setting), setting,
                               behind, value + 1);
    }
}

/* Adds the variables of view_carried that the process was started with, each after `before`. */
static void add_carried(const struct view_process *process, bool is_container, const char *before,
                        struct launch *launch)
{
    enum { MOST = 300 }; /* leaves room for the rest of the line */
    char carried[MOST] = "";
    const char *missing = "";
    for (const char *const *names = view_carried + !is_container; *names; names++) {
        const char *value = view_setting(process, *names);
        if (value && !(is_printable(value) && check_append(carried, sizeof(carried), "%s%s=%s",
                                                           before, *names, text_shell_word(value))))
            str_add(&missing, "", "%s%s", missing[0] ? ", " : "", *names);
    }
    (void)check_append(launch->command, sizeof(launch->command), "%s", carried);
    if (process->environ_refused)
        (void)check_append(launch->how, sizeof(launch->how),
                           " Its environment is not readable: set its GPU and rank.");
    else if (missing[0])
        (void)check_append(launch->how, sizeof(launch->how), " Also set %s as before.", missing);
}

/* Adds what a typed line does not carry over. */
static void note_lost_by_shell_line(struct launch *launch)
{
    (void)check_append(launch->how, sizeof(launch->how),
                       "The line carries neither its directory nor the rest of its environment. To "
                       "undo it, start it as before.");
}

static void write_shell_line(const struct view_process *process,
                             const struct env_changes *env_changes, const struct bitset *cpus,
                             struct launch *launch)
{
    char *out = launch->command;
    const size_t size = sizeof(launch->command);
    note_lost_by_shell_line(launch);
    add_changes(env_changes, " ", '=', out, size);
    add_carried(process, false, " ", launch);
    if (cpus)
        (void)check_append(out, size, " taskset -c %s", bitset_format(cpus));
    (void)add_words(process, next_word(process, NULL), NULL, env_changes->argument, out, size);
}

static void write_unit(const char *unit, const struct env_changes *env_changes,
                       const struct bitset *cpus, struct launch *launch)
{
    char *out = launch->command;
    const size_t size = sizeof(launch->command);
    (void)check_append(out, size,
                       "sudo mkdir -p /etc/systemd/system/%s.service.d && printf '[Service]", unit);
    add_changes(env_changes, "\\nEnvironment=", '=', out, size);
    if (cpus)
        (void)check_append(out, size, "\\nCPUAffinity=%s", bitset_format(cpus));
    (void)check_append(out, size,
                       "\\n' | sudo tee /etc/systemd/system/%s.service.d/threads.conf && sudo "
                       "systemctl daemon-reload && sudo systemctl restart %s",
                       unit, unit);
    text_set(launch->how,
             "systemd starts it as %.60s.service: the command adds a drop-in, as 'systemctl "
             "edit' does. To undo it, delete threads.conf, reload and restart.",
             unit);
}

/* Writes the line for a container, a pod or a unit. False: it was started by hand. */
static bool write_outside_shell(const struct view *view, const struct view_process *process,
                                const struct view_process *started,
                                const struct env_changes *env_changes, const struct bitset *cpus,
                                struct launch *launch)
{
    char name[160], *out = launch->command;
    const size_t size = sizeof(launch->command);
    if (is_in_kubernetes(view, process)) {
        if (!env_changes->n)
            return true;
        (void)check_append(out, size, "kubectl set env deployment/NAME");
        add_changes(env_changes, " ", '=', out, size);
        text_set(launch->how,
                 "Kubernetes starts it: NAME is its deployment (or statefulset/, or 'env' in "
                 "the spec of the pod). To undo it, give each name with a '-' behind it "
                 "in place of its value.");
    } else if (find_container(view, process, name, sizeof(name))) {
        (void)check_append(out, size, "%s run", is_podman(view, process) ? "podman" : "docker");
        add_changes(env_changes, " -e ", '=', out, size);
        text_set(launch->how,
                 "It runs in container %.12s: give 'run' the options that it had, and these. "
                 "To undo it, start it as before.",
                 name);
        add_carried(started, true, " -e ", launch);
        if (cpus)
            (void)check_append(out, size, " --cpuset-cpus=%s", bitset_format(cpus));
        (void)check_append(out, size, " ... IMAGE");
        (void)add_words(started, next_word(started, NULL), NULL, env_changes->argument, out, size);
    } else if (find_unit(view, process, name, sizeof(name))) {
        if (env_changes->n || cpus)
            write_unit(name, env_changes, cpus, launch);
    } else
        return false;
    return true;
}

/* Inserts the settings after the name of mpirun, before the options that it had. */
static void write_mpirun(const struct view_process *above, const char *name, bool is_openmpi,
                         const struct env_changes *env_changes, struct launch *launch)
{
    char *out = launch->command;
    const size_t size = sizeof(launch->command);
    text_set(launch->how, "%s starts it. ", base_of(name));
    note_lost_by_shell_line(launch);
    add_carried(above, false, " ", launch);
    (void)add_words(above, next_word(above, NULL), next_word(above, name), env_changes->argument,
                    out, size);
    add_changes(env_changes, is_openmpi ? " -x " : " -genv ", is_openmpi ? '=' : ' ', out, size);
    (void)add_words(above, next_word(above, name), NULL, env_changes->argument, out, size);
}

/* srun sets ranks and GPUs for its tasks; without srun, the line must carry them over. */
static void write_slurm(const struct view_process *started, const struct env_changes *env_changes,
                        unsigned threads, struct launch *launch)
{
    char *out = launch->command;
    const size_t size = sizeof(launch->command);
    text_set(launch->how,
             "Slurm starts it: so in the job script, with #SBATCH --cpus-per-task=%u. To "
             "undo it, submit the script as before.",
             threads);
    add_changes(env_changes, " ", '=', out, size);
    if (!view_setting(started, "SLURM_STEP_ID"))
        add_carried(started, false, " ", launch);
    (void)check_append(out, size, " srun --cpus-per-task=%u", threads);
    (void)add_words(started, next_word(started, NULL), NULL, env_changes->argument, out, size);
}

/* The changes without those that the process was started with. */
static struct env_changes find_new(const struct view_process *process,
                                   const struct env_changes *env_changes)
{
    struct env_changes changes = *env_changes;
    changes.n = 0;
    for (unsigned i = 0; i < env_changes->n; i++) {
        const char *setting = env_changes->settings[i], *value = strchr(setting, '=');
        const char *name = str_fmt("%.*s", (int)strcspn(setting, "="), setting);
        const char *now = view_setting(process, name);
        if (value && !(now && strcmp(now, value + 1) == 0))
            memcpy(changes.settings[changes.n++], setting, ENV_CHANGE_MAX);
    }
    const char *argument =
        changes.argument[0] ? launch_find_argument(process, changes.argument) : NULL;
    if (argument && strcmp(argument, changes.argument) == 0)
        changes.argument[0] = '\0';
    return changes;
}

void launch_write(const struct view *view, const struct view_process *process,
                  const struct env_changes *wanted, const struct bitset *cpus, unsigned threads,
                  struct launch *launch)
{
    const struct view_process *started = find_started(view, process), *above = NULL;
    const bool is_openmpi = view_setting(process, "OMPI_COMM_WORLD_SIZE");
    const struct env_changes changes = find_new(process, wanted), *env_changes = &changes;
    char *out = launch->command;
    *launch = (struct launch){0};
    if (cpus && process->mask >= 0 && bitset_equal(&view->masks[process->mask], cpus))
        cpus = NULL;
    const bool is_set = changes.n || changes.argument[0];
    if (!started->command_size || !(cpus || is_set))
        return;
    if ((is_openmpi || view_setting(process, "PMI_SIZE")) &&
        (above = find_above(view, process, mpi))) {
        if (is_set)
            write_mpirun(above, find_word(above, mpi), is_openmpi, env_changes, launch);
    } else if (view_setting(process, "TORCHELASTIC_RUN_ID") &&
               (above = find_above(view, process, torch))) {
        if (!is_set)
            return;
        text_set(launch->how, "torchrun starts it, and passes its environment on. ");
        write_shell_line(above, env_changes, NULL, launch);
    } else if (view_setting(process, "SLURM_JOB_ID")) {
        write_slurm(started, env_changes, threads, launch);
    } else if (!write_outside_shell(view, process, started, env_changes, cpus, launch)) {
        write_shell_line(started, env_changes, cpus, launch);
    }
    if (out[0] == ' ')
        (void)memmove(out, out + 1, strlen(out));
}

/* The length of the option of `word` if it gives a number of ranks, else 0. */
static size_t find_count_option(const char *word)
{
    static const char *const options[] = {
        "-n",       "-np", "--n", "--np", "-ppn", "--nproc-per-node", "--nproc_per_node",
        "--ntasks", NULL};
    const size_t length = strcspn(word, "=");
    for (const char *const *option = options; *option; option++)
        if (strlen(*option) == length && strncmp(word, *option, length) == 0)
            return length;
    return 0;
}

/* Writes the arguments of a launcher with another number of ranks; false: they do not name it. */
static bool write_fewer(const struct view_process *above, unsigned seen, unsigned wanted, char *out,
                        size_t size)
{
    unsigned found = 0;
    size_t before = 0; /* of the word before this one */
    bool fits = true;
    const char *was = str_fmt("%u", seen);
    for (const char *word = next_word(above, NULL); word && fits; word = next_word(above, word)) {
        const size_t option = find_count_option(word);
        const bool is_inside = option && word[option] && strcmp(word + option + 1, was) == 0;
        const bool is_count = before && strcmp(word, was) == 0;
        if (is_inside || is_count)
            fits =
                check_append(out, size, " %.*s%u", is_inside ? (int)option + 1 : 0, word, wanted);
        else
            fits = add_words(above, word, next_word(above, word), "", out, size);
        found += is_inside || is_count;
        before = word[option] ? 0 : option;
    }
    return fits && found == 1;
}

void launch_write_ranks(const struct view *view, const struct view_process *process, unsigned seen,
                        unsigned wanted, struct launch *launch)
{
    const struct view_process *above = find_above(view, process, mpi);
    char *out = launch->command;
    const size_t size = sizeof(launch->command);
    bool is_known = true;
    *launch = (struct launch){0};
    above = above ? above : find_above(view, process, torch);
    note_lost_by_shell_line(launch);
    if (above) {
        add_carried(above, false, " ", launch);
        is_known = write_fewer(above, seen, wanted, out, size);
    } else if (view_setting(process, "SLURM_PROCID") && process->command_size) {
        (void)check_append(out, size, " srun --ntasks=%u", wanted);
        is_known = add_words(process, next_word(process, NULL), NULL, "", out, size);
    }
    if (!out[0] || !is_known)
        *launch = (struct launch){0};
    else
        (void)memmove(out, out + 1, strlen(out));
}
