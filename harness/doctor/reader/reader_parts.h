/* Shared by the files of the reader. */
#ifndef CONTEND_DOCTOR_READER_READER_PARTS_H
#define CONTEND_DOCTOR_READER_READER_PARTS_H

#include "harness/doctor/reader/reader.h"

enum { READER_STAT_MAX = 1024 };

/* Opens for reading; -1 where it cannot be had. */
int reader_open_file(int dir_fd, const char *name);

/*
 * Reads from the start what fits, with a 0 behind it. *fd: kept open, 0 = not opened yet; where
 * there are no descriptors left, it is opened for each time. False: it is not there (any more), or
 * not ours to read.
 */
bool reader_read(int dir_fd, const char *name, int *fd, char *buf, size_t size);

/* The whole of a long file, in reader->text; NULL where it cannot be read. */
char *reader_read_long(struct reader *reader, int dir_fd, const char *name);

/* A stat file of a process or a task. */
struct reader_stat {
    char name[VIEW_NAME_MAX];
    char state;
    pid_t parent;
    bool kernel, realtime, nicest; /* as in view_process */
    uint64_t user_ticks, system_ticks, start_ticks;
    unsigned threads;
    int cpu;
};
bool reader_parse_stat(const char *text, struct reader_stat *stat);

/* The mask of a task, as an index in the view; -1 where it is not told. */
int reader_mask(struct reader *reader, const struct view_process *process, pid_t tid);

/* Lists the tasks, masks with them, and reads their times; false: the process is gone. */
bool reader_list_tasks(struct view_process *process);
/* Reads times; `mark`: differences begin here. Without reading they begin at what was read last. */
void reader_read_tasks(struct reader *reader, struct view_process *process, bool mark);
void reader_mark_tasks(const struct reader *reader, struct view_process *process);
void reader_close_tasks(struct view_process *process);

/*
 * Begins to look at what busy tasks of watched processes do on a CPU; what they did since is in the
 * view with the other. Refused, or nothing found: that stays unknown.
 */
void reader_begin_samples(struct reader *reader);
void reader_finish_samples(struct reader *reader);
void reader_close_sample(struct view_task *task);

/* Reads how a process and all above it were started, where that is not known yet. */
int reader_read_starts(struct reader *reader, struct view_process *process, struct err *err);

/* Reads the parts that never change. */
int reader_read_about(struct reader *reader, struct view_process *process, struct err *err);

/* The cgroups of a process, and those above them. */
int reader_add_cgroups(struct reader *reader, struct view_process *process, struct err *err);
void reader_read_cgroups(struct reader *reader, bool mark);

/* Whether /proc shows us all processes, and else who would see them: after they were listed. */
void reader_find_hidden(struct reader *reader);
/* Notes it as one that is there and hidden; false: it is not there. */
bool reader_add_hidden(struct reader *reader, pid_t pid);

/* CPUs, pressure and load; nodes once. */
int reader_open_machine(struct reader *reader, struct err *err);
int reader_read_machine(struct reader *reader, bool mark, struct err *err);

/* Differences begin at the last reading. */
void reader_roll_machine(struct reader *reader);
void reader_roll_cgroups(struct reader *reader);

/* The number behind `at`, blanks skipped; at the first character behind it. */
static inline const char *reader_number(const char *at, uint64_t *value)
{
    uint64_t sum = 0;
    while (*at == ' ' || *at == '\t')
        at++;
    for (; *at >= '0' && *at <= '9'; at++)
        sum = 10 * sum + (uint64_t)(*at - '0');
    *value = sum;
    return at;
}

#endif
