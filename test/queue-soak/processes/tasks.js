// The tasks of the proofs. Each run writes its beginning and its end to the journal, before anything else knows of them.
import { openSync, writeSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { currentJob } from 'prefork/worker'

const journal = openSync(process.env.PREFORK_PROOF_JOURNAL, 'a')
/** Read at the start: an orphan's parent is another process. */
const node = process.ppid

const write = (mark) => {
  const { id } = currentJob()
  writeSync(journal, `${mark} ${id} ${Date.now()} ${process.env.PREFORK_PROOF_MEMBER ?? node}\n`)
}

export const nap = async (ms, fails = false) => {
  write('begun')
  await delay(ms)
  if (fails && currentJob().delivery.attempt === 1) throw new Error('once')
  write('ended')
}

/** Long, unless an earlier run was lost. It ends early when it is asked to. */
export const longUnlessLost = async (ms) => {
  write('begun')
  const { signal, delivery } = currentJob()
  if (delivery.losses === 0) await delay(ms, undefined, { signal }).catch(() => write('aborted'))
  signal.throwIfAborted()
  write('ended')
}

export const spin = () => {
  write('begun')
  for (;;);
}

/** Kills each worker that runs it. */
export const poison = () => {
  write('begun')
  process.kill(process.pid, 'SIGKILL')
}

/** Kills each worker that runs it, before anybody can have stored that it began. */
export const poisonAtOnce = () => process.kill(process.pid, 'SIGKILL')

/** Kills each node that runs it, before that can have stored its beginning. */
export const poisonNodeAtOnce = async () => {
  process.kill(process.ppid, 'SIGKILL')
  write('begun')
  await delay(60_000)
}

/** Kills each node that runs it, as the kernel does when memory is used up. */
export const poisonNode = async () => {
  write('begun')
  // Until its beginning is stored: a node that dies before that has not begun it, as far as anyone knows.
  await delay(200)
  process.kill(process.ppid, 'SIGKILL')
  await delay(60_000)
}

/** The values of its children. */
export const join = () => {
  write('begun')
  write('ended')
  return Object.keys(currentJob().delivery.results).length
}
