#include "harness/plan/emit/quote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void quote_shell(struct strbuf *out, const char *word)
{
    strbuf_adds(out, text_shell_word(word));
}

void quote_systemd_run(struct strbuf *out, const char *word)
{
    const char *twice = "";
    for (; *word; word++)
        str_add(&twice, "", *word == '$' ? "$$" : "%c", *word);
    quote_shell(out, twice);
}

void quote_unit(struct strbuf *out, const char *word)
{
    strbuf_addc(out, '"');
    while (*word) {
        size_t length = text_utf8_length(word);
        unsigned char c = (unsigned char)*word;
        if (length > 1)
            strbuf_add(out, word, length);
        else if (!length || c < ' ' || c == 0x7f)
            strbuf_addf(out, "\\x%02x", c);
        else if (c == '%' || c == '$')
            strbuf_addf(out, "%c%c", c, c);
        else
            strbuf_addf(out, "%s%c", c == '"' || c == '\\' ? "\\" : "", c);
        word += length ? length : 1;
    }
    strbuf_addc(out, '"');
}

/* Decodes a valid UTF-8 sequence of `length` bytes. */
static unsigned code_point(const char *at, size_t length)
{
    static const unsigned char first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    unsigned code = (unsigned char)at[0] & first[length];
    for (size_t i = 1; i < length; i++)
        code = code << 6 | ((unsigned char)at[i] & 0x3f);
    return code;
}

bool quote_yaml_arg(struct strbuf *out, const char *word)
{
    strbuf_addc(out, '"');
    while (*word) {
        size_t length = text_utf8_length(word);
        if (!length)
            return false;
        unsigned code = code_point(word, length);
        if (code >= ' ' && code < 0x7f)
            strbuf_addf(out, "%s%c",
                        code == '"' || code == '\\' ? "\\"
                        : code == '$'               ? "$"
                                                    : "",
                        (char)code);
        else
            strbuf_addf(out, code > 0xffff ? "\\U%08x" : "\\u%04x", code);
        word += length;
    }
    strbuf_addc(out, '"');
    return true;
}

void quote_base64(struct strbuf *out, const char *text, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t at = 0; at < length; at += 3) {
        size_t left = length - at;
        unsigned bits = 0;
        for (size_t i = 0; i < 3; i++)
            bits = bits << 8 | (i < left ? (unsigned char)text[at + i] : 0);
        for (size_t i = 0; i < 4; i++)
            strbuf_addc(out, i > left ? '=' : digits[bits >> (18 - 6 * i) & 63]);
    }
}

bool quote_is_plain_everywhere(const char *word)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+,:@-";
    return word[0] && strspn(word, plain) == strlen(word);
}

const char *const inherited_teams[INHERITED_TEAMS] = {"OMP_NUM_THREADS", "MKL_NUM_THREADS",
                                                      "OPENBLAS_NUM_THREADS"};

/* Sources: libgomp's manual, chapter "Environment Variables"; LLVM/OpenMP runtimes, "Environment
 * Variables"; the manuals of MKL and OpenBLAS. */
static const char *const overriding[] = {
    /* These bind threads. */
    "OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY", "KMP_HW_SUBSET",
    "KMP_PLACE_THREADS",
    /* These set the size of teams. */
    "OMP_THREAD_LIMIT", "OMP_DYNAMIC", "KMP_ALL_THREADS", "MKL_DOMAIN_NUM_THREADS",
    "GOTO_NUM_THREADS"};

/* These let threads spin, which a plan with passive waiting forbids. */
static const char *const spinning[] = {"GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY"};

static bool is_passive(const struct plan *plan)
{
    for (unsigned w = 0; w < plan->nworkers; w++)
        if (plan->workers[w].passive)
            return true;
    return false;
}

static bool is_set(const char *name, char *(*get)(const char *name))
{
    const char *value = get(name);
    return value && *value;
}

static void add(const char **text, const char *const *names, size_t n, const char *before,
                char *(*get)(const char *name))
{
    for (size_t i = 0; i < n; i++)
        if (!get || is_set(names[i], get))
            str_add(text, "", "%s%s", before, names[i]);
}

const char *inherited_list(const struct plan *plan, const char *before,
                           char *(*get)(const char *name))
{
    const char *text = "";
    add(&text, overriding, sizeof(overriding) / sizeof(*overriding), before, get);
    if (is_passive(plan))
        add(&text, spinning, sizeof(spinning) / sizeof(*spinning), before, get);
    if (get)
        add(&text, inherited_teams + 1, INHERITED_TEAMS - 1, before, get);
    return text;
}

static void report(const char *const *names, size_t n, char *(*get)(const char *name),
                   struct finding *finding)
{
    for (size_t i = 0; i < n; i++) {
        size_t used = strlen(finding->sentence);
        bool binds_nothing = !strcmp(names[i], "OMP_PROC_BIND") && is_set(names[i], get) &&
                             !strcasecmp(get(names[i]), "false");
        if (!is_set(names[i], get) || binds_nothing || used > sizeof(finding->sentence) / 2)
            continue;
        (void)snprintf(finding->sentence + used, sizeof(finding->sentence) - used, "%s%s=%.48s",
                       used ? ", " : "", names[i], get(names[i]));
    }
}

void inherited_check(const struct plan *plan, char *(*get)(const char *name),
                     struct findings *findings)
{
    struct finding finding = {
        .id = "inherited_environment", .severity = FINDING_NOTE, .subject = "environment"};
    report(overriding, sizeof(overriding) / sizeof(*overriding), get, &finding);
    report(inherited_teams + 1, INHERITED_TEAMS - 1, get, &finding);
    if (is_passive(plan))
        report(spinning, sizeof(spinning) / sizeof(*spinning), get, &finding);
    size_t used = strlen(finding.sentence);
    if (!used)
        return;
    (void)snprintf(finding.sentence + used, sizeof(finding.sentence) - used,
                   "%s set here and would undo the plan: workers start without",
                   strchr(finding.sentence, ',') ? " are" : " is");
    (void)text_one_line(finding.sentence);
    findings_put(findings, &finding);
}
