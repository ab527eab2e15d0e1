/* The frames of src/wire/messages.ts that the minimal pool needs. */
#ifndef FRAME_H
#define FRAME_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

enum { JOB = 1, ACCEPTED = 19, READY = 20 };

/* u32 length of the body | kind u8 | flags u8 | attempt u16 | delivery u32 | job f64 */
enum { LENGTH_BYTES = 4, FRAME_HEAD = 20, JOB_HEAD = 32, CHUNK_BYTES = 256 * 1024 };

struct head {
  uint32_t length; /* of the body, which follows it */
  uint8_t kind;
  uint32_t delivery;
  uint64_t job;
};

void put_head(uint8_t *at, const struct head *head);
struct head get_head(const uint8_t *at);

/* The first and the last 8 bytes of a payload name its job, so that a swapped or torn payload is detected. */
void stamp(uint8_t *payload, size_t size, uint64_t job);
int stamped(const uint8_t *payload, size_t size, uint64_t job);

/* Bytes of one descriptor, read in large chunks. The bytes in [at, end) are unread. */
struct reader {
  int fd;
  uint8_t *chunk;
  size_t at, end;
};

/* Reads more into the chunk. Returns the result of read(). */
ssize_t fill_chunk(struct reader *reader);
/* Reads into `rest` first and then into the empty chunk, so that a large body is copied once. Returns the result of readv(); `got` is the number of bytes in `rest`. */
ssize_t fill_rest(struct reader *reader, uint8_t *rest, size_t need, size_t *got);

void write_all(int fd, struct iovec *parts, int count);
void die(const char *what);

#endif
