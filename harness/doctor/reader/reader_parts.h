/* Shared by the files of the reader. */
#ifndef CONTEND_DOCTOR_READER_READER_PARTS_H
#define CONTEND_DOCTOR_READER_READER_PARTS_H

#include "harness/doctor/reader/reader.h"
#include "harness/lib/sys/task.h"

/* Opens a file for reading; -1 on errors. */
int reader_open_file(int dir_fd, const char *name);

/*
 * Reads the start of a file, as much as fits, and adds a 0. *fd: 0 = not opened yet, then kept
 * open; -1 = opens and closes the file in this call. False: gone or not permitted.
 */
bool reader_read(int dir_fd, const char *name, int *fd, char *buf, size_t size);

/* Reads a whole long file into reader->text; NULL on errors. */
char *reader_read_long(struct reader *reader, int dir_fd, const char *name);

/* Index in view.masks of the mask of a task; -1 = unknown. */
int reader_mask(struct reader *reader, const struct view_process *process, pid_t tid);

/* Reads the masks of its tasks, of the process and of its parent. True: one has changed. */
bool reader_read_masks(struct reader *reader, struct view_process *process);

/* Lists the tasks of a process; false: the process is gone. */
bool reader_list_tasks(struct view_process *process);
/* Reads times; `mark`: differences start here. reader_mark_tasks starts them at the last read. */
void reader_read_tasks(struct reader *reader, struct view_process *process, bool mark);
void reader_mark_tasks(const struct reader *reader, struct view_process *process);
void reader_close_tasks(struct view_process *process);
/* Reads the traffic with storage; needs the right to trace the process. */
void reader_read_disk(struct view_process *process, bool mark);

/*
 * Starts sampling busy tasks of watched processes; reader_finish_samples adds the results to the
 * view. If it is not permitted or finds nothing, they stay unknown.
 */
void reader_begin_samples(struct reader *reader);
void reader_finish_samples(struct reader *reader);
void reader_close_sample(struct view_task *task);

/* Reads arguments and environment of a process and its ancestors, if not read yet. */
int reader_read_starts(struct reader *reader, struct view_process *process, struct err *err);

/* The enum view_library of a file; 0 = none. */
unsigned reader_library(const char *path);

/* The y of Go 1.y that built the file `exe` of the folder; 1 = unknown, 0 = it is no Go program. */
unsigned reader_go_minor(int dir_fd);

/* Reads the parts that do not change (view_about). */
int reader_read_about(struct reader *reader, struct view_process *process, struct err *err);

/* Reads once the autogroup of a process, and adds its cgroups and their ancestors to the view. */
int reader_read_weights(struct reader *reader, struct view_process *process, struct err *err);
void reader_read_cgroups(struct reader *reader, bool mark);

/* Finds out if /proc hides processes, and who could see them. Call after they were listed. */
void reader_find_hidden(struct reader *reader);
/* Notes pid as hidden; false: there is no such process. */
bool reader_add_hidden(struct reader *reader, pid_t pid);

/* Reads CPUs, pressure and load, and once the nodes. */
int reader_open_machine(struct reader *reader, struct err *err);
int reader_read_machine(struct reader *reader, bool mark, struct err *err);

/* Differences start at the last read. */
void reader_roll_machine(struct reader *reader);
void reader_roll_cgroups(struct reader *reader);

#endif
