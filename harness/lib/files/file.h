/* Files read and written whole: short reads and writes and interrupted ones are gone on with. */
#ifndef CONTEND_LIB_FILES_FILE_H
#define CONTEND_LIB_FILES_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A regular file that may be executed. */
bool file_is_program(const char *path);

/*
 * The first program of that name in PATH, as execvp(3) finds one; `absolute`: only in directories
 * with an absolute name, as one in the working directory is somebody else's. 0 or -ENOENT.
 */
int file_find_program(const char *name, bool absolute, char *path, size_t size);

/*
 * Opens for writing, empty and closed on exec; a link of that name is not followed. Returns the
 * descriptor, or a negative errno.
 */
int file_open_empty(int dir_fd, const char *name);

/*
 * Lists a folder, which is closed behind its last entry; who stops before that closes it. NULL, a
 * folder that cannot be opened, has no entries.
 *
 *   DIR *files = file_open_folder(dir_fd, name);
 *   for (struct dirent *file; (file = file_next(&files));)
 */
DIR *file_open_folder(int dir_fd, const char *name);
struct dirent *file_next(DIR **folder);

/* Writes all of it at that offset. 0 or a negative errno: then a part of it may be there. */
int file_write_at(int fd, const char *text, size_t size, off_t offset);

/*
 * Reads a regular file of at most `most` bytes whole, with a 0 behind it; a link is not followed.
 * free() *text. -EINVAL no regular file, -EFBIG larger, or another negative errno.
 */
int file_read(int dir_fd, const char *name, size_t most, char **text, size_t *size);

/*
 * Writes it as a new file beside (NAME.tmp), which then takes the place of one that has the name:
 * who reads finds one of the two, and no link is followed. 0 or a negative errno: then the old one
 * is there still.
 */
int file_replace(int dir_fd, const char *name, const char *text, size_t size);

/*
 * Puts all that was written on the disk, whatever becomes of the machine. Call it before a rename,
 * or the new name may be of an empty file. 0 or a negative errno.
 */
int file_sync(int fd);

/* Writes the file anew, and to the disk. 0 or a negative errno: then there is no file of that name.
 */
int file_write(int dir_fd, const char *name, const char *text, size_t size);

#endif
