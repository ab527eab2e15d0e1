/* The floor: the performance of a minimal prefork pool on this machine. Prints one line of JSON.
 *
 *   floor throughput [--workers 2] [--outstanding 128] [--in 0] [--out as --in] [--seconds 1 | --jobs n] [--stall-host us] [--stall-worker us]
 *   floor bytes      [...]   the same with 64 KB each way and 16 outstanding, unless named
 *   floor roundtrip  [...]   one at a time unless --outstanding says otherwise
 *   floor start      [...]   fork to first answer, of one worker
 */
#include "floor.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { STARTS = 51, SAMPLES = 4 * 1000 * 1000 };

static double cpu_micros(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double quantile(const double *sorted, uint64_t count, double q) {
  uint64_t at = (uint64_t)((double)count * q);
  return sorted[at < count ? at : count - 1];
}

static void start_workers(const struct plan *plan, struct child *children) {
  for (int i = 0; i < plan->workers; i++) children[i] = start_worker(plan, children, i);
}

static void throughput(const struct plan *plan) {
  struct child children[1024];
  start_workers(plan, children);
  struct plan warm = *plan;
  warm.jobs = 0;
  warm.seconds = plan->jobs > 0 ? 0 : plan->seconds / 4;
  if (warm.seconds > 0) drive(&warm, children, NULL, 0);
  double cpu = cpu_micros(), began = seconds_now();
  uint64_t jobs = drive(plan, children, NULL, 0);
  double took = seconds_now() - began;
  cpu = cpu_micros() - cpu;
  end_workers(children, plan->workers);
  printf("{\"jobs\":%llu,\"perSecond\":%.1f,\"hostMicros\":%.3f,\"bytesPerSecond\":%.0f}\n", (unsigned long long)jobs, (double)jobs / took,
         cpu / (double)jobs, (double)jobs / took * (double)(plan->in + plan->out));
}

static void roundtrip(const struct plan *plan) {
  struct child children[1024];
  double *took = malloc(SAMPLES * sizeof *took);
  if (took == NULL) die("malloc");
  start_workers(plan, children);
  struct plan warm = *plan;
  warm.jobs = 1000;
  drive(&warm, children, NULL, 0);
  uint64_t jobs = drive(plan, children, took, SAMPLES);
  end_workers(children, plan->workers);
  if (jobs > SAMPLES) jobs = SAMPLES;
  qsort(took, jobs, sizeof *took, ascending);
  printf("{\"jobs\":%llu,\"p50\":%.2f,\"p99\":%.2f,\"p999\":%.2f}\n", (unsigned long long)jobs, quantile(took, jobs, 0.5),
         quantile(took, jobs, 0.99), quantile(took, jobs, 0.999));
  free(took);
}

static void start(const struct plan *plan) {
  double took[STARTS];
  struct plan one = *plan;
  one.workers = one.outstanding = 1;
  one.jobs = 1;
  for (int i = 0; i < STARTS; i++) {
    double began = seconds_now();
    struct child child = start_worker(&one, NULL, 0);
    drive(&one, &child, NULL, 0);
    took[i] = (seconds_now() - began) * 1e3;
    end_workers(&child, 1);
  }
  qsort(took, STARTS, sizeof *took, ascending);
  printf("{\"ms\":%.4f}\n", quantile(took, STARTS, 0.5));
}

static void usage(void) {
  fprintf(stderr, "usage: floor throughput|bytes|roundtrip|start [--workers n] [--outstanding n] [--in bytes] [--out bytes] [--seconds s] [--jobs n] "
                  "[--stall-host us] [--stall-worker us]\n");
  exit(64);
}

static double number_after(int argc, char **argv, const char *name, double fallback) {
  for (int i = 2; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], name) == 0) return strtod(argv[i + 1], NULL);
  }
  return fallback;
}

static void check_names(int argc, char **argv) {
  static const char *const names[] = {"--workers", "--outstanding", "--in", "--out", "--seconds", "--jobs", "--stall-host", "--stall-worker"};
  for (int i = 2; i < argc; i += 2) {
    size_t n = 0;
    while (n < sizeof names / sizeof *names && strcmp(argv[i], names[n]) != 0) n++;
    if (n == sizeof names / sizeof *names || i + 1 == argc) usage();
  }
}

int main(int argc, char **argv) {
  if (argc < 2) usage();
  check_names(argc, argv);
  int one_at_a_time = strcmp(argv[1], "roundtrip") == 0;
  int bytes = strcmp(argv[1], "bytes") == 0;
  double in = number_after(argc, argv, "--in", bytes ? 64 * 1024 : 0);
  struct plan plan = {
      .workers = (int)number_after(argc, argv, "--workers", 2),
      .outstanding = (int)number_after(argc, argv, "--outstanding", one_at_a_time ? 1 : bytes ? 16 : 128),
      .in = (size_t)in,
      .out = (size_t)number_after(argc, argv, "--out", in),
      .seconds = number_after(argc, argv, "--seconds", 1),
      .jobs = (uint64_t)number_after(argc, argv, "--jobs", 0),
      .stall_host = (int)number_after(argc, argv, "--stall-host", 0),
      .stall_worker = (int)number_after(argc, argv, "--stall-worker", 0),
  };
  signal(SIGPIPE, SIG_IGN);
  if (plan.workers < 1 || plan.workers > 1024 || plan.outstanding < 1) usage();
  if (bytes || strcmp(argv[1], "throughput") == 0) throughput(&plan);
  else if (one_at_a_time) roundtrip(&plan);
  else if (strcmp(argv[1], "start") == 0) start(&plan);
  else usage();
  return 0;
}
