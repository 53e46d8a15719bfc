#include "harness/store/files/logs.h"

#include <string.h>
#include <unistd.h>

#include "harness/contract/comms.h"
#include "harness/lib/files/file.h"

void logs_clear(int dir_fd)
{
    DIR *files = file_open_folder(dir_fd, ".");
    for (struct dirent *file; (file = file_next(&files));)
        if (strstr(file->d_name, COMMS_SUFFIX) || !strcmp(file->d_name, COMMS_PORTS_NAME))
            (void)unlinkat(dir_fd, file->d_name, 0);
}
