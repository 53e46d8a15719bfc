/* contend validate bounds: what machines of one kind should reach, from results of many of them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "harness/lib/base/text.h"
#include "harness/lib/say/log.h"
#include "harness/validate/cmd/fleet.h"
#include "harness/validate/cmd/options.h"
#include "harness/validate/files/bounds_file.h"
#include "harness/validate/fleet/bounds_make.h"

enum { LABEL = 10 };

static void print_made(const struct fleet *fleet, const struct bounds *bounds, const char *path)
{
    for (size_t i = 0; i < bounds->nleft_out; i++)
        text_field(LABEL, i ? "" : "left out", "%s: %s", bounds->left_out[i].machine,
                   bounds->left_out[i].reason);
    if (bounds->nleft_out)
        (void)putchar('\n');
    text_field(LABEL, "machines", "%u of %u, %s", bounds->machines, fleet->names.n, bounds->kind);
    text_field(LABEL, "bounds", "%zu figures; %s", bounds->n, bounds->how);
    text_field(LABEL, "written", "%s", path);
}

/* Bounds without one figure: by them any machine would be good. */
static int refuse_empty(const struct fleet *fleet, const struct bounds *bounds, struct err *err)
{
    if (bounds->nleft_out == fleet->names.n)
        return err_set(err, -ENODATA, "all %u machines are left out, the first since %.160s",
                       fleet->names.n, bounds->left_out[0].reason);
    return err_set(err, -ENODATA,
                   "nothing to bound: half of the %zu machines have no figure in common; let all "
                   "run the same scenarios with the same parameters",
                   fleet->names.n - bounds->nleft_out);
}

static int make(const struct fleet *fleet, const char *path)
{
    struct err err = {0};
    struct bounds bounds = {0};
    int rc = bounds_make(fleet, &bounds, &err);
    if (!rc && !bounds.n)
        rc = refuse_empty(fleet, &bounds, &err);
    int code = rc == -ENODATA ? EXIT_INCONCLUSIVE : EXIT_USAGE;
    if (!rc)
        rc = bounds_file_write(path, &bounds, time(NULL), &err);
    if (!rc)
        print_made(fleet, &bounds, path);
    else
        log_error("%s", err.msg);
    bounds_free(&bounds);
    return rc ? code : cmd_finish();
}

int bounds_main(const struct cmd_env *env, const struct validate_args *args,
                const char *const *directories, size_t n)
{
    struct fleet fleet = {0};
    size_t results;
    if (!n || !args->outputs.dir) {
        log_error("%s: 'contend validate bounds DIR... --out FILE'",
                  n ? "which file is to be written?" : "which result directories?");
        return EXIT_USAGE;
    }
    int code = fleet_open(env, directories, n, &fleet, &results);
    if (!code)
        code = make(&fleet, args->outputs.dir);
    else if (results)
        log_error("no bounds while results are damaged: fix or remove them");
    fleet_free(&fleet);
    return code;
}
