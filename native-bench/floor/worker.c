/* The minimal worker that keeps the promise of acceptance: ACCEPTED of a job is written before the job begins, in one write with the READY of
 * the job before. Its socket is blocking: a host that does not read stops it, and it buffers nothing. */
#include "floor.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The unwritten result. */
struct result {
  int waits;
  uint8_t head[FRAME_HEAD];
  uint8_t *payload;
  size_t size;
};

static void put(int fd, struct result *result, uint8_t *accepted) {
  struct iovec parts[3];
  int count = 0;
  if (result->waits) {
    parts[count++] = (struct iovec){result->head, FRAME_HEAD};
    if (result->size > 0) parts[count++] = (struct iovec){result->payload, result->size};
    result->waits = 0;
  }
  if (accepted != NULL) parts[count++] = (struct iovec){accepted, FRAME_HEAD};
  if (count > 0) write_all(fd, parts, count);
}

static void need_bytes(ssize_t got) {
  if (got < 0) die("read");
  if (got == 0) exit(0);
}

void worker(int fd, const struct plan *plan) {
  struct reader reader = {fd, malloc(CHUNK_BYTES), 0, 0};
  uint8_t *large = malloc(plan->in + 1);
  uint8_t *made = calloc(1, plan->out + 1);
  uint8_t accepted[FRAME_HEAD];
  struct result result = {0, {0}, NULL, 0};
  unsigned turn = 0;
  if (reader.chunk == NULL || large == NULL || made == NULL) die("malloc");

  for (;;) {
    while (reader.end - reader.at < JOB_HEAD) {
      /* No further job is here: the result is written now. Its payload may be in the chunk. */
      put(fd, &result, NULL);
      need_bytes(fill_chunk(&reader));
    }
    struct head head = get_head(reader.chunk + reader.at);
    size_t size = head.length - (JOB_HEAD - LENGTH_BYTES);
    if (head.kind != JOB || size != plan->in) exit(3);
    reader.at += JOB_HEAD;

    struct head answer = {FRAME_HEAD - LENGTH_BYTES, ACCEPTED, head.delivery, head.job};
    put_head(accepted, &answer);
    put(fd, &result, accepted);

    if (plan->stall_worker > 0 && ++turn % 16 == 0) usleep((useconds_t)plan->stall_worker);

    uint8_t *arguments = reader.chunk + reader.at;
    size_t here = reader.end - reader.at;
    if (here >= size) {
      reader.at += size;
    } else {
      memcpy(large, arguments, here);
      arguments = large;
      reader.at = reader.end = 0;
      while (here < size) {
        size_t got;
        need_bytes(fill_rest(&reader, large + here, size - here, &got));
        here += got;
      }
    }
    if (!stamped(arguments, size, head.job)) exit(4);

    if (plan->out == plan->in) {
      result.payload = arguments;
    } else {
      stamp(made, plan->out, head.job);
      result.payload = made;
    }
    result.size = plan->out;
    result.waits = 1;
    answer.kind = READY;
    answer.length = (uint32_t)(FRAME_HEAD - LENGTH_BYTES + plan->out);
    put_head(result.head, &answer);
  }
}
