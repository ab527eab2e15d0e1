/** The queue in a file as tests drive it beside another library. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { onTestFinished } from 'vitest'
import { createQueue, createWorker, type WorkerOptions } from '../../../dist/queue/index.js'
import { projectOf } from '../packages.js'
import type { Ended, JobRequest } from './ended.js'

const BACKOFF = { kind: 'fixed', delay: 50 } as const

/** A queue in a project with these files. */
export const preforkSide = async (files: Readonly<Record<string, string>>, packages: readonly string[] = []) => {
  const { folder } = await projectOf(packages, files)
  const store = `sqlite:${join(folder, 'jobs.db')}`
  const queue = await createQueue({ store })
  onTestFinished(() => queue.close())

  const work = async (tasks: string, options: Partial<WorkerOptions> = {}): Promise<void> => {
    const node = await createWorker({ store, tasks: pathToFileURL(join(folder, tasks)), ...options })
    onTestFinished(async () => {
      await node.shutdown()
    })
  }

  type Job = Awaited<ReturnType<typeof queue.add>>

  const endOf = async (job: Job): Promise<Ended> => {
    const value = await job.result({ timeout: 60_000 }).catch(() => undefined)
    const details = await job.details()
    if (details === undefined || !['completed', 'failed'].includes(details.state)) throw new Error(`job ${job.id} is ${details?.state}`)
    const { state, counts, error } = details
    return { state, attempts: counts.attempt, losses: counts.losses, ...(state === 'completed' ? { value } : { reason: error?.message ?? '' }) }
  }

  const run = async (jobs: readonly JobRequest[]): Promise<Ended[]> => {
    const added = await queue.addBulk(
      jobs.map(({ name, data, attempts }) => ({ task: name, args: [data], options: { backoff: BACKOFF, ...(attempts && { maxAttempts: attempts }) } })),
    )
    return await Promise.all(added.map(endOf))
  }

  const runFlow = async (name: string, children: readonly JobRequest[]): Promise<Ended> => {
    const below = children.map((child) => ({ task: child.name, args: [child.data], options: { maxAttempts: 1 } }))
    return await endOf(await queue.addFlow({ task: name, args: [{}], children: below }))
  }

  return { folder, store, work, run, runFlow }
}
