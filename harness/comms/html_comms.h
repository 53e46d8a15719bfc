/*
 * The traffic over NCCL as one HTML page, like the page of a result (html.h): no network, no
 * script, escaped texts, light or dark, also for a phone.
 */
#ifndef CONTEND_COMMS_HTML_COMMS_H
#define CONTEND_COMMS_HTML_COMMS_H

#include "harness/comms/view.h"
#include "harness/show/html.h"

struct html_comms {
    const char *path; /* of the directory, as the user named it */
    const struct comms_view *view;
    size_t nfigures; /* as gnuplot drew them */
    const struct html_figure *figures;
};

/* -EIO: it could not be written. */
int html_comms_print(const struct html_comms *page, FILE *out, struct err *err);

#endif
