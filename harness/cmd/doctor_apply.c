#include "harness/cmd/doctor_apply.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/doctor/apply.h"
#include "harness/doctor/apply_plan.h"
#include "harness/doctor/host.h"
#include "harness/table/findings.h"

static int find_state(const struct doctor_apply_options *options, char *path, size_t size,
                      struct err *err)
{
    if (!options->state)
        return apply_state_path(path, size, err);
    if ((size_t)snprintf(path, size, "%s", options->state) >= size)
        return err_set(err, -ENAMETOOLONG, "the path of the state file is too long");
    return 0;
}

static void show(const struct view *view, const struct view_process *const *leads, size_t n,
                 const struct plan *plan)
{
    char now[BITSET_LIST_MAX], then[BITSET_LIST_MAX];
    (void)printf("placement %s:\n", placement_infos[plan->placement].name);
    for (size_t w = 0; w < n; w++) {
        struct bitset cpus = {0};
        view_add_cpus(view, leads[w], &cpus);
        (void)printf("  worker %zu: %s (%d), and what it started: CPUs %s instead of %s\n", w,
                     leads[w]->name, (int)leads[w]->pid,
                     bitset_format(&plan->workers[w].cpus, then, sizeof(then)),
                     bitset_format(&cpus, now, sizeof(now)));
    }
}

/* -EINVAL where nobody can be asked. */
static int ask(bool *wanted, struct err *err)
{
    char answer[16] = "";
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return err_set(err, -EINVAL, "nothing was bound: without a terminal, --apply needs --yes");
    (void)printf("Bind them? [y/N] ");
    (void)fflush(stdout);
    *wanted = fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
    return 0;
}

static int bind_all(const struct view *view, const struct view_process *const *leads, size_t n,
                    const struct plan *plan, const char *state, struct err *err)
{
    size_t nlisted = 0, nbound;
    struct apply_process *bound = calloc(view->nprocesses, sizeof(*bound));
    if (!bound)
        return err_set(err, -ENOMEM, "out of memory for %zu processes", view->nprocesses);
    for (size_t i = 0; i < view->nprocesses; i++) {
        const struct view_process *process = &view->processes[i];
        size_t w = apply_worker_of(view, process, leads, n);
        if (w == n || process->kernel || process->state == 'Z')
            continue;
        struct apply_process *one = &bound[nlisted++];
        *one = (struct apply_process){.pid = process->pid,
                                      .start_ticks = process->start_ticks,
                                      .is_lead = process == leads[w],
                                      .cpus = plan->workers[w].cpus};
        memcpy(one->name, process->name, sizeof(one->name));
    }
    int rc = apply_bind(bound, nlisted, state, &nbound, err);
    if (!rc)
        (void)printf("bound %zu process%s; contend doctor --undo gives back what they had\n",
                     nbound, nbound == 1 ? "" : "es");
    free(bound);
    return rc;
}

/* Returns with *wanted whether they are to be bound. */
static int plan_and_ask(const struct view *view, const struct view_process **leads, size_t n,
                        const struct doctor_apply_options *options, struct plan *plan, bool *wanted,
                        struct err *err)
{
    struct topo own = {0};
    const struct topo *topo = host_topo(view);
    int rc = 0;
    if (!topo) {
        rc = topo_load(&(struct topo_options){.probe_gpus = true}, &own, err);
        topo = &own;
    }
    if (!rc)
        rc = apply_plan(view, topo, leads, n, options->placement, plan, err);
    if (!rc)
        show(view, leads, n, plan);
    if (!rc)
        rc = findings_print_plan(topo, plan, stdout, err);
    if (!rc && !*wanted)
        rc = ask(wanted, err);
    topo_free(&own);
    return rc;
}

int doctor_apply(const struct view *view, const struct doctor_apply_options *options, bool *done,
                 struct err *err)
{
    char state[PATH_MAX];
    struct plan plan = {0};
    *done = false;
    const struct view_process **leads = calloc(view->nprocesses, sizeof(const void *));
    size_t n = leads ? apply_find_leads(view, leads) : 0;
    bool wanted = options->yes;
    int rc = leads ? find_state(options, state, sizeof(state), err)
                   : err_set(err, -ENOMEM, "out of memory for %zu processes", view->nprocesses);
    if (!rc && n) {
        rc = plan_and_ask(view, leads, n, options, &plan, &wanted, err);
        if (!rc && wanted && !options->state)
            rc = apply_make_folder(state, err);
        if (!rc && wanted)
            rc = bind_all(view, leads, n, &plan, state, err);
        *done = !rc && wanted;
    } else if (!rc)
        (void)puts("none of them is busy: there is nothing to bind");
    plan_free(&plan);
    free(leads);
    return rc;
}

int doctor_undo(const struct doctor_apply_options *options, struct err *err)
{
    char state[PATH_MAX];
    size_t restored = 0, gone = 0;
    int rc = find_state(options, state, sizeof(state), err);
    if (!rc)
        rc = apply_undo(state, &restored, &gone, err);
    if (!rc)
        (void)printf("%zu process%s may run where %s could before; %zu ended meanwhile\n", restored,
                     restored == 1 ? "" : "es", restored == 1 ? "it" : "they", gone);
    return rc;
}
