#ifndef FLOOR_H
#define FLOOR_H

#include "frame.h"

struct plan {
  int workers;
  int outstanding;
  size_t in;        /* bytes of each job's arguments */
  size_t out;       /* bytes of each result; when it is `in`, the arguments are sent back */
  double seconds;
  uint64_t jobs;    /* when not 0: so many, however long it takes */
  int stall_host;   /* microseconds that the host sleeps now and then, so that the workers' pipes fill up */
  int stall_worker; /* ... and the workers, so that the host's pipes do */
};

/* A worker process; `pid` is its own, `fd` the host's end of its socketpair. */
struct child {
  int pid;
  int fd;
};

/* The least worker: runs until its socket ends. */
void worker(int fd, const struct plan *plan);

struct child start_worker(const struct plan *plan, const struct child *others, int count);
void end_workers(const struct child *children, int count);

double seconds_now(void);

/* Keeps `outstanding` jobs under way. `took` gets the microseconds of each job, or is NULL. Returns the jobs done. */
uint64_t drive(const struct plan *plan, const struct child *children, double *took, uint64_t room);

#endif
