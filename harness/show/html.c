#include "harness/show/html.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/str.h"
#include "harness/show/comparison.h"
#include "harness/show/escape.h"
#include "harness/show/html_parts.h"
#include "harness/show/result.h"
#include "version.h"

#define START                                                                                      \
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"                      \
    "<meta name=\"generator\" content=\"contend"

void html_element(const char *tag, FILE *out, const char *fmt, ...)
{
    char *text;
    va_list args;
    va_start(args, fmt);
    int length = vasprintf(&text, fmt, args);
    va_end(args);
    if (length < 0)
        return;
    if (tag[0])
        (void)fprintf(out, "<%s>", tag);
    escape_markup(text, out);
    if (tag[0])
        (void)fprintf(out, "</%.*s>", (int)strcspn(tag, " "), tag);
    free(text);
}

void html_begin(const char *title, FILE *out)
{
    (void)fprintf(out,
                  START
                  " %s\">\n<meta name=\"viewport\" content=\"width=device-width,"
                  "initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" "
                  "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n",
                  CONTEND_VERSION);
    html_line("title", out, "%s", title);
    (void)fprintf(out, "<style>\n%s</style>\n</head>\n<body>\n", html_style);
}

bool html_is_contend_page(const char *text, size_t size)
{
    return size >= sizeof(START) - 1 && memcmp(text, START, sizeof(START) - 1) == 0;
}

static const char *side_name(const struct html_page *page, size_t side)
{
    return page->nsides < 2 ? "" : side == 0 ? "Before" : "After";
}

void html_doc(struct doc *doc, FILE *out)
{
    doc_print_html(doc, out);
    doc_free(doc);
}

/* Prints the number of findings, for a run without a verdict. */
static void print_count(const struct findings *findings, FILE *out)
{
    static const char *const classes[FINDING_SEVERITIES] = {"", " doubt", " bad"};
    size_t n[FINDING_SEVERITIES] = {0};
    for (size_t i = 0; i < findings->n; i++)
        n[findings->all[i].severity]++;
    (void)fprintf(out, "<div class=\"verdict%s\">\n<p>",
                  classes[n[FINDING_BAD]     ? FINDING_BAD
                          : n[FINDING_DOUBT] ? FINDING_DOUBT
                                             : 0]);
    if (!n[FINDING_BAD] && !n[FINDING_DOUBT])
        (void)fputs("Measured; nothing was found to be wrong or in doubt.", out);
    else
        (void)fprintf(out, "%zu wrong, %zu in doubt: see the warnings.", n[FINDING_BAD],
                      n[FINDING_DOUBT]);
    (void)fputs("</p>\n</div>\n", out);
}

static void print_verdict(const char *name, const struct findings *findings, FILE *out)
{
    struct doc doc = {0};
    if (name[0])
        (void)fprintf(out, "<h3>%s</h3>\n", name);
    doc_findings(&doc, findings, DOC_LEADING);
    if (!doc.n)
        print_count(findings, out);
    html_doc(&doc, out);
}

static bool feeds_none(const struct result *result)
{
    for (size_t i = 0; i < result->narms; i++)
        if (!bench_feeds_none(result->arms[i].bench) && !result->arms[i].is_control)
            return false;
    return true;
}

/* Prominent, because a modelled GPU says nothing about a real one. */
static void print_sim(const struct html_side *side, FILE *out)
{
    const struct result *result = &side->recorded->result;
    for (size_t i = 0; i < result->narms; i++)
        if (arm_device(result, &result->arms[i]) == DEVICE_SIM) {
            html_line("p class=\"sim\"", out,
                      "sim: the GPUs of this run are modelled, not measured.");
            return;
        }
}

static void print_header(const struct html_page *page, FILE *out)
{
    (void)fputs("<header>\n", out);
    html_line("h1", out, "contend: %s%s", page->sides[0].recorded->result.scenario,
              page->nsides > 1 ? ", before and after" : "");
    for (size_t i = 0; i < page->nsides; i++) {
        const struct html_side *side = &page->sides[i];
        const struct result *result = &side->recorded->result;
        html_line("p", out, "%s%s%s, %s, %s%s%u of %u rounds", side_name(page, i),
                  page->nsides > 1 ? ": " : "", side->about->host[0] ? side->about->host : "a host",
                  side->about->started,
                  feeds_none(result) ? "" : device_infos[result->device].title,
                  feeds_none(result) ? "" : ", ", result->rounds_done, result->rounds_planned);
    }
    for (size_t i = 0; i < page->nsides; i++)
        print_sim(&page->sides[i], out);
    (void)fputs("</header>\n", out);
}

static void print_comparisons(const struct comparisons *comparisons, FILE *out)
{
    struct doc doc = {0};
    comparisons_add_to_doc(comparisons, &doc);
    html_doc(&doc, out);
}

static void print_verdicts(const struct html_page *page, FILE *out)
{
    (void)fputs("<section>\n", out);
    (void)fprintf(out, "<div class=\"sides%s\">\n", page->nsides > 1 ? " two" : "");
    for (size_t i = 0; i < page->nsides; i++) {
        (void)fputs("<div>", out);
        print_verdict(side_name(page, i), &page->sides[i].recorded->findings, out);
        (void)fputs("</div>\n", out);
    }
    (void)fputs("</div>\n", out);
    if (page->nsides == 1)
        print_comparisons(&page->sides[0].recorded->comparisons, out);
    else
        (void)fputs("<p>Two runs side by side are no verdict: runs of equal set-ups differ by "
                    "several percent. For a verdict measure both in the same rounds with "
                    "<code>contend ab</code>, or use <code>contend compare</code>.</p>\n",
                    out);
    (void)fputs("</section>\n", out);
}

static void picture(const struct html_side *side, FILE *out)
{
    if (block_any(&side->recorded->analysis))
        html_throughput(side, out);
    else
        html_figures(side, NULL, out);
}

static bool has_blocks(const struct html_side *side)
{
    return block_any(&side->recorded->analysis);
}

static bool has_picture(const struct html_side *side)
{
    return block_any(&side->recorded->analysis) || html_has_figure(side, NULL);
}

static void occupancy(const struct html_side *side, FILE *out)
{
    html_figures(side, "occupancy", out);
}

static bool has_occupancy(const struct html_side *side)
{
    return html_has_figure(side, "occupancy");
}

static void tables(const struct html_side *side, FILE *out)
{
    struct doc doc = {0};
    result_add_tables(side->recorded, &doc);
    html_doc(&doc, out);
}

static bool has_tables(const struct html_side *side)
{
    struct doc doc = {0};
    result_add_tables(side->recorded, &doc);
    const bool any = doc.n;
    doc_free(&doc);
    return any;
}

static bool has_more(const struct html_side *side)
{
    return block_any(&side->recorded->analysis) && html_has_figure(side, NULL);
}

static void more(const struct html_side *side, FILE *out)
{
    (void)fputs("<details><summary>Efficiency, times and what else was drawn</summary>\n", out);
    html_figures(side, NULL, out);
    (void)fputs("</details>\n", out);
}

/* In page order; `has` NULL: always shown. */
static const struct section {
    const char *id, *title, *what;
    bool (*has)(const struct html_side *side);
    void (*print)(const struct html_side *side, FILE *out);
} sections[] = {
    {"picture", "What was measured", "", has_picture, picture},
    {"loss", "Where the time goes", "A bar is all of the time of a worker.", has_blocks, html_loss},
    {"occupancy", "Who ran on which CPU", "", has_occupancy, occupancy},
    {"machine", "The machine, and each placement on it",
     "A square is a CPU, its colours are the workers that may use it; those of one core stand "
     "below "
     "each other. Grey: more than four workers share it. Dashed: not allowed here.",
     NULL, html_machine},
    {"tables", "Tables", "", has_tables, tables},
    {"figures", "More figures", "", has_more, more},
    {"facts", "The machine", "", NULL, html_facts},
    {"warnings", "Findings, warnings and what was skipped", "", NULL, html_warnings},
    {"provenance", "Where this comes from", "", NULL, html_provenance},
};

static void print_section(const struct html_page *page, const struct section *section, FILE *out)
{
    bool any = false;
    for (size_t i = 0; i < page->nsides; i++)
        any = any || !section->has || section->has(&page->sides[i]);
    if (!any)
        return;
    (void)fprintf(out, "<section id=\"%s\">\n<h2>%s</h2>\n", section->id, section->title);
    if (section->what[0])
        (void)fprintf(out, "<p>%s</p>\n", section->what);
    (void)fprintf(out, "<div class=\"sides%s\">\n", page->nsides > 1 ? " two" : "");
    for (size_t i = 0; i < page->nsides; i++) {
        (void)fputs("<div>\n", out);
        if (page->nsides > 1)
            (void)fprintf(out, "<h3>%s</h3>\n", side_name(page, i));
        if (!section->has || section->has(&page->sides[i]))
            section->print(&page->sides[i], out);
        (void)fputs("</div>\n", out);
    }
    (void)fputs("</div>\n</section>\n", out);
}

int html_print(const struct html_page *given, FILE *out, struct err *err)
{
    struct html_page whole = *given;
    const struct html_page *page = &whole;
    struct html_side sides[2] = {given->sides[0]};
    if (given->nsides > 1) {
        sides[1] = given->sides[1];
        sides[0].other_side = &sides[1];
        sides[1].other_side = &sides[0];
    }
    whole.sides = sides;
    const char *title = str_fmt("contend: %s on %s", page->sides[0].recorded->result.scenario,
                                page->sides[0].about->host);
    html_begin(title, out);
    print_header(page, out);
    (void)fputs("<main>\n", out);
    print_verdicts(page, out);
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
        print_section(page, &sections[i], out);
    (void)fputs("</main>\n</body>\n</html>\n", out);
    return ferror(out) ? err_set(err, -EIO, "cannot write the page") : 0;
}

int html_print_document(const struct html_document *document, FILE *out, struct err *err)
{
    html_begin(document->title, out);
    html_line("h1", out, "%s", document->title);
    (void)fputs("<main>\n", out);
    doc_print_html(document->doc, out);
    (void)fputs("</main>\n</body>\n</html>\n", out);
    return ferror(out) ? err_set(err, -EIO, "cannot write the page") : 0;
}
