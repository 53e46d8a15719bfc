#include "harness/comms/cmd/run_comms.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/comms/cmd/comms_driver.h"
#include "harness/comms/cmd/comms_plugin.h"
#include "harness/comms/cmd/comms_show.h"
#include "harness/comms/findings/findings.h"
#include "harness/comms/tables/comms.h"
#include "harness/engine/run/setup.h"
#include "harness/lib/say/log.h"
#include "harness/store/files/logs.h"
#include "harness/verdict/odd/odd.h"

struct run_comms {
    const struct run_setup *setup; /* borrowed */
    char directory[PATH_MAX];      /* absolute */
    char plugin[PATH_MAX + 64], folder[PATH_MAX + 64];
    char texts[3][PATH_MAX + 160];
    struct opt_texts env;
    struct comms_driver *driver; /* owned; as it was before the arm */
    struct err why;              /* it is not known; then it is not asked again */
    struct comms_checked checked;
    struct findings findings; /* of all rounds so far */
};

static size_t index_of(const struct run_comms *comms, const struct arm *arm)
{
    return (size_t)(arm - comms->setup->result.arms);
}

/* Number and name, so that a person finds it: "02-partition-4". */
static const char *name_folder(struct run_comms *comms, const struct arm *arm)
{
    (void)snprintf(comms->folder, sizeof(comms->folder), "%s/%02zu-%s-%u%s", comms->directory,
                   index_of(comms, arm), placement_infos[arm->placement].name, arm->planned_workers,
                   arm->alone ? "-alone" : "");
    return comms->folder;
}

/* ---- before an arm ---- */

/* Removes the logs of the round before. */
static int clear(const char *folder, struct err *err)
{
    if (mkdir(folder, 0777) && errno != EEXIST)
        return err_sys(err, -errno, "cannot make '%.150s'", folder);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, -errno, "cannot open '%.150s'", folder);
    logs_clear(fd);
    (void)close(fd);
    return 0;
}

/* A driver that has not answered once is asked no more. */
static void ask_driver(struct run_comms *comms)
{
    comms_driver_free(comms->driver);
    comms->driver = comms->why.code ? NULL : comms_driver_ask(&comms->why);
}

/* Logs of the round before are gone then: they were compared, and each has megabytes. */
static const struct opt_texts *before(void *arg, const struct arm *arm, struct err *err)
{
    struct run_comms *comms = arg;
    const char *folder = name_folder(comms, arm);
    if (clear(folder, err))
        return NULL;
    (void)snprintf(comms->texts[0], sizeof(comms->texts[0]), COMMS_PLUGIN_VARIABLE "=%s",
                   comms->plugin);
    (void)snprintf(comms->texts[1], sizeof(comms->texts[1]), COMMS_DIRECTORY_VARIABLE "=%s",
                   folder);
    (void)snprintf(comms->texts[2], sizeof(comms->texts[2]),
                   COMMS_GRAPH_VARIABLE "=%s/" COMMS_GRAPH_FILE, folder);
    ask_driver(comms);
    bool graphs = comms_driver_allows_graphs(comms->driver) && !getenv(COMMS_GRAPH_VARIABLE);
    comms->env = (struct opt_texts){.text = {comms->texts[0], comms->texts[1], comms->texts[2]},
                                    .n = graphs ? 3 : 2};
    return &comms->env;
}

/* ---- behind it ---- */

static int compare(struct run_comms *comms, const struct arm *arm, const struct comms_logs *logs,
                   const struct observation *of, struct err *err)
{
    char subject[160];
    int rc = 0;
    (void)statuses_name_arm(&comms->setup->result, arm, subject, sizeof(subject));
    for (unsigned i = 0; i < of->nworkers && !rc; i++) {
        const struct worker_result *worker = &of->workers[i];
        if (worker->status == STATUS_OK && !worker->background)
            rc = comms_check(logs, worker->pid, &worker->made, subject, &comms->checked,
                             &comms->findings, err);
    }
    return rc;
}

/* A log that cannot be read is told, and ends nothing. */
static int after(void *arg, const struct arm *arm, const struct observation *observation,
                 struct err *err)
{
    struct run_comms *comms = arg;
    struct comms_logs logs = {0};
    struct err why = {0};
    struct finding finding = {.id = "comms_unreadable", .severity = FINDING_BAD};
    comms_driver_write(name_folder(comms, arm), comms->driver, &comms->why);
    int rc = comms_logs_read(name_folder(comms, arm), &logs, NULL, &why);
    if (rc) {
        comms->checked.differ++;
        (void)statuses_name_arm(&comms->setup->result, arm, finding.subject,
                                sizeof(finding.subject));
        (void)snprintf(finding.sentence, sizeof(finding.sentence), "%s", why.msg);
        rc = findings_add(&comms->findings, &finding, err);
    } else
        rc = compare(comms, arm, &logs, observation, err);
    comms_logs_free(&logs);
    return rc;
}

/* ---- the whole ---- */

/* That all its arms are of ranks on GPUs, where NCCL carries what they send. */
static int check_arms(const struct run_setup *setup, struct err *err)
{
    const struct result *result = &setup->result;
    for (size_t i = 0; i < result_measured(result); i++) {
        const struct arm *arm = &result->arms[i];
        enum device device = arm_device(result, arm);
        bool sends = arm->bench->gang && (arm->bench->needs & (NEED_COLLECTIVE | NEED_DEVICE));
        if (!sends)
            return err_set(err, -ENOTSUP, "--comms: %s does not call NCCL; allreduce and train do",
                           arm->bench->name);
        if (device != DEVICE_NCCL && device != DEVICE_CUDA)
            return err_set(err, -ENOTSUP,
                           "--comms: %s runs over '%s' here, and without NCCL there is nothing to "
                           "log: it needs GPUs",
                           arm->bench->name, device_name(device));
    }
    return 0;
}

static int open_comms(const struct run_setup *setup, struct observe_watch *watch, struct err *err)
{
    struct run_comms *comms = calloc(1, sizeof(*comms));
    *watch = (struct observe_watch){before, after, comms};
    if (!comms)
        return err_set(err, -ENOMEM, "no memory for --comms");
    comms->setup = setup;
    int rc = check_arms(setup, err);
    if (!rc && setup->config.rank_ops)
        rc = err_set(err, -ENOTSUP,
                     "--comms works on one machine; for a job type 'contend comms -- mpirun ...'");
    if (!rc)
        rc = comms_library_find(&comms_plugin, comms->plugin, sizeof(comms->plugin), err);
    return rc ? rc : comms_library_check(&comms_plugin, comms->plugin, err);
}

static int use(const struct observe_watch *watch, const char *directory, struct err *err)
{
    struct run_comms *comms = watch->arg;
    char *whole = realpath(directory, NULL);
    size_t length = whole ? strlen(whole) : 0;
    if (!whole || length >= sizeof(comms->directory)) {
        free(whole);
        return err_sys(err, whole ? -ENAMETOOLONG : -errno, "cannot use '%.150s'", directory);
    }
    memcpy(comms->directory, whole, length + 1);
    free(whole);
    return 0;
}

static int judge(const struct observe_watch *watch, struct findings *findings, struct err *err)
{
    const struct run_comms *comms = watch->arg;
    int rc = 0;
    for (size_t i = 0; i < comms->findings.n && !rc; i++)
        rc = findings_add(findings, &comms->findings.all[i], err);
    return rc ? rc : comms_check_end(&comms->checked, findings, err);
}

static int print_arm(struct run_comms *comms, const struct arm *arm, FILE *out, struct err *err)
{
    char name[160];
    struct comms_view view;
    bool refused;
    int rc = comms_view_read(name_folder(comms, arm), &view, &refused, err);
    if (!rc && view.comms.n) {
        struct doc doc = {0};
        doc_heading(&doc, "NCCL's calls in the last round: %s",
                    statuses_name_arm(&comms->setup->result, arm, name, sizeof(name)));
        comms_add_tables_to_doc(&view, &doc);
        (void)fputc('\n', out);
        doc_print(&doc, out, false, false);
        doc_free(&doc);
    }
    comms_view_free(&view);
    return rc && refused ? 0 : rc; /* it was told */
}

static int print(const struct observe_watch *watch, FILE *out, struct err *err)
{
    struct run_comms *comms = watch->arg;
    const struct result *result = &comms->setup->result;
    int rc = 0;
    for (size_t i = 0; i < result_measured(result) && !rc; i++)
        if (arm_runs(&result->arms[i]))
            rc = print_arm(comms, &result->arms[i], out, err);
    if (!rc)
        (void)fprintf(out, "\nlogs: %s; read a folder there with 'contend comms --read'\n",
                      comms->directory);
    return rc;
}

static void close_comms(struct observe_watch *watch)
{
    struct run_comms *comms = watch->arg;
    if (comms) {
        findings_free(&comms->findings);
        comms_driver_free(comms->driver);
        free(comms);
    }
    *watch = (struct observe_watch){0};
}

/* Logs of NCCL calls have another page, which is written at once. */
static int show(int dir_fd, const char *directory, const char *html, bool verbose, bool other_form)
{
    if (!comms_files_are_in(dir_fd))
        return -ENOENT;
    const struct comms_showing showing = {directory, html, false, true, verbose, stdout};
    if (!other_form)
        return comms_show_logs(&showing);
    log_error("'%.150s' has logs of NCCL calls, which have no Markdown: type 'contend comms --json "
              "--read'",
              directory);
    return EXIT_USAGE;
}

const struct comms_hooks run_comms_hooks = {open_comms, use, judge, print, close_comms, show};
