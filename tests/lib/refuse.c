/*
 * refuse SYSCALL ERRNO COMMAND...: runs a command for which the kernel answers a system call with
 * an error, as a sandbox does. Exit code 77 if the kernel does not allow such a filter.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { EXIT_SKIP = 77, EXIT_UNKNOWN = 2 };

struct name {
    const char *name;
    unsigned number;
};

static const struct name calls[] = {{"wait4", SYS_wait4},
                                    {"sched_getaffinity", SYS_sched_getaffinity},
                                    {"pidfd_open", SYS_pidfd_open},
                                    {"pidfd_send_signal", SYS_pidfd_send_signal},
                                    {"fsync", SYS_fsync},
                                    {"io_uring_setup", SYS_io_uring_setup},
                                    {"perf_event_open", SYS_perf_event_open},
                                    {"set_mempolicy", SYS_set_mempolicy},
                                    {"get_mempolicy", SYS_get_mempolicy},
                                    {"sched_setaffinity", SYS_sched_setaffinity},
                                    {NULL, 0}};
static const struct name errors[] = {
    {"ECHILD", ECHILD}, {"EPERM", EPERM}, {"ENOSYS", ENOSYS}, {"EIO", EIO}, {NULL, 0}};

static const struct name *find(const struct name *names, const char *name)
{
    while (names->name && strcmp(names->name, name) != 0)
        names++;
    return names->name ? names : NULL;
}

int main(int argc, char **argv)
{
    const struct name *call = argc > 3 ? find(calls, argv[1]) : NULL;
    const struct name *error = argc > 3 ? find(errors, argv[2]) : NULL;
    if (!call || !error) {
        (void)fprintf(stderr, "usage: refuse SYSCALL ERRNO COMMAND...\n");
        return EXIT_UNKNOWN;
    }
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call->number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error->number),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
        perror("SKIP: no system call can be refused here");
        return EXIT_SKIP;
    }
    (void)execvp(argv[3], argv + 3);
    perror(argv[3]);
    return EXIT_UNKNOWN;
}
