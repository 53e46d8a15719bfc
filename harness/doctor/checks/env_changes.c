#include "harness/doctor/checks/env_changes.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "harness/lib/str.h"

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
    const char *setting = str_fmt("%s=%s%u", name, option, value);
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

const char *env_changes_format(const struct env_changes *changes)
{
    const char *text = "";
    for (int sets = 1; sets >= 0; sets--) {
        const char *verb = sets ? "export" : text[0] ? " && unset" : "unset";
        for (unsigned i = 0; i < changes->n; i++)
            if ((strchr(changes->settings[i], '=') != NULL) == sets) {
                str_add(&text, "", "%s %s", verb, changes->settings[i]);
                verb = "";
            }
    }
    return text;
}
