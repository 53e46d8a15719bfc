#include "harness/doctor/cmd/doctor_apply.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/doctor/apply/apply_plan.h"
#include "harness/doctor/cmd/doctor_meter.h"
#include "harness/doctor/reader/host.h"
#include "harness/lib/say/log.h"
#include "harness/plan/placement/check.h"
#include "harness/show/doc/doc.h"

/* How long the bystanders are watched after an --apply. */
static const double cost_s = 3;

/* Most bystanders that are named. */
enum { NAMED = 5 };

static int find_state(const struct doctor_apply_options *options, char *path, size_t size,
                      struct err *err)
{
    if (!options->state)
        return apply_state_path(path, size, err);
    if ((size_t)snprintf(path, size, "%s", options->state) >= size)
        return err_set(err, -ENAMETOOLONG, "the path of the state file is too long");
    return 0;
}

/* " of alice" if the user is not us. */
static const char *whose(unsigned uid, char *buf, size_t size)
{
    const struct passwd *user = uid == getuid() ? NULL : getpwuid(uid);
    buf[0] = '\0';
    if (user)
        (void)snprintf(buf, size, " of %s", user->pw_name);
    else if (uid != getuid())
        (void)snprintf(buf, size, " of user %u", uid);
    return buf;
}

static void show(const struct view *view, const struct view_process *const *leads, size_t n,
                 const struct plan *plan, FILE *out)
{
    char now[BITSET_LIST_MAX], then[BITSET_LIST_MAX], user[80];
    (void)fprintf(out, "placement %s:\n", placement_infos[plan->placement].name);
    for (size_t w = 0; w < n; w++) {
        struct bitset cpus = {0};
        view_add_cpus(view, leads[w], &cpus);
        (void)fprintf(out, "  worker %zu: %s (%d)%s, and what it started: CPUs %s instead of %s\n",
                      w, leads[w]->name, (int)leads[w]->pid,
                      whose(leads[w]->uid, user, sizeof(user)),
                      bitset_format(&plan->workers[w].cpus, then, sizeof(then)),
                      bitset_format(&cpus, now, sizeof(now)));
    }
}

static void report_more(const struct bystanders *bystanders, FILE *out)
{
    if (bystanders->n > NAMED)
        (void)fprintf(out, "  and %zu more\n", bystanders->n - NAMED);
}

void doctor_print_bystanders(const struct bystanders *bystanders, FILE *out)
{
    char user[80];
    if (bystanders->n)
        (void)fprintf(out, "Other busy processes:\n");
    for (size_t i = 0; i < bystanders->n && i < NAMED; i++)
        (void)fprintf(out, "  %s (%d)%s: %.2f CPUs\n", bystanders->all[i].name,
                      bystanders->all[i].pid, whose(bystanders->all[i].uid, user, sizeof(user)),
                      bystanders->all[i].cpus);
    report_more(bystanders, out);
}

void doctor_report_cost(const struct bystanders *bystanders, FILE *out)
{
    char user[80];
    double before = bystanders_cpus(bystanders, SIZE_MAX, false),
           after = bystanders_cpus(bystanders, SIZE_MAX, true);
    if (!bystanders->n || isnan(before) || isnan(after))
        return;
    (void)fprintf(out, "The other busy processes had %.2f CPUs before and %.2f with it:\n", before,
                  after);
    for (size_t i = 0; i < bystanders->n && i < NAMED; i++)
        (void)fprintf(out, "  %s (%d)%s: %.2f -> %.2f CPUs\n", bystanders->all[i].name,
                      bystanders->all[i].pid, whose(bystanders->all[i].uid, user, sizeof(user)),
                      bystanders_cpus(bystanders, i, false), bystanders_cpus(bystanders, i, true));
    report_more(bystanders, out);
}

/* Waits for a signal too, so that Ctrl-C answers the question. */
int doctor_ask(const char *question, const char *option, struct signals *signals, bool *wanted,
               struct err *err)
{
    char answer[16] = "";
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return err_set(err, -EINVAL, "nothing was changed: without a terminal, %s needs --yes",
                       option);
    (void)printf("%s? [y/N] ", question);
    (void)fflush(stdout);
    struct pollfd events[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                              {.fd = signals->fd, .events = POLLIN}};
    while (!events[0].revents) {
        (void)poll(events, 2, -1);
        if (signals_take(signals))
            return err_set(err, -EINTR, "interrupted");
    }
    *wanted = fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
    return 0;
}

/* Leaves out workers of other users, unless we are root. */
static size_t leave_out_foreign(const struct view *view, const struct view_process **leads,
                                size_t n, FILE *out)
{
    char user[80];
    size_t kept = 0;
    for (size_t w = 0; w < n; w++)
        if (view->is_root || leads[w]->uid == view->uid)
            leads[kept++] = leads[w];
        else
            (void)fprintf(out, "%s (%d)%s belongs to another user: only root can bind it.\n",
                          leads[w]->name, (int)leads[w]->pid,
                          whose(leads[w]->uid, user, sizeof(user)));
    return kept;
}

struct targets {
    const struct view *view;
    const struct view_process *const *leads;
    size_t n;
};

static bool is_target(const void *arg, const struct view_process *process)
{
    const struct targets *targets = arg;
    return doctor_is_own_process(NULL, process) ||
           apply_worker_of(targets->view, process, targets->leads, targets->n) < targets->n;
}

bool doctor_is_own_process(const void *arg, const struct view_process *process)
{
    (void)arg;
    return process->pid == getpid() || process->parent == getpid();
}

static int list_processes(const struct view *view, const struct view_process *const *leads,
                          size_t n, const struct plan *plan, struct doctor_change *change,
                          struct err *err)
{
    change->processes = calloc(view->nprocesses + 1, sizeof(*change->processes));
    if (!change->processes)
        return err_set(err, -ENOMEM, "out of memory for %zu processes", view->nprocesses);
    for (size_t i = 0; i < view->nprocesses; i++) {
        const struct view_process *process = &view->processes[i];
        size_t w = apply_worker_of(view, process, leads, n);
        if (w == n || process->kernel || process->state == 'Z')
            continue;
        struct apply_process *one = &change->processes[change->n++];
        *one = (struct apply_process){.pid = process->pid,
                                      .start_ticks = process->start_ticks,
                                      .is_lead = process == leads[w],
                                      .cpus = plan->workers[w].cpus};
        memcpy(one->name, process->name, sizeof(one->name));
        struct bitset now = {0};
        view_add_cpus(view, process, &now);
        change->is_new |= process->watched && !bitset_equal(&now, &one->cpus);
    }
    return 0;
}

static int plan_and_show(const struct view *view, const struct view_process **leads, size_t n,
                         const struct doctor_apply_options *options, FILE *out, struct plan *plan,
                         struct err *err)
{
    struct topo own = {0};
    struct findings findings = {0};
    const struct topo *topo = host_topo(view);
    int rc = 0;
    if (!topo) {
        rc = host_load_topo(&own, err);
        topo = &own;
    }
    if (!rc)
        rc = apply_plan(view, topo, leads, n, options->placement, plan, err);
    if (!rc)
        show(view, leads, n, plan, out);
    if (!rc)
        rc = plan_check(topo, plan, &findings, err);
    if (!rc)
        doc_print_findings(&findings, out, false);
    findings_free(&findings);
    topo_free(&own);
    return rc;
}

int doctor_change_make(const struct view *view, const struct doctor_apply_options *options,
                       FILE *out, struct doctor_change *change, struct err *err)
{
    struct plan plan = {0};
    *change = (struct doctor_change){.makes_folder = !options->state};
    const struct view_process **leads = calloc(view->nprocesses + 1, sizeof(const void *));
    size_t n = leads ? apply_find_leads(view, leads) : 0;
    int rc = leads ? find_state(options, change->state, sizeof(change->state), err)
                   : err_set(err, -ENOMEM, "out of memory for %zu processes", view->nprocesses);
    if (!rc)
        n = leave_out_foreign(view, leads, n, out);
    if (!rc && n) {
        const struct targets targets = {view, leads, n};
        rc = plan_and_show(view, leads, n, options, out, &plan, err);
        if (!rc)
            rc = list_processes(view, leads, n, &plan, change, err);
        bystanders_find(view, is_target, &targets, &change->bystanders);
        if (!rc)
            doctor_print_bystanders(&change->bystanders, out);
    }
    plan_free(&plan);
    free(leads);
    return rc;
}

void doctor_change_free(struct doctor_change *change)
{
    free(change->processes);
    *change = (struct doctor_change){0};
}

int doctor_change_do(const struct doctor_change *change, enum apply_purpose purpose, size_t *bound,
                     struct err *err)
{
    struct apply_left left;
    struct err ignored;
    int rc = change->makes_folder ? apply_make_folder(change->state, err) : 0;
    if (rc)
        return rc;
    rc = apply_bind(change->processes, change->n, purpose, change->state, bound, err);
    if (rc && rc != -EEXIST)
        (void)apply_undo(change->state, getpid(), &left, &ignored);
    return rc;
}

/* Measures the bystanders after the change; their use before it is known. */
static int report_cost(struct reader *reader, struct bystanders *bystanders,
                       struct signals *signals, struct err *err)
{
    if (!bystanders->n)
        return 0;
    int rc = reader_mark(reader, err);
    if (!rc)
        rc = meter_rest(cost_s, signals, err);
    if (rc == -EINTR)
        return err_set(err, rc, "interrupted; they stay bound until 'contend doctor --undo'");
    if (!rc)
        rc = reader_tick(reader, READER_WHOLE, err);
    if (!rc)
        bystanders_add_block(bystanders, &reader->view, true);
    if (!rc)
        doctor_report_cost(bystanders, stdout);
    return rc;
}

int doctor_apply(struct reader *reader, const struct doctor_apply_options *options,
                 struct signals *signals, bool *done, struct err *err)
{
    struct doctor_change change;
    bool wanted = options->yes;
    size_t bound = 0;
    *done = false;
    int rc = doctor_change_make(&reader->view, options, stdout, &change, err);
    if (!rc && !change.n)
        (void)puts("nothing was changed: no busy process can be bound");
    if (!rc && change.n && !wanted)
        rc = doctor_ask("Bind them", "--apply", signals, &wanted, err);
    if (!rc && change.n && wanted) {
        bystanders_add_block(&change.bystanders, &reader->view, false);
        rc = doctor_change_do(&change, APPLY_KEPT, &bound, err);
        *done = !rc;
    }
    if (*done) {
        (void)printf("bound %zu process%s; contend doctor --undo restores what they had\n", bound,
                     bound == 1 ? "" : "es");
        (void)fflush(stdout);
        rc = report_cost(reader, &change.bystanders, signals, err);
    }
    doctor_change_free(&change);
    return rc;
}

int doctor_undo(const struct doctor_apply_options *options, struct err *err)
{
    char state[PATH_MAX];
    struct apply_left left = {0};
    int rc = find_state(options, state, sizeof(state), err);
    if (!rc)
        rc = apply_undo(state, 0, &left, err);
    if (!rc)
        (void)printf("%zu process%s may run where %s could before; %zu ended meanwhile\n",
                     left.nlive, left.nlive == 1 ? "" : "es", left.nlive == 1 ? "it" : "they",
                     left.nended);
    return rc;
}

/* Only logs errors: none of them stops the diagnosis. */
void doctor_undo_stale_trial(const struct doctor_apply_options *options)
{
    char path[PATH_MAX];
    struct apply_state state = {0};
    struct err err;
    if (find_state(options, path, sizeof(path), &err))
        return;
    int rc = apply_state_read(path, &state, &err);
    struct apply_left *left = &state.left;
    bool behind = !rc && left->kind == APPLY_LEFT_BEHIND;
    bool over = !rc && left->kind == APPLY_LEFT_KEPT && !left->nlive;
    if (behind || over)
        rc = apply_undo(path, 0, left, &err);
    if (rc && rc != -ENOENT)
        log_warn("%s", err.msg);
    else if (behind)
        log_warn("an earlier 'contend doctor --verify' was killed: undone, %zu process%s may run "
                 "where %s could before; %zu ended meanwhile",
                 left->nlive, left->nlive == 1 ? "" : "es", left->nlive == 1 ? "it" : "they",
                 left->nended);
    else if (left->kind == APPLY_LEFT_KEPT && !over)
        log_info("%zu process%s still bound by an earlier --apply; 'contend doctor --undo' "
                 "restores what they had",
                 left->nlive, left->nlive == 1 ? " is" : "es are");
    free(state.masks);
}
