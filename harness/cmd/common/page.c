#include "harness/cmd/common/page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/lib/sys/file.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"
#include "harness/show/figures/figures.h"
#include "harness/show/figures/files.h"
#include "harness/show/json/forms.h"
#include "harness/show/json/result_json.h"
#include "harness/show/result.h"

/* Figures of steps that the page embeds instead of drawing them; those of benchmarks follow. */
static const char *const of_steps[] = {"occupancy", "step_time", "efficiency"};
enum {
    OF_STEPS = sizeof(of_steps) / sizeof(of_steps[0]),
    FIGURES_MOST = OF_STEPS + FOUND_MOST,
    TITLE = 200
};
static const size_t svg_most = (size_t)16 << 20;

/* A figure of a result's directory; owns its pictures. */
struct figure_file {
    char name[FIGURE_NAME_MAX], title[TITLE];
    char *svg, *narrow;
};

/* The figures drawn in a directory. */
struct page_figures {
    size_t n;
    struct figure_file file[FIGURES_MOST];
    struct html_figure figure[FIGURES_MOST];
};

/* The title is the first quoted text of the figure's .dat file; without it, the figure's name. */
static const char *read_title(int plots_fd, const char *figure)
{
    char name[FIGURE_NAME_MAX + 8], *text = NULL;
    size_t size;
    (void)snprintf(name, sizeof(name), "%.*s.dat", FIGURE_NAME_MAX, figure);
    const char *title = str_fmt("%.*s", FIGURE_NAME_MAX, figure);
    if (file_read(plots_fd, name, (size_t)PLOT_DATA_MAX_MIB << 20, &text, &size))
        return title;
    const char *from = strchr(text, '"');
    size_t length = from ? strcspn(from + 1, "\"\n") : 0;
    if (length)
        title = str_fmt("%.*s", (int)length, from + 1);
    free(text);
    return title;
}

static bool looks_like_svg(const char *text)
{
    const char *svg = strstr(text, "<svg");
    return svg && svg - text < 1000;
}

/* Returns the picture, or NULL. */
static char *read_svg(int plots_fd, const char *name, const char *suffix, size_t *size)
{
    char *svg = NULL;
    const char *path = str_fmt("%.*s%s", FIGURE_NAME_MAX, name, suffix);
    int rc = file_read(plots_fd, path, svg_most, &svg, size);
    if (rc == -ENOENT) /* a figure that was not drawn is no error */
        return NULL;
    if (!rc && looks_like_svg(svg))
        return svg;
    log_warn("the page lacks plots/%s: %s", path, rc ? strerror(-rc) : "it is no SVG");
    if (!rc)
        free(svg);
    return NULL;
}

static void add_figure(struct page_figures *loaded, int plots_fd, const char *name)
{
    struct figure_file *file = &loaded->file[loaded->n];
    struct html_figure *figure = &loaded->figure[loaded->n];
    *figure = (struct html_figure){.name = file->name, .title = file->title};
    file->svg = read_svg(plots_fd, name, plot_suffixes[PLOT_SVG], &figure->size);
    if (!file->svg)
        return;
    file->narrow = read_svg(plots_fd, name, plot_suffixes[PLOT_NARROW_SVG], &figure->narrow_size);
    (void)snprintf(file->name, sizeof(file->name), "%.*s", FIGURE_NAME_MAX - 1, name);
    text_set(file->title, "%s", read_title(plots_fd, name));
    figure->svg = file->svg;
    figure->narrow = file->narrow;
    loaded->n++;
}

static void add_figures(struct page_figures *loaded, int dir_fd)
{
    struct found found[FOUND_MOST];
    int plots_fd = plot_files_open(dir_fd, false, NULL);
    if (plots_fd < 0)
        return;
    for (size_t i = 0; i < OF_STEPS; i++)
        add_figure(loaded, plots_fd, of_steps[i]);
    size_t n = found_list(plots_fd, found);
    for (size_t i = 0; i < n; i++)
        add_figure(loaded, plots_fd, found[i].name);
    (void)close(plots_fd);
}

struct page_figures *page_read_figures(int dir_fd)
{
    struct page_figures *figures = calloc(1, sizeof(*figures));
    if (figures)
        add_figures(figures, dir_fd);
    return figures;
}

const struct html_figure *page_list_figures(const struct page_figures *figures, size_t *n)
{
    *n = figures->n;
    return figures->figure;
}

void page_free_figures(struct page_figures *figures)
{
    for (size_t i = 0; figures && i < figures->n; i++) {
        free(figures->file[i].svg);
        free(figures->file[i].narrow);
    }
    free(figures);
}

static int load(const struct page_side *side, struct about *about, struct page_figures **loaded,
                struct html_side *html, struct err *err)
{
    *loaded = page_read_figures(side->dir_fd);
    if (!*loaded)
        return err_set(err, -ENOMEM, "no memory for the page");
    int rc = about_read(side->recorded, about, err);
    *html = (struct html_side){.path = side->path,
                               .recorded = side->recorded,
                               .about = about,
                               .nfigures = (*loaded)->n,
                               .figures = (*loaded)->figure};
    return rc;
}

/* 0: no such file, or a page that contend wrote; -EEXIST: another file; or another -errno. */
static int check_replaceable(int at_fd, const char *name)
{
    struct stat status;
    char *text = NULL;
    size_t size;
    if (fstatat(at_fd, name, &status, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? 0 : -errno;
    if (!S_ISREG(status.st_mode) || file_read(at_fd, name, (size_t)1 << 30, &text, &size))
        return -EEXIST;
    bool is_contend_page = html_is_contend_page(text, size);
    free(text);
    return is_contend_page ? 0 : -EEXIST;
}

/* Prints any kind of page. */
typedef int printer(const void *page, FILE *out, struct err *err);

static int print_result(const void *page, FILE *out, struct err *err)
{
    return html_print(page, out, err);
}

static int print_collection(const void *page, FILE *out, struct err *err)
{
    return html_print_collection(page, out, err);
}

static int print_document(const void *document, FILE *out, struct err *err)
{
    return html_print_document(document, out, err);
}

static int format(printer *print, const void *page, char **text, size_t *size, struct err *err)
{
    *text = NULL;
    FILE *out = open_memstream(text, size);
    if (!out)
        return err_set(err, -ENOMEM, "no memory for the page");
    int rc = print(page, out, err);
    return fclose(out) && !rc ? err_set(err, -ENOMEM, "no memory for the page") : rc;
}

int page_check(int at_fd, const char *name, struct err *err)
{
    int rc = check_replaceable(at_fd, name);
    if (rc == -EEXIST)
        return err_set(err, rc, "'%.150s' is not replaced: it is no report of contend", name);
    return rc ? err_sys(err, rc, "cannot write '%.150s'", name) : 0;
}

int page_replace(printer *print, const void *page, int at_fd, const char *name, struct err *err)
{
    char *text = NULL;
    size_t size = 0;
    int rc = format(print, page, &text, &size, err);
    int failed = rc ? 0 : file_replace(at_fd, name, text, size);
    free(text);
    return failed ? err_sys(err, failed, "cannot write '%.150s'", name) : rc;
}

int page_put(printer *print, const void *page, int at_fd, const char *name, struct err *err)
{
    int rc = page_check(at_fd, name, err);
    return rc ? rc : page_replace(print, page, at_fd, name, err);
}

int page_put_document(const char *title, const struct doc *doc, int at_fd, const char *name,
                      struct err *err)
{
    const struct html_document document = {title, doc};
    return page_put(print_document, &document, at_fd, name, err);
}

int page_write_collection(const struct collection *collection, int at_fd, const char *name,
                          struct err *err)
{
    return page_put(print_collection, collection, at_fd, name, err);
}

int page_write(const struct page_side *sides, size_t nsides, int at_fd, const char *name,
               struct err *err)
{
    struct page_figures *loaded[2] = {NULL, NULL};
    struct about about[2];
    struct html_side html[2];
    int rc = 0;
    for (size_t i = 0; i < nsides && !rc; i++)
        rc = load(&sides[i], &about[i], &loaded[i], &html[i], err);
    if (!rc) {
        const struct html_page page = {nsides, html};
        rc = page_put(print_result, &page, at_fd, name, err);
    }
    page_free_figures(loaded[0]);
    page_free_figures(loaded[1]);
    return rc;
}

void page_write_own(const char *path, int dir_fd, struct recorded *recorded)
{
    struct err err = {0};
    const struct page_side side = {path, dir_fd, recorded};
    if (page_write(&side, 1, dir_fd, PAGE_NAME, &err))
        log_warn("no page: %s", err.msg);
}

void page_remove_drawn(int dir_fd)
{
    figures_remove(dir_fd);
    if (!check_replaceable(dir_fd, PAGE_NAME))
        (void)unlinkat(dir_fd, PAGE_NAME, 0);
}

static void print(struct doc *doc, bool all, FILE *out, bool color)
{
    if (doc->failed)
        log_error("out of memory for the summary; rows.csv has everything");
    doc_print(doc, out, color, all);
    doc_free(doc);
}

void summary_print(const struct recorded *recorded, const char *path, bool all, FILE *out,
                   bool color)
{
    struct doc doc = {0};
    result_add_to_doc(recorded, &doc);
    if (path)
        result_add_source(recorded, path, &doc);
    if (path && !all)
        doc_text(&doc, "Details: contend report -v %s", path);
    print(&doc, all, out, color);
}

int summary_format(const struct recorded *recorded, char **text, size_t *size, struct err *err)
{
    *text = NULL;
    FILE *out = open_memstream(text, size);
    if (!out)
        return err_set(err, -ENOMEM, "no memory for the summary");
    summary_print(recorded, NULL, true, out, false);
    return fclose(out) ? err_set(err, -ENOMEM, "no memory for the summary") : 0;
}

static json_t *comparisons_as_json(const struct recorded *recorded)
{
    return json_value_object("variants:o comparisons:o findings:o",
                             json_incref(json_object_get(recorded->record, "variants")),
                             comparisons_to_json(&recorded->comparisons),
                             findings_to_json(&recorded->findings));
}

json_t *summary_to_json(const struct recorded *recorded)
{
    if (json_object_get(recorded->record, "variants"))
        return comparisons_as_json(recorded);
    if (recorded->result.purpose == PURPOSE_TUNE)
        return json_value_object("recommended:o settings:o findings:o",
                                 recommended_to_json(&recorded->analysis, &recorded->findings),
                                 tune_to_json(&recorded->analysis),
                                 findings_to_json(&recorded->findings));
    if (recorded->result.purpose == PURPOSE_SIZING)
        return json_value_object("sizing:o findings:o", sizing_to_json(&recorded->analysis),
                                 findings_to_json(&recorded->findings));
    if (recorded->result.purpose == PURPOSE_DOSE)
        return json_value_object("dosing:o findings:o", dosing_to_json(&recorded->analysis),
                                 findings_to_json(&recorded->findings));
    if (recorded->result.purpose == PURPOSE_PREDICT)
        return json_value_object("prediction:o findings:o", prediction_to_json(&recorded->analysis),
                                 findings_to_json(&recorded->findings));
    if (recorded->result.purpose == PURPOSE_MIX)
        return json_value_object("rows:o findings:o", rows_to_json(&recorded->analysis),
                                 findings_to_json(&recorded->findings));
    return rows_to_json(&recorded->analysis);
}
