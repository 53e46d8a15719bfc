#include "harness/lib/dose.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/text.h"

const char *const dose_names[] = {"cpu", "bandwidth", "latency", "cache", "h2d", "throttle", NULL};

/* Levels that aggressors can hold: they have the workers' priority and few threads per CPU. */
static const double least[DOSE_KINDS] = {
    [DOSE_BANDWIDTH] = 0.05, [DOSE_LATENCY] = 1, [DOSE_CACHE] = 0.05, [DOSE_H2D] = 0.2};
static const double most[DOSE_KINDS] = {
    [DOSE_CPU] = 0.8, [DOSE_BANDWIDTH] = 1, [DOSE_LATENCY] = 20,
    [DOSE_CACHE] = 1, [DOSE_H2D] = 1,       [DOSE_THROTTLE] = 0.8};

bool dose_is_share(int kind)
{
    return kind == DOSE_CPU || kind == DOSE_THROTTLE;
}

bool dose_is_remainder(int kind)
{
    return kind == DOSE_BANDWIDTH || kind == DOSE_CACHE || kind == DOSE_H2D;
}

double dose_idle_level(enum dose_kind kind)
{
    return dose_is_share(kind) ? 0 : 1;
}

bool dose_is_idle(const struct dose *dose)
{
    return dose->level == dose_idle_level((enum dose_kind)dose->kind);
}

bool dose_is_same(const struct dose *a, const struct dose *b)
{
    return a->kind == b->kind && a->level == b->level;
}

int dose_check(const struct dose *dose, struct err *err)
{
    if (dose->level >= least[dose->kind] && dose->level <= most[dose->kind])
        return 0;
    return err_set(err, -EINVAL, "a dose of %s is from %g to %g, not %g", dose_names[dose->kind],
                   least[dose->kind], most[dose->kind], dose->level);
}

/* Reads the kind before '='. Returns the text after '='; NULL: unknown kind, or no '='. */
static const char *parse_kind(const char *text, int *kind)
{
    size_t length = strcspn(text, "=");
    for (*kind = 0; text[length] && dose_names[*kind]; ++*kind)
        if (strlen(dose_names[*kind]) == length && !strncmp(text, dose_names[*kind], length))
            return text + length + 1;
    return NULL;
}

/* Reads "20%" or "0.2"; with `percent` also "20" for 20%. *end: the text after the level. */
static bool parse_level(const char *text, bool percent, double *level, const char **end)
{
    char *behind;
    *level = strtod(text, &behind);
    bool has = behind != text && isfinite(*level);
    if (percent || *behind == '%')
        *level /= 100;
    behind += *behind == '%';
    *end = behind;
    return has && (!*behind || *behind == ',');
}

int dose_parse_list(const char *text, struct dose *doses, size_t most_doses, struct err *err)
{
    int kind, n = 0;
    const char *at = parse_kind(text, &kind);
    bool percent = text[0] && text[strlen(text) - 1] == '%';
    while (at && (size_t)n < most_doses) {
        doses[n].kind = kind;
        if (!parse_level(at, percent, &doses[n].level, &at))
            break;
        int rc = dose_check(&doses[n], err);
        if (rc)
            return rc;
        n++;
        if (!*at)
            return n;
        at++;
    }
    if (at && (size_t)n == most_doses && most_doses > 1)
        return err_set(err, -EINVAL, "dose '%.60s' has more than %zu levels", text, most_doses);
    const char *kinds = "";
    for (int i = 0; dose_names[i]; i++)
        str_add(&kinds, ", ", "%s", dose_names[i]);
    return err_set(err, -EINVAL, "dose '%.60s' is not KIND=LEVEL, such as cpu=20%%%s; kinds: %s",
                   text, most_doses > 1 ? " or cpu=5,20%" : "", kinds);
}

int dose_parse(const char *text, struct dose *dose, struct err *err)
{
    int n = dose_parse_list(text, dose, 1, err);
    return n < 0 ? n : 0;
}

const char *dose_format_level(const struct dose *dose)
{
    bool share = dose_is_share(dose->kind);
    return str_fmt("%.4g%s", share ? 100 * dose->level : dose->level, share ? "%" : "");
}

const char *dose_format(const struct dose *dose)
{
    return str_fmt("%s=%s", dose_names[dose->kind], dose_format_level(dose));
}
