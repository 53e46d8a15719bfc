#include "harness/store/files/logs.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "harness/contract/logs.h"

void logs_clear(int dir_fd)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *files = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *file = files ? readdir(files) : NULL; file; file = readdir(files))
        if (strstr(file->d_name, COMMS_SUFFIX) || !strcmp(file->d_name, COMMS_PORTS_NAME))
            (void)unlinkat(fd, file->d_name, 0);
    if (files)
        (void)closedir(files);
    else if (fd >= 0)
        (void)close(fd);
}
