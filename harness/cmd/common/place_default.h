/* The placement that 'contend place' plans where none is named, and the evidence for it. */
#ifndef CONTEND_CMD_COMMON_PLACE_DEFAULT_H
#define CONTEND_CMD_COMMON_PLACE_DEFAULT_H

#include "harness/machine/topo/topo.h"
#include "harness/store/read/recommended.h"

/*
 * The newest result below results/ of this machine, the workload and as many workers. False: there
 * is none.
 */
bool place_find_measured(const struct topo *topo, unsigned workers, const char *const *job,
                         struct recommended *found);

/* "recommended by results/h/20261125T1200Z-pipeline (pipeline): sized, 18x the default". In buf. */
char *place_format_measured(const struct recommended *found, char *buf, size_t size);

/* "not measured: numa is the nearest placement ...", with what would measure it. Returns buf. */
char *place_format_nearest(const char *placement, const char *const *job, char *buf, size_t size);

/* The text of --emit, with the note as a comment in the language of that text. */
void place_print_noted(const char *text, const char *note);

#endif
