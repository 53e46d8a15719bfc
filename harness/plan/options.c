#include "harness/plan/options.h"

#include <inttypes.h>

#include "harness/lib/text.h"

enum { MEM_AUTO = 0 }; /* first of the choices; the others follow enum mem_policy */

const char *const plan_mem_choices[] = {"auto", "default", "bind", "preferred", "interleave", NULL};

const char *const plan_wait_choices[] = {"auto", "passive", NULL};

int plan_options_apply(const struct plan_options *options, struct plan_request *request,
                       struct err *err)
{
    struct err why;
    request->reserve_cores = (unsigned)options->reserve;
    request->threads = (unsigned)options->threads;
    request->cores_each = (unsigned)options->cores_each;
    request->passive = options->wait > 0;
    request->has_mem_policy = options->mem != MEM_AUTO;
    request->mem_policy =
        request->has_mem_policy ? (enum mem_policy)(options->mem - 1) : MEM_DEFAULT;
    request->cpus = (struct bitset){0};
    if (!options->cpus)
        return 0;
    int rc = bitset_parse(options->cpus, &request->cpus, &why);
    return rc ? err_set(err, rc, "cpus %.200s", why.msg) : 0;
}

char *plan_options_format(const struct plan_options *options, char *buf, size_t size)
{
    struct bitset cpus;
    buf[0] = '\0';
    if (options->reserve)
        text_append(buf, size, "", " --reserve %" PRId64, options->reserve);
    if (options->cpus && !bitset_parse(options->cpus, &cpus, NULL))
        text_append(buf, size, "", " --cpus %s", bitset_format(&cpus));
    if (options->threads)
        text_append(buf, size, "", " --threads %" PRId64, options->threads);
    if (options->cores_each)
        text_append(buf, size, "", " --cores-each %" PRId64, options->cores_each);
    if (options->wait)
        text_append(buf, size, "", " --wait %s", plan_wait_choices[options->wait]);
    if (options->mem != MEM_AUTO)
        text_append(buf, size, "", " --mem %s", plan_mem_choices[options->mem]);
    return buf;
}
