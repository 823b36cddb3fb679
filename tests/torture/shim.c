/* Counts what a process does to files below a folder, and kills it or fails at the n-th of them.

   Loaded by LD_PRELOAD; `torture_arm` begins to count. Python, polars (Rust) and safetensors all
   reach the disk through these calls of the C library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long done;
static long at;
static int failing; /* 0: kill; else the errno from then on */
static char under[4096];
static char mine[65536]; /* descriptors opened for writing below the folder */

void torture_arm(const char *folder, long n, int error) {
    strncpy(under, folder, sizeof under - 1);
    done = 0, at = n, failing = error;
}
long torture_count(void) { return done; }

static int below(const char *path) { return under[0] && path && strncmp(path, under, strlen(under)) == 0; }

static int hit(void) {
    long now = ++done;
    if (!at || now < at) return 0;
    if (!failing && now == at) { kill(getpid(), SIGKILL); for (;;) pause(); }
    if (failing) { errno = failing; return -1; }
    return 0;
}
#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define PATH(name, path, call, args) \
    int name args { REAL(name); if (below(path) && hit()) return -1; return real call; }

PATH(mkdir, p, (p, m), (const char *p, mode_t m))
PATH(rmdir, p, (p), (const char *p))
PATH(unlink, p, (p), (const char *p))
PATH(rename, b, (a, b), (const char *a, const char *b))
PATH(renameat2, b, (x, a, y, b, f), (int x, const char *a, int y, const char *b, unsigned f))
PATH(chmod, p, (p, m), (const char *p, mode_t m))

int unlinkat(int d, const char *p, int f) { /* of rmtree, relative to an open folder */
    REAL(unlinkat);
    if (under[0] && hit()) return -1;
    return real(d, p, f);
}

static int opened(int fd, int flags, const char *path) {
    if (fd >= 0 && fd < (int)sizeof mine) mine[fd] = below(path) && (flags & (O_WRONLY | O_RDWR));
    return fd;
}
#define OPEN(name) int name(const char *p, int flags, ...) { \
    REAL(name); va_list v; va_start(v, flags); mode_t m = va_arg(v, mode_t); va_end(v); \
    if (below(p) && (flags & (O_CREAT | O_TRUNC)) && hit()) return -1; \
    return opened(real(p, flags, m), flags, p); }
OPEN(open)
OPEN(open64)
#define OPENAT(name) int name(int d, const char *p, int flags, ...) { \
    REAL(name); va_list v; va_start(v, flags); mode_t m = va_arg(v, mode_t); va_end(v); \
    if (below(p) && (flags & (O_CREAT | O_TRUNC)) && hit()) return -1; \
    return opened(real(d, p, flags, m), flags, p); }
OPENAT(openat)
OPENAT(openat64)

#define WRITE(name, call, args) ssize_t name args { REAL(name); \
    if (fd >= 0 && fd < (int)sizeof mine && mine[fd] && hit()) return -1; return real call; }
WRITE(write, (fd, b, n), (int fd, const void *b, size_t n))
WRITE(writev, (fd, v, n), (int fd, const struct iovec *v, int n))
WRITE(pwrite64, (fd, b, n, o), (int fd, const void *b, size_t n, off64_t o))

int fsync(int fd) {
    REAL(fsync);
    if (under[0] && hit()) return -1;
    return real(fd);
}
int ftruncate64(int fd, off64_t n) {
    REAL(ftruncate64);
    if (fd >= 0 && fd < (int)sizeof mine && mine[fd] && hit()) return -1;
    return real(fd, n);
}
