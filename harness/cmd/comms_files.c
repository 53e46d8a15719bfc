#include "harness/cmd/comms_files.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "harness/cmd/cmd.h"
#include "harness/plot/comms.h"
#include "harness/say/log.h"
#include "harness/store/comms.h"
#include "harness/sys/signals.h"

static int write_in(int dir_fd, const struct comms_view *view, struct err *err)
{
    struct signals signals;
    int rc = comms_csv_write(dir_fd, view, err);
    if (rc)
        return rc;
    rc = signals_open(&signals, err);
    if (rc)
        return rc;
    rc = comms_figures_draw(view, dir_fd, &signals, err);
    signals_close(&signals);
    return rc;
}

int comms_files_write(const char *directory, const struct comms_view *view)
{
    struct err err = {0};
    int dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = dir_fd < 0 ? err_sys(&err, -errno, "cannot open it") : write_in(dir_fd, view, &err);
    if (dir_fd >= 0)
        (void)close(dir_fd);
    if (!rc) {
        log_info("wrote matrix.csv, calls.csv, ranks.csv, timeline.csv and plots/ into '%.150s'",
                 directory);
        return EXIT_GOOD;
    }
    if (rc == -EACCES || rc == -EROFS) {
        log_info("no files in '%.150s', which cannot be written", directory);
        return EXIT_GOOD;
    }
    if (rc == -EINTR)
        return EXIT_INTERRUPTED;
    log_error("'%.150s': %s", directory, err.msg);
    return EXIT_NOT_RUN;
}
