#include "harness/engine/worker/command_numbers.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/engine/worker/command_server.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/text.h"

enum { FILE_MOST = 1 << 24 };

#define NO_MATCH " printed nothing that --metric matches"
#define NO_FILE " left no metric in "

bool command_gave_nothing(const char *reason)
{
    static const char *const parts[] = {NO_MATCH, NO_FILE, COMMAND_NO_LINE, SERVER_NOT_READY,
                                        SERVER_ENDED_EARLY};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (strstr(reason, parts[i]))
            return true;
    return false;
}

int command_numbers_open(struct command_numbers *numbers, const struct command_options *options,
                         const char *what, struct err *err)
{
    struct command_metric all[COMMAND_METRICS_MOST] = {
        {.less_is_better = command_first_is_cost(options)}};
    size_t n = command_metrics(options, all);
    *numbers = (struct command_numbers){.options = options, .what = what};
    numbers->all = calloc(COMMAND_METRICS_MOST, sizeof(*numbers->all));
    if (!numbers->all)
        return err_set(err, -ENOMEM, "no memory for the numbers of a command");
    numbers->n = n || !options->metric_file ? n : 1;
    for (size_t i = 0; i < numbers->n; i++) {
        struct command_number *number = &numbers->all[i];
        number->metric = all[i];
        number->has_regex = all[i].regex && !regcomp(&number->regex, all[i].regex, REG_EXTENDED);
    }
    return 0;
}

void command_numbers_free(struct command_numbers *numbers)
{
    for (size_t i = 0; i < numbers->n; i++)
        if (numbers->all[i].has_regex)
            regfree(&numbers->all[i].regex);
    free(numbers->all);
    *numbers = (struct command_numbers){.n = 0};
}

void command_numbers_begin(struct command_numbers *numbers)
{
    for (size_t i = 0; i < numbers->n; i++)
        numbers->all[i].text[0] = '\0';
    if (numbers->options->metric_file)
        (void)unlink(numbers->options->metric_file);
}

static void take(struct command_number *number, const char *text, size_t length, bool cut)
{
    number->cut = cut || length >= sizeof(number->text);
    (void)snprintf(number->text, sizeof(number->text), "%.*s", (int)length, text);
}

/* A match without its group counts as no match. */
void command_numbers_match(struct command_numbers *numbers, const char *line, bool cut)
{
    for (size_t i = 0; i < numbers->n; i++) {
        struct command_number *number = &numbers->all[i];
        regmatch_t match[2];
        if (!number->has_regex || regexec(&number->regex, line, 2, match, 0) || match[1].rm_so < 0)
            continue;
        numbers->repeated |= number->text[0] ? 1U << (numbers->n - 1 - i) : 0;
        take(number, line + match[1].rm_so, (size_t)(match[1].rm_eo - match[1].rm_so),
             cut && !line[match[1].rm_eo]);
    }
}

static int read_file(struct command_numbers *numbers, struct err *err)
{
    char *text = NULL;
    size_t size = 0;
    const char *path = numbers->options->metric_file;
    int rc = file_read(AT_FDCWD, path, FILE_MOST, &text, &size);
    if (rc)
        return err_sys(err, rc, "%s" NO_FILE "'%.120s'", numbers->what, path);
    if (!numbers->all[0].has_regex)
        take(&numbers->all[0], text, strcspn(text, "\r\n"), false);
    char *save = NULL;
    for (char *line = strtok_r(text, "\r\n", &save); line; line = strtok_r(NULL, "\r\n", &save))
        command_numbers_match(numbers, line, false);
    free(text);
    return 0;
}

/* "12", or "1.5ms" and "1.5 ms", which are seconds then. False: no number. */
static bool read_number(const char *text, double *value, bool *is_time)
{
    char *end;
    *value = strtod(text, &end);
    const char *digits = str_fmt("%.*s", (int)(end - text), text), *unit = end + strspn(end, " \t");
    *is_time = *unit;
    return end != text && isfinite(*value) &&
           (!*unit || !units_parse_duration(str_fmt("%s%s", digits, unit), value, NULL));
}

/* Only the first, a rate, must be above 0. All runs have a unit of time, or none. */
static int parse(const struct command_numbers *numbers, size_t i,
                 const struct command_output *output, double *value, struct err *err)
{
    struct command_number *number = &numbers->all[i];
    const char *name = number->metric.name[0] ? str_fmt(" (%s)", number->metric.name) : "";
    const bool was_time = number->is_time;
    if (!number->text[0])
        return err_set(err, -ENODATA, "%s" NO_MATCH "%s%.170s", numbers->what, name,
                       command_output_format_last(output));
    if (number->cut)
        return err_set(err, -ERANGE,
                       "the line with %s's metric%s, '%.40s...', is longer than %d "
                       "characters: print the number on a line of its own",
                       numbers->what, name, number->text, COMMAND_LINE_MAX - 1);
    if (!read_number(number->text, value, &number->is_time) || (!i && *value <= 0))
        return err_set(err, -ERANGE, "%s's metric%s is '%.60s', no number%s", numbers->what, name,
                       number->text, i ? "" : " above 0");
    if (numbers->taken && was_time != number->is_time)
        return err_set(err, -ERANGE, "%s's metric%s is '%.60s', and had %s unit of time before",
                       numbers->what, name, number->text, was_time ? "a" : "no");
    return 0;
}

int command_numbers_take(struct command_numbers *numbers, const struct command_output *output,
                         bool measured, double *rate, struct err *err)
{
    int rc = numbers->options->metric_file ? read_file(numbers, err) : 0;
    for (size_t i = 0; i < numbers->n && !rc; i++) {
        struct command_number *number = &numbers->all[i];
        double value = 0;
        rc = parse(numbers, i, output, &value, err);
        if (!i && !rc)
            *rate = number->metric.less_is_better ? 1 / value : value;
        number->sum += measured ? value : 0;
    }
    numbers->taken = true;
    return rc;
}
