#include "harness/engine/worker/command_output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/lib/sys/file.h"
#include "harness/lib/text.h"

enum { PIPE_BYTES = 1 << 16 };

int command_output_open(struct command_output *output, const char *path, struct err *err)
{
    struct stat there;
    if (!path)
        return 0;
    output->log_fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (output->log_fd < 0 || fstat(output->log_fd, &there))
        return err_sys(err, -errno, "cannot open '%.150s' for the command's output", path);
    output->log_bytes = (uint64_t)there.st_size;
    return 0;
}

void command_output_begin(struct command_output *output)
{
    output->last[0] = '\0';
    output->used = 0;
    output->line_cut = false;
}

/* The limit holds over all runs and rounds, which append to the same file. */
static void keep(struct command_output *output, const char *bytes, size_t n)
{
    size_t room =
        output->log_bytes < COMMAND_OUTPUT_MAX ? COMMAND_OUTPUT_MAX - output->log_bytes : 0;
    size_t kept = n < room ? n : room;
    if (output->log_fd < 0)
        return;
    if (kept && file_write_at(output->log_fd, bytes, kept, (off_t)output->log_bytes))
        kept = 0;
    output->log_bytes += kept;
    *output->cut_bytes += n - kept;
}

static void end_line(struct command_output *output)
{
    output->text[output->used] = '\0';
    if (output->used) {
        size_t n = 0;
        for (const char *at = output->text; *at && n < sizeof(output->last) - 1; at++)
            output->last[n++] = (char)((unsigned char)*at < ' ' ? ' ' : *at);
        output->last[n] = '\0';
    }
    output->line(output->arg, output->text, output->line_cut);
    output->used = 0;
    output->line_cut = false;
}

static void take_lines(struct command_output *output, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] == '\n' || bytes[i] == '\r')
            end_line(output);
        else if (output->used < sizeof(output->text) - 1)
            output->text[output->used++] = bytes[i];
        else
            output->line_cut = true;
}

void command_output_close(struct command_output *output)
{
    if (output->fd >= 0)
        (void)close(output->fd);
    output->fd = -1;
    if (output->used)
        end_line(output);
}

void command_output_read(struct command_output *output)
{
    char bytes[PIPE_BYTES];
    /* Endless output must not keep us from other work. */
    for (int i = 0; i < 16 && output->fd >= 0; i++) {
        ssize_t n = read(output->fd, bytes, sizeof(bytes));
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            command_output_close(output);
            return;
        }
        keep(output, bytes, (size_t)n);
        take_lines(output, bytes, (size_t)n);
    }
}

void command_output_free(struct command_output *output)
{
    command_output_close(output);
    if (output->log_fd >= 0)
        (void)close(output->log_fd);
    output->log_fd = -1;
}

const char *command_output_format_last(const struct command_output *output)
{
    return str_fmt(output->last[0] ? "; its last line: %s" : "", output->last);
}
