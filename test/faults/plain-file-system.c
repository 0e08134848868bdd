/*
 * A file system without hard links, without modes, and whose directories cannot be synced, such as an SMB share or
 * exFAT. PLAIN_ERRNO is the number with which links fail.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

static int refuse(int number) {
  errno = number;
  return -1;
}

static int link_errno(void) {
  const char *text = getenv("PLAIN_ERRNO");
  return text ? atoi(text) : EPERM;
}

int link(const char *from, const char *to) { return refuse(link_errno()); }
int linkat(int from_directory, const char *from, int to_directory, const char *to, int flags) { return refuse(link_errno()); }
int chmod(const char *path, mode_t mode) { return refuse(EPERM); }
int fchmod(int file, mode_t mode) { return refuse(EPERM); }
int fchmodat(int directory, const char *path, mode_t mode, int flags) { return refuse(EPERM); }

int fsync(int file) {
  static int (*next)(int);
  struct stat status;
  if (!next) next = dlsym(RTLD_NEXT, "fsync");
  if (fstat(file, &status) == 0 && S_ISDIR(status.st_mode)) return refuse(EINVAL);
  return next(file);
}
