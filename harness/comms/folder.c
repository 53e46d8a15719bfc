#include "harness/comms/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/array.h"
#include "harness/sys/file.h"

bool comms_has_suffix(const char *name, const char *suffix)
{
    size_t length = strlen(name), end = strlen(suffix);
    return length > end && strcmp(name + length - end, suffix) == 0;
}

static int hand_over(int dir_fd, const char *name, size_t most, comms_take *take, void *into,
                     struct err *err)
{
    char *text = NULL;
    size_t size;
    int rc = file_read(dir_fd, name, most, &text, &size);
    if (rc)
        return err_sys(err, rc, "cannot read '%.150s'", name);
    rc = take(into, name, text, size, err);
    free(text);
    return rc;
}

int comms_unread_add(struct comms_unread *unread, const struct err *why, struct err *err)
{
    struct err *grown = array_grown(unread->why, unread->n, &unread->capacity, sizeof(*grown));
    if (!grown)
        return err_set(err, -ENOMEM, "no memory for names of files");
    unread->why = grown;
    grown[unread->n++] = *why;
    return 0;
}

void comms_unread_free(struct comms_unread *unread)
{
    free(unread->why);
    *unread = (struct comms_unread){0};
}

int comms_folder_read(const char *directory, const char *suffix, size_t most, comms_take *take,
                      void *into, struct comms_unread *unread, struct err *err)
{
    struct dirent **entries = NULL;
    int dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return err_sys(err, -errno, "cannot open the directory '%.150s'", directory);
    int n = scandirat(dir_fd, ".", &entries, NULL, alphasort);
    int rc = n < 0 ? err_sys(err, -errno, "cannot list '%.150s'", directory) : 0;
    for (int i = 0; i < n; i++) {
        if (!rc && comms_has_suffix(entries[i]->d_name, suffix))
            rc = hand_over(dir_fd, entries[i]->d_name, most, take, into, err);
        if (rc && rc != -ENOMEM && unread)
            rc = comms_unread_add(unread, err, err);
        free(entries[i]);
    }
    free(entries);
    (void)close(dir_fd);
    return rc;
}
