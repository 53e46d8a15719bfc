/*
 * Pictures of a fleet: a line a figure, on it a dot a machine, the bounds, and the odd machines
 * with their names. As many pictures as there are figures, FLEET_LINES_A_PICTURE each, those with
 * odd machines first: fleet_01.dat, .svg, .png and so on, drawn by plots/fleet.gp.
 */
#ifndef CONTEND_VALIDATE_FIGURES_FLEET_H
#define CONTEND_VALIDATE_FIGURES_FLEET_H

#include "harness/lib/sys/signals.h"
#include "harness/validate/fleet/judge.h"

enum { FLEET_LINES_A_PICTURE = 30, FLEET_PICTURES = 40 };

/*
 * Into that directory, in the place of files of these names. *pictures says how many there are.
 * Errors: -ENOMEM, those of gnuplot_run (-ENOENT: no gnuplot; then the .dat files are there), and
 * what writing gives.
 */
int fleet_draw(const struct fleet *fleet, const struct bounds *bounds,
               const struct fleet_judgement *judgement, int dir_fd, struct signals *signals,
               size_t *pictures, struct err *err);

#endif
