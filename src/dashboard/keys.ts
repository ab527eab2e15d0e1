import type { Controller } from './controller.js'

/** A key: a character, or the name of a key without one. */
export interface Key {
  readonly input: string
  readonly name?: 'up' | 'down' | 'pageup' | 'pagedown' | 'tab' | 'enter' | 'escape'
  readonly ctrl?: boolean
}

/** For the bottom line and the help. */
export const KEYS = [
  ['Tab ↑ ↓', 'choose', 'workers or tasks, and which of them'],
  ['Enter', 'look', "a worker's stack, a task's log"],
  ['p', 'pause', 'start no more jobs, or continue'],
  ['+ -', 'scale', 'one worker more or less'],
  ['r', 'restart', 'replace the workers, one after another'],
  ['t', 'stack', 'what the chosen worker executes now'],
  ['x', 'revoke', 'never start the chosen job; end it if it runs'],
  ['s', 'snapshot', 'fetch all statistics and tasks again'],
  ['l', 'log', 'of the node, if it is in this process'],
  ['n', 'next', 'the next node'],
  ['?', 'help', 'this page'],
  ['q', 'quit', 'Esc closes the overlay'],
] as const

const NAMED: { readonly [name in NonNullable<Key['name']>]: (controller: Controller) => void } = {
  up: (controller) => controller.move(-1),
  down: (controller) => controller.move(1),
  pageup: (controller) => controller.move(-10),
  pagedown: (controller) => controller.move(10),
  tab(controller) {
    if (controller.overlay === undefined) controller.changeFocus()
  },
  enter(controller) {
    if (controller.overlay !== undefined) controller.close()
    else if (controller.focus === 'workers') controller.showStack()
    else controller.showTask()
  },
  escape: (controller) => controller.close(),
}

const TYPED: { readonly [input: string]: (controller: Controller) => void } = {
  k: NAMED.up,
  j: NAMED.down,
  p(controller) {
    const state = controller.node?.stats?.state
    controller.ask({ command: state === 'paused' || state === 'quiet' ? 'resume' : 'pause' })
  },
  '+': (controller) => controller.ask({ command: 'grow', by: 1 }),
  '-': (controller) => controller.ask({ command: 'shrink', by: 1 }),
  r: (controller) => controller.confirm({ text: 'Restart the workers, one after another?', yes: () => controller.ask({ command: 'restart' }) }),
  t: (controller) => controller.showStack(),
  x: (controller) => revoke(controller),
  s: (controller) => controller.refresh(),
  l(controller) {
    if (controller.options.log === undefined) controller.notify('The log of a node is shown only by its own process.', true)
    else controller.show({ kind: 'node-log' })
  },
  n: (controller) => controller.nextNode(),
  '?': (controller) => controller.show({ kind: 'help' }),
  q(controller) {
    const { quitQuestion, onQuit } = controller.options
    if (controller.overlay !== undefined) controller.close()
    else if (quitQuestion === undefined) onQuit()
    else controller.confirm({ text: quitQuestion, yes: onQuit })
  },
}

const revoke = (controller: Controller): void => {
  const { task } = controller
  if (task === undefined) return
  if (controller.focus !== 'tasks' && controller.overlay?.kind !== 'task') {
    controller.notify('Choose a task first: Tab, then ↑ ↓', true)
    return
  }
  const runs = task.status === 'running'
  if (!runs && task.status !== 'pending' && task.status !== 'retried') {
    controller.notify(`${task.name} ${task.id} has ended.`, true)
    return
  }
  controller.confirm({
    text: `${runs ? 'End' : 'Revoke'} ${task.name} ${task.id}?`,
    yes: () => controller.ask({ command: 'revoke', id: task.id, terminate: runs }),
  })
}

/** Runs the action of a key. Ctrl-C always quits. */
export const press = (controller: Controller, { input, name, ctrl = false }: Key): void => {
  if (ctrl) {
    if (input === 'c') controller.options.onQuit()
    return
  }
  const { confirmation: question } = controller
  if (question !== undefined) {
    controller.confirmation = undefined
    if (input === 'y') question.yes()
    controller.changed()
    return
  }
  if (name !== undefined) NAMED[name](controller)
  else TYPED[input]?.(controller)
}
