/* Ports of RDMA devices: state, rate, errors. Declared in facts.h. */
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/array.h"
#include "harness/lib/str.h"
#include "harness/lib/sys/proc.h"
#include "harness/lib/text.h"
#include "harness/machine/facts.h"

/* The number before ": ACTIVE" or " Gb/sec (4X NDR)"; NaN = none. */
static double read_first_number(const char *port, const char *file)
{
    char text[PROC_TEXT_MAX], *end;
    if (!PROC_TEXT("", text, "%s/%s", port, file))
        return NAN;
    double number = strtod(text, &end);
    return end == text || !isfinite(number) ? (double)NAN : number;
}

static int read_code(const char *port, const char *file)
{
    double code = read_first_number(port, file);
    return code >= 0 && code < INT_MAX ? (int)code : -1;
}

static void read_port(const char *path, struct facts_port *port)
{
    const char *device = str_fmt("%s", path);
    char *number = strrchr(device, '/') + 1, *ports = number - strlen("/ports/");
    *ports = '\0';
    const char *name = strrchr(device, '/') + 1;
    *port = (struct facts_port){.rate_gbps = read_first_number(path, "rate")};
    (void)snprintf(port->name, sizeof(port->name), "%.40s port %.8s", name, number);
    (void)text_one_line(port->name);
    if (!PROC_TEXT("", port->model, "%s/board_id", device))
        (void)PROC_TEXT("", port->model, "%s/hca_type", device);
    port->state = read_code(path, "state");
    port->physical = read_code(path, "phys_state");
    port->symbol_errors = proc_read_number("", "%s/counters/symbol_error", path);
    port->recoveries = proc_read_number("", "%s/counters/link_error_recovery", path);
    port->downs = proc_read_number("", "%s/counters/link_downed", path);
    port->receive_errors = proc_read_number("", "%s/counters/port_rcv_errors", path);
}

int facts_read_rdma(const char *root, struct facts *facts, struct err *err)
{
    size_t capacity = 0;
    glob_t found = {0};
    int rc = 0;
    const char *pattern = str_fmt("%s/sys/class/infiniband/*/ports/*", root);
    (void)glob(pattern, 0, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc && !rc; i++) {
        struct facts_port *added = array_add(facts->ports, facts->nports, capacity);
        if (added)
            read_port(found.gl_pathv[i], added);
        else
            rc = err_set(err, -ENOMEM, "no memory for the ports of RDMA devices");
    }
    globfree(&found);
    return rc;
}
