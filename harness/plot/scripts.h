/*
 * The gnuplot scripts of plots/, as NUL-terminated text in the program. The build generates their
 * source from the files, so that an installed program needs none beside it.
 */
#ifndef CONTEND_PLOT_SCRIPTS_H
#define CONTEND_PLOT_SCRIPTS_H

extern const char plot_common_gp[];
extern const char plot_efficiency_gp[];
extern const char plot_step_time_gp[];
extern const char plot_loss_gp[];
extern const char plot_occupancy_gp[];
extern const char plot_latency_curve_gp[];
extern const char plot_loaded_latency_gp[];
extern const char plot_bandwidth_gp[];
extern const char plot_cache_thrash_gp[];
extern const char plot_by_size_gp[];
extern const char plot_heat_map_gp[];

#endif
