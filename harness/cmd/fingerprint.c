/* contend run fingerprint, and the comparison of fingerprints. */
#include "harness/cmd/fingerprint.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/cmd/common/named.h"
#include "harness/cmd/common/page.h"
#include "harness/cmd/common/start.h"
#include "harness/cmd/fingerprint_sources.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"
#include "harness/record/directory.h"
#include "harness/show/comparison.h"
#include "harness/show/figures/figures.h"
#include "harness/show/json/forms.h"
#include "version.h"

static const char fingerprint_word[] = "fingerprint";

struct print_options {
    const char *out, *host;
    double max_time_s;
    int device;
    bool json, dry_run;
};

static const char *const device_names[] = {"auto", "sim", NULL};

static const struct opt print_opts[] = {
    OPT_SECONDS(
        "max-time", print_options, max_time_s, "3m", 10, 3600, "T",
        "Longest time of all measurements, of which each makes its rounds in any case; a machine "
        "without a GPU takes less"),
    OPT_CHOICE("device", print_options, device, "auto", device_names, "D",
               "What workers feed: sim leaves GPUs out"),
    OPT_TEXT("out", print_options, out, NULL, "DIR",
             "Directory of the results, one folder a measurement (default "
             "results/<host>/<utc>-fingerprint)",
             .letter = 'o'),
    OPT_TEXT("host", print_options, host, NULL, "NAME",
             "Name of this machine in results (default: its host name)"),
    OPT_FLAG("json", print_options, json, NULL, "Print JSON instead of the table"),
    OPT_FLAG("dry-run", print_options, dry_run, NULL,
             "Print the commands that measure it; start nothing"),
    {.name = NULL}};

static const struct command fingerprint_command = {
    .name = "run fingerprint",
    .main = fingerprint_main,
    .summary = "this machine as rates and retentions, to compare with other machines",
    .about = "Measures what this machine reaches alone, and what it keeps of it under fixed doses "
             "of contention: CPU, memory, the main job, copies and launches. 'contend compare A B' "
             "says whether two machines are of the same class. Exit code: 0 measured, 3 a "
             "measurement failed.",
    .opts = print_opts,
    .examples = {{"contend run fingerprint --out node7", "in three minutes"},
                 {"contend compare node7 node8", "the same class?"}},
};

bool fingerprint_is_named(const char *word)
{
    return !strcmp(word, fingerprint_word);
}

/* State that all measurements share. */
struct work {
    const struct cmd_env *env;
    const struct print_options *options;
    struct topo topo;
    struct signals signals;
    struct directory dir;
    struct fingerprint print;
};

/* Adds the words of a measurement, its share of the time limit, and the device. */
static void add_words(const struct work *work, const struct source_run *run,
                      struct child_run *child)
{
    for (size_t i = 0; run->words[i]; i++)
        child_run_add(child, "%s", source_expand(run->words[i], &work->topo));
    child_run_add(child, "--max-time=%.3g",
                  fmax(1, run->max_s * work->options->max_time_s / SOURCE_S));
    if (work->options->device)
        child_run_add(child, "--device=%s", device_names[work->options->device]);
}

/* Runs it and reads its result. Returns -EINTR, or 0; without a result, the reason is set. */
static int measure(struct work *work, const struct source_run *run, struct source_result *result)
{
    struct child_run *child = calloc(1, sizeof(*child));
    struct err why = {0};
    if (!child) {
        text_set(result->reason, "no memory");
        return 0;
    }
    const char *path = str_fmt("%.4000s/%s", work->dir.path, run->folder);
    child_run_add(child, CHILD_RUN_SELF);
    add_words(work, run, child);
    child_run_add(child, "--no-plots");
    child_run_add(child, "--no-canary");
    child_run_add(child, "--host=%s", work->print.host);
    child_run_add(child, "--out=%s", path);
    int rc = child_run(child, &work->signals, &why);
    if (rc)
        text_set(result->reason, "%.190s", rc < 0 && why.msg[0] ? why.msg : child->last_line);
    else if (runs_read(path, work->env->benches, figures_remove, &result->runs, &why))
        text_set(result->reason, "%.190s", why.msg);
    free(child);
    return rc == -EINTR ? rc : 0;
}

static int measure_all(struct work *work, struct source_result *all, int *code)
{
    int rc = 0;
    for (size_t i = 0; source_runs[i].folder && !rc; i++) {
        const struct source_run *run = &source_runs[i];
        const char *not_here = source_not_here(run, &work->topo, work->options->device != 0);
        text_set(all[i].reason, "%s", not_here);
        if (!not_here[0]) {
            log_info("measuring %s", run->folder);
            rc = measure(work, run, &all[i]);
            if (!rc && all[i].reason[0]) {
                log_warn("no %s: %s", run->folder, all[i].reason);
                *code = EXIT_NOT_RUN;
            }
        }
    }
    return rc;
}

static void describe(const struct work *work, struct fingerprint *print)
{
    struct environment env = {0};
    struct machine_parts parts;
    struct machine_key key;
    struct bitset cpus = {0};
    env_gather(&(struct env_request){0}, &env);
    machine_parts_of(&env, &work->topo, &parts);
    machine_key_make(&parts, &key);
    env_free(&env);
    topo_allowed_cpus(&work->topo, &cpus);
    print->cpus = bitset_count(&cpus);
    print->gpus = work->options->device ? 0 : topo_visible_gpus(&work->topo);
    text_set(print->cpu_model, "%s", work->topo.cpu_model);
    text_set(print->gpu_model, "%s", print->gpus ? work->topo.gpus[0].name : "");
    text_set(print->key, "%s", key.key);
    text_set(print->kind, "%s", key.kind);
    text_set(print->started, "%s", text_utc(time(NULL)));
}

/* Prints or writes the doc in the requested form. Frees `doc`, and takes ownership of `json`. */
static int show(const char *title, struct doc *doc, json_t *json,
                const struct fingerprint_form *form)
{
    struct err err = {0};
    int code = EXIT_GOOD;
    if (form->html && page_put_document(title, doc, AT_FDCWD, form->html, &err)) {
        log_error("%s", err.msg);
        code = EXIT_USAGE;
    }
    if (form->json) {
        int printed = cmd_print_json(json, 1);
        code = code ? code : printed;
    } else {
        json_decref(json);
        if (form->markdown)
            doc_print_markdown(doc, stdout);
        else
            doc_print(doc, stdout, terminal_has_color(1), false);
    }
    doc_free(doc);
    int printed = cmd_finish();
    return code ? code : printed;
}

enum { TITLE_MAX = 200 };

static void describe_one(const struct fingerprint *print, const char *path,
                         char title[static TITLE_MAX], struct doc *doc)
{
    (void)snprintf(title, TITLE_MAX, "fingerprint of %.100s, %.32s", print->host, print->started);
    fingerprint_add_to_doc(print, path, doc);
}

/* The result is whole without its page. */
static void write_own_page(const struct work *work)
{
    char title[TITLE_MAX];
    struct doc doc = {0};
    struct err err = {0};
    describe_one(&work->print, work->dir.path, title, &doc);
    if (page_put_document(title, &doc, work->dir.fd, PAGE_NAME, &err))
        log_warn("no page: %s", err.msg);
    doc_free(&doc);
}

/* Takes the JSON, which is that of the fingerprint. */
static int show_one(const struct fingerprint *print, const char *path, json_t *json,
                    const struct fingerprint_form *form)
{
    char title[TITLE_MAX];
    struct doc doc = {0};
    describe_one(print, path, title, &doc);
    return show(title, &doc, json, form);
}

static int conclude(const struct work *work)
{
    struct err err = {0};
    json_t *json = fingerprint_to_json(&work->print, CONTEND_VERSION);
    if (json_value_replace(json, JSON_INDENT(1) | JSON_REAL_PRECISION(9), work->dir.fd,
                           FINGERPRINT_NAME, &err)) {
        log_error("%s", err.msg);
        json_decref(json);
        return EXIT_NOT_RUN;
    }
    write_own_page(work);
    const struct fingerprint_form form = {.json = work->options->json};
    int rc = show_one(&work->print, work->dir.path, json, &form);
    if (!work->options->json)
        (void)printf("\nResults: %s\n", work->dir.path);
    int printed = cmd_finish();
    return rc ? rc : printed;
}

static int open_directory(struct work *work, struct err *err)
{
    char path[DIRECTORY_PATH_MAX];
    if (work->options->out)
        (void)snprintf(path, sizeof(path), "%.4000s", work->options->out);
    else
        (void)directory_default(work->print.host, fingerprint_word, time(NULL), path, sizeof(path));
    const struct directory_request place = {
        .path = path, .unique = !work->options->out, .command = "contend run fingerprint"};
    return directory_open(&work->dir, &place, err);
}

static int print_plan(const struct work *work)
{
    for (size_t i = 0; source_runs[i].folder; i++) {
        const struct source_run *run = &source_runs[i];
        const char *not_here = source_not_here(run, &work->topo, work->options->device != 0);
        struct child_run *child = calloc(1, sizeof(*child));
        if (!child)
            return EXIT_NOT_RUN;
        add_words(work, run, child);
        (void)printf("contend");
        for (size_t w = 0; w < child->n; w++)
            (void)printf(" %s", child->argv[w]);
        (void)printf("%s%s\n", not_here[0] ? "  # absent: " : "", not_here);
        free(child);
    }
    return cmd_finish();
}

static int run(struct work *work)
{
    struct source_result *all = calloc(SOURCE_RUNS, sizeof(*all));
    struct err err = {0};
    int code = EXIT_GOOD;
    if (!all || open_directory(work, &err)) {
        log_error("%s", all ? err.msg : "no memory for the results");
        free(all);
        return all ? EXIT_USAGE : EXIT_NOT_RUN;
    }
    if (measure_all(work, all, &code))
        code = EXIT_INTERRUPTED;
    else {
        sources_read(all, &work->print);
        int said = conclude(work);
        code = code ? code : said;
    }
    for (size_t i = 0; i < SOURCE_RUNS; i++)
        runs_free(&all[i].runs);
    free(all);
    directory_close(&work->dir);
    return code;
}

int fingerprint_main(const struct cmd_env *env, int argc, char **argv)
{
    struct print_options options = {0};
    struct cli cli;
    struct err err = {0};
    int code;
    if (!cmd_parse(env, &fingerprint_command, argc, argv, &options, &cli, &code))
        return code;
    struct work *work = calloc(1, sizeof(*work));
    if (!work || signals_open(&work->signals, &err)) {
        log_error("%s", work ? err.msg : "no memory for a fingerprint");
        free(work);
        return EXIT_NOT_RUN;
    }
    work->env = env;
    work->options = &options;
    named_host(options.host, work->print.host);
    code = EXIT_NOT_RUN;
    if (topo_load(&(struct topo_options){.probe_gpus = !options.device}, &work->topo, &err))
        log_error("%s", err.msg);
    else {
        describe(work, &work->print);
        code = options.dry_run ? print_plan(work) : run(work);
    }
    topo_free(&work->topo);
    signals_close(&work->signals);
    free(work);
    return code;
}

int fingerprint_report_main(const char *path, const struct fingerprint_form *form)
{
    struct fingerprint print;
    struct err err = {0};
    if (fingerprint_read(path, &print, &err)) {
        log_error("%s", err.msg);
        return EXIT_USAGE;
    }
    return show_one(&print, path, fingerprint_to_json(&print, CONTEND_VERSION), form);
}

static int judge(const struct fingerprint_distance *distance)
{
    if (!distance->shared)
        return EXIT_INCONCLUSIVE;
    return fingerprint_is_same(distance) ? EXIT_GOOD : EXIT_VERDICT;
}

static int compare_two(const char *const *paths, const char *title,
                       const struct fingerprint_form *form)
{
    struct fingerprint prints[2];
    struct fingerprint_distance distance;
    struct doc doc = {0};
    struct err err = {0};
    if (fingerprint_read(paths[0], &prints[0], &err) ||
        fingerprint_read(paths[1], &prints[1], &err)) {
        log_error("%s", err.msg);
        return EXIT_USAGE;
    }
    fingerprint_compare(&prints[0], &prints[1], &distance);
    fingerprints_add_to_doc(&prints[0], &prints[1], &distance, &doc);
    int printed = show(title, &doc, fingerprint_distance_to_json(&distance), form);
    return printed ? printed : judge(&distance);
}

/* Compares each with the median of all. */
static int compare_fleet(const char *const *paths, size_t n, const char *title,
                         const struct fingerprint_form *form)
{
    struct fingerprint_machine *all = calloc(n + 1, sizeof(*all));
    struct fingerprint median;
    struct err err = {0};
    int rc = all ? 0 : err_set(&err, -ENOMEM, "no memory for %zu fingerprints", n);
    int code = EXIT_GOOD, printed = EXIT_USAGE;
    for (size_t i = 0; i < n && !rc; i++) {
        all[i].path = paths[i];
        rc = fingerprint_read(paths[i], &all[i].print, &err);
    }
    if (!rc && fingerprint_rank(all, n, &median))
        rc = err_set(&err, -ENOMEM, "no memory to rank %zu fingerprints", n);
    if (rc)
        log_error("%s", err.msg);
    for (size_t i = 0; i < n && !rc && code != EXIT_VERDICT; i++) {
        int one = judge(&all[i].distance);
        code = one ? one : code;
    }
    if (!rc) {
        struct doc doc = {0};
        fingerprint_fleet_add_to_doc(all, n, &doc);
        printed = show(title, &doc, fingerprint_fleet_to_json(all, n), form);
    }
    free(all);
    return printed ? printed : code;
}

int fingerprint_compare_main(const char *const *paths, size_t n,
                             const struct fingerprint_form *form)
{
    const char *title = compared_title(paths, n, n);
    return n == 2 ? compare_two(paths, title, form) : compare_fleet(paths, n, title, form);
}

bool fingerprint_is_among(const char *const *paths, size_t n)
{
    size_t i = 0;
    while (i < n && !fingerprint_is_at(paths[i]))
        i++;
    return i < n;
}
