/* Runs the sick variant of an incident as a job, and lets doctor examine it. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/cmd/common/start.h"
#include "harness/cmd/incident.h"
#include "harness/engine/worker/launch.h"
#include "harness/lib/sys/process.h"
#include "harness/lib/text.h"

enum { SHELL_MOST = 16384, PATH_MOST = 4200, COUNTERS = 64 };

/* Run time of the job: longer than doctor needs. */
static const double load_s = 60;
/* Time for two or three starts, or blocks, with the fix, and as many without it. */
static const double trial_least_s = 8, trial_most_s = 12;
static const char doctor_time_s[] = "3", block_s[] = "1.5";

/* A shell line that grows. */
struct line {
    char text[SHELL_MOST];
    size_t used;
    bool is_full; /* a word did not fit: the line is unusable */
};

static void put(struct line *line, const char *text)
{
    int length = snprintf(line->text + line->used, sizeof(line->text) - line->used, "%s", text);
    line->is_full = line->is_full || line->used + (size_t)length >= sizeof(line->text);
    if (!line->is_full)
        line->used += (size_t)length;
}

/* " prefixvalue", quoted as one word. */
static void put_word(struct line *line, const char *prefix, const char *value)
{
    if (line->used)
        put(line, " ");
    put(line, text_shell_word(str_fmt("%s%s", prefix, value)));
}

/* Adds an option of `bench` for each change of the sick variant; `env`: variables for env(1). */
static void put_changes(struct line *line, const struct incident *incident, unsigned cpus, bool env)
{
    static const char *const same[] = {"param", "placement", "threads", "cpu-max"};
    size_t name = strcspn(incident->variants[0], "=") + 1;
    for (size_t v = 0; v < incident_changes(incident); v++) {
        char change[200];
        const char *option;
        (void)incident_expand(incident->variants[v] + name, cpus, change, sizeof(change));
        char *value = change + strcspn(change, ":");
        if (*value)
            *value++ = '\0';
        if (env && !strcmp(change, "env"))
            put_word(line, "", value);
        for (size_t k = 0; !env && k < sizeof(same) / sizeof(same[0]); k++)
            if (!strcmp(change, same[k])) {
                option = str_fmt("--%s=", same[k]);
                put_word(line, option, value);
            }
    }
}

/* "env CONTEND_PROGRESS=... contend bench ...": only workers, no control and no solo run. */
static void write_load(const struct incident_work *work, const struct incident *incident,
                       const char *program, const char *counters, struct line *line)
{
    const struct scenario *scenario = &incident->scenario;
    const struct scenario_part *part = scenario->parts;
    char *save = NULL;
    put(line, "env");
    put_word(line, LAUNCH_PROGRESS "=", counters);
    put_changes(line, incident, work->cpus, true);
    put_word(line, "", program);
    put_word(line, "", "bench");
    put_word(line, "", part->foreground);
    char *params = str_fmt("%s", part->params ? part->params : "");
    for (char *pair = strtok_r(params, ";", &save); pair; pair = strtok_r(NULL, ";", &save))
        put_word(line, "--param=", pair);
    put_word(line, "--placement=", part->placements); /* a later --placement overrides it */
    put_changes(line, incident, work->cpus, false);
    if (scenario->background)
        put_word(line, "--background=", scenario->background);
    put_word(line, "", str_fmt("--workers=%u", part->workers));
    put_word(line, "", str_fmt("--time=%g", load_s));
    if (!incident->on_gpu)
        put(line, " --device=sim");
    put(line, " --rounds=1 --no-plots --no-canary --no-baselines");
    put_word(line, "", str_fmt("--out=%.4000s/%s/sick", work->dir, scenario->name));
}

/* Writes doctor's metric: a command that prints the sum of all workers' counters. */
static void write_metric(const char *counters, struct line *line)
{
    put(line, "counter:od -An -v -tu8 ");
    put(line, text_shell_word(counters));
    put(line, " | awk '{for (i = 1; i <= NF; i++) s += $i} END {printf \"%.0f\\n\", s}'");
}

/* Makes a file of zeroed counters for the workers. */
static int make_counters(const char *path, struct err *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int rc = fd < 0 || ftruncate(fd, COUNTERS * sizeof(uint64_t)) ? -errno : 0;
    if (fd >= 0)
        (void)close(fd);
    return rc ? err_sys(err, rc, "cannot write '%.150s'", path) : 0;
}

/* Runs a child that prints a JSON document. NULL: see reason, or *rc. */
static json_t *run_for_json(const struct incident_work *work, struct child_run *run, int *rc,
                            char reason[static 200], struct err *err)
{
    json_error_t wrong;
    run->out_fd = memfd_create("contend doctor", MFD_CLOEXEC);
    if (run->out_fd < 0) {
        *rc = err_sys(err, -errno, "no memory for what doctor prints");
        return NULL;
    }
    *rc = child_run(run, work->signals, err);
    json_t *json = NULL;
    if (*rc != -EINTR && !lseek(run->out_fd, 0, SEEK_SET))
        json = json_loadfd(run->out_fd, JSON_DISABLE_EOF_CHECK, &wrong);
    if (!json && *rc != -EINTR)
        (void)snprintf(reason, 200, "doctor ended with %d: %.150s", *rc, run->last_line);
    (void)close(run->out_fd);
    *rc = *rc == -EINTR ? -EINTR : 0;
    return json;
}

static bool is_expected(const struct incident *incident, const char *id)
{
    return incident->doctor && text_has_word(incident->doctor, '|', id);
}

/* Takes doctor's findings. For `doctor` "", `found_expected` means that doctor advises nothing. */
static void take_findings(const struct incident *incident, const json_t *json,
                          struct incident_doctor *doctor)
{
    size_t i;
    json_t *finding;
    const json_t *findings = json_object_get(json, "findings");
    bool gives_no_advice = true;
    json_array_foreach(findings, i, finding)
    {
        const char *id = json_value_text_of(finding, "id");
        bool is_bad = !strcmp(json_value_text_of(finding, "severity"), "bad");
        gives_no_advice = gives_no_advice && !(is_bad && json_value_text_of(finding, "command")[0]);
        doctor->found_expected = doctor->found_expected || is_expected(incident, id);
        if (is_bad || is_expected(incident, id))
            (void)snprintf(doctor->id + strlen(doctor->id), sizeof(doctor->id) - strlen(doctor->id),
                           "%s%s", doctor->id[0] ? ", " : "", id);
        if (is_expected(incident, id) && !doctor->evidence[0])
            text_set(doctor->evidence, "%s", json_value_text_of(finding, "evidence"));
    }
    if (incident->doctor && !incident->doctor[0])
        doctor->found_expected = gives_no_advice;
    doctor->was_run = true;
}

/* Takes the trial of a fix; false: doctor tried none. */
static bool take_trial(const json_t *json, struct incident_doctor *doctor)
{
    const json_t *trial = json_object_get(json, "verify");
    if (!json_value_text_of(trial, "tried")[0])
        return false;
    text_set(doctor->fix, "%s", json_value_text_of(trial, "command"));
    doctor->gain_is_proven = !strcmp(json_value_text_of(trial, "verdict"), "proven");
    doctor->gain = json_value_number_of(trial, "gain");
    doctor->low = json_value_number_of(trial, "low");
    doctor->high = json_value_number_of(trial, "high");
    return true;
}

/* Buffers for command lines and paths; `counters` is the file in which workers count. */
struct examination {
    struct line load, metric, command;
    char program[PATH_MOST], counters[PATH_MOST];
};

/*
 * Doctor starts the job, examines it, then restarts it with and without the fix in alternation; or,
 * with a pid, examines the job that runs and binds it with and without the fix.
 */
static void write_doctor(const struct incident_work *work, const struct incident *incident,
                         pid_t pid, struct examination *examination)
{
    struct line *line = &examination->command;
    *line = (struct line){.is_full = examination->load.is_full || examination->metric.is_full};
    put(line, pid ? "sleep 1.5 && exec" : "exec"); /* a job that runs has to get going */
    put_word(line, "", examination->program);
    put(line, " doctor --json");
    put_word(line, "--time=", doctor_time_s);
    if (pid)
        put_word(line, "", str_fmt("--pid=%d", (int)pid));
    if (incident->no_speed)
        return;
    put(line, " --yes");
    put_word(line, "--block=", block_s);
    put_word(line, "",
             str_fmt("--max-time=%g", fmin(fmax(work->max_time_s, trial_least_s), trial_most_s)));
    put_word(line, "--verify=", examination->metric.text);
    if (pid)
        put_word(line, "", str_fmt("--state=%.4100s.state", examination->counters));
    else
        put_word(line, "--restart=", examination->load.text);
}

static int run_line(const struct incident_work *work, const struct line *line, json_t **json,
                    struct incident_doctor *doctor, struct err *err)
{
    int rc = 0;
    *json = NULL;
    struct child_run *run = line->is_full ? NULL : calloc(1, sizeof(*run));
    if (!run)
        return err_set(err, -ENOMEM, "no memory for a doctor, or too long a path");
    child_run_add(run, "/bin/sh");
    child_run_add(run, "-c");
    child_run_add(run, "%s", line->text);
    *json = run_for_json(work, run, &rc, doctor->reason, err);
    free(run);
    return rc;
}

static int become_load(void *line)
{
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    return process_become_shell(line, null_fd, null_fd);
}

/* Lets doctor examine a job, and try what it advises. *tried: it advised something. */
static int ask(const struct incident_work *work, pid_t pid, struct examination *examination,
               const struct incident *incident, struct incident_doctor *doctor, bool *tried,
               struct err *err)
{
    json_t *json;
    write_doctor(work, incident, pid, examination);
    int rc = run_line(work, &examination->command, &json, doctor, err);
    *tried = !rc && json && take_trial(json, doctor);
    if (!rc && json && !(pid && doctor->was_run))
        take_findings(incident, json, doctor);
    json_decref(json);
    return rc;
}

static int try_live(const struct incident_work *work, const struct incident *incident,
                    struct examination *examination, struct incident_doctor *doctor,
                    struct err *err)
{
    struct process load;
    int status;
    bool tried;
    char *line = str_fmt("exec %s", examination->load.text);
    int rc = process_start(&load, true, become_load, line);
    if (rc)
        return err_sys(err, rc, "cannot start the sick variant");
    rc = ask(work, load.pid, examination, incident, doctor, &tried, err);
    if (!tried && !doctor->reason[0])
        text_set(doctor->reason, "%s",
                 incident->no_speed ? "nothing was tried: the job reports no speed"
                                    : "what it advises has no command here");
    (void)process_signal(&load, SIGTERM);
    (void)process_end(&load, load_s, &status);
    return rc;
}

static int try_all(const struct incident_work *work, const struct incident *incident,
                   struct examination *examination, struct incident_doctor *doctor, struct err *err)
{
    bool tried = false;
    write_load(work, incident, examination->program, examination->counters, &examination->load);
    write_metric(examination->counters, &examination->metric);
    int rc = incident->no_speed ? 0 : ask(work, 0, examination, incident, doctor, &tried, err);
    const bool has_advice = doctor->found_expected && incident->doctor[0];
    if (rc || tried || !(has_advice || incident->no_speed))
        return rc;
    return try_live(work, incident, examination, doctor, err);
}

int incident_ask_doctor(const struct incident_work *work, const struct incident *incident,
                        struct incident_doctor *doctor, struct err *err)
{
    struct examination *examination = calloc(1, sizeof(*examination));
    *doctor = (struct incident_doctor){.gain = NAN, .low = NAN, .high = NAN};
    if (!examination)
        return err_set(err, -ENOMEM, "no memory to ask doctor");
    text_set(examination->counters, "%.4000s/%s/progress", work->dir, incident->scenario.name);
    int rc = launch_find_program(examination->program, sizeof(examination->program), err);
    if (!rc)
        rc = make_counters(examination->counters, err);
    if (!rc)
        rc = try_all(work, incident, examination, doctor, err);
    (void)unlink(examination->counters);
    free(examination);
    return rc;
}
