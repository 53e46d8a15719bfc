/* The numbers that a user's command gives: by --metric, in its output or in a file. */
#ifndef CONTEND_ENGINE_WORKER_COMMAND_NUMBERS_H
#define CONTEND_ENGINE_WORKER_COMMAND_NUMBERS_H

#include <regex.h>
#include <stdint.h>

#include "harness/engine/contract/command_load.h"
#include "harness/engine/worker/command_output.h"

/* One number of a run. */
struct command_number {
    struct command_metric metric;
    regex_t regex;
    bool has_regex;
    char text[COMMAND_LINE_MAX]; /* the last match; "" = none */
    bool cut;                    /* it may have more digits */
    bool is_time;                /* it came with a unit of time: in seconds */
    double sum;                  /* over measured runs */
};

struct command_numbers {
    const struct command_options *options; /* borrowed */
    const char *what;                      /* "the command", which gives them */
    size_t n;
    struct command_number *all; /* owned */
    bool taken;                 /* those of a run */
    uint32_t repeated; /* as bits, bit 0 the last: those that matched several times in a run */
};

/* Free with command_numbers_free, also after an error. */
int command_numbers_open(struct command_numbers *numbers, const struct command_options *options,
                         const char *what, struct err *err);
void command_numbers_free(struct command_numbers *numbers);

/* Forgets those of the run before, and its file. */
void command_numbers_begin(struct command_numbers *numbers);

/* Looks for them in a line of output; `cut`: the line has more. The last match counts. */
void command_numbers_match(struct command_numbers *numbers, const char *line, bool cut);

/*
 * After a run: *rate is the first number, or its inverse if less is better, and with `measured` all
 * are added to their sums. An error names the number that is missing or none.
 */
int command_numbers_take(struct command_numbers *numbers, const struct command_output *output,
                         bool measured, double *rate, struct err *err);

/* True for the reason of a worker that others would give, too: its command ended well without the
 * number, or the lines, that were asked for, or it is a server that does not start. */
bool command_gave_nothing(const char *reason);

#define COMMAND_NO_LINE "the command ended without a line that counts"

#endif
