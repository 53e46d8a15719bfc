/*
 * Effects of the user's OpenMP settings on workers, which inherit them. Pure: `get` is getenv, or a
 * test's replacement.
 */
#ifndef CONTEND_MACHINE_OPENMP_H
#define CONTEND_MACHINE_OPENMP_H

#include <stdbool.h>
#include <stddef.h>

/*
 * This setting is not passed on to workers: with it, libgomp (of gcc 12) binds threads also to CPUs
 * outside of the process's mask, so no placement would hold. The plan sets the number of threads.
 */
#define OPENMP_NOT_FOR_WORKERS "GOMP_CPU_AFFINITY"

enum { OPENMP_NOTES_MAX = 8, OPENMP_NOTE_MAX = 280 };

struct openmp_notes {
    size_t n;
    char text[OPENMP_NOTES_MAX][OPENMP_NOTE_MAX];
};

/* True if libgomp is told to bind threads. Its constructor then binds the first thread. */
bool openmp_binds(char *(*get)(const char *name));

/* The user's OMP_NUM_THREADS, of a list its first number; 0 = none. */
unsigned openmp_threads(char *(*get)(const char *name));

/* Who gets the user's OMP_NUM_THREADS: no worker, as benchmarks size their teams themselves; a
 * command under placements that leave threads alone; or a command under all placements. */
enum openmp_use { OPENMP_FOR_NONE, OPENMP_FOR_DEFAULT, OPENMP_FOR_ALL };

/* Writes a sentence on each setting by which workers of up to `threads` threads leave the plan. */
void openmp_report(char *(*get)(const char *name), unsigned threads, enum openmp_use use,
                   struct openmp_notes *notes);

#endif
