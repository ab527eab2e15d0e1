/* The minimal host: one loop over epoll that never waits for a worker. Its sockets are non-blocking: bytes that the kernel does not take are
 * queued here, and it always reads. So a worker that blocks on a full socket continues, and no deadlock is possible. */
#include "floor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Smaller payloads are copied side by side, larger ones are written in place, as in src/wire/frame-writer.ts. */
enum { COPY_LIMIT = 8 * 1024, STAGING_BYTES = 64 * 1024, SILENCE_MS = 20000 };

enum state { FREE, QUEUED, WRITTEN, TAKEN };

struct slot {
  uint64_t job;
  enum state state;
  double began;
  uint8_t *in;
};

struct peer {
  int fd;
  uint32_t delivery;
  int *queue; /* slots to be written, a ring buffer of `outstanding` entries */
  int first, queued;
  uint8_t staging[STAGING_BYTES];
  uint8_t large_head[JOB_HEAD];
  struct iovec parts[2]; /* the current write */
  int part, parts_count;
  int armed; /* EPOLLOUT is requested */
  struct reader reader;
  /* The result of the current read. */
  struct head head;
  uint8_t *body;
  size_t need, got;
  int in_body;
};

struct host {
  const struct plan *plan;
  int epoll;
  struct slot *slots;
  struct peer *peers;
  uint64_t next, done, accepted;
  double *took;
  uint64_t room;
  double until;
};

double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct child start_worker(const struct plan *plan, const struct child *others, int count) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0) die("socketpair");
  fflush(NULL);
  int pid = fork();
  if (pid < 0) die("fork");
  if (pid == 0) {
    /* Closes the host's ends that fork copied: with them open the other workers would not notice the host's death. */
    for (int i = 0; i < count; i++) close(others[i].fd);
    close(pair[0]);
    worker(pair[1], plan);
    exit(0);
  }
  close(pair[1]);
  if (fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0) die("fcntl");
  return (struct child){pid, pair[0]};
}

void end_workers(const struct child *children, int count) {
  for (int i = 0; i < count; i++) close(children[i].fd);
  for (int i = 0; i < count; i++) {
    int status;
    waitpid(children[i].pid, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      fprintf(stderr, "worker %d ended with status %d\n", children[i].pid, status);
      exit(1);
    }
  }
}

static void arm(struct host *host, struct peer *peer, int wanted) {
  if (peer->armed == wanted) return;
  peer->armed = wanted;
  struct epoll_event event = {.events = wanted ? EPOLLIN | EPOLLOUT : EPOLLIN, .data.ptr = peer};
  if (epoll_ctl(host->epoll, EPOLL_CTL_MOD, peer->fd, &event) < 0) die("epoll_ctl");
}

static int next_slot(struct host *host, struct peer *peer) {
  int slot = peer->queue[peer->first];
  peer->first = (peer->first + 1) % host->plan->outstanding;
  peer->queued--;
  host->slots[slot].state = WRITTEN;
  return slot;
}

static void put_job(struct host *host, struct peer *peer, int slot, uint8_t *at) {
  size_t size = host->plan->in;
  /* The job's number contains its slot, so that its answer finds it. */
  struct head head = {(uint32_t)(JOB_HEAD - LENGTH_BYTES + size), JOB, ++peer->delivery, host->slots[slot].job};
  put_head(at, &head);
  memset(at + FRAME_HEAD, 0, JOB_HEAD - FRAME_HEAD);
}

/* Combines as many jobs as fit into one write. */
static void gather(struct host *host, struct peer *peer) {
  size_t size = host->plan->in;
  peer->part = 0;
  if (size > COPY_LIMIT) {
    int slot = next_slot(host, peer);
    put_job(host, peer, slot, peer->large_head);
    peer->parts[0] = (struct iovec){peer->large_head, JOB_HEAD};
    peer->parts[1] = (struct iovec){host->slots[slot].in, size};
    peer->parts_count = 2;
    return;
  }
  size_t filled = 0;
  while (peer->queued > 0 && filled + JOB_HEAD + size <= STAGING_BYTES) {
    int slot = next_slot(host, peer);
    put_job(host, peer, slot, peer->staging + filled);
    memcpy(peer->staging + filled + JOB_HEAD, host->slots[slot].in, size);
    filled += JOB_HEAD + size;
  }
  peer->parts[0] = (struct iovec){peer->staging, filled};
  peer->parts_count = 1;
}

static void flush(struct host *host, struct peer *peer) {
  for (;;) {
    if (peer->part == peer->parts_count) {
      if (peer->queued == 0) break;
      gather(host, peer);
    }
    ssize_t sent = writev(peer->fd, peer->parts + peer->part, peer->parts_count - peer->part);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) die("writev to a worker");
      arm(host, peer, 1);
      return;
    }
    while (peer->part < peer->parts_count && (size_t)sent >= peer->parts[peer->part].iov_len) {
      sent -= (ssize_t)peer->parts[peer->part].iov_len;
      peer->part++;
    }
    if (peer->part < peer->parts_count) {
      struct iovec *part = &peer->parts[peer->part];
      part->iov_base = (uint8_t *)part->iov_base + sent;
      part->iov_len -= (size_t)sent;
    }
  }
  arm(host, peer, 0);
}

static int wants_more(const struct host *host) {
  return host->plan->jobs > 0 ? host->next < host->plan->jobs : seconds_now() < host->until;
}

static void submit(struct host *host, int slot) {
  int outstanding = host->plan->outstanding;
  struct peer *peer = &host->peers[host->next % (uint64_t)host->plan->workers];
  struct slot *job = &host->slots[slot];
  job->job = host->next++ * (uint64_t)outstanding + (uint64_t)slot;
  job->state = QUEUED;
  stamp(job->in, host->plan->in, job->job);
  if (host->took != NULL) job->began = seconds_now();
  peer->queue[(peer->first + peer->queued++) % outstanding] = slot;
}

static void wrong(const char *what, const struct head *head) {
  fprintf(stderr, "%s: kind %d, job %llu\n", what, head->kind, (unsigned long long)head->job);
  exit(1);
}

static void take(struct host *host, struct peer *peer, const struct head *head, const uint8_t *payload) {
  int slot = (int)(head->job % (uint64_t)host->plan->outstanding);
  struct slot *job = &host->slots[slot];
  if (job->job != head->job) wrong("an answer to a job that is not under way", head);
  if (head->kind == ACCEPTED) {
    if (job->state != WRITTEN) wrong("accepted twice, or before it was written", head);
    job->state = TAKEN;
    host->accepted++;
    return;
  }
  if (head->kind != READY || job->state != TAKEN) wrong("a result of a job that was not accepted", head);
  if (!stamped(payload, host->plan->out, head->job)) wrong("a result that is not this job's", head);
  job->state = FREE;
  if (host->took != NULL && host->done < host->room) host->took[host->done] = (seconds_now() - job->began) * 1e6;
  host->done++;
  if (wants_more(host)) submit(host, slot);
  (void)peer;
}

static void check_head(const struct host *host, const struct head *head) {
  size_t wanted = FRAME_HEAD - LENGTH_BYTES + (head->kind == READY ? host->plan->out : 0);
  if (head->length != wanted) wrong("a frame of the wrong length", head);
}

/* Handles every complete frame of the chunk. */
static void parse(struct host *host, struct peer *peer) {
  struct reader *reader = &peer->reader;
  while (!peer->in_body && reader->end - reader->at >= FRAME_HEAD) {
    peer->head = get_head(reader->chunk + reader->at);
    check_head(host, &peer->head);
    reader->at += FRAME_HEAD;
    size_t size = peer->head.length - (FRAME_HEAD - LENGTH_BYTES);
    size_t here = reader->end - reader->at;
    if (here >= size) {
      take(host, peer, &peer->head, reader->chunk + reader->at);
      reader->at += size;
      continue;
    }
    memcpy(peer->body, reader->chunk + reader->at, here);
    reader->at = reader->end = 0;
    peer->need = size;
    peer->got = here;
    peer->in_body = 1;
  }
}

static void read_peer(struct host *host, struct peer *peer) {
  ssize_t got;
  if (peer->in_body) {
    size_t part;
    got = fill_rest(&peer->reader, peer->body + peer->got, peer->need - peer->got, &part);
    peer->got += part;
    if (got > 0 && peer->got == peer->need) {
      peer->in_body = 0;
      take(host, peer, &peer->head, peer->body);
    }
  } else {
    got = fill_chunk(&peer->reader);
  }
  if (got == 0) {
    fprintf(stderr, "a worker left\n");
    exit(1);
  }
  if (got < 0 && errno != EAGAIN) die("read from a worker");
  if (got > 0) parse(host, peer);
}

static void *need(void *memory) {
  if (memory == NULL) die("malloc");
  return memory;
}

static void open_host(struct host *host, const struct child *children) {
  const struct plan *plan = host->plan;
  host->epoll = epoll_create1(EPOLL_CLOEXEC);
  if (host->epoll < 0) die("epoll_create1");
  host->slots = need(calloc((size_t)plan->outstanding, sizeof *host->slots));
  host->peers = need(calloc((size_t)plan->workers, sizeof *host->peers));
  for (int i = 0; i < plan->outstanding; i++) host->slots[i].in = need(calloc(1, plan->in + 1));
  for (int i = 0; i < plan->workers; i++) {
    struct peer *peer = &host->peers[i];
    peer->fd = children[i].fd;
    peer->queue = need(calloc((size_t)plan->outstanding, sizeof *peer->queue));
    peer->reader = (struct reader){peer->fd, need(malloc(CHUNK_BYTES)), 0, 0};
    peer->body = need(malloc(plan->out + 1));
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = peer};
    if (epoll_ctl(host->epoll, EPOLL_CTL_ADD, peer->fd, &event) < 0) die("epoll_ctl");
  }
}

static void close_host(struct host *host) {
  for (int i = 0; i < host->plan->outstanding; i++) free(host->slots[i].in);
  for (int i = 0; i < host->plan->workers; i++) {
    free(host->peers[i].queue);
    free(host->peers[i].reader.chunk);
    free(host->peers[i].body);
  }
  free(host->slots);
  free(host->peers);
  close(host->epoll);
}

uint64_t drive(const struct plan *plan, const struct child *children, double *took, uint64_t room) {
  struct host host = {.plan = plan, .took = took, .room = room, .until = seconds_now() + plan->seconds};
  struct epoll_event events[64];
  unsigned turn = 0;
  open_host(&host, children);
  for (int slot = 0; slot < plan->outstanding && wants_more(&host); slot++) submit(&host, slot);
  while (host.done < host.next) {
    for (int i = 0; i < plan->workers; i++) {
      if (!host.peers[i].armed) flush(&host, &host.peers[i]);
    }
    int count = epoll_wait(host.epoll, events, 64, SILENCE_MS);
    if (count == 0) {
      fprintf(stderr, "deadlock: nothing moved for %d ms, %llu of %llu jobs done\n", SILENCE_MS, (unsigned long long)host.done, (unsigned long long)host.next);
      exit(2);
    }
    if (count < 0 && errno != EINTR) die("epoll_wait");
    if (plan->stall_host > 0 && ++turn % 16 == 0) usleep((useconds_t)plan->stall_host);
    for (int i = 0; i < count; i++) {
      if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) read_peer(&host, events[i].data.ptr);
      if (events[i].events & EPOLLOUT) flush(&host, events[i].data.ptr);
    }
  }
  if (host.accepted != host.done) {
    fprintf(stderr, "%llu accepted, %llu done\n", (unsigned long long)host.accepted, (unsigned long long)host.done);
    exit(1);
  }
  close_host(&host);
  return host.done;
}
