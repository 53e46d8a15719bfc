#include "harness/machine/topo/topo_xml.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/base/strbuf.h"

#define SPACES " \t\r\n"
#define LOWER "abcdefghijklmnopqrstuvwxyz"

enum {
    DEPTH_MAX = 256, /* libxml2's own limit */
    NAME_SHOWN = 40
};

/* A piece of the text. */
struct span {
    const char *at;
    size_t n;
};

struct reader {
    const char *name; /* of the file */
    const char *begin, *at, *end;
    struct span open[DEPTH_MAX]; /* names of the elements around `at`, the root first */
    unsigned depth, muted;       /* muted: the depth of the user data around `at`, 0 = none */
    bool has_root;
    bool pending; /* the last tag that was written lacks its '>': an empty element ends with "/>" */
    struct topo_xml *xml;
    struct strbuf out;
    struct err *err;
};

static bool is(struct span span, const char *text)
{
    return span.n == strlen(text) && memcmp(span.at, text, span.n) == 0;
}

static bool starts(const struct reader *r, const char *text)
{
    return strncmp(r->at, text, strlen(text)) == 0;
}

void topo_xml_quote(char *to, size_t size, const char *from, size_t n)
{
    (void)snprintf(to, size, "%.*s", (int)n, from);
    for (; *to; to++)
        if (iscntrl((unsigned char)*to))
            *to = '?';
}

__attribute__((format(printf, 2, 3))) static int malformed(const struct reader *r, const char *fmt,
                                                           ...)
{
    char what[120];
    unsigned line = 1;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    for (const char *at = r->begin; at < r->at; at++)
        line += *at == '\n';
    return err_set(r->err, -EINVAL, "'%.100s' is malformed XML: line %u: %s", r->name, line, what);
}

static int ends_early(const struct reader *r)
{
    struct span in = r->depth ? r->open[r->depth - 1] : (struct span){.n = 0};
    char what[NAME_SHOWN];
    topo_xml_quote(what, sizeof(what), in.at ? in.at : "", in.n);
    return err_set(r->err, -EINVAL, "'%.120s' is incomplete: it ends %s%s%s", r->name,
                   in.n ? "within <" : "before its first element", what, in.n ? ">" : "");
}

/* Moves behind the next `mark`. */
static int skip_past(struct reader *r, const char *mark)
{
    const char *found = strstr(r->at, mark);
    if (!found)
        return ends_early(r);
    r->at = found + strlen(mark);
    return 0;
}

/* Behind the '>' of a <!DOCTYPE ...>, which may hold quoted names, and declarations in brackets. */
static int skip_doctype(struct reader *r)
{
    for (int inside = 0; r->at < r->end; r->at++) {
        if (starts(r, "<!--")) {
            if (skip_past(r, "-->"))
                return -EINVAL;
            r->at--;
        } else if (*r->at == '"' || *r->at == '\'') {
            const char *quote = strchr(r->at + 1, *r->at);
            if (!quote)
                break;
            r->at = quote;
        } else if (*r->at == '[' || *r->at == ']') {
            inside = *r->at == '[';
        } else if (*r->at == '>' && !inside) {
            r->at++;
            return 0;
        }
    }
    return ends_early(r);
}

/* Before anything inside an element. hwloc's own parser wants "<a/>" where others take "<a></a>".
 */
static void end_start_tag(struct reader *r)
{
    if (r->pending)
        strbuf_addc(&r->out, '>');
    r->pending = false;
}

static struct span read_name(struct reader *r)
{
    struct span name = {r->at, strcspn(r->at, SPACES "=/<>\"'&")};
    r->at += name.n;
    return name;
}

static void put_utf8(struct strbuf *out, unsigned long c)
{
    unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    strbuf_addc(out, (char)(lead[more] | c >> 6 * more));
    while (more--)
        strbuf_addc(out, (char)(0x80 | (c >> 6 * more & 0x3f)));
}

/* A character of a value, as hwloc's own parser expects it; that one stops a tag at any '>'. */
static void put_escaped(struct strbuf *out, unsigned long c)
{
    static const char *const escapes[0x80] = {
        ['\t'] = "&#9;", ['\n'] = "&#10;", ['\r'] = "&#13;", ['"'] = "&quot;",
        ['&'] = "&amp;", ['<'] = "&lt;",   ['>'] = "&gt;",
    };
    if (c < 0x80 && escapes[c])
        strbuf_adds(out, escapes[c]);
    else
        put_utf8(out, c);
}

/* At '&'. */
static int read_reference(struct reader *r, unsigned long *c)
{
    static const struct {
        const char *name;
        char c;
    } named[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    char shown[16];
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
        if (starts(r, named[i].name)) {
            *c = (unsigned char)named[i].c;
            r->at += strlen(named[i].name);
            return 0;
        }
    int base = starts(r, "&#x") ? 16 : 10;
    const char *digits = r->at + (base == 16 ? 3 : 2);
    char *end = NULL;
    if (starts(r, "&#") && isxdigit((unsigned char)*digits)) {
        *c = strtoul(digits, &end, base);
        bool allowed = *c >= ' ' || *c == '\t' || *c == '\n' || *c == '\r';
        if (*end == ';' && allowed && *c <= 0x10ffff && (*c < 0xd800 || *c > 0xdfff)) {
            r->at = end + 1;
            return 0;
        }
    }
    topo_xml_quote(shown, sizeof(shown), r->at, strcspn(r->at, "; \t\r\n\"'<>"));
    return malformed(r, "unknown reference '%s;'", shown);
}

/* At the quote before the value; writes it without quotes, in hwloc's escapes. */
static int read_value(struct reader *r, struct strbuf *value)
{
    char quote = *r->at++;
    while (r->at < r->end && *r->at != quote) {
        unsigned long c = ' ';
        if (*r->at == '<')
            return malformed(r, "'<' in a value");
        if (*r->at == '&') {
            if (read_reference(r, &c))
                return -EINVAL;
            put_escaped(value, c);
        } else if (strchr(SPACES, *r->at)) { /* as XML has it: all of them are blanks in a value */
            strbuf_addc(value, ' ');
            r->at += starts(r, "\r\n") ? 2 : 1;
        } else if ((unsigned char)*r->at < ' ') {
            return malformed(r, "a control character in a value");
        } else if ((unsigned char)*r->at < 0x80) {
            put_escaped(value, (unsigned char)*r->at++);
        } else {
            strbuf_addc(value, *r->at++);
        }
    }
    if (r->at >= r->end)
        return ends_early(r);
    r->at++;
    return 0;
}

static void read_version(struct topo_xml *xml, const char *value)
{
    unsigned major, minor;
    if (sscanf(value, "%u.%u", &major, &minor) == 2) {
        xml->major = major;
        xml->minor = minor;
    }
}

/* One attribute of an open tag. */
static int read_attribute(struct reader *r, bool root)
{
    struct span name = read_name(r);
    struct strbuf value = {0};
    r->at += strspn(r->at, SPACES);
    if (!name.n || *r->at != '=')
        return r->at < r->end ? malformed(r, "an attribute without a value") : ends_early(r);
    r->at++;
    r->at += strspn(r->at, SPACES);
    if (*r->at != '"' && *r->at != '\'')
        return r->at < r->end ? malformed(r, "a value without quotes") : ends_early(r);
    int rc = read_value(r, &value);
    bool known = strspn(name.at, LOWER "_") >= name.n;
    r->out.failed |= value.failed;
    if (!rc && value.length && root && is(name, "version"))
        read_version(r->xml, value.text);
    else if (!rc && known && !root && !r->muted)
        strbuf_addf(&r->out, " %.*s=\"%s\"", (int)name.n, name.at, value.text ? value.text : "");
    strbuf_free(&value);
    return rc;
}

static int check_root(struct reader *r, struct span name)
{
    char shown[NAME_SHOWN];
    if (r->has_root)
        return malformed(r, "a second root element");
    r->has_root = true;
    r->xml->major = is(name, "topology") ? 1 : 0;
    r->xml->minor = is(name, "topology") ? 0 : 9;
    if (is(name, "topology") || is(name, "root"))
        return 0;
    topo_xml_quote(shown, sizeof(shown), name.at, name.n);
    return err_set(r->err, -EINVAL,
                   "'%.100s' is not a topology XML: its root element is <%s>; "
                   "'lstopo FILE.xml' writes one",
                   r->name, shown);
}

/* The root's attributes are gone; the own parser knows no other way to write its version. */
static void put_root(struct reader *r, struct span name)
{
    strbuf_adds(&r->out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                         "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n");
    strbuf_addf(&r->out, "<%.*s", (int)name.n, name.at);
    if (r->xml->major > 1)
        strbuf_addf(&r->out, " version=\"%u.%u\"", r->xml->major, r->xml->minor);
    strbuf_addc(&r->out, '>');
}

static int close_element(struct reader *r, struct span name)
{
    if (!r->depth)
        return malformed(r, "an end without a beginning");
    struct span open = r->open[r->depth - 1];
    if (open.n != name.n || memcmp(open.at, name.at, name.n) != 0) {
        char shown[NAME_SHOWN], expected[NAME_SHOWN];
        topo_xml_quote(shown, sizeof(shown), name.at, name.n);
        topo_xml_quote(expected, sizeof(expected), open.at, open.n);
        return malformed(r, "</%s> where </%s> is due", shown, expected);
    }
    if (!r->muted && r->pending)
        strbuf_adds(&r->out, "/>");
    else if (!r->muted)
        strbuf_addf(&r->out, "</%.*s>", (int)name.n, name.at);
    r->pending &= r->muted > 0;
    if (r->muted == r->depth)
        r->muted = 0;
    r->depth--;
    return 0;
}

static int read_end_tag(struct reader *r)
{
    r->at += 2;
    struct span name = read_name(r);
    r->at += strspn(r->at, SPACES);
    if (*r->at != '>')
        return r->at < r->end ? malformed(r, "no '>' behind an end") : ends_early(r);
    r->at++;
    return close_element(r, name);
}

static int read_start_tag(struct reader *r)
{
    r->at++;
    struct span name = read_name(r);
    bool root = r->depth == 0;
    int rc = 0;
    if (!name.n)
        return r->at < r->end ? malformed(r, "'<' without a name") : ends_early(r);
    if ((root && (rc = check_root(r, name))) || r->depth == DEPTH_MAX)
        return rc ? rc : malformed(r, "elements nested more than %d deep", DEPTH_MAX);
    r->open[r->depth++] = name;
    if (!r->muted && is(name, "userdata"))
        r->muted = r->depth;
    if (!root && !r->muted) {
        end_start_tag(r);
        strbuf_addf(&r->out, "<%.*s", (int)name.n, name.at);
    }
    for (;;) {
        r->at += strspn(r->at, SPACES);
        if (*r->at == '>' || *r->at == '/' || r->at >= r->end)
            break;
        if ((rc = read_attribute(r, root)))
            return rc;
    }
    bool empty = *r->at == '/';
    r->at += empty;
    if (*r->at != '>')
        return r->at < r->end ? malformed(r, "no '>' behind '/'") : ends_early(r);
    r->at++;
    if (root)
        put_root(r, name);
    r->pending |= !root && !r->muted;
    return empty ? close_element(r, name) : 0;
}

/* Lists of numbers are text, of a length that their tag has told; other text means nothing. */
static int read_text(struct reader *r)
{
    struct span in = r->depth ? r->open[r->depth - 1] : (struct span){.n = 0};
    bool list = in.n && (is(in, "indexes") || is(in, "u64values"));
    if (!in.n && !strchr(SPACES, *r->at))
        return malformed(r, "text outside of the root element");
    size_t n = in.n ? strcspn(r->at, "<") : strspn(r->at, SPACES);
    if (list)
        end_start_tag(r);
    for (size_t i = 0; list && i < n; i++)
        if (r->at[i] != '\r')
            strbuf_addc(&r->out, r->at[i]);
    r->at += n;
    return 0;
}

static int read_next(struct reader *r)
{
    if (*r->at != '<')
        return read_text(r);
    if (starts(r, "<!--"))
        return skip_past(r, "-->");
    if (starts(r, "<?"))
        return skip_past(r, "?>");
    if (starts(r, "<![CDATA["))
        return skip_past(r, "]]>");
    if (starts(r, "<!"))
        return skip_doctype(r);
    return starts(r, "</") ? read_end_tag(r) : read_start_tag(r);
}

/* Refuses files that are no XML at all. */
static int check_kind(struct reader *r)
{
    static const char hint[] = "'lstopo FILE.xml' writes one";
    char shown[32];
    if (starts(r, "\xef\xbb\xbf"))
        r->at += 3;
    if (starts(r, "\xff\xfe") || starts(r, "\xfe\xff"))
        return err_set(r->err, -EINVAL,
                       "'%.100s' is UTF-16 text; convert it: iconv -f UTF-16 -t UTF-8", r->name);
    r->at += strspn(r->at, SPACES);
    if (r->at == r->end)
        return err_set(r->err, -EINVAL, "'%.100s' is empty, not a topology XML; %s", r->name, hint);
    if (memchr(r->at, '\0', (size_t)(r->end - r->at)))
        return err_set(r->err, -EINVAL, "'%.100s' is a binary file, not a topology XML; %s",
                       r->name, hint);
    if (*r->at == '<')
        return 0;
    topo_xml_quote(shown, sizeof(shown), r->at, strcspn(r->at, "\r\n"));
    return err_set(r->err, -EINVAL, "'%.100s' is not a topology XML: it begins with '%s'; %s",
                   r->name, shown, hint);
}

int topo_xml_normalise(const char *name, const char *text, size_t bytes, struct topo_xml *xml,
                       struct err *err)
{
    struct reader r = {
        .name = name, .begin = text, .at = text, .end = text + bytes, .xml = xml, .err = err};
    memset(xml, 0, sizeof(*xml));
    int rc = check_kind(&r);
    while (!rc && r.at < r.end)
        rc = read_next(&r);
    if (!rc && (r.depth || !r.has_root))
        rc = ends_early(&r);
    xml->bytes = r.out.length;
    if (!rc && !(xml->text = strbuf_take(&r.out)))
        rc = err_set(err, -ENOMEM, "no memory for the topology '%.120s'", name);
    strbuf_free(&r.out);
    return rc;
}

void topo_xml_free(struct topo_xml *xml)
{
    free(xml->text);
    memset(xml, 0, sizeof(*xml));
}
