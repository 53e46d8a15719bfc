/* contend compare: verdicts between results on disk. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/cmd/common/named.h"
#include "harness/cmd/common/page.h"
#include "harness/cmd/compare.h"
#include "harness/cmd/fingerprint.h"
#include "harness/lib/similar.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"
#include "harness/record/json_value.h"
#include "harness/show/comparison.h"
#include "harness/show/figures/figures.h"
#include "harness/show/json/comparable.h"
#include "harness/show/json/foreign_read.h"
#include "harness/show/json/result_json.h"
#include "harness/show/json/runs.h"
#include "harness/verdict/evidence.h"
#include "harness/verdict/odd.h"
#include "harness/verdict/runs/compare.h"

static const struct opt compare_opts[] = {
    OPT_DOUBLE("threshold", compare_args, threshold, NULL, 0.1, 1000, "PERCENT",
               "Ignore smaller changes (default 5, with --history alone 2)"),
    OPT_TEXT("fail-on", compare_args, fail_on, NULL, "WHAT[,WHAT..]",
             "Exit with 1 if a gating metric has this verdict: slower (the default), unclear, "
             "missing or none; with --history alone slower or none",
             .choices = compared_fail_on),
    OPT_TEXTS("history", compare_args, history, "DIR",
              "Earlier runs of this machine: their spread says what counts as a change; alone: "
              "shows when figures changed; may be repeated"),
    OPT_TEXT("machine", compare_args, machine, NULL, "KEY",
             "With --history alone: only runs of this machine, by '.machine.key' of run.json"),
    OPT_TEXT("out", compare_args, out, NULL, "DIR",
             "With --history alone: draw the figure into DIR/plots", .letter = 'o'),
    OPT_TEXT("allow", compare_args, allow, NULL, "WHAT[,WHAT..]",
             "Compare although this differs: machine, cpus, kernel, driver, cuda, nccl, governor, "
             "contend, options, busy (disturbed runs), or all",
             .choices = comparable_words),
    OPT_FLAG("across", compare_args, across, NULL,
             "Compare across placements: the only one of BASE with the only one of NEW"),
    OPT_TEXT("placement", compare_args, placements, NULL, "P|BASE,NEW",
             "With --across: the placement of a side that has several", .letter = 'P'),
    OPT_FLAG("verbose", compare_args, verbose, NULL,
             "Also print the reason of each verdict, and the metrics without one", .letter = 'v'),
    OPT_FLAG("json", compare_args, json, NULL, "Print JSON"),
    OPT_FLAG("markdown", compare_args, markdown, NULL,
             "Print Markdown instead of the table, for a pull request"),
    OPT_TEXT("html", compare_args, html, NULL, "FILE",
             "Also write a page; replaces one that contend wrote"),
    OPT_TEXT("junit", compare_args, junit, NULL, "FILE",
             "Also write the verdicts as JUnit XML; replaces an existing file"),
    {.name = NULL},
};

/* The runs of all sides, and their comparisons. */
struct work {
    struct runs sides[PAIRING_SIDES]; /* base, new, history */
    struct foreign foreign;           /* instead of these: results of another benchmark */
    struct comparisons comparisons;
    struct findings findings;
};

static const char *const side_names[PAIRING_SIDES] = {"base", "new", "history"};

static void work_free(struct work *work)
{
    for (int side = 0; side < PAIRING_SIDES; side++)
        runs_free(&work->sides[side]);
    foreign_free(&work->foreign);
    comparisons_free(&work->comparisons);
    findings_free(&work->findings);
}

/* Another entry of a side that is the same run; NULL = none. */
static const struct run *find_again(const struct runs *runs, const struct run *run)
{
    for (size_t i = 0; i < runs->n; i++)
        if (&runs->all[i] != run &&
            !strcmp(runs->all[i].recorded->result.run_id, run->recorded->result.run_id))
            return &runs->all[i];
    return NULL;
}

/* -EINVAL: a run is given twice, or on both sides. */
static int check_runs(const struct work *work, struct err *err)
{
    for (int a = PAIRING_BASE; a <= PAIRING_OTHER; a++)
        for (size_t i = 0; i < work->sides[a].n; i++)
            for (int b = a; b <= PAIRING_OTHER; b++) {
                const struct run *run = &work->sides[a].all[i];
                const struct run *again = find_again(&work->sides[b], run);
                if (again)
                    return err_set(err, -EINVAL, "'%.150s' and '%.150s' are the same run",
                                   run->path, again->path);
            }
    return 0;
}

/* True if the run of the history is on neither side, and is comparable with them. */
static bool is_usable(const struct work *work, const struct run *run, const char *allow)
{
    char refused[400];
    struct findings unused = {0};
    const struct comparable pair[] = {{"base", work->sides[PAIRING_BASE].all[0].recorded->record},
                                      {"history", run->recorded->record}};
    comparable_check(pair, 2, allow, refused, sizeof(refused), &unused);
    findings_free(&unused);
    if (refused[0])
        log_warn("'%.150s' of the history is left out: its machine, software or options differ",
                 run->path);
    return !refused[0] && !find_again(&work->sides[PAIRING_BASE], run) &&
           !find_again(&work->sides[PAIRING_OTHER], run);
}

static int check_sides(struct work *work, const char *allow, char *refused, size_t size,
                       struct err *err)
{
    size_t n = work->sides[PAIRING_BASE].n + work->sides[PAIRING_OTHER].n, at = 0;
    struct comparable *all = calloc(n, sizeof(*all));
    if (!all)
        return err_set(err, -ENOMEM, "out of memory for %zu results", n);
    for (int side = PAIRING_BASE; side <= PAIRING_OTHER; side++)
        for (size_t i = 0; i < work->sides[side].n; i++)
            all[at++] =
                (struct comparable){side_names[side], work->sides[side].all[i].recorded->record};
    comparable_check(all, n, allow, refused, size, &work->findings);
    free(all);
    return 0;
}

/* Chooses the runs that are compared: `analyses` and `busy` have room for all runs of all sides. */
static void fill_sides(const struct work *work, const char *allow, const struct analysis **analyses,
                       const char **busy, struct pairing_runs sides[PAIRING_SIDES])
{
    for (int side = 0; side < PAIRING_SIDES; side++) {
        struct pairing_runs *filled = &sides[side];
        *filled = (struct pairing_runs){.name = side_names[side], .runs = analyses, .busy = busy};
        for (size_t i = 0; i < work->sides[side].n; i++) {
            const struct run *run = &work->sides[side].all[i];
            const struct finding *found = busy_among(&run->recorded->findings);
            busy[filled->n] = found ? found->sentence : NULL;
            if (side != PAIRING_HISTORY || is_usable(work, run, allow))
                analyses[filled->n++] = &run->recorded->analysis;
        }
        analyses += filled->n;
        busy += filled->n;
    }
}

/* A smaller change of the machine itself explains nothing. */
static const double reported_share = 0.01;

/* Warns of a machine that changed; the verdicts already account for that. */
static void report_machine_change(const struct comparisons *comparisons, double threshold,
                                  struct findings *findings)
{
    const struct finding finding = {
        .id = "machine_moved",
        .severity = comparisons->machine_change_beyond > threshold ? FINDING_DOUBT : FINDING_NOTE,
        .subject = "the machine itself"};
    if (comparisons->machine_change_beyond > reported_share)
        findings_putf(findings, &finding, "%s", comparisons->machine_change_text);
}

/* Turns verdicts that rest on disturbed runs into UNCLEAR. */
static void doubt_disturbed(struct work *work, const char *allow,
                            const struct pairing_runs sides[PAIRING_SIDES])
{
    char *said = work->comparisons.disturbed;
    const struct finding finding = {.id = "sides_disturbed", .severity = FINDING_DOUBT};
    if (comparisons_paired(&work->comparisons) && !comparable_is_allowed(allow, COMPARABLE_BUSY))
        disturbed_doubt(sides, &work->comparisons);
    if (!said[0])
        return;
    said[0] = (char)toupper((unsigned char)said[0]);
    findings_putf(&work->findings, &finding,
                  "%s. Measure again while the machine is quiet, or add '--allow busy'.", said);
}

/* Advice for an inconclusive comparison. */
static void advise(struct work *work)
{
    bool few = work->sides[PAIRING_BASE].n < RUN_SPREAD_RUNS_LEAST ||
               work->sides[PAIRING_OTHER].n < RUN_SPREAD_RUNS_LEAST;
    const struct finding finding = {.id = "few_runs", .severity = FINDING_NOTE};
    if (comparisons_decided(&work->comparisons) || work->comparisons.disturbed[0] ||
        !comparisons_count(&work->comparisons, OUTCOME_UNCLEAR))
        return;
    findings_putf(&work->findings, &finding,
                  "Equal runs differ from each other by as much. For a verdict %smeasure both "
                  "sides in the same rounds: 'contend ab'.",
                  few ? "give each side five runs, taken in turns, or " : "");
}

/* The option --time of the runs, 0 = default. Comparable sides have the same. */
static double round_s_of(const struct work *work)
{
    const json_t *record = work->sides[PAIRING_BASE].all[0].recorded->record;
    return json_number_value(json_object_get(json_object_get(record, "options"), "time"));
}

/* The verdict comes before its doubts. */
static void add_first(struct findings *findings, const struct finding *finding)
{
    findings_put(findings, finding);
    if (findings->failed)
        return;
    memmove(&findings->all[1], &findings->all[0], (findings->n - 1) * sizeof(*finding));
    findings->all[0] = *finding;
}

static int compare(struct work *work, const struct compare_args *args, const struct cli *cli,
                   size_t nbase, struct err *err)
{
    struct pairing_runs sides[PAIRING_SIDES];
    struct finding whole;
    char refused[400] = "";
    size_t n = 0;
    for (int side = 0; side < PAIRING_SIDES; side++)
        n += work->sides[side].n;
    const struct analysis **analyses = calloc(n + 1, sizeof(const void *));
    const char **busy = calloc(n + 1, sizeof(const void *));
    int rc = analyses && busy ? check_sides(work, args->allow, refused, sizeof(refused), err)
                              : err_set(err, -ENOMEM, "out of memory for %zu results", n);
    if (!rc) {
        fill_sides(work, args->allow, analyses, busy, sides);
        rc = compare_across_fill(args, work->sides, sides, err);
    }
    if (!rc)
        rc = compare_make(sides,
                          &(struct compare_options){.threshold = args->threshold / 100,
                                                    .round_s = round_s_of(work),
                                                    .refused = refused[0] ? refused : NULL},
                          &work->comparisons, err);
    if (!rc)
        doubt_disturbed(work, args->allow, sides);
    free(analyses);
    free(busy);
    if (rc)
        return rc;
    report_machine_change(&work->comparisons, args->threshold / 100, &work->findings);
    compare_across_advise(&work->comparisons, work->sides, cli, nbase, &work->findings);
    comparisons_to_finding(&work->comparisons, &whole);
    if (refused[0])
        text_set(whole.sentence, "No verdict: %s.", refused);
    add_first(&work->findings, &whole);
    advise(work);
    return findings_check(&work->findings, err);
}

static int read_sides(const struct cmd_env *env, const struct compare_args *args,
                      const struct cli *cli, size_t nbase, struct work *work, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < cli->npositional && !rc; i++)
        rc = runs_read(cli->positional[i], env->benches, figures_remove,
                       &work->sides[i < nbase ? PAIRING_BASE : PAIRING_OTHER], err);
    for (size_t i = 0; i < args->history.n && !rc; i++)
        rc = runs_read(args->history.text[i], env->benches, figures_remove,
                       &work->sides[PAIRING_HISTORY], err);
    return rc ? rc : check_runs(work, err);
}

/* Whether both are one file: a run that counts twice would be taken for two that agree. */
static bool is_same_file(const char *a, const char *b)
{
    struct stat one, other;
    return !stat(a, &one) && !stat(b, &other) && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* The same for files of another benchmark. */
static int compare_foreign(struct work *work, const struct compare_args *args,
                           const struct cli *cli, size_t nbase, struct err *err)
{
    const char *const *paths = cli->positional;
    struct finding whole;
    int rc = 0;
    if (args->history.n || args->allow || args->across)
        return err_set(err, -EINVAL,
                       "--history, --allow and --across need results of contend, and '%.150s' is "
                       "a file",
                       paths[0]);
    for (size_t i = 0; i < cli->npositional && !rc; i++) {
        for (size_t k = 0; k < i && !rc; k++)
            if (is_same_file(paths[i], paths[k]))
                rc = err_set(err, -EINVAL, "'%.150s' is given twice", paths[i]);
        rc = rc ? rc : foreign_read(paths[i], i >= nbase, &work->foreign, err);
    }
    if (!rc)
        rc = foreign_compare(&work->foreign, args->threshold / 100, &work->comparisons, err);
    if (rc)
        return rc;
    comparisons_to_finding(&work->comparisons, &whole);
    findings_put(&work->findings, &whole);
    foreign_advise(&work->foreign, &work->comparisons, &work->findings);
    return findings_check(&work->findings, err);
}

/* The runs of a side; of another benchmark the files, as typed: `files` of them from *file on. */
static json_t *paths_to_json(const struct runs *runs, const char *const *file, size_t files)
{
    return runs->n ? JSON_ARRAY(run, runs->all, runs->n, json_value_text(run->path))
                   : JSON_ARRAY(one, file, files, json_value_text(*one));
}

static int print_json(const struct work *work, const struct cli *cli, size_t nbase, int code)
{
    const struct runs *sides = work->sides;
    const char *const *paths = cli->positional;
    return cmd_print_json(
        json_value_object(
            "base:o new:o history:o exit_code:i comparisons:o findings:o",
            paths_to_json(&sides[PAIRING_BASE], paths, nbase),
            paths_to_json(&sides[PAIRING_OTHER], paths + nbase, cli->npositional - nbase),
            paths_to_json(&sides[PAIRING_HISTORY], NULL, 0), code,
            comparisons_to_json(&work->comparisons), findings_to_json(&work->findings)),
        2);
}

static int print(const struct work *work, const struct compare_args *args, const struct cli *cli,
                 size_t nbase, int code)
{
    struct doc doc = {0};
    if (args->json)
        return print_json(work, cli, nbase, code);
    compared_add_to_doc(&work->comparisons, &work->findings, &doc);
    if (args->markdown)
        doc_print_markdown(&doc, stdout);
    else
        doc_print(&doc, stdout, terminal_has_color(STDOUT_FILENO), args->verbose);
    doc_free(&doc);
    return cmd_finish();
}

static int write_page(const struct work *work, const struct cli *cli, size_t nbase,
                      const char *path, struct err *err)
{
    struct doc doc = {0};
    const char *title = compared_title(cli->positional, cli->npositional, nbase);
    compared_add_to_doc(&work->comparisons, &work->findings, &doc);
    int rc = page_put_document(title, &doc, AT_FDCWD, path, err);
    doc_free(&doc);
    return rc;
}

static int run(const struct cmd_env *env, const struct compare_args *args, const struct cli *cli,
               size_t nbase)
{
    struct work work = {0};
    struct err err;
    int code = EXIT_USAGE, rc = compared_check_fail_on(args->fail_on, &err);
    if (!rc)
        rc = similar_check_list("allow", args->allow, comparable_words, &err);
    if (!rc && args->is_foreign)
        rc = compare_foreign(&work, args, cli, nbase, &err);
    else if (!rc)
        rc = read_sides(env, args, cli, nbase, &work, &err);
    if (!rc && !args->is_foreign)
        rc = compare(&work, args, cli, nbase, &err);
    if (!rc && args->junit)
        rc = compared_write_junit(&work.comparisons, "compare", args->junit, &err);
    if (!rc && args->html)
        rc = write_page(&work, cli, nbase, args->html, &err);
    if (rc)
        log_error("%s", err.msg);
    else {
        code = compared_code(&work.comparisons, args->fail_on);
        int printed = print(&work, args, cli, nbase, code);
        code = printed ? printed : code;
    }
    work_free(&work);
    return code;
}

/* Number of words after "--", the results of the second side. SIZE_MAX: no "--". */
static size_t count_after_dashes(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--"))
            return (size_t)(argc - i - 1);
    return SIZE_MAX;
}

/* A word after "--" that looks like an option and is no existing file; NULL = none. */
static const char *option_after_dashes(int argc, char **argv, size_t after_dashes)
{
    for (int i = argc - (int)after_dashes; after_dashes != SIZE_MAX && i < argc; i++)
        if (argv[i][0] == '-' && argv[i][1] && access(argv[i], F_OK))
            return argv[i];
    return NULL;
}

static int compare_fingerprints(const struct compare_args *args, const struct cli *cli)
{
    const struct fingerprint_form form = {args->json, args->markdown, args->html};
    if (args->junit || args->history.n || args->across) {
        log_error("fingerprints have no --junit, --history or --across: their exit code is the "
                  "verdict");
        return EXIT_USAGE;
    }
    return fingerprint_compare_main(cli->positional, cli->npositional, &form);
}

static int compare_main(const struct cmd_env *env, int argc, char **argv)
{
    struct compare_args args = {0};
    struct cli cli;
    int code;
    size_t after_dashes = count_after_dashes(argc, argv);
    if (!cmd_parse(env, &compare_command, argc, argv, &args, &cli, &code))
        return code;
    const char *option = option_after_dashes(argc, argv, after_dashes);
    if (option) {
        log_error("'%.80s' must precede '--': only results follow it", option);
        return EXIT_USAGE;
    }
    if (args.history.n && !cli.npositional && !args.across && !args.placements)
        return compare_history(env, &args);
    if (args.machine || args.out) {
        log_error("--machine and --out need --history DIR, without BASE and NEW");
        return EXIT_USAGE;
    }
    args.across = args.across || args.placements;
    args.threshold = args.threshold > 0 ? args.threshold : 5;
    args.fail_on = args.fail_on ? args.fail_on : "slower";
    for (size_t i = 0; i < cli.npositional; i++)
        args.is_foreign = args.is_foreign || foreign_is_at(cli.positional[i]);
    size_t nnew = after_dashes == SIZE_MAX ? 1 : after_dashes;
    if (after_dashes == SIZE_MAX && cli.npositional > 1 && !args.is_foreign &&
        fingerprint_is_among(cli.positional, cli.npositional))
        return compare_fingerprints(&args, &cli);
    if (nnew == 0 || cli.npositional <= nnew ||
        (after_dashes == SIZE_MAX && cli.npositional != 2)) {
        log_error("no results: type 'contend compare BASE NEW', or several a side: 'contend "
                  "compare BASE... -- NEW...'");
        return EXIT_USAGE;
    }
    return run(env, &args, &cli, cli.npositional - nnew);
}

const struct command compare_command = {
    .name = "compare",
    .group = "Compare",
    .main = compare_main,
    .summary = "verdict between results on disk: faster, slower, same or unclear",
    .operands = "BASE NEW | BASE... -- NEW... | --history DIR | FINGERPRINT...",
    .about = "Compares results row by row. BASE and NEW are directories of one run, or of several "
             "runs. Single runs show only large differences: take about five a side, or 'contend "
             "ab'. --history alone finds when the figures of one machine changed; it needs four "
             "runs before and after a change. Exit codes: 0 no verdict that --fail-on names; 1 a "
             "verdict failed; 2 bad input; 4 inconclusive. Fingerprints ('contend run "
             "fingerprint'): two, or three and more that should be alike, each against their "
             "median; 1 another class. docs/compare.md has the method.",
    .opts = compare_opts,
    .examples = {{"contend compare before/ after/", "two runs"},
                 {"contend compare --history results/", "when did this machine change?"}},
};
