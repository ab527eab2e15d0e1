/**
 * Plausible bugs of the code that the simulation runs unchanged. The simulation alone must catch each of them. `find` must occur
 * exactly once in `file`; `put` replaces it.
 */
export const mutations = [
  // ---- dispatcher
  {
    breaks: 'a worker may accept one job more than its quota',
    file: 'src/pool/worker/in-flight-jobs.ts',
    find: 'return most - this.accepted - this.sent.size',
    put: 'return most - this.accepted - this.sent.size + 1',
  },
  {
    breaks: 'slots of draining workers are not counted',
    file: 'src/pool/queue/dispatcher.ts',
    find: '      if (!worker.alive) continue\n      const slots',
    put: '      if (!worker.isUp) continue\n      const slots',
  },
  {
    breaks: 'slots that are taken within a tick are not counted',
    file: 'src/pool/queue/dispatcher.ts',
    find: '      else this.#freeSlots--\n',
    put: '',
  },
  {
    breaks: 'a worker that runs an isolated retry is given other jobs beside it',
    file: 'src/pool/queue/dispatcher.ts',
    find: '      worker.reserved.idle &&\n',
    put: '      worker.reserved.empty &&\n',
  },
  {
    breaks: 'after one check that found nothing, nothing is recalled any more',
    file: 'src/pool/queue/dispatcher.ts',
    find: '    if (held.length === 0) {\n      this.#recallArmed = false\n',
    put: '    if (held.length === 0) {\n',
  },
  {
    breaks: 'a job may be written ahead of a free slot that another worker still holds',
    file: 'src/pool/queue/dispatcher.ts',
    find: '    if (inFlight < concurrency || this.#window === concurrency) return',
    put: '    if (this.#window === concurrency) return',
  },
  {
    breaks: 'more milliseconds of work are written ahead than the guide says',
    file: 'src/pool/queue/task-meters.ts',
    find: 'const AHEAD_MS = 1.5',
    put: 'const AHEAD_MS = 4',
  },
  {
    breaks: 'jobs are written ahead to a worker that runs a long one',
    file: 'src/pool/queue/dispatcher.ts',
    find: ' && !jobs.running.some(this.#isLong)',
    put: '',
  },
  {
    breaks: 'a spare worker takes jobs of the job queue',
    file: 'src/pool/queue/dispatcher.ts',
    find: '      !worker.spare &&\n      worker.recalls === 0 &&\n',
    put: '      worker.recalls === 0 &&\n',
  },
  // ---- job queue
  {
    breaks: 'a job that is put back goes to the end of the job queue',
    file: 'src/pool/jobs/job-lifecycle.ts',
    find: '      pool.jobQueue.putBack(job)',
    put: '      pool.jobQueue.add(job)',
  },
  {
    breaks: 'of the jobs that were put back the newest is first',
    file: 'src/pool/queue/job-queue.ts',
    find: 'a.number < b.number\n',
    put: 'a.number > b.number\n',
  },
  {
    breaks: 'the queue accepts one job more than maxQueue',
    file: 'src/pool/pool-state.ts',
    find: '    return this.queued >= maxQueue',
    put: '    return this.queued > maxQueue',
  },
  // ---- recall and cancellation
  {
    breaks: 'a recall takes back jobs that the worker has claimed',
    file: 'src/pool/worker/in-flight-jobs.ts',
    find: 'if (job.delivery > claimed && job.delivery <= upTo)',
    put: 'if (job.delivery <= upTo)',
  },
  {
    breaks: 'a recall that takes no job back never ends',
    file: 'src/pool/worker/worker.ts',
    find: '    if (this.#recalls > 0) this.#recalls--\n    this.recorded.recalled(claimed, upTo, this.#hub.now())\n    this.#pipes.places?.takenBack(claimed, upTo)\n    this.#listener.onRecalled(this, this.jobs.recalled(claimed, upTo))\n',
    put: '    this.recorded.recalled(claimed, upTo, this.#hub.now())\n    this.#pipes.places?.takenBack(claimed, upTo)\n    const back = this.jobs.recalled(claimed, upTo)\n    if (this.#recalls > 0 && back.length > 0) this.#recalls--\n    this.#listener.onRecalled(this, back)\n',
  },
  {
    breaks: 'a recall is answered before the claim word is closed',
    file: 'src/worker/claim.ts',
    find: 'if (Atomics.compareExchange(this.#word, this.#index, seen, -upTo) === seen) return this.#lastClaimed',
    put: 'return this.#lastClaimed',
  },
  {
    breaks: 'a job begins although its claim was lost',
    file: 'src/worker/jobs/job-loop.ts',
    find: '      if (claimer.claim(job.delivery)) {\n',
    put: '      if (claimer.claim(job.delivery) || true) {\n',
  },
  {
    breaks: 'CANCEL is not sent',
    file: 'src/pool/jobs/job-lifecycle.ts',
    find: '    if (!running || grace > 0) worker.cancel(job, reason, interruptFor)\n',
    put: '',
  },
  {
    breaks: 'a cancelled job that does not end does not cost its worker',
    file: 'src/pool/jobs/job-lifecycle.ts',
    find: '    if (running) this.#cancelGrace.begin(worker, job)\n',
    put: '',
  },
  {
    breaks: '`began` of a cancelled job that was taken back never resolves',
    file: 'src/pool/jobs/job-lifecycle.ts',
    find: '      if (job.isSettled) job.markBegan(job.attempt > 1)\n      else if',
    put: '      if (job.isSettled) continue\n      if',
  },
  {
    breaks: "a job with cancel: 'ask' rejects while its task runs",
    file: 'src/pool/jobs/job-lifecycle.ts',
    find: 'if (worker === undefined || !job.spec.asks) this.settle(',
    put: 'this.settle(',
  },
  {
    breaks: 'a job that was asked to end runs again when its worker dies',
    file: 'src/pool/jobs/jobs-of-dead-worker.ts',
    find: '    if (job.cancellation !== undefined) jobs.endCancelled(job, job.cancellation)\n    else if (job.isSettled)',
    put: '    if (job.isSettled)',
  },
  {
    breaks: 'a job that was asked to end before its acceptance was known may run for ever',
    file: 'src/pool/jobs/job-lifecycle.ts',
    find: '    if (job.cancellation !== undefined) this.#cancelGrace.begin(worker, job)\n    if (job.isSettled) return\n',
    put: '    if (job.isSettled) {\n      if (job.cancellation !== undefined) this.#cancelGrace.begin(worker, job)\n      return\n    }\n',
  },
  {
    breaks: 'a job that was asked to end and reaches its soft limit fails with that limit',
    file: 'src/pool/jobs/job-lifecycle.ts',
    find: 'else if ((flags & FLAG_INTERRUPTED) !== 0 || (job.streaming',
    put: 'else if ((job.streaming',
  },
  {
    breaks: 'the grace that a cancellation names is ignored',
    file: 'src/pool/jobs/job.ts',
    find: 'this.#owner.cancel(this, reason, readGrace(options))',
    put: '(readGrace(options), this.#owner.cancel(this, reason))',
  },
  {
    breaks: 'a second cancellation does not shorten the grace',
    file: 'src/pool/jobs/cancel-grace.ts',
    find: '    this.begin(worker, job)\n',
    put: '',
  },
  {
    breaks: "leaving a stream with cancel: 'ask' does not wait for its generator",
    file: 'src/pool/jobs/stream.ts',
    find: '    if (this.#job?.isSettled === false) await this.#job.settled\n',
    put: '',
  },
  // ---- settling
  {
    breaks: 'a job may settle twice',
    file: 'src/pool/jobs/job-lifecycle.ts',
    find: 'hub.now()): void {\n    if (job.isSettled) return\n    const pool = this.#pool\n    if (job.state',
    put: 'hub.now()): void {\n    const pool = this.#pool\n    if (job.state',
  },
  {
    breaks: 'ACCEPTED is handled a microtask later, after the READY of the same chunk',
    file: 'src/pool/worker/worker.ts',
    find: '    this.#listener.onAccepted(this, job)\n',
    put: '    queueMicrotask(() => this.#listener.onAccepted(this, job))\n',
  },
  {
    breaks: 'a job that is lost and runs again still counts as running',
    file: 'src/pool/jobs/jobs-of-dead-worker.ts',
    find: '    pool.running--\n',
    put: '',
  },
  {
    breaks: 'a job runs again once more than retryLost allows',
    file: 'src/pool/jobs/jobs-of-dead-worker.ts',
    find: 'if (job.attempt > job.spec.retryLost || job.streamed) return false',
    put: 'if (job.attempt > job.spec.retryLost + 1 || job.streamed) return false',
  },
  {
    breaks: 'a put-back counts as an attempt',
    file: 'src/pool/jobs/job-lifecycle.ts',
    find: '    pool.totals.putBack++\n',
    put: '    pool.totals.putBack++\n    if (job.spec.retryLost > 0) job.attempt++\n',
  },
  {
    breaks: 'put-backs are not counted',
    file: 'src/pool/jobs/jobs-of-dead-worker.ts',
    find: '++job.putBacks <= pool.settings.maxPutBacks',
    put: 'job.putBacks <= pool.settings.maxPutBacks',
  },
  {
    breaks: 'a job whose ACCEPTED a damaged results pipe may have lost is put back',
    file: 'src/pool/jobs/jobs-of-dead-worker.ts',
    find: '    if (worker.resultsDamaged) {',
    put: '    if (worker.resultsDamaged && job.attempt > 1) {',
  },
  {
    breaks: 'the limits of a job that has settled are not cleared',
    file: 'src/pool/jobs/job.ts',
    find: '    this.cancelDeadlines?.()\n    this.cancelDeadlines = undefined\n',
    put: '    this.cancelDeadlines = undefined\n',
  },
  {
    breaks: 'an idle pool keeps its host alive',
    file: 'src/pool/pool-state.ts',
    find: '    if (--this.unsettled === 0) this.hub.release()',
    put: '    this.unsettled--',
  },
  {
    breaks: 'close() waits only for queued jobs',
    file: 'src/pool/shutdown.ts',
    find: "state.unsettled === 0 || state.phase === 'terminating'",
    put: "state.queued === 0 || state.phase === 'terminating'",
  },
  // ---- lifecycle of workers
  {
    breaks: 'the results pipe of a dead worker is not read to its end',
    file: 'src/pool/worker/exit-drain.ts',
    find: ' || this.done || !this.#pipes.every((pipe) => pipe.ended)) return',
    put: ' || this.done) return',
  },
  {
    breaks: "the jobs pipe's writer is not removed when its worker is gone",
    file: 'src/pool/worker/pipes.ts',
    find: '    this.#jobs.stop()\n',
    put: '',
  },
  {
    breaks: 'a draining worker is asked to quit while it still runs a job',
    file: 'src/pool/worker/worker.ts',
    find: 'this.jobs.inFlight === 0 && this.reserved.empty',
    put: 'this.jobs.sent.size === 0 && this.reserved.empty',
  },
  {
    breaks: 'a worker that was killed while it started comes up all the same, and is given jobs',
    file: 'src/pool/worker/lifecycle.ts',
    find: "  retiring: ['dead'],",
    put: "  retiring: ['up', 'dead'],",
  },
  {
    breaks: 'a worker that has not come up drains',
    file: 'src/pool/worker/lifecycle.ts',
    find: "  starting: ['up', 'retiring', 'dead'],",
    put: "  starting: ['up', 'draining', 'retiring', 'dead'],",
  },
  {
    breaks: 'a worker that drains, or has not come up, begins to drain',
    file: 'src/pool/worker/lifecycle.ts',
    find: "    return this.#mayBecome('draining') && ",
    put: '    return this.alive && ',
  },
  {
    breaks: 'two failed starts are enough to give up',
    file: 'src/pool/fleet/start-record.ts',
    find: 'const MAX_FAILED_STARTS = 3',
    put: 'const MAX_FAILED_STARTS = 2',
  },
  // ---- hub and wire
  {
    breaks: 'a deadline expires when its timer fires, before the pipes are read',
    file: 'src/hub/hub.ts',
    find: 'deadline = this.#timers.add(ms, due(false))',
    put: 'deadline = this.#timers.add(ms, () => onPassed())',
  },
  {
    breaks: 'the drain event is lost',
    file: 'src/hub/writer.ts',
    find: '      this.#full = false\n      this.#run()\n',
    put: '',
  },
  {
    breaks: 'compaction drops the pending deadlines instead of the cancelled ones',
    file: 'src/hub/timers.ts',
    find: '    this.#heap = this.#heap.filter((deadline) => !deadline.cancelled)\n',
    put: '    this.#heap = this.#heap.filter((deadline) => deadline.cancelled)\n',
  },
  {
    breaks: 'the staging buffer is used again while the stream still holds it',
    file: 'src/wire/frame-writer.ts',
    find: '    if (stream.writableLength === 0) {\n',
    put: '    if (more) {\n',
  },
  {
    breaks: 'the host loses a frame length that is split between two chunks',
    file: 'src/wire/frame-reader.ts',
    find: 'rest.length === 0 ? next : Buffer.concat([rest, next])',
    put: 'rest.length <= 1 ? next : Buffer.concat([rest, next])',
  },
  // ---- job loop of the worker
  {
    breaks: 'the worker loses a frame length that is split between two chunks',
    file: 'src/worker/io/frame-parser.ts',
    find: '      if (at < bytes.length) this.#hold(bytes, at)\n',
    put: '      if (at < bytes.length - 1) this.#hold(bytes, at)\n',
  },
  {
    breaks: 'ACCEPTED is not flushed before the task runs',
    file: 'src/worker/jobs/job-loop.ts',
    find: '    if (!this.#recorded(job)) this.output.putHead(Kind.ACCEPTED, 0, job)\n    this.output.flush()\n',
    put: '    if (!this.#recorded(job)) this.output.putHead(Kind.ACCEPTED, 0, job)\n',
  },
  {
    breaks: 'a job that settles asynchronously does not free its slot for a waiting job',
    file: 'src/worker/jobs/job-loop.ts',
    find: '      if (this.#waiting.size > 0 && this.#running < this.#slots.length) this.#link.wake()\n      this.#finishIfDone()\n',
    put: '      this.#finishIfDone()\n',
  },
  {
    breaks: 'credit that arrives while a stream runs is not used',
    file: 'src/worker/jobs/job-loop.ts',
    find: '        if (job.pump !== undefined) this.#streamsWithCredit.push(job)\n',
    put: '',
  },

  // ---- stalled workers
  {
    breaks: 'a worker whose main thread is blocked after its jobs is never replaced',
    file: 'src/pool/fleet/stall-detector.ts',
    find: '    if (beats < BEATS) return\n',
    put: '    if (beats < 1_000_000) return\n',
  },
  {
    breaks: 'without a watchdog, a written job that is never accepted is not detected',
    file: 'src/pool/fleet/stall-detector.ts',
    find: 'if (!same || hub.now() - since < settings.heartbeatTimeout) continue',
    put: 'if (!same || hub.now() - since < 1e9) continue',
  },
  {
    breaks: 'a worker that runs a job is ended as stalled',
    file: 'src/pool/fleet/stall-detector.ts',
    find: ' && worker.jobs.running.size === 0',
    put: '',
  },

  // ---- broadcasts
  {
    breaks: 'one worker gets the broadcast shares of all dead workers',
    file: 'src/pool/fleet/orphaned-jobs.ts',
    find: '      share.broadcast?.ask(worker)\n',
    put: '',
  },
  {
    breaks: 'the broadcast share of a dead worker is dropped before its replacement is up',
    file: 'src/pool/fleet/fleet.ts',
    find: 'const noneStarts = this.#workers.starting === 0',
    put: 'const noneStarts = true',
  },
  {
    breaks: 'a broadcast share that runs again goes to a worker that has run one',
    file: 'src/pool/fleet/orphaned-jobs.ts',
    find: 'const others = jobs.filter((job) => job.broadcast === undefined)',
    put: 'const others = jobs.filter(() => true)',
  },
  {
    breaks: 'a broadcast does not reach a worker that is starting',
    file: 'src/pool/fleet/fleet.ts',
    find: '!(worker.isUp || worker.isStarting) || worker === doubled',
    put: '!worker.isUp || worker === doubled',
  },

  // ---- the acceptance record
  {
    breaks: 'the record of a dead worker is not read',
    file: 'src/pool/worker/worker.ts',
    find: '    this.recorded.acceptIfRecorded()\n    this.#listener.onExit(this)',
    put: '    this.#listener.onExit(this)',
  },
  {
    breaks: 'a job is begun without its record',
    file: 'src/worker/jobs/job-loop.ts',
    find: '    if (!record.record(job.delivery, at)) return false\n',
    put: '',
  },

  // ---- calls of tasks
  {
    breaks: 'calls: a REPLY is dropped with the jobs that wait in the worker',
    file: 'src/worker/jobs/job-loop.ts',
    find: '        this.#calls.reply(bytes, start, end)\n',
    put: '        if (this.#waiting.size === 0) this.#calls.reply(bytes, start, end)\n',
  },
  {
    breaks: 'calls: a CALL is dropped while a recall is under way',
    file: 'src/pool/worker/worker-events.ts',
    find: "    if (this.#pool.phase === 'terminating') return\n    calls.receive",
    put: "    if (this.#pool.phase === 'terminating' || worker.recalls > 0) return\n    calls.receive",
  },
  {
    breaks: 'calls: an answer goes to any job that has a call of its number',
    file: 'src/worker/jobs/outgoing-calls.ts',
    find: '    const calls = this.#jobs.get(deliveryOf(bytes, body))\n',
    put: '    const calls = [...this.#jobs.values()].find(({ pending }) => pending.has(callNumberOf(bytes, payload)))\n',
  },
  {
    breaks: 'calls: those that a job leaves behind are never rejected',
    file: 'src/worker/jobs/job-loop.ts',
    find: '    if ((job.flags & FLAG_CALLS) !== 0) this.#calls.jobEnded(job)\n',
    put: '',
  },
  {
    breaks: 'calls: those of an attempt do not end with it',
    file: 'src/pool/jobs/job.ts',
    find: '    this.spec.calls?.end()\n',
    put: '',
  },
  {
    breaks: 'calls: answers are written only when something else is',
    file: 'src/wire/frame-writer.ts',
    find: 'while (this.#takeUrgent() || !this.empty) {',
    put: 'while (!this.empty) {\n        this.#takeUrgent()',
  },
  {
    breaks: 'calls: a CALL does not show that its job was accepted',
    file: 'src/pool/worker/worker.ts',
    find: '  sent(delivery: number, kind: SentKind, payload: Buffer): void {\n    const job = this.recorded.running(delivery, this.#results.at)\n',
    put: '  sent(delivery: number, kind: SentKind, payload: Buffer): void {\n    const job = this.jobs.running.get(delivery)\n',
  },
  {
    breaks: 'calls: a task may make one more than the host takes',
    file: 'src/worker/jobs/outgoing-calls.ts',
    find: 'calls.pending.size >= MAX_CALLS',
    put: 'calls.pending.size > MAX_CALLS',
  },

  // ---- large values by place
  {
    breaks: 'by place: a place is used again before its bytes are read',
    file: 'src/wire/arena/place-ring.ts',
    find: '    if (start >= 0) this.#used.push({ start, end: start + bytes, key })\n',
    put: '',
  },
  {
    breaks: 'by place: a place at the start overlaps the first one in use',
    file: 'src/wire/arena/place-ring.ts',
    find: '      return bytes <= first.start ? 0 : -1\n',
    put: '      return 0\n',
  },
  {
    breaks: 'by place: the arguments of jobs that were taken back are never freed',
    file: 'src/pool/worker/worker.ts',
    find: '    this.#pipes.places?.takenBack(claimed, upTo)\n',
    put: '',
  },
  {
    breaks: 'by place: an acceptance does not free the arguments',
    file: 'src/pool/worker/shared-memory/job-places.ts',
    find: '    this.jobs.freeUpTo(delivery)\n',
    put: '    if (delivery < 0) this.jobs.freeUpTo(delivery)\n',
  },
  {
    breaks: 'by place: the host does not tell which results it has read',
    file: 'src/pool/worker/shared-memory/job-places.ts',
    find: '      noteStamp(this.#memory.jobs, this.#results.stamp)\n',
    put: '',
  },
  {
    breaks: 'by place: the host says that it has read a result that it has not',
    file: 'src/pool/worker/shared-memory/job-places.ts',
    find: '      noteStamp(this.#memory.jobs, this.#results.stamp)\n',
    put: '      noteStamp(this.#memory.jobs, this.#results.stamp + 1)\n',
  },
  {
    breaks: 'by place: the memory is given back while a job is in the worker',
    file: 'src/pool/worker/shared-memory/job-places.ts',
    find: '    if (isIdle && this.jobs.empty && ',
    put: '    if (',
  },
  {
    breaks: 'by place: the memory of an idle worker is never given back',
    file: 'src/pool/worker/shared-memory/job-places.ts',
    find: '      this.#memory.trim()\n',
    put: '',
  },
  {
    breaks: 'by place: a write that failed counts as done',
    file: 'src/wire/arena/place-writer.ts',
    find: '    if (!this.#file.write([this.#head, ...parts], FIRST_PAGE + start, STAMP_BYTES + bytes)) {',
    put: '    this.#file.write([this.#head, ...parts], FIRST_PAGE + start, STAMP_BYTES + bytes)\n    if (start < 0) {',
  },
  {
    breaks: 'by place: what comes through the pipe of such a frame is left out',
    file: 'src/wire/arena/place-reader.ts',
    find: '    from.copy(whole, lead, start, place)\n',
    put: '',
  },
  {
    breaks: 'by place: arguments are read before the claim',
    file: 'src/worker/jobs/job-loop.ts',
    find: '      if (claimer.claim(job.delivery)) {\n',
    put: '      if (job.isPlaced) job.fetch(this.#options.places!.jobs)\n      if (claimer.claim(job.delivery)) {\n',
  },

  // ---- a launcher process
  {
    breaks: 'launcher: a worker that the host has whole is failed with its launcher process',
    file: 'src/pool/worker/launch/launcher-worker.ts',
    find: '    if (lifeline === undefined || !this.isHandedOver) {',
    put: '    if (lifeline === undefined || this.#pid !== undefined) {',
  },
  {
    breaks: 'launcher: a worker without a lifeline is taken for one that lives',
    file: 'src/pool/worker/launch/launcher-worker.ts',
    find: '    const lifeline = this.#lifelineSocket\n',
    put: '    const lifeline = this.#lifelineSocket\n    if (lifeline === undefined) return\n',
  },
  {
    breaks: 'launcher: a worker comes up although one of its pipes did not come',
    file: 'src/pool/worker/launch/launcher-worker.ts',
    find: '    if (stream === this.results && !this.#hasOtherPipes()) this.kill()\n',
    put: '',
  },
  {
    breaks: 'launcher: a kill that the launcher process was asked for is forgotten at its end',
    file: 'src/pool/worker/launch/launcher-worker.ts',
    find: '    if (this.#killWanted) this.kill()\n',
    put: '',
  },
  {
    breaks: 'launcher: a worker whose launcher process is gone is killed through it',
    file: 'src/pool/worker/launch/launcher-worker.ts',
    find: '    if (this.#isOrphan) this.#killGroup()\n    else this.#settings.kill()',
    put: '    this.#settings.kill()',
  },
  {
    breaks: 'launcher: the host signals a worker whose launcher process lives',
    file: 'src/pool/worker/launch/launcher-worker.ts',
    find: '    if (this.#isOrphan) this.#killGroup()\n',
    put: '    if (this.#isOrphan || this.#pid !== undefined) this.#killGroup()\n',
  },
  {
    breaks: 'launcher: the end of a worker whose launcher process is gone is not seen',
    file: 'src/pool/worker/launch/launcher-worker.ts',
    find: "    else lifeline.on('close', ended)\n",
    put: '',
  },
  {
    breaks: 'launcher: a worker that only its lifeline has left is counted as ended, and lives',
    file: 'src/pool/worker/launch/launcher-worker.ts',
    find: '      this.#killGroup()\n      this.exited(',
    put: '      this.exited(',
  },
  {
    breaks: 'launcher: a launcher process that has ended is asked for workers',
    file: 'src/pool/worker/launch/launcher-process.ts',
    find: 'if (current === undefined || current.hasEnded) current',
    put: 'if (current === undefined) current',
  },
  {
    breaks: 'launcher: a launcher process that could not be started is kept',
    file: 'src/pool/worker/launch/launcher-process.ts',
    find: '    this.#ended = this.#child.failure !== undefined\n',
    put: '    this.#ended = false\n',
  },
  {
    breaks: 'launcher: one that does not answer is not replaced',
    file: 'src/pool/worker/launch/launcher-process.ts',
    find: '      else this.#child.kill()\n',
    put: '',
  },
  {
    breaks: 'launcher: no answer to a kill is awaited',
    file: 'src/pool/worker/launch/launcher-process.ts',
    find: '    this.#expect(() => worker.hasExited)\n',
    put: '',
  },
  {
    breaks: 'launcher: its end fails none of its workers',
    file: 'src/pool/worker/launch/launcher-process.ts',
    find: '    for (const worker of this.#workers.values()) worker.launcherEnded(error)\n',
    put: '',
  },
  {
    breaks: 'launcher: a start without a descriptor leaves files open',
    file: 'src/pool/worker/launch/launcher-process.ts',
    find: '      record?.close()\n      memory?.close()\n',
    put: '',
  },
  {
    breaks: 'launcher: what is listened to before a pipe comes is not told of its end',
    file: 'src/pool/worker/launch/late-stream.ts',
    find: 'for (const [event, listener] of this.#listeners) socket.on(event, listener)',
    put: "for (const [event, listener] of this.#listeners) if (event === 'data') socket.on(event, listener)",
  },
]
