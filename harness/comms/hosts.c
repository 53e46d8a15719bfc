#include "harness/comms/findings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/array.h"
#include "harness/lib/str.h"

/* A machine under one of its names. */
struct alias {
    char name[COMMS_HOST_MAX]; /* in the files */
    uint8_t boot[COMMS_BOOT_MAX];
    char called[COMMS_HOST_MAX]; /* its name from now on */
};
struct aliases {
    size_t n, capacity;
    struct alias *all;
};

static bool is_known(const uint8_t *boot)
{
    static const uint8_t none[COMMS_BOOT_MAX];
    return memcmp(boot, none, sizeof(none)) != 0;
}

/* A file without a boot_id matches any machine of its name. */
static bool is_one_machine(const struct alias *alias, const char *name, const uint8_t *boot)
{
    if (is_known(alias->boot) && is_known(boot))
        return memcmp(alias->boot, boot, COMMS_BOOT_MAX) == 0;
    return strcmp(alias->name, name) == 0;
}

static const struct alias *find(const struct aliases *aliases, const char *name,
                                const uint8_t *boot)
{
    const struct alias *found = NULL;
    for (size_t i = 0; i < aliases->n; i++) {
        const struct alias *alias = &aliases->all[i];
        if (!is_one_machine(alias, name, boot))
            continue;
        if (strcmp(alias->name, name) == 0)
            return alias;
        found = found ? found : alias;
    }
    return found;
}

static bool is_taken(const struct aliases *aliases, const char *called)
{
    for (size_t i = 0; i < aliases->n; i++)
        if (strcmp(aliases->all[i].called, called) == 0)
            return true;
    return false;
}

static int report(const struct alias *alias, bool same_name, struct findings *findings,
                  struct err *err)
{
    struct findings_about about = {findings, err, str_fmt("host %s", alias->name)};
    if (same_name)
        findings_report(&about, "comms_same_name", FINDING_NOTE,
                        "another machine has the same name: this one is %s here", alias->called);
    else
        findings_report(&about, "comms_one_machine", FINDING_NOTE,
                        "it is the same machine as %s, and has that name here", alias->called);
    return about.rc;
}

static int add(struct aliases *aliases, const char *name, const uint8_t *boot,
               struct findings *findings, struct err *err)
{
    const struct alias *known = find(aliases, name, boot);
    if (known && strcmp(known->name, name) == 0)
        return 0;
    struct alias alias;
    (void)snprintf(alias.name, sizeof(alias.name), "%s", name);
    memcpy(alias.boot, boot, sizeof(alias.boot));
    (void)snprintf(alias.called, sizeof(alias.called), "%s", known ? known->called : name);
    for (unsigned i = 2; !known && is_taken(aliases, alias.called); i++)
        (void)snprintf(alias.called, sizeof(alias.called), "%.52s#%u", name, i);
    struct alias *added = array_add(aliases->all, aliases->n, aliases->capacity);
    if (!added)
        return err_set(err, -ENOMEM, "no memory for names of hosts");
    *added = alias;
    return strcmp(alias.called, name) == 0 ? 0 : report(&alias, !known, findings, err);
}

static int rename_host(struct aliases *aliases, char host[static COMMS_HOST_MAX],
                       const uint8_t *boot, struct findings *findings, struct err *err)
{
    int rc = add(aliases, host, boot, findings, err);
    if (!rc)
        (void)snprintf(host, COMMS_HOST_MAX, "%s", find(aliases, host, boot)->called);
    return rc;
}

int comms_hosts_settle(const struct comms_hosts *hosts, struct findings *findings, struct err *err)
{
    static const uint8_t unknown[COMMS_BOOT_MAX];
    struct aliases aliases = {0};
    int rc = 0;
    for (size_t i = 0; hosts->logs && i < hosts->logs->n && !rc; i++) {
        struct comms_header *header = &hosts->logs->log[i].header;
        rc = rename_host(&aliases, header->host, header->boot, findings, err);
    }
    for (size_t i = 0; hosts->counters && i < hosts->counters->n && !rc; i++) {
        struct comms_counted *counted = &hosts->counters->counted[i];
        rc = rename_host(&aliases, counted->host, counted->boot, findings, err);
    }
    for (size_t i = 0; hosts->ports && i < hosts->ports->n && !rc; i++)
        rc = rename_host(&aliases, hosts->ports->port[i].host, unknown, findings, err);
    free(aliases.all);
    return rc;
}
