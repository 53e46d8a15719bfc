#include "harness/doctor/checks/check.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/array.h"
#include "harness/lib/text.h"

const struct check checks[] = {
#define CHECK_ROW(...) {__VA_ARGS__},
    CHECK_LIST(CHECK_ROW){.finds = NULL},
};

double check_wait_share(double oncpu_s, double wait_s)
{
    return wait_s > 0 ? wait_s / (wait_s + oncpu_s) : 0;
}

bool check_waits(const struct view *view, double oncpu_s, double wait_s)
{
    static const double share = 0.1, cpus = 0.1;
    return wait_s >= cpus * view->wall_s && check_wait_share(oncpu_s, wait_s) >= share;
}

bool check_append(char *text, size_t size, const char *fmt, ...)
{
    size_t used = strlen(text);
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text + used, size - used, fmt, ap);
    va_end(ap);
    bool fits = n >= 0 && (size_t)n < size - used;
    if (!fits)
        text[used] = '\0';
    return fits;
}

const char *check_sudo(const struct view *view, const struct view_process *process)
{
    return process->uid == view->uid ? "" : check_root(view);
}

bool check_may_touch(const struct view *view, const struct view_process *process, char *footnote,
                     size_t size)
{
    char user[32] = "root";
    if (process->uid == view->uid)
        return true;
    if (process->uid)
        text_set(user, "user %u", process->uid);
    (void)check_append(footnote, size, " %s (%d) belongs to %s%s.", process->name, process->pid,
                       user, view->is_root ? "" : ": ask them");
    return view->is_root;
}

const char *check_root(const struct view *view)
{
    return view->is_root ? "" : "sudo ";
}

static bool is_bound(const struct view *view, const struct view_process *process, int tid,
                     const struct bitset *cpus)
{
    bool is_known = !tid && process->mask >= 0;
    bool is_same = !is_known || bitset_equal(&view->masks[process->mask], cpus);
    for (size_t t = 0; t < process->ntasks && is_same; t++) {
        const struct view_task *task = &process->tasks[t];
        if (tid && task->tid != tid)
            continue;
        is_known = true;
        is_same = task->mask >= 0 && bitset_equal(&view->masks[task->mask], cpus);
    }
    return is_known && is_same;
}

bool check_append_bind(const struct view *view, const struct view_process *process, int tid,
                       const struct bitset *cpus, char *command, size_t size)
{
    if (is_bound(view, process, tid, cpus))
        return true;
    return check_append(command, size, "%s%staskset -%scp %s %d", command[0] ? " && " : "",
                        check_sudo(view, process), tid ? "" : "a", bitset_format(cpus),
                        tid ? tid : process->pid);
}

bool check_bind(struct checker *checker, const struct view_process *process, int tid,
                const struct bitset *cpus, char *command, size_t size)
{
    struct check_binds *binds = &checker->binds;
    if (!command[0])
        binds->n = 0;
    const size_t before = strlen(command);
    const bool fits = check_append_bind(checker->view, process, tid, cpus, command, size);
    if (fits && strlen(command) == before) /* it is bound so already */
        return true;
    struct check_bind *added = array_add(binds->all, binds->n, binds->capacity);
    if (added)
        *added = (struct check_bind){process->pid, tid, *cpus};
    else
        checker->rc = err_set(checker->err, -ENOMEM, "out of memory for %zu bindings", binds->n);
    return added && fits;
}

/* The lead comes first. */
bool check_append_taskset(struct checker *checker, size_t group, const struct bitset *cpus,
                          char *command, size_t size)
{
    const struct view *view = checker->view;
    const struct view_process *lead = checker->groups[group].lead;
    size_t n = 1;
    bool fits = check_bind(checker, lead, 0, cpus, command, size);
    for (size_t i = 0; i < view->nprocesses && fits && n < FOUND_PIDS_MAX; i++)
        if (checker->group_of[i] == (int)group && &view->processes[i] != lead) {
            fits = check_bind(checker, &view->processes[i], 0, cpus, command, size);
            n++;
        }
    return fits;
}

static void name_subject(const struct finding_parts *parts, char *buf, size_t size)
{
    buf[0] = '\0';
    if (parts->subject)
        (void)snprintf(buf, size, "%s", parts->subject);
    for (size_t i = 0; i < parts->nwho && !parts->subject; i++)
        if (!check_append(buf, size - sizeof(", ..."), "%s%s (%d)", i ? ", " : "",
                          parts->who[i]->name, (int)parts->who[i]->pid)) {
            (void)check_append(buf, size, ", ...");
            break;
        }
}

const char *check_format_gain(const struct check_gain *gain)
{
    if (gain->most >= gain->times + 0.05)
        return str_fmt("%.1fx to %.1fx", gain->times, gain->most);
    return str_fmt("%s %.1fx", gain->at_least ? "at least" : "about", gain->times);
}

/* Nobody knows what others will do: a gain without this condition was 8x, and 4.4x beside others.
 */
static const char condition[] = " It holds while others use no more CPU time than now.";

static void append_gain(const struct finding_parts *parts, char *sentence, size_t size)
{
    const struct check_gain *gain = &parts->gain;
    if (parts->severity == FINDING_NOTE && parts->cure == CURE_BIND && parts->command &&
        parts->command[0])
        (void)check_append(sentence, size,
                           " Its gain is not known: --verify tries it, --apply does not bind it.");
    else if (!isfinite(gain->times))
        (void)check_append(sentence, size, " Its gain is not known.");
    else if (gain->times > 0)
        (void)check_append(sentence, size, " That makes %s %s as fast%s%s.%s",
                           parts->nwho > 1 ? "them" : "it", check_format_gain(gain),
                           gain->at_least ? ": " : "", gain->at_least ? gain->at_least : "",
                           condition);
}

struct finding_parts finding_parts_bad(double cost, const struct view_process *const *who,
                                       size_t nwho, const char *evidence, const char *command)
{
    return (struct finding_parts){.severity = FINDING_BAD,
                                  .cost = cost,
                                  .who = who,
                                  .nwho = nwho,
                                  .evidence = evidence,
                                  .command = command};
}

struct finding_parts finding_parts_bind(double cost, const struct view_process *const *who,
                                        size_t nwho, const char *evidence, const char *command)
{
    struct finding_parts parts = finding_parts_bad(cost, who, nwho, evidence, command);
    parts.cure = CURE_BIND;
    return parts;
}

/* A command that binds owns the list of what it binds; one that did not fit binds nothing. */
static void take_cure(struct checker *checker, const struct finding_parts *parts,
                      struct found *found)
{
    found->cure = parts->cure;
    if (parts->cure != CURE_BIND)
        return;
    if (!parts->command || !parts->command[0])
        checker->binds.n = 0;
    found->binds = checker->binds;
    checker->binds = (struct check_binds){0};
}

void checker_report(struct checker *checker, const struct finding_parts *parts, const char *fmt,
                    ...)
{
    struct diagnosis *diagnosis = checker->diagnosis;
    struct found *found = array_add(diagnosis->all, diagnosis->n, diagnosis->capacity);
    if (!found) {
        checker->rc =
            err_set(checker->err, -ENOMEM, "out of memory for %zu findings", diagnosis->n + 1);
        return;
    }
    *found = (struct found){.check = checker->check, .cost = parts->cost, .gain = parts->gain};
    take_cure(checker, parts, found);
    if (parts->env_changes)
        found->env_changes = *parts->env_changes;
    struct finding *finding = &found->finding;
    finding->severity = parts->severity;
    finding->value = parts->cost;
    finding->low = finding->high = NAN;
    text_set(finding->id, "%s", parts->id ? parts->id : checker->check->id);
    name_subject(parts, finding->subject, sizeof(finding->subject));
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(finding->sentence, sizeof(finding->sentence), fmt, ap);
    va_end(ap);
    append_gain(parts, finding->sentence, sizeof(finding->sentence));
    if (parts->tail)
        (void)check_append(finding->sentence, sizeof(finding->sentence), "%s", parts->tail);
    text_set(finding->evidence, "%s", parts->evidence ? parts->evidence : "");
    text_set(finding->command, "%s", parts->command ? parts->command : "");
    for (size_t i = 0; i < parts->nwho && i < FOUND_PIDS_MAX; i++)
        found->pids[found->npids++] = parts->who[i]->pid;
}

static void add_to_group(struct checker *checker, const struct view_process *process,
                         struct check_group *group)
{
    const struct view *view = checker->view;
    group->nprocesses++;
    group->oncpu_s += view_oncpu_s(process);
    group->wait_s += view_wait_s(process);
    view_add_cpus(view, process, &group->cpus);
    for (size_t t = 0; t < process->ntasks; t++)
        group->nrunnable +=
            process->tasks[t].oncpu_s + process->tasks[t].wait_s >= 0.5 * view->wall_s;
}

static int make_groups(struct checker *checker)
{
    const struct view *view = checker->view;
    size_t n = view->nprocesses;
    checker->groups = calloc(n + 1, sizeof(checker->groups[0]));
    checker->group_of = calloc(n + 1, sizeof(checker->group_of[0]));
    checker->has_cause = calloc(n + 1, sizeof(checker->has_cause[0]));
    if (!checker->groups || !checker->group_of || !checker->has_cause)
        return err_set(checker->err, -ENOMEM, "out of memory for %zu processes", n);
    for (size_t i = 0; i < n; i++) {
        const struct view_process *process = &view->processes[i];
        checker->group_of[i] = -1;
        if (!view_is_busy(view, process))
            continue;
        const struct view_process *lead = view_lead(view, process);
        size_t group = 0;
        while (group < checker->ngroups && checker->groups[group].lead != lead)
            group++;
        checker->ngroups += group == checker->ngroups;
        checker->groups[group].lead = lead;
        checker->group_of[i] = (int)group;
        add_to_group(checker, process, &checker->groups[group]);
    }
    return 0;
}

/* Equal findings keep the order of the table. */
static int by_cost(const void *a, const void *b)
{
    const struct found *one = a, *other = b;
    double costs = isnan(one->cost) ? -1 : one->cost,
           others = isnan(other->cost) ? -1 : other->cost;
    if (one->finding.severity != other->finding.severity)
        return one->finding.severity > other->finding.severity ? -1 : 1;
    /* The finding that a group waits comes after those that say why. */
    if ((one->check->run == check_queue) != (other->check->run == check_queue))
        return one->check->run == check_queue ? 1 : -1;
    if (costs != others)
        return costs > others ? -1 : 1;
    return (one->check > other->check) - (one->check < other->check);
}

int checker_open(const struct view *view, struct checker *checker, struct err *err)
{
    *checker = (struct checker){.view = view, .err = err};
    checker->rc = make_groups(checker);
    return checker->rc;
}

void checker_close(struct checker *checker)
{
    free(checker->groups);
    free(checker->group_of);
    free(checker->has_cause);
    free(checker->binds.all);
    checker->binds = (struct check_binds){0};
    checker->has_cause = NULL;
    checker->groups = NULL;
    checker->group_of = NULL;
}

int diagnosis_make(const struct view *view, struct diagnosis *diagnosis, struct err *err)
{
    struct checker checker;
    (void)checker_open(view, &checker, err);
    checker.diagnosis = diagnosis;
    for (const struct check *check = checks; check->finds && !checker.rc; check++) {
        checker.check = check;
        if ((check->run == check_plan) == (view->plan != NULL))
            check->run(&checker);
    }
    if (diagnosis->n)
        qsort(diagnosis->all, diagnosis->n, sizeof(diagnosis->all[0]), by_cost);
    checker_close(&checker);
    return checker.rc;
}

void diagnosis_free(struct diagnosis *diagnosis)
{
    for (size_t i = 0; i < diagnosis->n; i++)
        free(diagnosis->all[i].binds.all);
    free(diagnosis->all);
    *diagnosis = (struct diagnosis){0};
}

void diagnosis_findings(const struct diagnosis *diagnosis, struct findings *findings)
{
    for (size_t i = 0; i < diagnosis->n; i++)
        findings_put(findings, &diagnosis->all[i].finding);
}

struct env_changes diagnosis_env_changes(const struct diagnosis *diagnosis)
{
    struct env_changes env_changes = {0};
    for (size_t i = 0; i < diagnosis->n; i++)
        env_changes_join(&env_changes, &diagnosis->all[i].env_changes);
    return env_changes;
}

bool diagnosis_is_bad(const struct diagnosis *diagnosis)
{
    for (size_t i = 0; i < diagnosis->n; i++)
        if (diagnosis->all[i].finding.severity == FINDING_BAD)
            return true;
    return false;
}

static bool has_name_of(const struct env_changes *changes, const char *setting)
{
    size_t length = strcspn(setting, "=");
    for (unsigned i = 0; i < changes->n; i++)
        if (strcspn(changes->settings[i], "=") == length &&
            strncmp(changes->settings[i], setting, length) == 0)
            return true;
    return false;
}

static void add(struct env_changes *changes, const char *setting)
{
    if (changes->n < ENV_CHANGES_MOST && !has_name_of(changes, setting))
        (void)snprintf(changes->settings[changes->n++], ENV_CHANGE_MAX, "%s", setting);
}

void env_changes_set(struct env_changes *changes, const char *name, unsigned value)
{
    env_changes_set_option(changes, name, "", value);
}

void env_changes_set_option(struct env_changes *changes, const char *name, const char *option,
                            unsigned value)
{
    const char *setting = str_fmt("%s=%s%u", name, option, value);
    add(changes, setting);
}

void env_changes_unset(struct env_changes *changes, const char *name)
{
    add(changes, name);
}

void env_changes_join(struct env_changes *changes, const struct env_changes *more)
{
    for (unsigned i = 0; i < more->n; i++)
        add(changes, more->settings[i]);
}

const char *env_changes_format(const struct env_changes *changes)
{
    const char *text = "";
    for (int sets = 1; sets >= 0; sets--) {
        const char *verb = sets ? "export" : text[0] ? " && unset" : "unset";
        for (unsigned i = 0; i < changes->n; i++)
            if ((strchr(changes->settings[i], '=') != NULL) == sets) {
                str_add(&text, "", "%s %s", verb, changes->settings[i]);
                verb = "";
            }
    }
    return text;
}

/* The gains that findings promise. Declared in check.h. */

struct check_gain check_gain_of_more(double oncpu_s, double more_s, bool is_team_waiting)
{
    return (struct check_gain){(oncpu_s + more_s) / oncpu_s,
                               is_team_waiting ? "threads that wait for each other may gain more"
                                               : NULL};
}

/* Spinning beyond this share is not resolved. */
static const double resolved = 0.875;

double check_times_of_spin(double share)
{
    return 1 / (1 - fmin(share, resolved));
}

/*
 * The lower bound of a spin share. Samples took spinning for up to 5% of the time too long: shares
 * of 86, 92 and 98% where the fix gained 7.9x, 7.9x and 16x, which are 87, 87 and 94%. To this the
 * error of the sampling comes, at 95%.
 */
static double least_share(double share, unsigned samples)
{
    static const double too_long = 0.05, one_sided_95 = 1.645;
    const double error = one_sided_95 * sqrt(share * (1 - share) / (samples ? samples : 1));
    return fmin(fmax(share - too_long - error, 0), resolved);
}

/*
 * Work is CPU time that is not spun away. Before, it is ran * (1 - share). After, each of the
 * threads has a CPU of its own, or shares `room` CPUs evenly with what the others want. Others
 * waited for these CPUs as the crowd did, so they want more than they got: others * wanted / ran.
 *
 * Two teams of two threads on two CPUs that spin for 95% of 1.6 CPUs, beside others that get 0.4 of
 * them and want 1: 2 * 2 / 3 / (1.6 * 0.125), 6.7x instead of 8x.
 */
struct check_gain check_gain_of_fewer(const struct check_spin *spin)
{
    static const double least = 1.1;
    const double before = 1 - least_share(spin->share, spin->samples);
    double times = 1 / before;
    if (spin->threads > 0) {
        const double others = spin->others * fmax(spin->wanted / spin->ran, 1);
        const double threads = fmin(spin->threads, spin->room);
        times = threads * fmin(1, spin->room / (threads + others)) / (spin->ran * before);
    }
    if (isnan(spin->share) || !(times >= least))
        return (struct check_gain){.times = NAN};
    return (struct check_gain){times, "by the samples of their spinning"};
}
