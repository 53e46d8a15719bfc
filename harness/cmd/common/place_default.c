#include "harness/cmd/common/place_default.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/lib/str.h"
#include "harness/lib/sys/log.h"
#include "harness/machine/env.h"
#include "harness/machine/gpu_driver.h"
#include "harness/machine/key.h"
#include "harness/verdict/advice.h"

static const char results[] = "results"; /* output directory of runs without --out */

bool place_find_measured(const struct topo *topo, unsigned workers, const char *const *job,
                         struct recommended *found)
{
    struct environment env = {0};
    const struct env_request nothing = {0};
    struct machine_parts parts;
    struct machine_key key;
    struct err err;
    env_gather(&nothing, &env);
    machine_parts_of(&env, topo, &parts);
    machine_key_make(&parts, &key);
    const struct recommended_request request = {
        .path = results, .machine_key = key.key, .workers = workers, .job = job};
    if (recommended_find(&request, found, &err))
        log_warn("%s: earlier results are ignored", err.msg);
    env_free(&env);
    return found->path[0] != '\0';
}

const char *place_format_measured(const struct recommended *found)
{
    const char *text = "";
    const char *gain = "";
    if (!found->applies)
        text = str_fmt("measured by %s (%s): no gain over %s, leave it as it is", found->path,
                       found->workload, found->setting);
    else {
        if (found->load[0])
            gain = str_fmt(", at least %s the default, while %s", advice_format_ratio(found->low),
                           found->load);
        else if (!isnan(found->speed_up))
            gain = str_fmt(", %s the default", advice_format_ratio(found->speed_up));
        text = str_fmt("recommended by %s (%s): %s%s", found->path, found->workload, found->setting,
                       gain);
    }
    return text;
}

const char *place_format_nearest(const char *placement, const char *const *job)
{
    return str_fmt("placement %s is not measured: it is the first that fits this machine. %s "
                   "measures which is best. Only results below results/ are read",
                   placement,
                   job ? "'contend tune -- COMMAND'"
                       : "'contend run', or 'contend tune -- COMMAND' for a job of yours,");
}

void place_print_noted(const char *text, const char *note)
{
    bool batch = !strncmp(text, "@echo off", strlen("@echo off"));
    bool first = batch || !strncmp(text, "#!", 2);
    size_t head = first ? strcspn(text, "\n") + 1 : 0;
    if (head > strlen(text))
        head = strlen(text);
    (void)fwrite(text, 1, head, stdout);
    (void)printf("%s %s%s", batch ? "rem" : "#", note, batch ? "\r\n" : "\n");
    (void)fputs(text + head, stdout);
}
