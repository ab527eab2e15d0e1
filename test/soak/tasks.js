// The tasks of the soak. Each first writes `<job> <attempt> <pid>` to the journal. A task that ends its worker writes
// `! <pid> <cause>` before it does so, and `= <job>` if its result has been written.
// node:child_process, not execa: the children of a worker are part of the test.
import { spawn } from 'node:child_process'
import { closeSync, openSync, writeSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { currentJob, defineTask } from 'prefork/worker'

const journal = openSync(process.env.PREFORK_SOAK_JOURNAL, 'a')
const cell = new Int32Array(new SharedArrayBuffer(4))

const begin = () => {
  const job = currentJob()
  writeSync(journal, `${job.id} ${job.attempt} ${process.pid}\n`)
  return job
}
const willDie = (how) => writeSync(journal, `! ${process.pid} ${how}\n`)
const spinFor = (ms) => {
  const end = performance.now() + ms
  while (performance.now() < end);
}
const spinForEver = () => {
  for (;;);
}
const never = () => new Promise(() => {})

// ---- ordinary work

export const echo = (value) => ({ id: begin().id, value })
export const nap = async (ms) => {
  const { id } = begin()
  await delay(ms)
  return { id, value: ms }
}
export const spin = (ms) => {
  const { id } = begin()
  spinFor(ms)
  return { id, value: ms }
}
export const size = (bytes) => ({ id: begin().id, value: bytes.byteLength })
export const reports = async (count) => {
  const { id, progress, log } = begin()
  for (let n = 1; n <= count; n += 1) {
    progress(n)
    log.info(`step ${n}`)
    if (n % 3 === 0) await delay(1)
  }
  return { id, value: count }
}
export const context = () => {
  const job = begin()
  return { id: job.id, value: job.context }
}
export const throws = async (ms) => {
  const { id } = begin()
  if (ms > 0) await delay(ms)
  throw Object.assign(new RangeError(`thrown by ${id}`), { code: 'E_SOAK', job: id })
}
const numbered = async (n, ms) => {
  begin()
  if (ms > 0) await delay(ms)
  return n
}
// Two functions: defineTask attaches its options to the function, whatever name it is exported under.
export const mapped = (n, ms) => numbered(n, ms)
export const mappedAgain = defineTask({ retryLost: 2 }, (n, ms) => numbered(n, ms))
export const pidOf = () => {
  begin()
  return process.pid
}
export async function* items(count, bytes, ms) {
  const { id } = begin()
  for (let n = 0; n < count; n += 1) {
    if (ms > 0) await delay(ms)
    yield { id, n, bytes: Buffer.alloc(bytes, n & 0xff) }
  }
}

// ---- limits and cancellation

export const spinOn = () => {
  begin()
  spinForEver()
}
export const spinLater = async () => {
  begin()
  await delay(1)
  spinForEver()
}
export const ignoresAbort = async () => {
  begin()
  await never()
}
export const respondsToAbort = async () => {
  const { id, signal } = begin()
  await new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', resolve)))
  return { id, value: 'stopped' }
}

// ---- deaths

export const exits = (code) => {
  begin()
  willDie('exit')
  process.exit(code)
}
export const aborts = () => {
  begin()
  willDie('abort')
  process.abort()
}
export const signals = (signal) => {
  begin()
  willDie(signal)
  process.kill(process.pid, signal)
  for (;;) Atomics.wait(cell, 0, 0, 1000)
}
export const exhausts = () => {
  begin()
  willDie('heap')
  const kept = []
  for (;;) kept.push(Array.from({ length: 1000 }, (_, index) => ({ index })))
}
const retained = []
export const growsMemory = async () => {
  begin()
  willDie('memory')
  for (;;) {
    retained.push(Buffer.alloc(16 * 2 ** 20, 1))
    await delay(10)
  }
}
export const answersAndDies = () => {
  const { id } = begin()
  willDie('SIGKILL')
  setImmediate(() => {
    writeSync(journal, `= ${id}\n`)
    process.kill(process.pid, 'SIGKILL')
  })
  return { id, value: 'answered' }
}
export const diesUntil = async (attempts, ms) => {
  const { id, attempt } = begin()
  if (ms > 0) await delay(ms)
  if (attempt <= attempts) {
    willDie('SIGKILL')
    process.kill(process.pid, 'SIGKILL')
    await never()
  }
  return { id, value: attempts }
}
export const closesPipe = (fd) => {
  const { id } = begin()
  willDie('pipe')
  closeSync(fd)
  return { id, value: fd }
}
export const junk = (fd, bytes) => {
  const { id } = begin()
  willDie('pipe')
  writeSync(fd, Buffer.alloc(bytes, 0xff))
  return { id, value: bytes }
}

// ---- faults that end no worker

export const floods = (bytes) => {
  const { id } = begin()
  const text = 'x'.repeat(1023)
  for (let written = 0; written < bytes; written += 2048) {
    console.log(text)
    console.error(text)
  }
  return { id, value: bytes }
}
export const cannotBeCopied = () => {
  begin()
  return { method: () => {} }
}
export const rejectsLater = () => {
  const { id } = begin()
  setTimeout(() => Promise.reject(new Error('rejected after the answer')), 1)
  return { id, value: 'answered' }
}
export const throwsLater = () => {
  const { id } = begin()
  setTimeout(() => {
    throw new Error('thrown from a timer')
  }, 1)
  return { id, value: 'answered' }
}
export const spawns = () => {
  const { id } = begin()
  spawn('sleep', ['100'], { stdio: 'ignore' }).unref()
  return { id, value: 'spawned' }
}
