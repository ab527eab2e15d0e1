import { OptionError, plainObject, refusal, refuseUnknownNames } from '../../util/checks.js'
import type { NewJob } from '../store/store.js'
import { namingJob, newJob, newJobId, type TargetQueue } from './new-job.js'

/** Jobs of one `addBulk` or `addFlow`: they are one transaction. */
export const MAX_JOBS = 10_000

const NAMES = ['task', 'args', 'options', 'children']

interface Entry {
  readonly path: string
  readonly given: Record<string, unknown>
  readonly id: string
  readonly children: Entry[]
}

const entryOf = (path: string, value: unknown): Entry => {
  const given = plainObject(path, value)
  refuseUnknownNames(path, given, NAMES)
  const { options, children = [] } = given
  if (!Array.isArray(children)) throw refusal(`${path}.children`, 'an array of jobs', children)
  const { id = newJobId(), dedup } = options === undefined ? {} : plainObject(`${path}.options`, options)
  // What stands in its place has another id, which its parent does not know.
  if (dedup !== undefined) throw new OptionError(`${path}.options.dedup`, 'is no option of a job in a flow')
  return { path, given, id: id as string, children: [] }
}

/** The jobs of a flow, each after its children, which it depends on. The root is the last. Throws TypeError and SerializationError. */
export const flowJobs = (queue: TargetQueue, root: unknown): NewJob[] => {
  const entries = [entryOf('flow', root)]
  // Parents first; a list, not a recursion: a flow may be deep.
  for (const entry of entries) {
    const children = (entry.given.children ?? []) as readonly unknown[]
    for (const [index, child] of children.entries()) {
      const added = entryOf(`${entry.path}.children[${index}]`, child)
      entry.children.push(added)
      entries.push(added)
    }
    if (entries.length > MAX_JOBS) throw refusal('flow', `at most ${MAX_JOBS} jobs`, `${entries.length} or more`)
  }
  return entries.reverse().map(({ path, given, id, children }) => {
    const { task, args, options } = given
    const own = (options ?? {}) as { dependsOn?: readonly string[] }
    const dependsOn = children.length === 0 ? own.dependsOn : [...(own.dependsOn ?? []), ...children.map((child) => child.id)]
    return namingJob(path, () => newJob(path, queue, task, args, { ...own, id, dependsOn }))
  })
}
