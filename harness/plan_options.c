#include "harness/plan_options.h"

enum { MEM_AUTO = 0 }; /* first of the choices; the others follow enum mem_policy */

const char *const plan_mem_choices[] = {"auto", "default", "bind", "preferred", "interleave", NULL};

int plan_options_apply(const struct plan_options *options, struct plan_request *request,
                       struct err *err)
{
    struct err why;
    request->reserve_cores = (unsigned)options->reserve;
    request->threads = (unsigned)options->threads;
    request->has_mem_policy = options->mem != MEM_AUTO;
    request->mem_policy =
        request->has_mem_policy ? (enum mem_policy)(options->mem - 1) : MEM_DEFAULT;
    request->cpus = (struct bitset){0};
    if (!options->cpus)
        return 0;
    int rc = bitset_parse(options->cpus, &request->cpus, &why);
    return rc ? err_set(err, rc, "cpus %.200s", why.msg) : 0;
}
