#include "harness/doctor/check/env_changes.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool has_name_of(const struct env_changes *changes, const char *setting)
{
    size_t length = strcspn(setting, "=");
    for (unsigned i = 0; i < changes->n; i++)
        if (strcspn(changes->settings[i], "=") == length &&
            strncmp(changes->settings[i], setting, length) == 0)
            return true;
    return false;
}

static void add(struct env_changes *changes, const char *setting)
{
    if (changes->n < ENV_CHANGES_MOST && !has_name_of(changes, setting))
        (void)snprintf(changes->settings[changes->n++], ENV_CHANGE_MAX, "%s", setting);
}

void env_changes_set(struct env_changes *changes, const char *name, unsigned value)
{
    env_changes_set_option(changes, name, "", value);
}

void env_changes_set_option(struct env_changes *changes, const char *name, const char *option,
                            unsigned value)
{
    char setting[ENV_CHANGE_MAX];
    (void)snprintf(setting, sizeof(setting), "%s=%s%u", name, option, value);
    add(changes, setting);
}

void env_changes_unset(struct env_changes *changes, const char *name)
{
    add(changes, name);
}

void env_changes_join(struct env_changes *changes, const struct env_changes *more)
{
    for (unsigned i = 0; i < more->n; i++)
        add(changes, more->settings[i]);
}

char *env_changes_format(const struct env_changes *changes, char *buf, size_t size)
{
    size_t used = 0;
    buf[0] = '\0';
    for (int sets = 1; sets >= 0; sets--) {
        const char *verb = sets ? "export" : used ? " && unset" : "unset";
        for (unsigned i = 0; i < changes->n && used < size; i++)
            if ((strchr(changes->settings[i], '=') != NULL) == sets) {
                used +=
                    (size_t)snprintf(buf + used, size - used, "%s %s", verb, changes->settings[i]);
                verb = "";
            }
    }
    return buf;
}
