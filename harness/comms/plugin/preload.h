/*
 * For the plugin inside the process of another program: reports in one line why it is off, and
 * makes its log. The log is a mapped file of fixed size, so that a killed process leaves what it
 * had. No function fails the caller; errno is not kept.
 *
 * On some file systems a mapped page can fail later, which would kill the program: a full disk
 * under copy on write, or a server that is gone. There, and where that is unknown (overlayfs), the
 * log is private memory, and a thread of the plugin copies it into the file. A killed process then
 * loses what it did after the last copy. CONTEND_COMMS_MAPPED=0 does the same on every file system.
 */
#ifndef CONTEND_COMMS_PLUGIN_PRELOAD_H
#define CONTEND_COMMS_PLUGIN_PRELOAD_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "harness/comms/plugin/record.h"

/* `code`: an errno to report in words, or 0. One write, so that lines of processes do not mix. */
void preload_report_off(const char *why, const char *what, int code);

uint64_t preload_now_ns(clockid_t clock);

struct preload_file {
    char host[COMMS_HOST_MAX];
    char path[PATH_MAX], unfinished[PATH_MAX + 8];
    size_t size;
    void *bytes; /* zeroed, whole words; shared with the file, which has all its blocks, unless: */
    bool is_private; /* private memory, which preload_file_save copies */
};

/* The header of the log in `file`; `interface` as in struct comms_header. */
struct comms_header preload_header(const struct preload_file *file, uint32_t interface);

/* Creates a file with an unfinished name in CONTEND_COMMS_DIR. False: the reason was reported, and
 * no file remains. */
bool preload_file_create(struct preload_file *file, const char *suffix, size_t size);

/* Gives the file its final name, so that readers find only whole headers. False as above. */
bool preload_file_name(struct preload_file *file);

/*
 * Replaces the file by a copy of the present `bytes`, in one step, so that a reader finds a whole
 * copy. Copies word by word from the end to the beginning: a record must lie after the records that
 * it refers to, which are then copied later. Returns 0, or an errno: the previous copy then
 * remains.
 */
int preload_file_save(const struct preload_file *file);

/* A periodic thread of the plugin, with all signals blocked. Initialise only `lock`. */
struct preload_thread {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool wanted, ends; /* under the lock: end the pause; this is the last time */
};
/* Starts it; 0 or an errno. */
int preload_thread_start(struct preload_thread *saver, void *(*run)(void *arg));
/* Called in the thread: pauses up to `ms`, or until `wanted`, and clears that. True: the program
 * ends. */
bool preload_thread_pause(struct preload_thread *saver, long ms);
/* Called when the program ends: sets `ends`, and waits up to `ms` for the thread. */
void preload_thread_end(struct preload_thread *saver, long ms);

/* A function of a library, and its offset in a table of function pointers. */
struct preload_symbol {
    const char *name;
    size_t offset;
};
/* Fills the table with all symbols, or returns false and fills none. */
bool preload_find_symbols(void *library, const struct preload_symbol *symbols, size_t n,
                          void *table);

/* In place of preload_file_name: reports the reason, removes the file and unmaps it. */
void preload_file_drop(struct preload_file *file, int code);

#endif
