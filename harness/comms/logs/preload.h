/*
 * What our plugin does inside somebody else's process: it says in one line why it is off,
 * and makes its log, a file of fixed size that is mapped, so that a process that is killed leaves
 * what it had. Nothing fails the caller; errno is not kept.
 *
 * Where a mapped page can fail later, which would kill the program (a full disk under a file system
 * that copies on write, a server that is gone), or where that is not known (overlayfs), the log is
 * memory of our own, and a thread of ours copies it into the file: what a process did that is
 * killed is lost from the last copy on. CONTEND_COMMS_MAPPED=0: so it is everywhere.
 */
#ifndef CONTEND_COMMS_LOGS_PRELOAD_H
#define CONTEND_COMMS_LOGS_PRELOAD_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "harness/comms/logs/record.h"

/* `code`: an errno to be told in words, or 0. One write, so that lines of processes do not mix. */
void preload_report_off(const char *why, const char *what, int code);

uint64_t preload_now_ns(clockid_t clock);

struct preload_file {
    char host[COMMS_HOST_MAX];
    char path[PATH_MAX], unfinished[PATH_MAX + 8];
    size_t size;
    void *bytes; /* zeroed, of whole words; shared with the file, whose blocks are all there, or: */
    bool apart;  /* memory of our own, that preload_file_save copies */
};

/* The header of its log; `interface` as there. */
struct comms_header preload_header(const struct preload_file *file, uint32_t interface);

/* Under an unfinished name in CONTEND_COMMS_DIR. False: it is said why not, and nothing is left. */
bool preload_file_create(struct preload_file *file, const char *suffix, size_t size);

/* Gives it its name: who lists the directory finds whole headers alone. False as above. */
bool preload_file_name(struct preload_file *file);

/*
 * Replaces the file by what `bytes` are now: at once, so that a reader finds one whole copy. They
 * are copied from their end to their beginning, word by word: what a record says of others is to
 * stand behind them. Returns 0 or an errno; the copy before is then still there.
 */
int preload_file_save(const struct preload_file *file);

/* A thread of ours, all signals blocked, that looks now and then. Begins with a lock alone. */
struct preload_thread {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool wanted, ends; /* under the lock: not to pause any longer, and for the last time */
};
/* 0 or an errno. */
int preload_thread_start(struct preload_thread *ours, void *(*run)(void *arg));
/* In it: up to so many ms, unless it is wanted, which then is over. True: the program ends. */
bool preload_thread_pause(struct preload_thread *ours, long ms);
/* The program ends: tells it, and waits for it no longer than so many ms. */
void preload_thread_end(struct preload_thread *ours, long ms);

/* Where a table of functions has one of a library. */
struct preload_symbol {
    const char *name;
    size_t offset;
};
/* All of them, or false and none. */
bool preload_find_symbols(void *library, const struct preload_symbol *symbols, size_t n,
                          void *table);

/* Instead: it is unmapped and taken away, after a line. */
void preload_file_drop(struct preload_file *file, int code);

#endif
