#include "harness/doctor/check/cure.h"

#include <stdio.h>
#include <string.h>

static bool has_name_of(const struct cure *cure, const char *setting)
{
    size_t length = strcspn(setting, "=");
    for (unsigned i = 0; i < cure->n; i++)
        if (strcspn(cure->settings[i], "=") == length &&
            strncmp(cure->settings[i], setting, length) == 0)
            return true;
    return false;
}

static void add(struct cure *cure, const char *setting)
{
    if (cure->n < CURE_MOST && !has_name_of(cure, setting))
        (void)snprintf(cure->settings[cure->n++], CURE_SETTING_MAX, "%s", setting);
}

void cure_set(struct cure *cure, const char *name, unsigned value)
{
    char setting[CURE_SETTING_MAX];
    (void)snprintf(setting, sizeof(setting), "%s=%u", name, value);
    add(cure, setting);
}

void cure_unset(struct cure *cure, const char *name)
{
    add(cure, name);
}

void cure_join(struct cure *cure, const struct cure *more)
{
    for (unsigned i = 0; i < more->n; i++)
        add(cure, more->settings[i]);
}

char *cure_format(const struct cure *cure, char *buf, size_t size)
{
    size_t used = 0;
    buf[0] = '\0';
    for (int sets = 1; sets >= 0; sets--) {
        const char *verb = sets ? "export" : used ? " && unset" : "unset";
        for (unsigned i = 0; i < cure->n && used < size; i++)
            if ((strchr(cure->settings[i], '=') != NULL) == sets) {
                used += (size_t)snprintf(buf + used, size - used, "%s %s", verb, cure->settings[i]);
                verb = "";
            }
    }
    return buf;
}
