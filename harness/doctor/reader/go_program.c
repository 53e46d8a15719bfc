/*
 * Recognizes programs of Go by the section .go.buildinfo of their ELF file, and reads the version:
 * since Go 1.18, a string behind the first 32 bytes (debug/buildinfo of Go's library). Declared in
 * reader_parts.h.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/doctor/reader/reader_parts.h"

enum { HEAD = 32, INFO = HEAD + 16 };

static bool read_at(int fd, void *out, size_t size, uint64_t at)
{
    return pread(fd, out, size, (off_t)at) == (ssize_t)size;
}

/* Reads the start of the section of that name. */
static bool read_section(int fd, const char *name, char *out, size_t size)
{
    Elf64_Ehdr file;
    Elf64_Shdr names, section;
    char its[32];
    const size_t length = strlen(name) + 1;
    if (!read_at(fd, &file, sizeof(file), 0) || memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 ||
        file.e_ident[EI_CLASS] != ELFCLASS64 || file.e_shentsize != sizeof(section) ||
        !read_at(fd, &names, sizeof(names),
                 file.e_shoff + (uint64_t)file.e_shstrndx * sizeof(section)))
        return false;
    for (unsigned i = 0; i < file.e_shnum; i++) {
        if (!read_at(fd, &section, sizeof(section), file.e_shoff + (uint64_t)i * sizeof(section)))
            return false;
        if (length <= sizeof(its) && section.sh_size >= size &&
            read_at(fd, its, length, names.sh_offset + section.sh_name) &&
            memcmp(its, name, length) == 0)
            return read_at(fd, out, size, section.sh_offset);
    }
    return false;
}

unsigned reader_go_minor(int dir_fd)
{
    static const char magic[] = "\xff Go buildinf:";
    enum { FLAGS = 15, IS_INLINE = 2 };
    char info[INFO + 1] = "";
    unsigned minor = 0;
    int fd = reader_open_file(dir_fd, "exe");
    bool is_go = fd >= 0 && read_section(fd, ".go.buildinfo", info, INFO) &&
                 memcmp(info, magic, sizeof(magic) - 1) == 0;
    if (fd >= 0)
        (void)close(fd);
    if (is_go && info[FLAGS] & IS_INLINE && strncmp(info + HEAD + 1, "go1.", 4) == 0)
        minor = (unsigned)strtoul(info + HEAD + 5, NULL, 10);
    return is_go && !minor ? 1 : minor;
}
