/*
 * A disk that fails on demand, for a process that is started with LD_PRELOAD naming this library. The file
 * that FAILING_DISK names is mapped: four 32-bit numbers, the errno with which writes, syncs, reads and openings for
 * writing are to fail (0: they work), a fifth one N (only every Nth of these calls fails, in an order that looks
 * random; 0 and 1: all fail), then at byte 64 the text that a path must hold to be concerned.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WRITE, SYNC, READ, OPEN, ONE_IN, CONTROL_BYTES = 4096, PATH_AT = 64 };

static volatile int32_t *control;

__attribute__((constructor)) static void map_control(void) {
  const char *path = getenv("FAILING_DISK");
  int file = path ? open(path, O_RDONLY) : -1;
  if (file < 0) return;
  void *mapped = mmap(NULL, CONTROL_BYTES, PROT_READ, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) control = mapped;
  close(file);
}

static int concerns(const char *path) {
  const char *wanted = (const char *)control + PATH_AT;
  return strstr(path, wanted) != NULL;
}

/* Whether this call is one of those that fail. */
static int chosen(void) {
  static uint32_t state = 1;
  if (control[ONE_IN] <= 1) return 1;
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % (uint32_t)control[ONE_IN] == 0;
}

/* The errno with which this is to fail; 0 when it is to work. */
static int failure(int what, int file) {
  if (control == NULL || control[what] == 0) return 0;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return concerns(path) && chosen() ? control[what] : 0;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FAIL_IF(what, file)            \
  do {                                 \
    int code = failure(what, file);    \
    if (code != 0) {                   \
      errno = code;                    \
      return -1;                       \
    }                                  \
  } while (0)

ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t at) {
  static __typeof__(&pwrite64) real;
  if (!real) real = REAL(pwrite64);
  FAIL_IF(WRITE, file);
  return real(file, bytes, length, at);
}

ssize_t write(int file, const void *bytes, size_t length) {
  static __typeof__(&write) real;
  if (!real) real = REAL(write);
  FAIL_IF(WRITE, file);
  return real(file, bytes, length);
}

int ftruncate64(int file, off64_t length) {
  static __typeof__(&ftruncate64) real;
  if (!real) real = REAL(ftruncate64);
  FAIL_IF(WRITE, file);
  return real(file, length);
}

int fsync(int file) {
  static __typeof__(&fsync) real;
  if (!real) real = REAL(fsync);
  FAIL_IF(SYNC, file);
  return real(file);
}

int fdatasync(int file) {
  static __typeof__(&fdatasync) real;
  if (!real) real = REAL(fdatasync);
  FAIL_IF(SYNC, file);
  return real(file);
}

ssize_t pread64(int file, void *bytes, size_t length, off64_t at) {
  static __typeof__(&pread64) real;
  if (!real) real = REAL(pread64);
  FAIL_IF(READ, file);
  return real(file, bytes, length, at);
}

int open64(const char *path, int flags, ...) {
  static __typeof__(&open64) real;
  if (!real) real = REAL(open64);
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  int writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT);
  if (control != NULL && writes && control[OPEN] != 0 && concerns(path)) {
    errno = control[OPEN];
    return -1;
  }
  return real(path, flags, mode);
}
