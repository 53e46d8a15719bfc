/*
 * A user's command as what a worker runs: what is asked of it, and how that crosses exec.
 * Pure but for memory.
 *
 * The worker's own command line carries it, behind the worker's number: options as words, "--", and
 * the command's argv, so that no length is ours to limit and no shell reads it.
 */
#ifndef CONTEND_CONTRACT_COMMAND_H
#define CONTEND_CONTRACT_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/base/err.h"
#include "harness/lib/base/opt.h"

/* The user's options; zeroed but for grace_s = wall time of whole runs. */
struct command_options {
    const char *metric;      /* regular expression, its first group is the number; or NULL */
    const char *metric_file; /* where the command leaves it; NULL = its output */
    const char *unit;        /* of that number, "images/s"; NULL = nobody says */
    const char *line;        /* of lines, those that count as a step; NULL = all */
    bool by_lines;           /* each line is a step */
    bool less_is_better;     /* of the metric */
    double duration_s;       /* it is told to end after so long; 0 = it ends by itself */
    double grace_s;          /* from SIGTERM to SIGKILL */
};

/* clang-format off */
#define COMMAND_OPTIONS(owner, member)                                                             \
    OPT_TEXT("metric", owner, member.metric, NULL, "REGEX",                                        \
             "Compare by a number that the command prints; the last match of the group in this "   \
             "extended regular expression, as in 'loss: ([0-9.]+)'",                               \
             .group = "Your own command, after '--'"),                                             \
    OPT_TEXT("metric-file", owner, member.metric_file, NULL, "PATH",                               \
             "Look for it in this file, which the command writes; the whole file is the number "   \
             "without --metric; put {worker} into the name",                                       \
             .level = OPT_RARE),                                                                   \
    OPT_TEXT("unit", owner, member.unit, NULL, "TEXT",                                             \
             "Unit of the number, such as images/s, for tables and figures", .level = OPT_RARE),   \
    OPT_FLAG("less-is-better", owner, member.less_is_better, NULL,                                 \
             "The number is a time or a cost, not a rate", .level = OPT_RARE),                     \
    OPT_FLAG("steps-by-lines", owner, member.by_lines, NULL,                                       \
             "Each line that the command prints is a step"),                                    \
    OPT_TEXT("line", owner, member.line, NULL, "REGEX",                                            \
             "With --steps-by-lines, only lines that match", .level = OPT_RARE),                   \
    OPT_SECONDS("duration", owner, member.duration_s, NULL, 0.05, 86400, "T",                      \
                "Tell the command to end after so long (SIGTERM), for one that does not end; "     \
                "needs a number or lines to compare by",                                           \
                .level = OPT_RARE),                                                                \
    OPT_SECONDS("grace", owner, member.grace_s, "5", 0, 3600, "T",                                 \
                "A command that is still there so long after SIGTERM is killed",                   \
                .level = OPT_RARE)
/* clang-format on */

/* One worker's copy of it. Zeroed = there is none. */
struct user_command {
    struct command_options options;
    const char *output;   /* path of the file that its output is appended to; NULL = none */
    bool sets_threads;    /* OMP_NUM_THREADS is the placement's, not the user's */
    struct opt_texts env; /* "VAR=VALUE", for it alone */
    char **argv;          /* borrowed; ends with NULL */
};

/* Name of the benchmark that such a command is (engine/command/command_bench.h), by what is
 * compared. */
const char *command_bench_name(const struct command_options *options);

enum { COMMAND_UNIT_MAX = 24 };

/*
 * Unit of what is compared: "images/s", and "1/s" of seconds that are the better the less they are;
 * NULL where no unit was named. Returns buf.
 */
char *command_rate_unit(const struct command_options *options, char buf[static COMMAND_UNIT_MAX]);

/* -EINVAL: options that contradict each other, or a wrong expression. */
int command_check(const struct command_options *options, struct err *err);

/*
 * -EINVAL: what an option was given is no extended regular expression, or `groups`, and its group
 * is not the one number. NULL is fine.
 */
int command_check_expression(const char *option, const char *text, bool groups, struct err *err);

/*
 * The words for argv of a worker, `first` of them left free in front; ends with NULL. Free with
 * command_words_free. NULL without memory.
 */
char **command_words(const struct user_command *command, size_t first);
void command_words_free(char **words, size_t first);

/* Reads them; argv is that of the worker from the first of these words on. */
int command_read(int argc, char **argv, struct user_command *command, struct err *err);

/*
 * Takes a text apart at blanks as a shell does, with its quotes and backslashes, and expands
 * nothing. Ends with NULL; free with command_words_free(words, 0). NULL with err: -EINVAL an open
 * quote or no word, -ENOMEM.
 */
char **command_split(const char *text, struct err *err);

#endif
