#include "harness/show/html.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/show/comparison.h"
#include "harness/show/escape.h"
#include "harness/show/result.h"
#include "version.h"

/* The content of <style>. */
/* Okabe and Ito's colours, lightened: bars and workers are distinct without colour vision. */
static const char html_style[] =
    ":root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--soft:#59636e;--line:#d1d9e0;"
    "--card:#f6f8fa;--good:#1a7f37;--bad:#cf222e;--doubt:#9a6700;--bar:#7d8590;--best:#1f883d;"
    "--oncpu:#3b82c4;--queue:#e08a1e;--blocked:#a9b1ba;--quota:#b5179e}\n"
    "@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--soft:#9198a1;"
    "--line:#3d444d;--card:#161b22;--good:#3fb950;--bad:#ff7b72;--doubt:#d29922;--bar:#6e7681;"
    "--best:#2ea043;--oncpu:#58a6ff;--queue:#f0a848;--blocked:#59636e;--quota:#f072d0}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;padding:1.5rem 1rem 4rem;max-width:72rem;background:var(--bg);"
    "color:var(--fg);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}\n"
    "h1{font-size:1.25rem;margin:0}h2{font-size:1.25rem;margin:2.5rem 0 .5rem;"
    "border-bottom:1px solid var(--line)}h3{font-size:1rem;margin:1rem 0 .25rem}"
    "h4{font-size:.95rem;margin:1rem 0 .5rem;color:var(--soft)}\n"
    "header p{color:var(--soft);margin:.25rem 0}section>p{max-width:46rem}\n"
    ".verdict{border-left:4px solid var(--good);background:var(--card);padding:.75rem 1rem;"
    "margin:1rem 0;font-size:1.15rem}.verdict.doubt{border-color:var(--doubt)}"
    ".verdict.bad{border-color:var(--bad)}.verdict p{margin:.25rem 0}\n"
    ".sim{border:2px dashed var(--doubt);padding:.5rem 1rem;font-weight:600}\n"
    ".sides{display:grid;gap:0 2rem;grid-template-columns:minmax(0,1fr)}\n"
    "@media(min-width:60rem){.sides.two{grid-template-columns:repeat(2,minmax(0,1fr))}}\n"
    ".chart{display:block;overflow:visible}.chart text{fill:var(--fg);font-size:14px}"
    ".chart .name{font-weight:600}.chart .value{text-anchor:end;font-size:13px}"
    ".track{fill:var(--card);stroke:var(--line)}.bar{fill:var(--bar)}.bar.recommended{fill:var(--"
    "best)}"
    ".ci{stroke:var(--fg);stroke-width:1.5}.oncpu{fill:var(--oncpu)}.queue{fill:var(--queue)}"
    ".blocked{fill:var(--blocked)}.quota{fill:var(--quota)}\n"
    "@media(max-width:30rem){.chart text{font-size:12px}.chart .value{font-size:11px}}\n"
    ".legend{font-size:.875rem;color:var(--soft)}.legend "
    "span{display:inline-block;margin-right:1rem}"
    ".key{vertical-align:-1px}\n"
    /* A shadow on each side where more is: two covers that scroll with the table hide it. */
    ".scroll{overflow-x:auto;max-width:100%;background:linear-gradient(90deg,var(--bg) 30%,#0000) "
    "0/2rem 100%,linear-gradient(270deg,var(--bg) 30%,#0000) 100%/2rem 100%,linear-gradient(90deg,"
    "var(--blocked),#0000) 0/.6rem 100%,linear-gradient(270deg,var(--blocked),#0000) 100%/.6rem "
    "100%;background-repeat:no-repeat;background-attachment:local,local,scroll,scroll}table{border-"
    "collapse:collapse;margin:.75rem 0;"
    "font-size:.875rem;font-variant-numeric:tabular-nums;overflow-wrap:normal}caption{text-align:"
    "left;font-weight:600;"
    "padding:.25rem 0}td,th{padding:.3rem .6rem;border-bottom:1px solid var(--line);"
    "text-align:right;white-space:nowrap}th[scope=col]{white-space:normal;"
    "vertical-align:bottom}th:first-child,.text,.label{text-align:left}th[scope=row]{font-weight:"
    "500}table:not(.stack) th[scope=row]{position:sticky;left:0;background:var(--bg)}"
    "td.text{white-space:normal;min-width:12rem;overflow-wrap:anywhere}tr.recommended{color:var(--"
    "good);"
    "font-weight:600}\n"
    ".stack td,.stack th{vertical-align:top}@media(max-width:40rem){.stack,.stack "
    "tbody{display:block}"
    ".stack tr{display:flex;flex-wrap:wrap;border-bottom:1px solid var(--line)}.stack td,.stack th{"
    "border:0;white-space:normal;padding:.15rem .6rem}.stack th[scope=col]{display:none}"
    ".stack td.text{flex-basis:100%}.stack [data-name]::before{content:attr(data-name) \" \";"
    "color:var(--soft)}}\n"
    "pre{background:var(--card);border:1px solid var(--line);border-radius:6px;padding:.6rem .8rem;"
    "overflow-x:auto;font:13px/1.45 ui-monospace,monospace;max-width:100%;user-select:all}\n"
    "figure{margin:.75rem 0;overflow-x:auto}.plot{display:block;width:100%;max-width:60rem;height:"
    "auto}.scrolls figcaption{display:none}\n"
    "@media screen and (max-width:40rem){.scrolls .plot{min-width:52rem}.scrolls "
    "figcaption{display:block}}\n"
    ".cards{display:grid;gap:1rem;grid-template-columns:repeat(auto-fill,minmax(min(100%,20rem),"
    "1fr))}.card{margin:0;border:1px solid var(--line);border-radius:6px;padding:.75rem}"
    "figcaption{font-size:.875rem;margin-bottom:.5rem}\n"
    ".machine{display:block;width:100%;height:auto}.machine .box{fill:none;stroke:var(--line)}"
    ".machine .label{fill:var(--soft);font-size:6px}.machine .cpu{fill:#111;font-size:5px;"
    "text-anchor:middle}.free{fill:var(--card);stroke:var(--line)}.machine "
    ".cpu.alone{fill:var(--fg)}"
    ".off{fill:none;stroke:var(--line);stroke-dasharray:1}.many{fill:#b6bcc4}.wb{fill:#8d96a0}"
    ".w0{fill:#7cc4f0}.w1{fill:#f5b942}.w2{fill:#5fc9a0}.w3{fill:#e3a6c6}.w4{fill:#b9a5e6}"
    ".w5{fill:#f08a63}.w6{fill:#ddd06a}.w7{fill:#9fb86b}\n"
    ".workers{list-style:none;padding:0;margin:.5rem 0;font-size:.8125rem}"
    "summary{cursor:pointer;font-size:.875rem}\n"
    ".findings{padding-left:0;list-style:none}.findings li{padding:.3rem 0 .3rem .75rem;"
    "border-left:3px solid var(--line);margin:.4rem 0}.findings .bad{border-color:var(--bad)}"
    ".findings .doubt{border-color:var(--doubt)}span.bad{color:var(--bad)}"
    "span.good{color:var(--good)}small{color:var(--soft)}\n"
    "@media print{:root{--bg:#fff;--fg:#000;--soft:#444;--line:#bbb;--card:#fff}"
    "body{max-width:none;padding:0;font-size:12px}*{print-color-adjust:exact;"
    "-webkit-print-color-adjust:exact}.scroll,pre{overflow:visible}"
    "td,th{white-space:normal;padding:.15rem .25rem;font-size:10px}pre{white-space:pre-wrap}"
    "figure,table,.verdict{break-inside:avoid}h2,h3,h4{break-after:avoid}"
    "details::details-content{content-visibility:visible;block-size:auto}}\n";

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

/* Not as a table, because a result's sentence is too long for a column of a narrow screen. */
static void print_one(const struct collected *one, FILE *out)
{
    (void)fputs("<h2>", out);
    if (one->has_page) {
        (void)fputs("<a href=\"", out);
        html_text(out, "%s/report.html", one->scenario);
        (void)fputs("\">", out);
    }
    html_text(out, "%s", one->scenario);
    (void)fputs(one->has_page ? "</a></h2>\n" : "</h2>\n", out);
    const char *numbers = collected_format(one);
    html_line("p", out, "%s%s%s%s%s.", one->summary, one->summary[0] ? ": " : "",
              collected_name(one->end), numbers[0] ? ", " : "", numbers);
    if (one->sentence[0])
        html_line("p", out, "%s", one->sentence);
}

/* CSS classes of the summary box: those of the worst outcome in it. */
static const char *class_of(const struct collection *collection)
{
    size_t missing = collection_count(collection, COLLECTED_INTERRUPTED) +
                     collection_count(collection, COLLECTED_NOT_REACHED) +
                     collection_count(collection, COLLECTED_ABSENT);
    if (collection_count(collection, COLLECTED_FAILED))
        return "verdict bad";
    return missing ? "verdict doubt" : "verdict";
}

int html_print_collection(const struct collection *collection, FILE *out, struct err *err)
{
    const char *text = str_fmt("contend: %zu scenarios on %s", collection->n, collection->host);
    html_begin(text, out);
    (void)fprintf(out, "<header>\n<h1>contend: %zu scenarios</h1>\n", collection->n);
    html_line("p", out, "%s, %s", collection->host, collection->started);
    (void)fprintf(out, "</header>\n<main>\n<section>\n<div class=\"%s\">", class_of(collection));
    html_element("p", out, "%s.", collection_format(collection));
    (void)fputs(
        "</div>\n<p>The scenarios were measured one after the other. A name leads to the page "
        "of that scenario, in the directory of its name.</p>\n",
        out);
    for (size_t i = 0; i < collection->n; i++)
        print_one(&collection->all[i], out);
    (void)fputs("<p>", out);
    html_element("code", out, "%s", collection->command);
    (void)fputs("</p>\n</section>\n</main>\n</body>\n</html>\n", out);
    return ferror(out) ? err_set(err, -EIO, "cannot write the page") : 0;
}
