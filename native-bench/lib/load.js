/** @import { OpenPool } from '../types.js' */
// The load generators that the cases share. Each caller is a closed loop: it calls again when it has its answer.

/** @param {boolean} condition @param {string} what */
export const check = (condition, what) => {
  if (!condition) throw new Error(`wrong: ${what}`)
}

/**
 * `outstanding` callers for `seconds`. `call` gets the number of its caller, and makes one call and checks its answer.
 * @param {{ outstanding: number, seconds: number }} how
 * @param {(caller: number) => Promise<void>} call
 */
export const keepCalling = async ({ outstanding, seconds }, call) => {
  const began = performance.now()
  const until = began + seconds * 1_000
  const cpu = process.cpuUsage()
  let done = 0
  const caller = async (/** @type {number} */ number) => {
    while (performance.now() < until) {
      await call(number)
      done++
    }
  }
  await Promise.all(Array.from({ length: outstanding }, (_, number) => caller(number)))
  const { user, system } = process.cpuUsage(cpu)
  return { done, perSecond: (1_000 * done) / (performance.now() - began), hostMicros: (user + system) / done }
}

/**
 * A no-op, whose answer is nothing (JSON may make null of it).
 * @param {OpenPool} pool
 */
export const noopOf = (pool) => async () => {
  const answer = await pool.call('noop')
  check(answer === undefined || answer === null, `a no-op answered ${String(answer)}`)
}

/**
 * Proves that answers reach their callers: values of their own, many at once.
 * @param {OpenPool} pool
 */
export const checkIdentity = async (pool) => {
  const answers = await Promise.all(Array.from({ length: 500 }, (_, n) => pool.call('echo', n)))
  check(
    answers.every((answer, n) => answer === n),
    'an answer reached another caller',
  )
}

/** Seconds of one measurement. @param {boolean} quick @param {number} [seconds] */
export const measuredSeconds = (quick, seconds = 1) => (quick ? 0.4 : seconds)

const WARM_CPU_SECONDS = 1
const WARM_CALLS = 20_000
const WARM_AT_LEAST_SECONDS = 0.3
const WARM_AT_MOST_SECONDS = 6

/**
 * Calls until the host has had some CPU time and has made some thousand calls, not for some time by the clock: the compiler would not be
 * done by then, of a busy machine or of calls that copy large Buffers, and what is measured would be how fast cold code is.
 * @param {number} outstanding
 * @param {(caller: number) => Promise<void>} call
 */
export const warmUp = async (outstanding, call) => {
  const began = performance.now()
  const cpu = process.cpuUsage()
  let calls = 0
  const cold = () => {
    const passed = (performance.now() - began) / 1_000
    if (passed < WARM_AT_LEAST_SECONDS) return true
    if (passed >= WARM_AT_MOST_SECONDS) return false
    const { user, system } = process.cpuUsage(cpu)
    return calls < WARM_CALLS || (user + system) / 1e6 < WARM_CPU_SECONDS
  }
  const caller = async (/** @type {number} */ number) => {
    do {
      await call(number)
      calls++
    } while (cold())
  }
  await Promise.all(Array.from({ length: outstanding }, (_, number) => caller(number)))
}
