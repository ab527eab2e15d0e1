/** @import { ChildProcess } from 'node:child_process' */
/** @import { PoolModule } from '../types.js' */
// node:child_process, not execa: bare fork is measured here.
import { fork } from 'node:child_process'
import { once } from 'node:events'

/** @typedef {{ resolve: (value: unknown) => void, reject: (error: Error) => void }} Waiting */
/** @typedef {{ child: ChildProcess, waiting: Map<number, Waiting> }} Side */

/**
 * Node's own messages to forked processes, with a promise for each.
 * @type {PoolModule['open']}
 */
export const open = async ({ workers }, flavour) => {
  const serialization = /** @type {'json' | 'advanced'} */ (flavour)
  /** @type {Side[]} */
  const sides = Array.from({ length: workers }, () => ({
    child: fork(new URL('./workers/fork.js', import.meta.url), { serialization }),
    waiting: new Map(),
  }))
  let last = 0
  for (const { child, waiting } of sides) {
    child.on('message', (/** @type {{ id: number, value: unknown, error?: string }} */ { id, value, error }) => {
      const job = waiting.get(id)
      waiting.delete(id)
      if (error === undefined) job?.resolve(value)
      else job?.reject(new Error(error))
    })
    child.on('exit', () => {
      for (const { reject } of waiting.values()) reject(new Error('the process has left'))
    })
  }

  /** @type {(task: string, value?: unknown) => Promise<unknown>} */
  const call = (task, value) => {
    let side = /** @type {Side} */ (sides[0])
    for (const each of sides) {
      if (each.waiting.size < side.waiting.size) side = each
    }
    return new Promise((resolve, reject) => {
      const id = ++last
      side.waiting.set(id, { resolve, reject })
      side.child.send({ id, task, value })
    })
  }

  const close = () =>
    Promise.all(
      sides.map(({ child }) => {
        child.kill()
        return once(child, 'exit')
      }),
    )

  return { call, close }
}
