/** A node on Faktory as a process, which a test may kill. */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { ShutdownReport, WorkerOptions } from 'prefork/faktory'
import { within } from '../fixtures/support.js'

const script = fileURLToPath(new URL('processes/node.js', import.meta.url))

export interface NodeProcess {
  readonly pid: number
  /** Ends it in order. */
  stop(): Promise<ShutdownReport>
  kill(): void
}

export const startNodeProcess = async (options: Omit<WorkerOptions, 'tasks'>): Promise<NodeProcess> => {
  const child: ChildProcess = fork(script, [JSON.stringify(options)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const messages: object[] = []
  let changed = (): void => {}
  child.on('message', (message) => {
    messages.push(message as object)
    changed()
  })
  child.on('exit', () => changed())
  const message = async <K extends string>(key: K): Promise<Record<K, unknown>> => {
    for (;;) {
      const found = messages.find((each) => key in each)
      if (found !== undefined) return found as Record<K, unknown>
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the node ended with ${child.exitCode ?? child.signalCode}`)
      await new Promise<void>((resolve) => {
        changed = resolve
      })
    }
  }
  await within(message('up'), 60_000, 'the start of a node')
  return {
    pid: child.pid!,
    stop: async () => {
      child.kill('SIGTERM')
      return (await within(message('report'), 60_000, 'the end of a node')).report as ShutdownReport
    },
    kill: () => void child.kill('SIGKILL'),
  }
}
