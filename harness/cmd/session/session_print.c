/* Prints a run that has ended: a table, or JSON for scripts. */
#include <stdio.h>
#include <stdlib.h>

#include "harness/cmd/common/compared.h"
#include "harness/cmd/common/page.h"
#include "harness/cmd/common/summary.h"
#include "harness/cmd/session/session.h"
#include "harness/record/json_value.h"
#include "harness/show/result.h"

int session_print_summary(struct session *s, const struct verdict *verdict, bool color,
                          struct err *err)
{
    struct recorded recorded;
    char *text = NULL;
    size_t size = 0;
    recorded_of_run(s->run_dir.written, verdict, &recorded);
    int rc = summary_format(&recorded, &text, &size, err);
    if (!rc)
        rc = directory_add_summary(&s->run_dir.dir, text, size, err);
    if (!rc && !s->options.no_plots)
        page_write_own(s->run_dir.dir.path, s->run_dir.dir.fd, &recorded);
    if (!rc && s->options.junit)
        rc = compared_write_junit(&recorded.comparisons, "ab", s->options.junit, err);
    if (!rc && s->options.json && s->list)
        s->rows = summary_to_json(&recorded);
    else if (!rc && s->options.json)
        rc = json_value_print(summary_to_json(&recorded), 1, err);
    else if (!rc && s->options.markdown)
        result_print_markdown(&recorded, s->run_dir.dir.path, stdout);
    else if (!rc) {
        summary_print(&recorded, s->run_dir.dir.path, s->options.verbose, stdout, color);
    }
    free(text);
    recorded_free(&recorded);
    return rc;
}
