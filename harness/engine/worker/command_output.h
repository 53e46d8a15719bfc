/* The output of a user's command, line by line, and a file that keeps it. */
#ifndef CONTEND_ENGINE_WORKER_COMMAND_OUTPUT_H
#define CONTEND_ENGINE_WORKER_COMMAND_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/lib/err.h"

/* Limits of a command's output, for one worker in all rounds, and of its last line. */
enum { COMMAND_OUTPUT_MAX = 1 << 20, COMMAND_LINE_MAX = 4096 };

struct command_output {
    /* Called at the end of each line; `cut`: the line was longer. */
    void (*line)(void *arg, const char *line, bool cut);
    void *arg;
    int fd;     /* of the pipe; -1 = none */
    int log_fd; /* -1 = output is not kept */
    uint64_t log_bytes;
    uint64_t *cut_bytes;         /* counts what the file had no room for */
    char text[COMMAND_LINE_MAX]; /* the current line, cut */
    size_t used;
    bool line_cut;  /* the current line has more */
    char last[160]; /* the last line that was not empty */
};

/* Opens the file, and appends to it; NULL = none. */
int command_output_open(struct command_output *output, const char *path, struct err *err);

/* Forgets the lines so far. */
void command_output_begin(struct command_output *output);

/* Reads what is there now, if the pipe is open, and closes it at its end. */
void command_output_read(struct command_output *output);

/* Closes the pipe and ends the current line. */
void command_output_close(struct command_output *output);

/* Closes the file, too. */
void command_output_free(struct command_output *output);

/* "; its last line: no data", or "". */
const char *command_output_format_last(const struct command_output *output);

#endif
