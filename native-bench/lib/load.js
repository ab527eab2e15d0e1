/** @import { OpenPool } from '../types.js' */
// The load generators of the cases. Each caller is a closed loop: it calls again when it has its answer.

/** @param {boolean} condition @param {string} what */
export const check = (condition, what) => {
  if (!condition) throw new Error(`wrong: ${what}`)
}

/**
 * Runs `outstanding` callers for `seconds`. `call` gets the number of its caller, makes one call and checks the answer.
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
 * A no-op; its answer is undefined (null with JSON).
 * @param {OpenPool} pool
 */
export const noopOf = (pool) => async () => {
  const answer = await pool.call('noop')
  check(answer === undefined || answer === null, `a no-op answered ${String(answer)}`)
}

/**
 * Checks that each caller gets its own answer, with many calls at once.
 * @param {OpenPool} pool
 */
export const checkIdentity = async (pool) => {
  const answers = await Promise.all(Array.from({ length: 500 }, (_, n) => pool.call('echo', n)))
  check(
    answers.every((answer, n) => answer === n),
    'an answer reached another caller',
  )
}

/** The duration of a measurement in seconds. @param {boolean} quick @param {number} [seconds] */
export const measuredSeconds = (quick, seconds = 1) => (quick ? 0.4 : seconds)

const WARM_CPU_SECONDS = 1
const WARM_CALLS = 20_000
const WARM_AT_LEAST_SECONDS = 0.3
const WARM_AT_MOST_SECONDS = 6

/**
 * Calls until the host has used some CPU time and made some thousand calls. A fixed time would not do: on a busy machine, or with calls
 * that copy large Buffers, the code would not be compiled by then.
 * @param {number} outstanding
 * @param {(caller: number) => Promise<void>} call
 * @param {number} [atMostSeconds]
 */
export const warmUp = async (outstanding, call, atMostSeconds = WARM_AT_MOST_SECONDS) => {
  const began = performance.now()
  const cpu = process.cpuUsage()
  let calls = 0
  const cold = () => {
    const passed = (performance.now() - began) / 1_000
    if (passed < WARM_AT_LEAST_SECONDS) return true
    if (passed >= atMostSeconds) return false
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

const BURSTS_MS = 500

/**
 * Makes so many calls at once and awaits them, again and again for half a second.
 * @param {number} jobs
 * @param {() => Promise<void>} call
 */
export const inBursts = async (jobs, call) => {
  let done = 0
  const began = performance.now()
  const cpu = process.cpuUsage()
  do {
    await Promise.all(Array.from({ length: jobs }, call))
    done += jobs
  } while (performance.now() - began < BURSTS_MS)
  const perSecond = (1_000 * done) / (performance.now() - began)
  const { user, system } = process.cpuUsage(cpu)
  return { done, perSecond, hostMicros: (user + system) / done }
}
