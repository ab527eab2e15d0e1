#ifndef FLOOR_H
#define FLOOR_H

#include "frame.h"

struct plan {
  int workers;
  int outstanding;
  size_t in;        /* bytes of each job's arguments */
  size_t out;       /* bytes of each result; equal to `in`: the arguments are sent back */
  double seconds;
  uint64_t jobs;    /* not 0: run so many jobs, however long it takes */
  int stall_host;   /* microseconds of occasional sleeps of the host, to fill the workers' pipes */
  int stall_worker; /* the same of the workers, to fill the host's pipes */
};

/* A worker process; `pid` is its own, `fd` the host's end of its socketpair. */
struct child {
  int pid;
  int fd;
};

/* The minimal worker: runs until its socket ends. */
void worker(int fd, const struct plan *plan);

struct child start_worker(const struct plan *plan, const struct child *others, int count);
void end_workers(const struct child *children, int count);

double seconds_now(void);

/* Keeps `outstanding` jobs running. `took` gets the microseconds of each job, or is NULL. Returns the number of completed jobs. */
uint64_t drive(const struct plan *plan, const struct child *children, double *took, uint64_t room);

#endif
