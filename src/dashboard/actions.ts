import { DEFAULT_PROFILE_MS } from '../wire/cpu-profile.js'
import type { Controller } from './controller.js'
import { shownTime } from './format/values.js'
import type { DeadLetterRecord } from './model/dead-letters.js'
import { readProfile } from './profile.js'

/** The stack that the chosen worker executes now. */
export const showStack = (controller: Controller): void => {
  const worker = workerOrNotice(controller)
  if (worker !== undefined) controller.showAnswer(`Worker ${worker} executes`, { command: 'stack', worker }, stackOf)
}

/** Samples what the chosen worker executes, for five seconds; it runs on. */
export const showProfile = (controller: Controller): void => {
  const worker = workerOrNotice(controller)
  if (worker === undefined) return
  const { folder = process.cwd() } = controller.options
  controller.showAnswer(
    `Worker ${worker}: where its time goes`,
    { command: 'profile', worker, ms: DEFAULT_PROFILE_MS },
    (answer, node) => readProfile(answer, folder, node, worker),
    `sampling for ${shownTime(DEFAULT_PROFILE_MS)} …  The worker runs on.`,
  )
}

const workerOrNotice = (controller: Controller): number | undefined => {
  const { worker } = controller
  if (worker === undefined)
    controller.notify(controller.shownNode === undefined ? 'Choose a worker first: Enter shows the workers of a node' : 'No worker', true)
  return worker?.id
}

const stackOf = (value: unknown): string => {
  if (typeof value === 'string') return value
  const { stack } = (value ?? {}) as { stack?: unknown }
  return typeof stack === 'string' ? stack : JSON.stringify(value, null, 2)
}

/** Ends the chosen job if it runs, and lets it never begin otherwise. Asks first. */
export const revoke = (controller: Controller): void => {
  const { task } = controller
  if (task === undefined) return
  if (controller.focus !== 'tasks' && controller.overlay?.kind !== 'task') {
    controller.notify('Choose a job first: Tab, then ↑ ↓', true)
    return
  }
  const { id, name, node, status } = task
  const runs = status === 'running'
  if (!runs && status !== 'pending' && status !== 'retried') {
    controller.notify(`${name} ${id} has ended.`, true)
    return
  }
  controller.confirm({ text: `${runs ? 'End' : 'Revoke'} ${name} ${id}?`, yes: () => controller.ask({ command: 'revoke', id, terminate: runs }, node) })
}

/** The page of the dead letters, read anew. */
export const showLetters = (controller: Controller): void => {
  const { deadLetters } = controller
  if (deadLetters === undefined) {
    controller.notify('The dead letters of this broker are not known here.', true)
    return
  }
  controller.close()
  if (controller.page !== 'letters') controller.setFilter('')
  controller.page = 'letters'
  controller.lettersAt.newest()
  readLetters(controller)
}

export const readLetters = (controller: Controller): void => {
  const { deadLetters } = controller
  if (deadLetters === undefined) return
  controller.run(
    'dead letters',
    deadLetters.read().then(() => countText(deadLetters.count ?? deadLetters.letters.length, deadLetters.cut)),
  )
}

const countText = (count: number, cut: boolean): string => (cut ? `the oldest ${count} are shown` : `${count}`)

/** Sends the chosen dead letter, or the chosen failed job, back to its queue. Asks first. */
export const retryOne = (controller: Controller): void => {
  const { deadLetters } = controller
  const chosen = controller.page === 'letters' ? controller.letter : letterOfTask(controller)
  if (deadLetters === undefined || chosen === undefined) {
    controller.notify('Choose a dead letter (d), or a job that has failed', true)
    return
  }
  const { id, queue, task } = chosen
  if (id === undefined) {
    controller.notify('This message has no id, so that it cannot be named: A sends all of them back.', true)
    return
  }
  const retry = async (): Promise<string> => {
    if (!(await deadLetters.retry(queue, id))) throw new Error(`${id} is not among the dead letters (any more)`)
    if (controller.page === 'letters') await deadLetters.read()
    return 'it went back to its queue'
  }
  controller.confirm({ text: `Retry ${task ?? ''} ${id}?`, yes: () => controller.run('retry', retry()) })
}

const letterOfTask = (controller: Controller): Pick<DeadLetterRecord, 'id' | 'queue' | 'task'> | undefined => {
  const { task } = controller
  const isChosen = controller.focus === 'tasks' || controller.overlay?.kind === 'task'
  return task !== undefined && isChosen && ENDED_BADLY.has(task.status) ? { id: task.id, queue: task.queue, task: task.name } : undefined
}

/** Statuses of jobs that may be retried. */
export const ENDED_BADLY: ReadonlySet<string> = new Set(['failure', 'lost', 'hard_timeout', 'soft_timeout'])

/** Sends every dead letter back that the filter finds. Asks first. */
export const retryMatching = (controller: Controller): void => {
  const { deadLetters, filter, currentLetters } = controller
  if (controller.page !== 'letters' || deadLetters === undefined) {
    controller.notify('d shows the dead letters: A retries those that match', true)
    return
  }
  const all = filter.trim() === ''
  if ((all ? (deadLetters.count ?? currentLetters.length) : currentLetters.length) === 0) {
    controller.notify('There is none.', true)
    return
  }
  const retry = async (): Promise<string> => {
    const sent = await deadLetters.retryMatching(filter)
    await deadLetters.read()
    return `${sent} went back to their queues`
  }
  controller.confirm({ text: `Retry ${whichText(controller)}?`, yes: () => controller.run('retry', retry()) })
}

const whichText = ({ deadLetters, filter, currentLetters: { length } }: Controller): string => {
  if (filter.trim() !== '') return `the ${length} that match '${filter}'`
  const { count, cut = false, queues = [] } = deadLetters ?? {}
  if (count !== undefined) return `all dead letters of ${queues.length === 0 ? 'the queues' : queues.join(', ')}`
  if (cut) return 'all dead letters, also those that are not shown'
  return length === 1 ? 'the dead letter' : `all ${length} dead letters`
}
