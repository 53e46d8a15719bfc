#include "harness/engine/arms/variant.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/lib/base/text.h"
#include "harness/machine/facts/openmp.h"

/* Kinds whose value is one text; add_change handles the others. */
static const struct kind {
    const char *name;
    size_t offset; /* of a const char * in struct variant */
} single[] = {
    {"placement", offsetof(struct variant, placement)},
    {"before", offsetof(struct variant, before)},
    {"after", offsetof(struct variant, after)},
    {"check", offsetof(struct variant, check)},
    {"build", offsetof(struct variant, build)},
};
static const char kinds[] =
    "env, unset, param, placement, threads, cpu-max, lib, before, after, check, build";

static bool is_named(const char *text, size_t length, const char *name)
{
    return length == strlen(name) && !strncmp(text, name, length);
}

static struct variant *find_or_add(struct variants *variants, const char *text, size_t length,
                                   struct err *err)
{
    if (!length || length >= VARIANT_NAME_MAX) {
        (void)err_set(err, -EINVAL, "variant '%.80s': a name has 1 to %d characters", text,
                      VARIANT_NAME_MAX - 1);
        return NULL;
    }
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("_-+.", text[i])) {
            (void)err_set(err, -EINVAL,
                          "variant '%.80s': a name is of letters, digits, '_', '-', '+' and '.'",
                          text);
            return NULL;
        }
    for (size_t i = 0; i < variants->n; i++)
        if (is_named(text, length, variants->all[i].name))
            return &variants->all[i];
    if (variants->n == VARIANTS_MAX) {
        (void)err_set(err, -EINVAL, "variant '%.80s' is one too many (at most %d)", text,
                      VARIANTS_MAX);
        return NULL;
    }
    struct variant *variant = &variants->all[variants->n++];
    memcpy(variant->name, text, length);
    return variant;
}

static int add_text(struct opt_texts *texts, const char *text, const char *value, struct err *err)
{
    if (texts->n == OPT_TEXTS_MOST)
        return err_set(err, -EINVAL, "variant '%.80s' is one change too many", text);
    texts->text[texts->n++] = value;
    return 0;
}

static int add_pair(struct opt_texts *pairs, const char *text, const char *value, struct err *err)
{
    if (!strchr(value, '=') || value[0] == '=')
        return err_set(err, -EINVAL, "variant '%.80s': '%.60s' is not of the form NAME=VALUE", text,
                       value);
    return add_text(pairs, text, value, err);
}

/* The variable by which bench/ finds the library. */
#define LIBRARY_VARIABLE "CONTEND_LIBNCCL="

static int add_library(struct variant *variant, const char *text, const char *value,
                       struct err *err)
{
    static const char nccl[] = "nccl=";
    if (strncmp(value, nccl, strlen(nccl)) != 0 || !value[strlen(nccl)])
        return err_set(err, -EINVAL, "variant '%.80s': known is lib:nccl=PATH", text);
    if (variant->library[0])
        return err_set(err, -EINVAL, "variant '%s' has two of 'lib'", variant->name);
    int length = snprintf(variant->library, sizeof(variant->library), LIBRARY_VARIABLE "%s",
                          value + strlen(nccl));
    if (length < 0 || (size_t)length >= sizeof(variant->library))
        return err_set(err, -ENAMETOOLONG, "variant '%.80s': too long a path", text);
    return add_pair(&variant->env, text, variant->library, err);
}

static int add_single(struct variant *variant, const char *text, size_t length, const char *value,
                      struct err *err)
{
    for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++) {
        if (!is_named(text, length, single[i].name))
            continue;
        const char **field = (const char **)(void *)((char *)variant + single[i].offset);
        if (*field)
            return err_set(err, -EINVAL, "variant '%s' has two of '%s'", variant->name,
                           single[i].name);
        *field = value;
        return 0;
    }
    return err_set(err, -EINVAL, "variant '%s': unknown kind '%.*s'; known: %s", variant->name,
                   (int)(length < 40 ? length : 40), text, kinds);
}

static int set_threads(struct variant *variant, const char *text, const char *value,
                       const char *end_at, struct err *err)
{
    char *end = NULL;
    unsigned long threads = isdigit((unsigned char)value[0]) ? strtoul(value, &end, 10) : 0;
    if (variant->threads)
        return err_set(err, -EINVAL, "variant '%s' has two of 'threads'", variant->name);
    if (threads < 1 || threads > VARIANT_THREADS_MAX || !strchr(end_at, *end))
        return err_set(err, -EINVAL, "variant '%.80s': threads is a number from 1 to %d", text,
                       VARIANT_THREADS_MAX);
    variant->threads = (unsigned)threads;
    return 0;
}

/* The plan follows a variable that sets the size of teams. A list has a size for each level. */
static int add_env(struct variant *variant, const char *text, const char *value, struct err *err)
{
    static const char team[] = "OMP_NUM_THREADS=", outside[] = OPENMP_NOT_FOR_WORKERS "=";
    if (!strncmp(value, outside, strlen(outside)))
        return err_set(err, -EINVAL,
                       "variant '%.80s': " OPENMP_NOT_FOR_WORKERS
                       " binds threads outside of their placement; use placement:NAME",
                       text);
    int rc = add_pair(&variant->env, text, value, err);
    if (rc || strncmp(value, team, strlen(team)) != 0)
        return rc;
    return set_threads(variant, text, value + strlen(team), ",", err);
}

static int add_unset(struct variant *variant, const char *text, const char *value, struct err *err)
{
    if (strchr(value, '='))
        return err_set(err, -EINVAL, "variant '%.80s': unset takes a name, such as OMP_PROC_BIND",
                       text);
    return add_text(&variant->env, text, value, err);
}

static int set_cpu_max(struct variant *variant, const char *text, const char *value,
                       struct err *err)
{
    char *end;
    double cpus = strtod(value, &end);
    if (variant->cpu_max > 0)
        return err_set(err, -EINVAL, "variant '%s' has two of 'cpu-max'", variant->name);
    if (!(cpus >= 0.01 && cpus <= VARIANT_THREADS_MAX) || *end)
        return err_set(err, -EINVAL, "variant '%.80s': cpu-max is a number of CPUs, such as 0.5",
                       text);
    variant->cpu_max = cpus;
    return 0;
}

/* Adds the change that follows "NAME=". */
static int add_change(struct variant *variant, const char *text, const char *change,
                      struct err *err)
{
    size_t length = strcspn(change, ":");
    if (!change[length] || !change[length + 1])
        return err_set(err, -EINVAL,
                       "variant '%.80s' is not of the form NAME=KIND:VALUE; kinds: %s", text,
                       kinds);
    const char *value = change + length + 1;
    if (is_named(change, length, "env"))
        return add_env(variant, text, value, err);
    if (is_named(change, length, "param"))
        return add_pair(&variant->params, text, value, err);
    if (is_named(change, length, "threads"))
        return set_threads(variant, text, value, "", err);
    if (is_named(change, length, "unset"))
        return add_unset(variant, text, value, err);
    if (is_named(change, length, "cpu-max"))
        return set_cpu_max(variant, text, value, err);
    if (is_named(change, length, "lib"))
        return add_library(variant, text, value, err);
    return add_single(variant, change, length, value, err);
}

int variants_parse(const struct opt_texts *texts, struct variants *variants, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < texts->n && !rc; i++) {
        const char *text = texts->text[i];
        size_t length = strcspn(text, "=");
        struct variant *variant = find_or_add(variants, text, length, err);
        if (!variant)
            return -EINVAL;
        if (text[length] && text[length + 1])
            rc = add_change(variant, text, text + length + 1, err);
    }
    if (!rc && variants->n < 2)
        return err_set(err, -EINVAL,
                       "variant '%s' has nothing to be compared with: name another by -V NAME",
                       variants->all[0].name);
    for (size_t i = 0; i < variants->n && !rc; i++)
        if (variants->all[i].before && !variants->all[i].after)
            rc = err_set(err, -EINVAL, "variant '%s' has before: but no after: that undoes it",
                         variants->all[i].name);
    return rc;
}

static int check_library(const struct variant *variant, struct err *err)
{
    const char *path = variant->library + strlen(LIBRARY_VARIABLE);
    struct stat found;
    if (access(path, R_OK) || stat(path, &found))
        return err_sys(err, -errno, "variant '%s': cannot read the library '%.150s'", variant->name,
                       path);
    if (!S_ISREG(found.st_mode))
        return err_set(err, -EINVAL, "variant '%s': the library '%.150s' is no regular file",
                       variant->name, path);
    return 0;
}

int variants_check_libraries(const struct variants *variants, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < variants->n && !rc; i++)
        if (strchr(variants->all[i].library, '/'))
            rc = check_library(&variants->all[i], err);
    return rc;
}

bool variants_any_build(const struct variants *variants)
{
    for (size_t i = 0; i < variants->n; i++)
        if (variants->all[i].build)
            return true;
    return false;
}

#define FRESH "fresh."
#define CORES "cores-"

void variant_put_name(struct variant *variant, enum placement placement, unsigned workers)
{
    const struct plan_options *plan = &variant->plan;
    const long long reserve = plan->reserve - variant->fewer;
    if (plan->cores_each) {
        text_set(variant->name, CORES "%lld", (long long)plan->cores_each);
        return;
    }
    text_set(variant->name, "%s%s", variant->is_fresh ? FRESH : "",
             placement_infos[placement].name);
    if (plan->threads)
        text_add(variant->name, "+%lldt", (long long)plan->threads);
    if (reserve)
        text_add(variant->name, "+r%lld", reserve);
    if (plan->wait)
        text_add(variant->name, "+%s", plan_wait_choices[plan->wait]);
    if (workers)
        text_add(variant->name, "+%uw", workers);
    if (variant->fewer)
        text_add(variant->name, "-%u", variant->fewer);
}

void variant_take_name(struct variant *variant, enum placement placement, const char *name)
{
    struct plan_options *plan = &variant->plan;
    text_set(variant->name, "%s", name);
    variant->is_fresh = !strncmp(name, FRESH, strlen(FRESH));
    if (!strncmp(name, CORES, strlen(CORES)))
        plan->cores_each = strtoll(name + strlen(CORES), NULL, 10);
    name = variant_setting(variant);
    const size_t length = strlen(placement_infos[placement].name);
    if (strncmp(name, placement_infos[placement].name, length) != 0)
        return;
    for (const char *at = name + length; *at; at += 1 + strcspn(at + 1, "+-")) {
        char *end;
        const bool is_reserve = at[1] == 'r';
        const long long number = strtoll(at + 1 + is_reserve, &end, 10);
        if (*at == '-')
            variant->fewer = (unsigned)number;
        else if (is_reserve)
            plan->reserve = number;
        else if (*end == 't')
            plan->threads = number;
        else if (*end != 'w')
            plan->wait = 1;
    }
    plan->reserve += variant->fewer;
}

const char *variant_setting(const struct variant *variant)
{
    return variant->name + (variant->is_fresh ? strlen(FRESH) : 0);
}
