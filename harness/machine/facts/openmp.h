/*
 * The effects of the user's own settings of OpenMP on workers, which inherit them. Pure: `get` is
 * getenv, or a test's own.
 */
#ifndef CONTEND_MACHINE_FACTS_OPENMP_H
#define CONTEND_MACHINE_FACTS_OPENMP_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The one setting that is not passed on: libgomp (of gcc 12) binds by it to CPUs that the process
 * was not given, too, so that no placement would hold. The number of threads is the plan's.
 */
#define OPENMP_NOT_FOR_WORKERS "GOMP_CPU_AFFINITY"

enum { OPENMP_NOTES_MAX = 8, OPENMP_NOTE_MAX = 280 };

struct openmp_notes {
    size_t n;
    char text[OPENMP_NOTES_MAX][OPENMP_NOTE_MAX];
};

/* True where libgomp is told to bind threads. Its constructor then binds the first one. */
bool openmp_binds(char *(*get)(const char *name));

/* A sentence on each setting that makes workers of up to `threads` threads other than planned. */
void openmp_report(char *(*get)(const char *name), unsigned threads, struct openmp_notes *notes);

#endif
