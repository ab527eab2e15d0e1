#include "frame.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void die(const char *what) {
  perror(what);
  exit(1);
}

/* Little-endian machines only: all that Node supports but s390x. */
void put_head(uint8_t *at, const struct head *head) {
  double job = (double)head->job;
  memcpy(at, &head->length, 4);
  at[4] = head->kind;
  at[5] = at[6] = at[7] = 0;
  memcpy(at + 8, &head->delivery, 4);
  memcpy(at + 12, &job, 8);
}

struct head get_head(const uint8_t *at) {
  struct head head;
  double job;
  memcpy(&head.length, at, 4);
  head.kind = at[4];
  memcpy(&head.delivery, at + 8, 4);
  memcpy(&job, at + 12, 8);
  head.job = (uint64_t)job;
  return head;
}

void stamp(uint8_t *payload, size_t size, uint64_t job) {
  if (size < sizeof job) return;
  memcpy(payload, &job, sizeof job);
  if (size >= 2 * sizeof job) memcpy(payload + size - sizeof job, &job, sizeof job);
}

int stamped(const uint8_t *payload, size_t size, uint64_t job) {
  if (size < sizeof job) return 1;
  if (memcmp(payload, &job, sizeof job) != 0) return 0;
  return size < 2 * sizeof job || memcmp(payload + size - sizeof job, &job, sizeof job) == 0;
}

ssize_t fill_chunk(struct reader *reader) {
  ssize_t got;
  if (reader->at > 0) {
    memmove(reader->chunk, reader->chunk + reader->at, reader->end - reader->at);
    reader->end -= reader->at;
    reader->at = 0;
  }
  do got = read(reader->fd, reader->chunk + reader->end, CHUNK_BYTES - reader->end);
  while (got < 0 && errno == EINTR);
  if (got > 0) reader->end += (size_t)got;
  return got;
}

ssize_t fill_rest(struct reader *reader, uint8_t *rest, size_t need, size_t *got) {
  struct iovec parts[2] = {{rest, need}, {reader->chunk, CHUNK_BYTES}};
  ssize_t all;
  do all = readv(reader->fd, parts, 2);
  while (all < 0 && errno == EINTR);
  *got = 0;
  if (all <= 0) return all;
  *got = (size_t)all < need ? (size_t)all : need;
  reader->at = 0;
  reader->end = (size_t)all - *got;
  return all;
}

void write_all(int fd, struct iovec *parts, int count) {
  while (count > 0) {
    ssize_t sent = writev(fd, parts, count);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno == EPIPE) exit(0);
      die("writev");
    }
    while (count > 0 && (size_t)sent >= parts->iov_len) {
      sent -= (ssize_t)parts->iov_len;
      parts++;
      count--;
    }
    if (count > 0) {
      parts->iov_base = (uint8_t *)parts->iov_base + sent;
      parts->iov_len -= (size_t)sent;
    }
  }
}
