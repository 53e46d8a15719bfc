/*
 * A user's command that a worker runs: its options, and how they cross exec. Pure, but allocates.
 *
 * They follow the worker's number on the worker's own command line: options as words, "--", and the
 * command's argv. So contend sets no length limit, and no shell reads the command.
 */
#ifndef CONTEND_ENGINE_CONTRACT_COMMAND_H
#define CONTEND_ENGINE_CONTRACT_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/bitset.h"
#include "harness/lib/err.h"
#include "harness/lib/opt.h"

/* The user's options; zeroed but for grace_s = wall time of whole runs. */
struct command_options {
    struct opt_texts metric; /* [NAME=]REGEX, whose only group is the number; the first decides */
    const char *metric_file; /* the file with the number; NULL = the command's output */
    const char *unit;        /* of the number, "images/s"; NULL = unknown */
    const char *line;        /* expression: only lines that match count as steps; NULL = all */
    bool by_lines;           /* each line is a step */
    const char *less_is_better; /* names of metrics; "" = the first; NULL = none */
    const char *slo;            /* "p99<=20ms", what a recommendation holds; NULL = nothing */
    double duration_s;          /* SIGTERM after this time; 0 = the command ends by itself */
    double grace_s;             /* from SIGTERM to SIGKILL */
    const char *load;           /* words of a client: the command is its server; NULL = no server */
    const char *ready;          /* when the client starts (command_load.h) */
    int64_t load_cores;         /* of all clients; 0 = contend chooses */
    bool keep;                  /* the server is started once, for all placements */
};

/* clang-format off */
#define COMMAND_OPTIONS(owner, member)                                                             \
    OPT_TEXTS("metric", owner, member.metric, "[NAME=]REGEX",                                      \
              "Compare by a number that the command prints; the last match of the group in this "  \
              "extended regular expression, as in 'loss: ([0-9.]+)'; of several with names the "   \
              "first decides",                                                                     \
              .group = "Your own command, after '--'"),                                            \
    OPT_TEXT("metric-file", owner, member.metric_file, NULL, "PATH",                               \
             "Look for it in this file, which the command writes; the whole file is the number "   \
             "without --metric; put {worker} into the name",                                       \
             .level = OPT_RARE),                                                                   \
    OPT_TEXT("unit", owner, member.unit, NULL, "TEXT",                                             \
             "Unit of the number, such as images/s, for tables and figures", .level = OPT_RARE),   \
    OPT_TEXT("less-is-better", owner, member.less_is_better, NULL, "[NAME,..]",                    \
             "The number is a time or a cost, not a rate; or the numbers of these names are",      \
             .bare = true, .level = OPT_RARE),                                                     \
    OPT_TEXT("slo", owner, member.slo, NULL, "NAME<=VALUE",                                        \
             "Recommend only what holds this bound on a --metric, as in 'p99<=20ms' or "            \
             "'rps>=5000'; 'tune --cores': the fewest cores that do",                              \
             .level = OPT_RARE),                                                                   \
    OPT_FLAG("steps-by-lines", owner, member.by_lines, NULL,                                       \
             "Each line that the command prints is a step", .level = OPT_RARE),                    \
    OPT_TEXT("line", owner, member.line, NULL, "REGEX",                                            \
             "With --steps-by-lines, only lines that match", .level = OPT_RARE),                   \
    OPT_SECONDS("duration", owner, member.duration_s, NULL, 0.05, 86400, "T",                      \
                "Tell the command to end after so long (SIGTERM), for one that does not end; "     \
                "needs a number or lines to compare by",                                           \
                .level = OPT_RARE),                                                                \
    OPT_SECONDS("grace", owner, member.grace_s, "5", 0, 3600, "T",                                 \
                "A command that is still there so long after SIGTERM is killed",                   \
                .level = OPT_RARE),                                                                \
    OPT_TEXT("load", owner, member.load, NULL, "CLIENT",                                           \
             "The command is a server: measure this client of it; on CPUs of its own, and {port} " \
             "in both is a free port"),                                                            \
    OPT_TEXT("ready", owner, member.ready, NULL, "WHEN",                                           \
             "With --load: the server is up when tcp:PORT accepts connections, "                   \
             "http://HOST:PORT/PATH answers with 2xx, or line:REGEX matches what it prints",       \
             .level = OPT_RARE),                                                                   \
    OPT_INT("load-cores", owner, member.load_cores, NULL, 1, BITSET_BITS, "K",                     \
            "Cores that only the clients use (default: one in eight, if every worker keeps one)",  \
            .level = OPT_RARE),                                                                    \
    OPT_FLAG("keep", owner, member.keep, NULL,                                                     \
             "With --load: start the server once, and move its threads from placement to placement", \
             .level = OPT_RARE)
/* clang-format on */

/* One worker's copy of the command. Zeroed = no command. */
struct user_command {
    struct command_options options;
    const char *output;    /* path of the file that its output is appended to; NULL = none */
    const char *load_cpus; /* list of CPUs of the client */
    double ready_limit_s;  /* how long a server may take until it is ready */
    bool sets_threads;     /* OMP_NUM_THREADS comes from the placement, not from the user */
    struct opt_texts env;  /* "VAR=VALUE", for this command only */
    char **argv;           /* borrowed; ends with NULL */
};

/* The benchmark that runs a command with these options (engine/worker/command_bench.h). */
const char *command_bench_name(const struct command_options *options);

enum { COMMAND_UNIT_MAX = 24 };

/*
 * Unit of the compared rate: "images/s", or "1/s" for seconds with less_is_better; else the
 * metric's name. NULL without both.
 */
const char *command_rate_unit(const struct command_options *options);

/* -EINVAL: options that contradict each other, a wrong unit, or a wrong expression. */
int command_check(const struct command_options *options, struct err *err);

/*
 * -EINVAL: `text` is no extended regular expression or, with `groups`, has not exactly one group.
 * NULL is fine.
 */
int command_check_expression(const char *option, const char *text, bool groups, struct err *err);

/*
 * The command as words for a worker's argv, after `first` free places; ends with NULL. Free with
 * command_words_free, which leaves the first places alone. NULL: out of memory.
 */
char **command_words(const struct user_command *command, size_t first);
void command_words_free(char **words, size_t first);

/*
 * Reads the words back; argv is the worker's from the first of these words on. *command borrows
 * from argv. -EINVAL: an unknown option, or no command.
 */
int command_read(int argc, char **argv, struct user_command *command, struct err *err);

/*
 * Splits a text at blanks as a shell does, with quotes and backslashes, but without expansions.
 * Ends with NULL; free with command_words_free(words, 0). NULL with err: -EINVAL an open quote or
 * no word, -ENOMEM.
 */
char **command_split(const char *text, struct err *err);

#endif
