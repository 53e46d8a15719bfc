#include "harness/engine/contract/command_load.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/text.h"

static const char letters[] = "abcdefghijklmnopqrstuvwxyz_", digits[] = "0123456789";

/* Length of the name before '='; 0 = there is none. */
static size_t name_length(const char *text)
{
    const char *all = str_fmt("%s%s", letters, digits);
    size_t n = strspn(text, letters) ? strspn(text, all) : 0;
    return text[n] == '=' ? n : 0;
}

/* True if the list "p99,p50" has the name, which is not "". */
static bool is_listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at && length; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!strncmp(at, name, length) && (!at[length] || at[length] == ','))
            return true;
    return false;
}

size_t command_metrics(const struct command_options *options,
                       struct command_metric all[COMMAND_METRICS_MOST])
{
    size_t n = options->metric.n < COMMAND_METRICS_MOST ? options->metric.n : COMMAND_METRICS_MOST;
    bool named = n > 1 || options->load;
    for (size_t i = 0; i < n; i++) {
        const char *text = options->metric.text[i];
        size_t length = named ? name_length(text) : 0;
        all[i] = (struct command_metric){.regex = text + length + (length > 0)};
        text_set(all[i].name, "%.*s", (int)length, text);
        all[i].less_is_better = is_listed(options->less_is_better, all[i].name) ||
                                (!i && options->less_is_better && !options->less_is_better[0]);
    }
    return n;
}

bool command_first_is_cost(const struct command_options *options)
{
    struct command_metric all[COMMAND_METRICS_MOST];
    return command_metrics(options, all) ? all[0].less_is_better : options->less_is_better != NULL;
}

static int check_name(const struct command_metric *all, size_t i, const char *text, struct err *err)
{
    if (name_length(text) >= COMMAND_METRIC_NAME_MAX)
        return err_set(err, -EINVAL,
                       "option '--metric': the name in '%.60s' has more than %d letters", text,
                       COMMAND_METRIC_NAME_MAX - 1);
    if (i && !all[i].name[0])
        return err_set(err, -EINVAL,
                       "option '--metric': of several, '%.60s' needs a name: NAME=REGEX", text);
    for (size_t k = 0; k < i; k++)
        if (!strcmp(all[k].name, all[i].name))
            return err_set(err, -EINVAL, "option '--metric': two are called '%s'", all[i].name);
    return 0;
}

/* Each name of that option's list must be a metric's. */
static int check_names(const char *option, const char *names, const struct command_metric *all,
                       size_t n, struct err *err)
{
    const char *known = "";
    for (size_t i = 0; i < n; i++)
        str_add(&known, ",", "%s", all[i].name);
    for (const char *at = names; at && *at; at += strspn(at, ",")) {
        size_t length = strcspn(at, ",");
        if (!is_listed(known, str_fmt("%.*s", (int)length, at)))
            return err_set(err, -EINVAL, "option '--%s': no --metric is called '%.*s'; known: %s",
                           option, length < 40 ? (int)length : 40, at, known[0] ? known : "none");
        at += length;
    }
    return 0;
}

int command_check_metrics(const struct command_options *options, struct err *err)
{
    struct command_metric all[COMMAND_METRICS_MOST];
    size_t n = command_metrics(options, all);
    int rc = 0;
    if (options->metric.n > n)
        return err_set(err, -EINVAL, "option '--metric': at most %d", COMMAND_METRICS_MOST);
    if (n > 1 && options->metric_file)
        return err_set(err, -EINVAL, "--metric-file gives one number: one --metric");
    for (size_t i = 0; i < n && !rc; i++) {
        rc = n > 1 || options->load ? check_name(all, i, options->metric.text[i], err) : 0;
        if (!rc)
            rc = command_check_expression("metric", all[i].regex, true, err);
    }
    const char *slo = options->slo ? options->slo : "";
    if (!rc)
        rc = check_names("less-is-better", options->less_is_better, all, n, err);
    return rc ? rc : check_names("slo", str_fmt("%.*s", (int)strcspn(slo, "<>"), slo), all, n, err);
}

const struct bench_metric client_metrics[CLIENT_METRICS + 1] = {
    [CLIENT_CPUS] = {"client_cpus", "ratio", "none", .hidden = true, .over = OVER_SUM},
    [CLIENT_THREAD] = {"client_thread", "ratio", "none", .hidden = true, .over = OVER_MOST},
    [CLIENT_SHARE] = {"client_share", "ratio", "none", .over = OVER_MEAN},
};

size_t command_bench_metrics(const struct command_options *options,
                             struct bench_metric out[COMMAND_BENCH_METRICS], size_t *timed)
{
    struct command_metric all[COMMAND_METRICS_MOST];
    size_t n = command_metrics(options, all), named = 0;
    for (size_t i = 0; i < n; i++)
        if (all[i].name[0])
            out[named++] =
                (struct bench_metric){.name = str_fmt("%s", all[i].name),
                                      .unit = !i && options->unit ? options->unit : "",
                                      .better = all[i].less_is_better ? "lower" : "higher",
                                      .gating = i > 0, /* the first is the throughput, too */
                                      .over = all[i].less_is_better ? OVER_MOST : OVER_SUM};
    *timed = named + (options->load ? CLIENT_METRICS : 0);
    memcpy(&out[named], client_metrics, (*timed - named) * sizeof(*out));
    for (size_t i = 0; i < named; i++) {
        out[*timed + i] = out[i];
        out[*timed + i].unit = "s";
        out[*timed + i].hidden = true; /* the table has a column already */
    }
    out[*timed + named] = (struct bench_metric){.name = NULL};
    return named;
}

int slo_parse(const char *text, bool of_alone, struct slo *slo, struct err *err)
{
    const size_t length = strcspn(text, of_alone ? " " : "<>,");
    const char *value = text + length;
    char *end = NULL;
    *slo = (struct slo){.text = text, .of_alone = of_alone, .at_least = *value == '>'};
    if (of_alone)
        value += strspn(value, " ");
    else
        value += *value && value[1] == '=' ? 2 : strlen(value);
    if (isdigit((unsigned char)*value) || *value == '-')
        slo->value = strtod(value, &end);
    bool good = end && length && length < sizeof(slo->metric) && isfinite(slo->value);
    slo->is_time = good && *end && !of_alone;
    if (good && of_alone) {
        good = !strcmp(end, "%") && slo->value > 0 && slo->value < 1000;
        slo->value /= 100;
    } else if (slo->is_time)
        good = !units_parse_duration(value, &slo->value, err);
    if (!good)
        return err_set(err, -EINVAL, "option '--%s': '%.60s' is no bound such as '%s'",
                       of_alone ? "protect" : "slo", text,
                       of_alone ? "server:p99 10%" : "p99<=20ms");
    text_set(slo->metric, "%.*s", (int)length, text);
    if (of_alone && strchr(slo->metric, ':'))
        *strchr(slo->metric, ':') = '_';
    return 0;
}

static int parse_port(const char *text, char end, const char *whole, struct command_ready *ready,
                      struct err *err)
{
    char *after;
    unsigned long port = *text >= '0' && *text <= '9' ? strtoul(text, &after, 10) : 0;
    if (port < 1 || port > 65535 || (*after && *after != end))
        return err_set(err, -EINVAL, "option '--ready': no port of 1 to 65535 in '%.80s'", whole);
    ready->port = (unsigned)port;
    ready->text = after;
    return 0;
}

static int parse_url(const char *url, const char *whole, struct command_ready *ready,
                     struct err *err)
{
    static const char *const hosts[] = {"localhost", "127.0.0.1"};
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        size_t length = strlen(hosts[i]);
        if (strncmp(url, hosts[i], length) != 0 || !strchr(":/", url[length]))
            continue;
        *ready = (struct command_ready){.by = READY_HTTP, .port = 80, .text = url + length};
        int rc = url[length] == ':' ? parse_port(url + length + 1, '/', whole, ready, err) : 0;
        ready->text = rc || *ready->text ? ready->text : "/";
        return rc;
    }
    return err_set(err, -EINVAL,
                   "option '--ready': '%.80s' is not on this machine, as http://localhost:8000/ is",
                   whole);
}

int command_ready_parse(const char *text, struct command_ready *ready, struct err *err)
{
    const char *url = strncmp(text, "http:http:", 10) ? text : text + 5; /* as http:URL */
    *ready = (struct command_ready){.by = READY_TCP};
    if (!strncmp(text, "tcp:", 4))
        return parse_port(text + 4, '\0', text, ready, err);
    if (!strncmp(url, "http://", 7))
        return parse_url(url + 7, text, ready, err);
    if (strncmp(text, "line:", 5) != 0)
        return err_set(err, -EINVAL,
                       "option '--ready': '%.80s' is not tcp:PORT, http://HOST:PORT/PATH or "
                       "line:REGEX",
                       text);
    *ready = (struct command_ready){.by = READY_LINE, .text = text + 5};
    return command_check_expression("ready", ready->text, false, err);
}

int command_check_load(const struct command_options *options, struct err *err)
{
    if (!options->load && (options->ready || options->load_cores))
        return err_set(err, -EINVAL, "--ready and --load-cores need --load, the client's command");
    if (options->keep && !options->load)
        return err_set(err, -EINVAL, "--keep needs --load: it keeps a server between placements");
    if (options->load && !options->ready)
        return err_set(err, -EINVAL,
                       "--load needs --ready, which says when the server is up, as tcp:{port}");
    if (options->load && options->by_lines)
        return err_set(err, -EINVAL, "--steps-by-lines and --load: one of them");
    return 0;
}
