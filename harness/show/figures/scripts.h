/*
 * The gnuplot scripts of plots/, as NUL-terminated text. The build generates their source from the
 * files, so that an installed program does not need the files.
 */
#ifndef CONTEND_SHOW_FIGURES_SCRIPTS_H
#define CONTEND_SHOW_FIGURES_SCRIPTS_H

extern const char plot_common_gp[];
extern const char plot_efficiency_gp[];
extern const char plot_step_time_gp[];
extern const char plot_loss_gp[];
extern const char plot_occupancy_gp[];
extern const char plot_line_chart_gp[];
extern const char plot_bar_chart_gp[];
extern const char plot_heat_map_gp[];
extern const char plot_dot_chart_gp[];
extern const char plot_history_gp[];

#endif
