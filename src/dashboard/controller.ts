import type { Command } from '../runtime/report/commands.js'
import type { NodeWorker } from '../runtime/report/report.js'
import { JobPage } from './job-page.js'
import { DeadLetterList, type DeadLetters, type ListedLetter, queryLetters } from './model/dead-letters.js'
import type { FarmSource } from './model/farm-source.js'
import { ListPosition } from './model/list-position.js'
import { LiveFarm } from './model/live-farm.js'
import type { LogEntry } from './model/log-tail.js'
import type { NodeModel } from './model/node-model.js'
import type { NodeTask } from './model/task-list.js'
import { queryTasks, TASK_ORDERS, type TaskOrder } from './model/task-query.js'

/** A page over the lists. */
export type Overlay =
  | { readonly kind: 'help' | 'node-log' }
  | { readonly kind: 'task'; readonly node: string; readonly id: string }
  | { readonly kind: 'letter'; readonly letter: ListedLetter }
  | { readonly kind: 'text'; readonly title: string; readonly text: string }

/** A question that the key `y` confirms. */
interface Confirmation {
  readonly text: string
  yes(): void
}

export interface ControllerOptions {
  readonly source: FarmSource
  /** The node to show first. Default all nodes. */
  readonly node?: string | undefined
  /** Only that node, which is of this process: there is no list of nodes. */
  readonly only?: boolean
  /** The dead letters of the broker. Default none are shown. */
  readonly deadLetters?: DeadLetters | undefined
  /** The log of a node of this process. */
  readonly log?: { readonly lines: readonly LogEntry[]; onLine(listener: () => void): void }
  /** Where profiles are written. Default the working directory. */
  readonly folder?: string
  /** Ctrl-C, and `q`. */
  onQuit(): void
  /** The question of `q` before it quits. Default none. */
  readonly quitQuestion?: string
  readonly now?: () => number
}

/** The state and the actions of the dashboard. `keys.ts` calls the actions, the view shows the state. */
export class Controller {
  readonly options: ControllerOptions
  readonly farm: LiveFarm
  readonly deadLetters: DeadLetterList | undefined
  /** `letters`: of the dead letters; otherwise the nodes, or the workers of the node that is shown, above the jobs. */
  page: 'nodes' | 'letters' = 'nodes'
  focus: 'upper' | 'tasks' = 'upper'
  overlay: Overlay | undefined
  confirmation: Confirmation | undefined
  /** `at`: ms since the epoch. */
  notice: { readonly text: string; readonly bad: boolean; readonly at: number } | undefined
  filter = ''
  /** The filter is being typed. */
  typing = false
  order: TaskOrder = 'newest'
  /** Lines of the overlay before the first one that is shown; of the log, after the last one. */
  scroll = 0
  /** The most that `scroll` may be: the lines that do not fit. The view knows it. */
  maxScroll = 0
  /** The last line of the log that the view has shown. */
  lastLogged: LogEntry | undefined
  /** Undefined: all nodes together. */
  shownNode: string | undefined
  readonly tasksAt = new ListPosition<NodeTask>(({ node, id }) => `${node} ${id}`)
  readonly lettersAt = new ListPosition<ListedLetter>(({ key }) => key)
  #chosenNode: string | undefined
  readonly #jobPage: JobPage
  #chosenWorker: number | undefined
  #listener: (() => void) | undefined
  /** `currentTasks` until something changes: a frame asks for it several times. */
  #tasks: readonly NodeTask[] | undefined

  constructor(options: ControllerOptions) {
    this.options = options
    this.farm = new LiveFarm(options.source, options.now)
    this.deadLetters = options.deadLetters === undefined ? undefined : new DeadLetterList(options.deadLetters, this.farm)
    this.#jobPage = new JobPage(this.farm, () => this.changed())
    this.shownNode = options.node
    options.log?.onLine(() => this.changed())
  }

  open(): Promise<void> {
    return this.farm.open(() => this.changed())
  }

  now(): number {
    return this.farm.now()
  }

  onChange(listener: () => void): void {
    this.#listener = listener
  }

  changed(): void {
    this.#tasks = undefined
    this.#listener?.()
  }

  /** To be called now and then: nodes that are silent send no event, nor does the output of a job. */
  tick(): void {
    const { overlay, task } = this
    if (overlay?.kind === 'task' && task !== undefined) this.#jobPage.tick(task)
    this.#checkNodes()
  }

  #checkNodes(): void {
    const gone = this.farm.model.newlyGone(this.now()).map((node) => `${node.name} is gone: ${node.goneReason(this.now())}`)
    if (gone.length > 0) this.notify(gone.join('; '), true)
    const shown = this.shownNode
    if (shown === undefined || this.options.only === true || this.farm.model.get(shown) !== undefined) return
    // A node that is only named may still come.
    if (this.nodes.length > 0 && shown !== this.options.node) this.showFarm()
  }

  get nodes(): NodeModel[] {
    return this.farm.model.nodes(this.now())
  }

  /** The node that commands go to: the one that is shown, or chosen in the list. */
  get node(): NodeModel | undefined {
    if (this.shownNode !== undefined) return this.farm.model.get(this.shownNode)
    const { nodes } = this
    return nodes.find(({ name }) => name === this.#chosenNode) ?? nodes[0]
  }

  get workers(): readonly NodeWorker[] {
    return (this.shownNode === undefined ? undefined : this.node?.stats?.workers) ?? []
  }

  get worker(): NodeWorker | undefined {
    return this.workers.find((each) => each.id === this.#chosenWorker) ?? this.workers[0]
  }

  /** The jobs that the filter finds, of the node that is shown or of all. */
  get currentTasks(): readonly NodeTask[] {
    if (this.#tasks === undefined) {
      const tasks = this.shownNode === undefined ? this.farm.model.tasks(this.now()) : (this.node?.tasks.records() ?? [])
      this.#tasks = queryTasks(tasks, this.filter, this.order)
    }
    return this.#tasks
  }

  get task(): NodeTask | undefined {
    const { overlay } = this
    if (overlay?.kind === 'task') return this.farm.model.get(overlay.node)?.tasks.get(overlay.id)
    return this.tasksAt.chosen(this.currentTasks)
  }

  get currentLetters(): readonly ListedLetter[] {
    return queryLetters(this.deadLetters?.letters ?? [], this.filter)
  }

  get letter(): ListedLetter | undefined {
    return this.overlay?.kind === 'letter' ? this.overlay.letter : this.lettersAt.chosen(this.currentLetters)
  }

  /** Moves the choice within the focused list, or scrolls the overlay. */
  move(by: number): void {
    const { overlay } = this
    if (overlay !== undefined) this.scroll = Math.min(this.maxScroll, Math.max(0, this.scroll + (overlay.kind === 'node-log' ? -by : by)))
    else if (this.page === 'letters') this.lettersAt.move(this.currentLetters, by)
    else if (this.focus === 'tasks') this.tasksAt.move(this.currentTasks, by)
    else if (this.shownNode === undefined) this.#chosenNode = moved(this.nodes, this.node, by)?.name
    else this.#chosenWorker = moved(this.workers, this.worker, by)?.id
    this.changed()
  }

  /** To the newest job, where the list follows again; elsewhere to the first entry or line. */
  home(): void {
    if (this.overlay === undefined && this.page === 'nodes' && this.focus === 'tasks') this.tasksAt.newest()
    else this.move(-1_000_000)
    this.changed()
  }

  end(): void {
    this.move(1_000_000)
  }

  changeFocus(): void {
    if (this.page === 'letters') return
    this.focus = this.focus === 'upper' ? 'tasks' : 'upper'
    this.changed()
  }

  /** Shows one node: the chosen one, or the one of this name. */
  showNode(name = this.node?.name): void {
    if (name === undefined) return
    this.shownNode = name
    this.#chosenNode = name
    this.#chosenWorker = undefined
    this.#reset()
  }

  showFarm(): void {
    if (this.options.only === true) return
    this.shownNode = undefined
    this.#reset()
  }

  nextNode(): void {
    const all = this.nodes
    const at = all.findIndex((each) => each.name === this.node?.name)
    this.showNode(all[(at + 1) % all.length]?.name)
  }

  #reset(): void {
    this.page = 'nodes'
    this.focus = 'upper'
    this.tasksAt.newest()
    this.close()
  }

  show(overlay: Overlay): void {
    this.overlay = overlay
    this.scroll = 0
    this.changed()
  }

  close(): void {
    this.overlay = undefined
    this.confirmation = undefined
    this.changed()
  }

  /** One step back: from an overlay, a filter, the dead letters, a node. */
  back(): void {
    if (this.overlay !== undefined) this.close()
    else if (this.filter !== '') this.setFilter('')
    else if (this.page === 'letters') this.page = 'nodes'
    else this.showFarm()
    this.changed()
  }

  confirm(question: Confirmation): void {
    this.confirmation = question
    this.changed()
  }

  setFilter(text: string): void {
    this.filter = text
    this.tasksAt.newest()
    this.lettersAt.newest()
    this.changed()
  }

  nextOrder(): void {
    this.order = TASK_ORDERS[(TASK_ORDERS.indexOf(this.order) + 1) % TASK_ORDERS.length]!
    this.tasksAt.newest()
    this.notify(`Jobs by: ${this.order}`)
  }

  /** Shows the chosen job, as its node knows it now. */
  showTask(): void {
    const { task } = this
    if (task === undefined) return
    this.show({ kind: 'task', node: task.node, id: task.id })
    this.#jobPage.read(task)
  }

  /** Shows a text that a node is asked for. `waiting`: the text until then, of a command that takes its time: its first line is a notice if the page was left. */
  showAnswer(title: string, command: Command, read: (value: unknown, node: string) => string | Promise<string>, waiting?: string): void {
    const { node } = this
    if (node === undefined) return
    const asked: Overlay = { kind: 'text', title, text: waiting ?? 'asking …' }
    this.show(asked)
    const put = (text: string): void => {
      if (this.overlay === asked) this.overlay = { ...asked, text }
      else if (waiting !== undefined) this.notify(text.split('\n', 1)[0]!)
      this.changed()
    }
    this.farm
      .ask(node.name, command)
      .then((value) => read(value, node.name))
      .then(put, (error: unknown) => put(`No answer: ${messageOf(error)}`))
  }

  refresh(): void {
    const names = this.shownNode === undefined ? this.farm.model.present(this.now()).map(({ name }) => name) : [this.shownNode]
    this.run(
      'snapshot',
      Promise.all(names.map((name) => this.farm.refresh(name))).then(() => 'done'),
    )
  }

  /** Sends a command to a node, by default the one that is shown or chosen, and shows a notice of the outcome. */
  ask(command: Command, node = this.node?.name): void {
    if (node === undefined) return
    const about = this.options.only === true ? command.command : `${node}: ${command.command}`
    this.run(about, this.farm.ask(node, command).then(outcomeOf))
  }

  /** Shows a notice while an action goes on, and one of its outcome. */
  run(about: string, action: Promise<string>): void {
    this.notify(`${about} …`)
    action.then(
      (outcome) => this.notify(`${about}: ${outcome}`),
      (error: unknown) => this.notify(`${about}: ${messageOf(error)}`, true),
    )
  }

  notify(text: string, bad = false): void {
    this.notice = { text, bad, at: this.now() }
    this.changed()
  }
}

const moved = <T>(list: readonly T[], chosen: T | undefined, by: number): T | undefined => {
  const at = chosen === undefined ? 0 : list.indexOf(chosen)
  return list[Math.min(list.length - 1, Math.max(0, at + by))]
}

/** A revocation may meet its job otherwise than was asked: one that was to wait has begun. */
const outcomeOf = (answer: unknown): string => {
  const { outcome } = (answer ?? {}) as { outcome?: unknown }
  return typeof outcome === 'string' ? outcome : 'done'
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
