/* Shows the logs of a directory. */
#ifndef CONTEND_COMMS_SHOW_H
#define CONTEND_COMMS_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "harness/comms/view.h"
#include "harness/lib/sys/signals.h"
#include "harness/machine/gpu_links.h"
#include "harness/show/doc.h"
#include "harness/show/html.h"

struct comms_showing {
    const char *directory;
    bool json, files; /* files: also write CSV, figures and the page beside the logs */
    bool verbose;
    FILE *out;
    double last_s; /* 0 = all; see comms_logs_keep_last */
};

struct comms_found {
    size_t logs, unread; /* logs that were read; files that could not be read */
};

/* Returns an exit code; logs a message unless it is EXIT_GOOD. */
int comms_show(const struct comms_showing *showing, struct comms_found *found);

/* Likewise; EXIT_USAGE if there is no log. */
int comms_show_logs(const struct comms_showing *showing);

/* Writes the links of this machine's GPUs, for readers of the logs on another machine. */
void comms_files_add_links(const char *directory, const struct gpu_link *link, size_t n);

/*
 * The traffic over NCCL as one HTML page, like the page of a result (html.h): no network, no
 * script, escaped texts, light or dark, also for a phone.
 */
struct html_comms {
    const char *path; /* of the directory, as the user named it */
    const struct comms_view *view;
    size_t nfigures; /* as gnuplot drew them */
    const struct html_figure *figures;
};

/* -EIO: it could not be written. */
int html_comms_print(const struct html_comms *page, FILE *out, struct err *err);

/*
 * Writes the traffic in a directory of logs as CSV beside them: matrix.csv, calls.csv, ranks.csv
 * and timeline.csv. results/README.md explains their columns. Quoting as in csv.h; communicators
 * count from 1, as in all output for people.
 */

/*
 * links.csv: the links of the GPUs of that host, which only the host itself can find out. Writes
 * nothing without links, or if a line cannot hold the host's name. -EEXIST: a file of that name is
 * not of contend, and stays; or an error of writing.
 */
int comms_ports_write(int dir_fd, const char *host, const struct gpu_link *link, size_t n,
                      struct err *err);

/*
 * Figures of the traffic over NCCL, in plots/ of a directory of logs: comms_bytes (between GPUs),
 * comms_timeline (bytes over time by collective), comms_sizes (calls by size).
 */

enum { COMMS_DRAWN_GPUS = 1024 }; /* with more GPUs no map is drawn */

/*
 * Writes the .dat files, and draws them. A figure without data is left out, and its earlier files
 * are removed. Without gnuplot it logs that once and returns 0. Errors: those of gnuplot_run and of
 * writing files. `signals` may be NULL.
 */
int comms_figures_draw(const struct comms_view *view, int dir_fd, struct signals *signals,
                       struct err *err);

/* The traffic over NCCL, as text and tables for people. */

/* The bytes between GPUs, the findings, and the matrix of bytes: from GPU to GPU for several
 * communicators, from rank to rank for one. Borrows the findings. */
void comms_add_verdict_to_doc(const struct comms_view *view, struct doc *doc);

/* Links, NVLink's counters, the calls of each communicator; folded, its ranks and further
 * matrices. */
void comms_add_tables_to_doc(const struct comms_view *view, struct doc *doc);

#endif
