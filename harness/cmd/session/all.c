#include "harness/cmd/session/all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/cmd/common/page.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"
#include "harness/record/directory.h"
#include "harness/show/json/forms.h"
#include "harness/show/result.h"

/* The table over all scenarios; a single result has summary.txt. */
#define TABLE_NAME "scenarios.txt"

/* Time limit of the profile quick: below six minutes, including everything around the rounds. */
static const double quick_s = 330;

struct all {
    struct session *s;
    const struct scenario **scenarios;
    struct collection collection;
    json_t **rows; /* of each scenario, with --json */
    char path[DIRECTORY_PATH_MAX], command[512];
    struct directory dir;
};

bool all_is_named(const struct cli *cli)
{
    for (size_t i = 0; i < cli->npositional; i++)
        if (!strcmp(cli->positional[i], ALL_NAME))
            return true;
    return false;
}

/* Refuses options that mean something else in each scenario. */
static int check(const struct session *s)
{
    if (s->cli.npositional > 1)
        log_error("'all' means every scenario: name no other");
    else if (s->cli.npairs)
        log_error("'all' takes no parameters: '%.80s' belongs to one scenario", s->cli.pairs[0]);
    else if (s->job_env.launcher)
        log_error("'all' runs on one machine: start it without mpirun or srun");
    else
        return EXIT_GOOD;
    return EXIT_USAGE;
}

static int list_scenarios(struct all *all, const struct cmd_env *env)
{
    size_t n = 0;
    while (env->scenarios[n].name)
        n++;
    all->scenarios = calloc(n + 1, sizeof(struct scenario *));
    all->rows = calloc(n + 1, sizeof(json_t *));
    all->collection.all = calloc(n + 1, sizeof(*all->collection.all));
    if (!all->scenarios || !all->rows || !all->collection.all) {
        log_error("no memory for %zu scenarios", n);
        return EXIT_NOT_RUN;
    }
    for (size_t i = 0; i < n; i++) {
        if (env->scenarios[i].doses)
            continue;
        struct collected *one = &all->collection.all[all->collection.n];
        all->scenarios[all->collection.n++] = &env->scenarios[i];
        one->scenario = env->scenarios[i].name;
        one->summary = env->scenarios[i].summary;
    }
    return EXIT_GOOD;
}

static void free_all(struct all *all)
{
    for (size_t i = 0; all->rows && i < all->collection.n; i++)
        json_decref(all->rows[i]);
    free(all->rows);
    free(all->collection.all);
    free((void *)all->scenarios);
}

/* Runs before the first scenario, when the machine is known. */
static int begin(void *arg)
{
    struct all *all = arg;
    struct session *s = all->s;
    struct err err = {0};
    time_t now = time(NULL);
    size_t used = 0;
    for (int i = -1; i < s->argc && used < sizeof(all->command); i++)
        used += (size_t)snprintf(all->command + used, sizeof(all->command) - used, "%s%s",
                                 i < 0 ? "" : " ", s->argv[i]);
    all->collection.command = all->command;
    all->collection.host = s->host;
    text_set(all->collection.started, "%s", text_utc(now));
    if (s->options.dry_run)
        return 0;
    if (s->options.out)
        (void)snprintf(all->path, sizeof(all->path), "%s", s->options.out);
    else
        (void)directory_default(s->host, ALL_NAME, now, all->path, sizeof(all->path));
    const struct directory_request place = {
        .path = all->path, .unique = !s->options.out, .command = all->command};
    int rc = directory_open(&all->dir, &place, &err);
    if (!rc && all->dir.holds_earlier)
        rc =
            err_set(&err, -EEXIST,
                    "output directory '%.150s' has the result of one scenario: 'all' needs another",
                    all->dir.path);
    if (rc) {
        log_error("%s", err.msg);
        directory_close(&all->dir);
        return EXIT_USAGE;
    }
    s->options.out = all->dir.path;
    return EXIT_GOOD;
}

static int format_table(const struct collection *collection, char **text, size_t *size)
{
    FILE *out = open_memstream(text, size);
    if (!out)
        return -ENOMEM;
    collection_print(collection, out, false);
    return fclose(out) ? -ENOMEM : 0;
}

/* Rewrites table and page after each scenario, so that an interrupted run has them. */
static int write_files(const struct all *all, struct err *err)
{
    char *text = NULL;
    size_t size = 0;
    int rc = format_table(&all->collection, &text, &size);
    if (!rc)
        rc = file_replace(all->dir.fd, TABLE_NAME, text, size);
    if (rc)
        (void)err_sys(err, rc, "cannot write '%.150s/" TABLE_NAME "'", all->dir.path);
    free(text);
    if (!rc && !all->s->options.no_plots)
        rc = page_write_collection(&all->collection, all->dir.fd, PAGE_NAME, err);
    return rc;
}

/* Runs after each scenario. Returns the exit code that counts for the whole. */
static int note(void *arg, int i, int code)
{
    struct all *all = arg;
    struct session *s = all->s;
    struct err err = {0};
    struct collected *one = &all->collection.all[i];
    one->scenario = all->scenarios[i]->name;
    all->rows[i] = s->rows;
    s->rows = NULL;
    if (code == EXIT_INTERRUPTED)
        one->end = COLLECTED_INTERRUPTED;
    else if (one->end != COLLECTED_SKIPPED)
        one->end =
            code == EXIT_NOT_RUN || code == EXIT_USAGE ? COLLECTED_FAILED : COLLECTED_MEASURED;
    if (all->dir.is_open && write_files(all, &err)) {
        log_error("%s", err.msg);
        return EXIT_NOT_RUN;
    }
    return one->end == COLLECTED_SKIPPED ? EXIT_GOOD : code;
}

static int finish(const struct all *all)
{
    struct err err = {0};
    bool color = terminal_has_escapes(STDOUT_FILENO) && terminal_has_color(STDOUT_FILENO);
    if (all->s->options.json) {
        if (!json_value_print(collection_to_json(&all->collection, all->rows), 1, &err))
            return EXIT_GOOD;
        log_error("%s", err.msg);
        return EXIT_NOT_RUN;
    }
    (void)putchar('\n');
    collection_print(&all->collection, stdout, color);
    (void)printf("\nResults: %s\n", all->dir.path);
    return cmd_finish();
}

int all_run(struct session *s)
{
    struct all all = {.s = s};
    const struct session_list list = {.begin = begin, .note = note, .arg = &all};
    int code = check(s);
    if (!code)
        code = list_scenarios(&all, s->env);
    if (code) {
        free_all(&all);
        return code;
    }
    s->list = &list;
    s->outcomes = all.collection.all;
    if (!(s->options.max_time_s > 0) && s->options.profile == PROFILE_QUICK)
        s->options.max_time_s = quick_s;
    code = session_run(s, all.scenarios, (int)all.collection.n);
    if (all.dir.is_open) {
        int said = finish(&all);
        code = code ? code : said;
    }
    directory_close(&all.dir);
    free_all(&all);
    return code;
}
