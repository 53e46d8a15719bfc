/* A made-up machine for the checks of contend doctor, without a /proc: four CPUs on two nodes,
 * watched for ten seconds, and as many workers as a test asks for. */
#ifndef CONTEND_TESTS_LIB_FIXTURE_VIEW_H
#define CONTEND_TESTS_LIB_FIXTURE_VIEW_H

#include "harness/doctor/checks/check.h"
#include "harness/doctor/reader/host.h"

enum { CPUS = 4, WORKERS_MOST = 4, WALL_S = 10 };

extern struct machine {
    struct view view;
    struct view_process processes[WORKERS_MOST];
    struct view_task tasks[WORKERS_MOST][4];
    struct view_about about[WORKERS_MOST];
    struct bitset masks[CPUS + 3]; /* each CPU, then 0-1, 2-3 and 0-3 */
    struct view_cpu cpus[CPUS];
    struct view_cgroup group;
    struct host host; /* of view_plant_topo */
    struct topo topo;
} machine;
enum { MASK_LOW = CPUS, MASK_HIGH, MASK_ALL };

struct bitset view_range(unsigned first, unsigned last);

/* All CPUs are idle; the processes have the pids 100, 101, ... */
void view_plant(size_t workers);

/* Adds a topology, in hwloc's synthetic notation. */
void view_plant_topo(const char *synthetic);

/* Add a thread to a worker, and set what a CPU did. */
void view_add_task(size_t worker, int mask, double oncpu_s, double wait_s);
void view_occupy(unsigned cpu, double busy_s);
void view_occupy_all(double busy_s);

/* Puts a worker into a cgroup without a quota; or worker 0 into one with a quota that stopped it in
 * so many of 100 periods. */
void view_put_in_group(size_t worker, const char *path);
void view_limit(double quota_cpus, unsigned stopped, double stopped_s);

/* Adds `backup` (900), on CPU 2 for half of the time and not watched, beside one worker. */
struct view_process *view_add_backup(unsigned threads);

/* The worker uses GPU `gpu` (0 or 1), which is near the node of the same number. */
void view_use_gpu(size_t worker, unsigned gpu);

/* Makes the diagnosis. Fails if a finding prints a command that would change nothing. */
extern struct diagnosis diagnosis;
void view_judge(void);
/* The first finding of that id; NULL if there is none. */
const struct found *view_look_for(const char *id);
/* The same; fails the test if there is none. */
const struct found *view_found(const char *id);
/* view_judge(), then: view_found(), also as the first finding; no such finding; none at all. */
const struct found *view_judge_found(const char *id);
const struct found *view_judge_first(const char *id);
void view_judge_lacks(const char *id);
void view_judge_none(void);

#endif
