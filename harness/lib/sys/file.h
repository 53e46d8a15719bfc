/* Reads and writes whole files; continues after short or interrupted reads and writes. */
#ifndef CONTEND_LIB_SYS_FILE_H
#define CONTEND_LIB_SYS_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "harness/lib/err.h"

/* True for a regular file that this process may execute. */
bool file_is_program(const char *path);

/*
 * Finds the first program of that name in PATH, as execvp(3) does. `absolute`: only in directories
 * with an absolute path, as anybody may have put a program into the working directory. 0 or
 * -ENOENT.
 */
int file_find_program(const char *name, bool absolute, char *path, size_t size);

/*
 * Opens an empty file for writing, with O_CLOEXEC; does not follow a link. Returns the descriptor,
 * or a negative errno.
 */
int file_open_empty(int dir_fd, const char *name);

/*
 * Lists a folder. file_next closes it after the last entry; a caller that stops earlier calls
 * closedir. NULL: it cannot be opened; file_next then finds no entries.
 *
 *   DIR *files = file_open_folder(dir_fd, name);
 *   for (struct dirent *file; (file = file_next(&files));)
 */
DIR *file_open_folder(int dir_fd, const char *name);
struct dirent *file_next(DIR **folder);

/* Writes all bytes at that offset. 0 or a negative errno: then part of them may be written. */
int file_write_at(int fd, const char *text, size_t size, off_t offset);

/*
 * Reads a whole regular file of at most `most` bytes and appends a NUL; does not follow a link.
 * The caller frees *text. -EINVAL: no regular file; -EFBIG: larger; or another negative errno.
 */
int file_read(int dir_fd, const char *name, size_t most, char **text, size_t *size);
/* The same for an open file. */
int file_read_open(int fd, size_t most, char **text, size_t *size);

/*
 * Writes a new file in the same folder and renames it to NAME, so that a reader sees the old or a
 * new file, never a part, however many write at once; does not follow a link. 0 or a negative
 * errno: then the old file is unchanged.
 */
int file_replace(int dir_fd, const char *name, const char *text, size_t size);

/* Removes what writers that were killed in file_replace left in a folder. */
void file_remove_begun(int dir_fd);

/*
 * Flushes the file to the disk (fsync), so that it survives a crash of the machine. Without it, a
 * later rename may leave an empty file under the new name. 0 or a negative errno.
 */
int file_sync(int fd);

/* Writes and flushes a file, from empty. 0 or a negative errno: then the file is removed. */
int file_write(int dir_fd, const char *name, const char *text, size_t size);

/*
 * A file to which whole parts are appended. If a part cannot be written (disk full), or is cut off
 * again, the parts before it remain.
 */

/* Zeroed = closed. */
struct growing_file {
    bool is_open;
    int fd;
    off_t valid_bytes; /* end of the last whole part; bytes after it are invalid */
    const char *name;  /* borrowed, for messages */
};

/* Creates or empties the file. */
int growing_open(struct growing_file *file, int dir_fd, const char *name, struct err *err);

/* Appends all or, on error, nothing. After an error the file stays open: a later part may fit. */
int growing_append(struct growing_file *file, const void *data, size_t size, struct err *err);

/* Cuts the file back to an earlier valid_bytes. */
void growing_cut(struct growing_file *file, off_t valid_bytes);

/* Flushes all appended parts to the disk. */
int growing_sync(const struct growing_file *file, struct err *err);

/* Does nothing if closed. An error means that parts may not be on the disk. */
int growing_close(struct growing_file *file, struct err *err);

#endif
