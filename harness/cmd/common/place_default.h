/* The default placement of 'contend place', and the evidence for it. */
#ifndef CONTEND_CMD_COMMON_PLACE_DEFAULT_H
#define CONTEND_CMD_COMMON_PLACE_DEFAULT_H

#include "harness/machine/topo.h"
#include "harness/show/json/recommended.h"

/*
 * Finds the newest result below results/ with this machine, workload and number of workers. False:
 * none.
 */
bool place_find_measured(const struct topo *topo, unsigned workers, const char *const *job,
                         struct recommended *found);

/* "recommended by results/h/20261125T1200Z-pipeline (pipeline): sized, 18x the default". In buf. */
const char *place_format_measured(const struct recommended *found);

/* Says that the placement is not measured, and which command measures. */
const char *place_format_nearest(const char *placement, const char *const *job);

/* Prints the text of --emit, with the note as a comment in that text's language. */
void place_print_noted(const char *text, const char *note);

#endif
