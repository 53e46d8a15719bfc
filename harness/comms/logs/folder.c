#include "harness/comms/logs/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/lib/base/array.h"
#include "harness/lib/files/file.h"

bool comms_has_suffix(const char *name, const char *suffix)
{
    size_t length = strlen(name), end = strlen(suffix);
    return length >= end && strcmp(name + length - end, suffix) == 0;
}

void comms_task_name(unsigned rank, unsigned size, char name[static COMMS_TASK_MAX])
{
    (void)snprintf(name, COMMS_TASK_MAX, "task-%u-of-%u", rank, size);
}

bool comms_is_task(const char *name, unsigned size)
{
    char same[COMMS_TASK_MAX];
    unsigned rank = 0, of = 0;
    if (sscanf(name, "task-%9u-of-%9u", &rank, &of) != 2 || (size && of != size))
        return false;
    comms_task_name(rank, of, same);
    return rank < of && strcmp(name, same) == 0;
}

static int comms_unread_add(struct comms_unread *unread, const struct err *why, struct err *err)
{
    struct err *added = array_add(unread->why, unread->n, unread->capacity);
    if (!added)
        return err_set(err, -ENOMEM, "no memory for names of files");
    *added = *why;
    return 0;
}

void comms_unread_free(struct comms_unread *unread)
{
    free(unread->why);
    *unread = (struct comms_unread){0};
}

struct folder {
    int fd;
    const char *suffix;
    size_t most;
    comms_take *take;
    void *into;
    struct comms_unread *unread;
    struct err *err;
};

static int hand_over(const struct folder *folder, const char *name)
{
    char *text = NULL;
    size_t size;
    int rc = file_read(folder->fd, name, folder->most, &text, &size);
    if (rc)
        (void)err_sys(folder->err, rc, "cannot read '%.150s'", name);
    else
        rc = folder->take(folder->into, name, text, size, folder->err);
    free(text);
    if (rc && rc != -ENOMEM && folder->unread)
        rc = comms_unread_add(folder->unread, folder->err, folder->err);
    return rc;
}

/* `below`: "", or the name of a task's directory. */
static int read_in(const struct folder *folder, const char *below)
{
    struct dirent **entries = NULL;
    char name[COMMS_TASK_MAX + NAME_MAX + 2];
    int n = scandirat(folder->fd, *below ? below : ".", &entries, NULL, alphasort);
    int rc = n < 0 && !(*below && errno == ENOTDIR)
                 ? err_sys(folder->err, -errno, "cannot list '%.150s'", *below ? below : ".")
                 : 0;
    for (int i = 0; i < n; i++) {
        (void)snprintf(name, sizeof(name), "%s%s%s", below, *below ? "/" : "", entries[i]->d_name);
        if (!rc && !*below && comms_is_task(name, 0))
            rc = read_in(folder, name);
        else if (!rc && comms_has_suffix(name, folder->suffix))
            rc = hand_over(folder, name);
        free(entries[i]);
    }
    free(entries);
    return rc;
}

int comms_folder_read(const char *directory, const char *suffix, size_t most, comms_take *take,
                      void *into, struct comms_unread *unread, struct err *err)
{
    struct folder folder = {
        .suffix = suffix, .most = most, .take = take, .into = into, .unread = unread, .err = err};
    folder.fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder.fd < 0)
        return err_sys(err, -errno, "cannot open the directory '%.150s'", directory);
    int rc = read_in(&folder, "");
    (void)close(folder.fd);
    return rc;
}
