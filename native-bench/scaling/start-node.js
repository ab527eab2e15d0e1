import { fileURLToPath } from 'node:url'
import { execa } from 'execa'

/** @import { NodePlan, Report, RunningNode } from './types.js' */
/** @typedef {{ id: number, report: Report, upAt: number }} Answer */

const NODE = fileURLToPath(new URL('node.js', import.meta.url))

/** Starts a node in a process of its own. Resolves when it is up, with as many workers as it has at least. @param {NodePlan} plan @returns {Promise<RunningNode>} */
export const startNode = async (plan) => {
  const child = execa(process.execPath, [NODE, JSON.stringify(plan)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], reject: false })
  const ended = child.then(({ exitCode, signal }) => {
    throw new Error(`the node has ended: ${signal ?? exitCode}`)
  })
  ended.catch(() => {})
  /** @type {Map<number, (answer: Answer) => void>} */
  const asked = new Map()
  child.on('message', (message) => {
    const answer = /** @type {Answer} */ (message)
    asked.get(answer.id)?.(answer)
    asked.delete(answer.id)
  })
  let lastId = 0
  /** @param {import('./types.js').Awaited} wanted @returns {Promise<Answer>} */
  const ask = (wanted) => {
    const id = ++lastId
    const answered = new Promise((/** @type {(answer: Answer) => void} */ resolve) => asked.set(id, resolve))
    child.send?.({ id, ...wanted })
    return Promise.race([answered, ended])
  }
  const { upAt } = await ask({ alive: Number(plan.options.minWorkers ?? 1) })
  return {
    upAt,
    reached: async (wanted) => (await ask(wanted)).report,
    stop: async () => {
      child.kill('SIGTERM')
      await child
    },
  }
}
