#include "harness/validate/kinds.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmd/common/program.h"
#include "harness/lib/similar.h"
#include "harness/lib/str.h"
#include "harness/lib/text.h"
#include "harness/validate/machine_file.h"

/* True for NAME.json, the file of a kind. */
static int is_kind(const struct dirent *file)
{
    const char *end = strrchr(file->d_name, '.');
    return end && strcmp(end, ".json") == 0;
}

/* Lists the names of the kinds, sorted. Returns how many. Free with free_kinds. */
static int list_kinds(char folder[static PROGRAM_PATH_MAX], struct dirent ***kinds, struct err *err)
{
    *kinds = NULL;
    int n = program_share("machines", folder, PROGRAM_PATH_MAX, err)
                ? 0
                : scandir(folder, kinds, is_kind, alphasort);
    for (int i = 0; i < n; i++)
        *strrchr((*kinds)[i]->d_name, '.') = '\0';
    return n > 0 ? n : 0;
}

static void free_kinds(struct dirent **kinds, int n)
{
    while (n-- > 0)
        free(kinds[n]);
    free(kinds);
}

static int unknown_machine(const char *name, struct err *err)
{
    char path[PROGRAM_PATH_MAX];
    const char *known = "";
    struct similar near = similar_to(name, strlen(name));
    struct dirent **kinds;
    struct err none;
    int n = list_kinds(path, &kinds, &none);
    for (int i = 0; i < n; i++) {
        str_add(&known, ", ", "%s", kinds[i]->d_name);
        similar_offer(&near, kinds[i]->d_name);
    }
    int rc = err_set(err, -EINVAL, "unknown machine '%.60s'%s known: %s; or a FILE.json", name,
                     similar_hint(&near, ""), known);
    free_kinds(kinds, n);
    return rc;
}

int kinds_read(const char *name, struct machine_kind *kind, struct err *err)
{
    char path[PROGRAM_PATH_MAX];
    const char *base, *end = strrchr(name, '.');
    struct err none;
    unsigned gpus = machine_name_split(name, &base);
    const char *file = str_fmt("machines/%.60s.json", base);
    if (strchr(name, '/') || (end && strcmp(end, ".json") == 0))
        (void)snprintf(path, sizeof(path), "%s", base);
    else if (program_share(file, path, sizeof(path), &none))
        return unknown_machine(base, err);
    text_set(kind->name, "%s", name);
    return machine_file_read(path, gpus, kind, err);
}

const char *kinds_suggest(const struct topo *topo)
{
    char folder[PROGRAM_PATH_MAX];
    const char *path;
    struct dirent **kinds;
    struct err none;
    size_t best = 0;
    int n = topo->ngpus ? list_kinds(folder, &kinds, &none) : 0;
    const char *name = "";
    for (int i = 0; i < n; i++) {
        struct machine_kind kind;
        path = str_fmt("%s/%s.json", folder, kinds[i]->d_name);
        size_t fits = machine_file_read(path, topo->ngpus, &kind, &none)
                          ? 0
                          : machine_is_of(&kind, &topo->gpus[0]);
        if (fits > best)
            name = str_fmt("%ux%.50s", topo->ngpus, kinds[i]->d_name);
        best = fits > best ? fits : best;
    }
    if (n)
        free_kinds(kinds, n);
    return name;
}
