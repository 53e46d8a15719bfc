/*
 * Named options of command lines and benchmarks, stored in a struct by field offset.
 *
 * One table serves parsing, range checks, defaults, help and output. An entry is a line or two:
 * name, struct and its field, default, what the kind needs, placeholder, help. Rare fields, such as
 * a letter or a level, follow by name. The table ends with {.name = NULL}:
 *
 *   static const struct opt copy_opts[] = {
 *       OPT_SIZE("size", copy_params, size, "512M", 1 << 16, 1ull << 36, "BYTES", "of a copy"),
 *       OPT_CHOICE("dir", copy_params, dir, "all", dir_names, "DIR", "only copies from, or to"),
 *       OPT_FLAG("check", copy_params, check, NULL, "compare what was copied", .letter = 'c'),
 *       {.name = NULL},
 *   };
 *
 * A field has the type of its kind, or the entry does not compile:
 *   OPT_INT int64_t   OPT_SIZE uint64_t (bytes)   OPT_DOUBLE double   OPT_SECONDS double
 *   OPT_FLAG bool     OPT_CHOICE int (index in choices)   OPT_TEXT const char * (borrowed)
 *   OPT_TEXTS struct opt_texts: one text for each use of the option
 * Structs that cross exec (benchmark parameters) must not use OPT_TEXT or OPT_TEXTS.
 */
#ifndef CONTEND_LIB_OPT_H
#define CONTEND_LIB_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/lib/err.h"

enum opt_kind {
    OPT_INT,
    OPT_SIZE,
    OPT_DOUBLE,
    OPT_SECONDS,
    OPT_FLAG,
    OPT_CHOICE,
    OPT_TEXT,
    OPT_TEXTS
};

/* Where it is shown: in each help; in --help-all and the manual; nowhere, as only tests use it. */
enum opt_level { OPT_COMMON, OPT_RARE, OPT_HIDDEN };

enum { OPT_TEXTS_MOST = 64 };

/* In the order of the command line; borrowed. */
struct opt_texts {
    const char *text[OPT_TEXTS_MOST];
    size_t n;
};

struct opt {
    const char *name; /* long name, as typed; NULL ends the table */
    enum opt_kind kind;
    size_t offset;              /* of the field in the struct */
    const char *def;            /* default as typed; NULL leaves the zeroed field */
    double min, max;            /* of INT, SIZE, DOUBLE, SECONDS; both 0 = no limit */
    const char *const *choices; /* ends with NULL: of OPT_CHOICE; for OPT_TEXT, completions */
    const char *arg;            /* placeholder in the help, such as "N"; NULL for a flag */
    const char *help; /* a sentence without full stop; the short help ends at its first ';' */
    char letter;      /* short option on a command line, 0 = none */
    bool bare;        /* of OPT_TEXT: without a value it is "" */
    enum opt_level level;
    const char *group; /* heading in the help; NULL = the heading of the option before it */
};

#define OPT_INT(option, owner, field, fallback, least, most, placeholder, text, ...)               \
    OPT_ENTRY(OPT_INT, int64_t, option, owner, field, fallback, placeholder, text, .min = (least), \
              .max = (most), __VA_ARGS__)
#define OPT_SIZE(option, owner, field, fallback, least, most, placeholder, text, ...)              \
    OPT_ENTRY(OPT_SIZE, uint64_t, option, owner, field, fallback, placeholder, text,               \
              .min = (least), .max = (most), __VA_ARGS__)
#define OPT_DOUBLE(option, owner, field, fallback, least, most, placeholder, text, ...)            \
    OPT_ENTRY(OPT_DOUBLE, double, option, owner, field, fallback, placeholder, text,               \
              .min = (least), .max = (most), __VA_ARGS__)
#define OPT_SECONDS(option, owner, field, fallback, least, most, placeholder, text, ...)           \
    OPT_ENTRY(OPT_SECONDS, double, option, owner, field, fallback, placeholder, text,              \
              .min = (least), .max = (most), __VA_ARGS__)
#define OPT_FLAG(option, owner, field, fallback, text, ...)                                        \
    OPT_ENTRY(OPT_FLAG, bool, option, owner, field, fallback, NULL, text, __VA_ARGS__)
#define OPT_CHOICE(option, owner, field, fallback, names, placeholder, text, ...)                  \
    OPT_ENTRY(OPT_CHOICE, int, option, owner, field, fallback, placeholder, text,                  \
              .choices = (names), __VA_ARGS__)
#define OPT_TEXT(option, owner, field, fallback, placeholder, text, ...)                           \
    OPT_ENTRY(OPT_TEXT, const char *, option, owner, field, fallback, placeholder, text,           \
              __VA_ARGS__)
#define OPT_TEXTS(option, owner, field, placeholder, text, ...)                                    \
    OPT_ENTRY(OPT_TEXTS, struct opt_texts, option, owner, field, NULL, placeholder, text,          \
              __VA_ARGS__)

/* The macros above expand to this. */
#define OPT_ENTRY(of_kind, type, option, owner, field, fallback, placeholder, text, ...)           \
    {                                                                                              \
        .name = (option), .kind = (of_kind), .offset = OPT_OFFSET(type, owner, field),             \
        .def = (fallback), .arg = (placeholder), .help = (text), __VA_ARGS__                       \
    }
#define OPT_OFFSET(type, owner, field)                                                             \
    _Generic(((struct owner *)0)->field, type : offsetof(struct owner, field))

/* Writes every default into `base`. Asserts that each is valid, as they are part of the program. */
void opts_set_defaults(const struct opt *opts, void *base);

/* The first option from `opt` on that is not hidden; NULL = none, or `opt` is NULL. */
const struct opt *opts_shown(const struct opt *opt);

/* NULL: unknown name. */
const struct opt *opts_find(const struct opt *opts, const char *name);

/* Parses `value` into the field. -EINVAL: the message names option, value and what is allowed. */
int opt_set(const struct opt *opt, void *base, const char *value, struct err *err);

/* Parses "name=value", as from -p. -EINVAL: for an unknown name the message lists all names. */
int opts_set_pair(const struct opt *opts, void *base, const char *pair, struct err *err);

/* "rows=4096;cols=512": every field in table order, as in the params column. */
const char *opts_format(const struct opt *opts, const void *base);

/* One field's value as text that opt_set reads back; borrowed where it is text. */
const char *opt_format_value(const struct opt *opt, const void *base);

/*
 * The two columns of a help: "-n, --workers N" and "how many: ... (default 2)"; for a flag with a
 * default, "(0 or 1, default 1)". OPT_COMMON cuts the text at its first ';'.
 */
const char *opt_format_term(const struct opt *opt, const char *prefix);
const char *opt_format_help(const struct opt *opt, enum opt_level most);

/* Prints the help of one option, wrapped below 80 columns; `prefix` is "--" or "". */
void opt_print_help(const struct opt *opt, const char *prefix, enum opt_level most, FILE *out);

/* Parses command lines by option tables (opt.h): --name value, --name=value, -x value, flags. */
enum { CLI_LIST_MAX = 64 };

/* The arguments that are not options of the table. Borrowed from argv. */
struct cli {
    const char *positional[CLI_LIST_MAX];
    size_t npositional;
    const char *pairs[CLI_LIST_MAX]; /* each -p/--param name=value, in order */
    size_t npairs;
    bool help;     /* --help or -h was given: cli_parse reports no error */
    bool help_all; /* --help-all was given; implies help */
};

/*
 * Writes defaults, then the options of argv[1..]. Options and positionals mix; "--" ends the
 * options. `accept_pairs`: -p/--param is known. -EINVAL: the message names the argument and, for an
 * unknown option, the help.
 */
int cli_parse(const struct opt *opts, bool accept_pairs, int argc, char **argv, void *base,
              struct cli *cli, struct err *err);

#endif
