#include "harness/comms/cmd/comms_show.h"

#include "harness/cmd/common/cmd.h"
#include "harness/comms/cmd/comms_files.h"
#include "harness/comms/findings/view.h"
#include "harness/comms/json/comms.h"
#include "harness/comms/tables/comms.h"
#include "harness/lib/say/log.h"
#include "harness/lib/say/terminal.h"
#include "harness/show/summary/findings.h"

static int print(const struct comms_view *view, bool json, FILE *out, struct err *err)
{
    if (json)
        return json_value_print(comms_to_json(view), 1, err);
    bool color = terminal_has_color(fileno(out));
    comms_print(view, out);
    findings_print_first(&view->findings, out, color);
    findings_print(&view->findings, out, color);
    return 0;
}

int comms_show(const struct comms_showing *showing, struct comms_found *found)
{
    struct err err = {0};
    struct comms_view view;
    bool refused;
    int rc = comms_view_read(showing->directory, &view, &refused, &err);
    *found = (struct comms_found){view.logs.n, view.copies.nlogs, view.unread.n};
    bool any = found->logs || found->copies;
    if (!rc && any)
        rc = print(&view, showing->json, showing->out, &err);
    if (rc)
        log_error("%s", err.msg);
    int code = !rc ? EXIT_GOOD : refused ? EXIT_USAGE : EXIT_NOT_RUN;
    if (!rc && any && showing->files) {
        (void)fflush(showing->out);
        code = comms_files_write(showing->directory, showing->html, &view);
    }
    comms_view_free(&view);
    return code;
}

int comms_show_logs(const struct comms_showing *showing)
{
    struct comms_found found;
    int code = comms_show(showing, &found);
    if (!code && !found.logs && !found.copies) {
        log_error("no log (*" COMMS_SUFFIX ") in '%s'", showing->directory);
        return EXIT_USAGE;
    }
    return code;
}
