import { readLetters, retryMatching, retryOne, revoke, showLetters, showProfile, showStack } from './actions.js'
import type { Controller } from './controller.js'

/** A key: a character, or the name of a key without one. */
export interface Key {
  readonly input: string
  readonly name?: 'up' | 'down' | 'pageup' | 'pagedown' | 'home' | 'end' | 'tab' | 'enter' | 'escape' | 'backspace' | undefined
  readonly ctrl?: boolean
}

/** For the help. */
export const KEYS = [
  ['Tab ↑ ↓', 'the other list; an entry of it (also j k, PgUp PgDn)'],
  ['Home End', 'the newest job, and follow it again; the oldest'],
  ['Enter', 'a node: its workers; a worker: its stack; a job: what is known of it'],
  ['Esc', 'back: from a page, a filter, the dead letters, a node'],
  ['/', 'filter: words; task:mail state:failed queue:q node:web-1'],
  ['o', 'the order of the jobs: newest, longest, task, state, attempts'],
  ['d', 'the dead letters'],
  ['R', 'retry the chosen dead letter or failed job (asks first)'],
  ['A', 'retry all dead letters that match the filter (asks first)'],
  ['p', 'sample the chosen worker for five seconds, write a .cpuprofile'],
  ['P', 'start no more jobs, or continue'],
  ['+ -', 'one worker more or less'],
  ['r', 'replace the workers, one after another (asks first)'],
  ['t', 'what the chosen worker executes now'],
  ['x', 'never start the chosen job; end it if it runs (asks first)'],
  ['s', 'fetch everything again'],
  ['l', 'the log of the node, if it is in this process'],
  ['n', 'the next node'],
  ['?', 'this page'],
  ['q', 'quit'],
] as const

const NAMED: { readonly [name in NonNullable<Key['name']>]: (controller: Controller) => void } = {
  up: (controller) => controller.move(-1),
  down: (controller) => controller.move(1),
  pageup: (controller) => controller.move(-10),
  pagedown: (controller) => controller.move(10),
  home: (controller) => controller.home(),
  end: (controller) => controller.end(),
  tab(controller) {
    if (controller.overlay === undefined) controller.changeFocus()
  },
  enter(controller) {
    if (controller.overlay !== undefined) controller.close()
    else if (controller.page === 'letters') {
      const { letter } = controller
      if (letter !== undefined) controller.show({ kind: 'letter', letter })
    } else if (controller.focus === 'tasks') controller.showTask()
    else if (controller.shownNode === undefined) controller.showNode()
    else showStack(controller)
  },
  escape: (controller) => controller.back(),
  backspace() {},
}

const TYPED: { readonly [input: string]: (controller: Controller) => void } = {
  k: NAMED.up,
  j: NAMED.down,
  '/'(controller) {
    if (controller.overlay !== undefined) return
    controller.typing = true
    if (controller.page === 'nodes') controller.focus = 'tasks'
    controller.changed()
  },
  o: (controller) => controller.nextOrder(),
  d: showLetters,
  R: retryOne,
  A: retryMatching,
  p: showProfile,
  P(controller) {
    const state = controller.node?.stats?.state
    controller.ask({ command: state === 'paused' || state === 'quiet' ? 'resume' : 'pause' })
  },
  '+': (controller) => controller.ask({ command: 'grow', by: 1 }),
  '-': (controller) => controller.ask({ command: 'shrink', by: 1 }),
  r(controller) {
    const { node } = controller
    if (node === undefined) return
    const of = controller.options.only === true ? '' : ` of ${node.name}`
    controller.confirm({ text: `Restart the workers${of}, one after another?`, yes: () => controller.ask({ command: 'restart' }, node.name) })
  },
  t: showStack,
  x: revoke,
  s(controller) {
    if (controller.page === 'letters') readLetters(controller)
    else controller.refresh()
  },
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

/** While the filter is typed, a key is a character of it. */
const typeFilter = (controller: Controller, { input, name }: Key): void => {
  const { filter } = controller
  if (name === 'backspace') controller.setFilter([...filter].slice(0, -1).join(''))
  else if (name === 'escape') {
    controller.typing = false
    controller.setFilter('')
  } else if (name === 'enter' || name === 'tab') controller.typing = false
  else if (name !== undefined) NAMED[name](controller)
  else if (input >= ' ') controller.setFilter(filter + input)
  controller.changed()
}

const CONTROL_KEYS: Readonly<Record<string, Key['name']>> = { '\t': 'tab', '\r': 'enter', '\n': 'enter', '\x7f': 'backspace', '\b': 'backspace' }

/** Runs the action of a key. Ctrl-C always quits. */
export const press = (controller: Controller, key: Key): void => {
  const { input, name, ctrl = false } = key
  // A terminal that is slow, or a paste, brings several keys at once.
  if (name === undefined && !ctrl && input.length > 1) {
    for (const each of input) press(controller, { input: each, name: CONTROL_KEYS[each] })
    return
  }
  if (ctrl) {
    if (input === 'c') controller.options.onQuit()
    return
  }
  const { confirmation: question } = controller
  if (question !== undefined) {
    controller.confirmation = undefined
    if (input === 'y') question.yes()
    controller.changed()
  } else if (controller.typing) typeFilter(controller, key)
  else if (name !== undefined) NAMED[name](controller)
  else TYPED[input]?.(controller)
}
