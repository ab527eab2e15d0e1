import type { Command } from '../runtime/report/commands.js'
import { isNodeSnapshot } from '../runtime/report/read-report.js'
import type { NodeWorker, TaskRecord } from '../runtime/report/report.js'
import { FarmModel, type NodeModel } from './model/farm-model.js'
import type { FarmSource } from './model/farm-source.js'
import type { LogEntry } from './model/log-tail.js'

export type Overlay =
  | { readonly kind: 'help' | 'node-log' }
  | { readonly kind: 'task'; readonly id: string }
  | { readonly kind: 'stack'; readonly worker: number; readonly text: string | undefined }

/** A question that the key `y` confirms. */
interface Confirmation {
  readonly text: string
  yes(): void
}

export interface ControllerOptions {
  readonly source: FarmSource
  /** The node to show first. Default the first that reports. */
  readonly node?: string
  /** The log of a node of this process. */
  readonly log?: { readonly lines: readonly LogEntry[]; onLine(listener: () => void): void }
  /** Ctrl-C, and `q`. */
  onQuit(): void
  /** The question of `q` before it quits. Default none. */
  readonly quitQuestion?: string
  readonly now?: () => number
}

/** The state and the actions of the dashboard. `keys.ts` calls the actions, the view shows the state. */
export class Controller {
  readonly options: ControllerOptions
  readonly model = new FarmModel()
  focus: 'workers' | 'tasks' = 'workers'
  overlay: Overlay | undefined
  confirmation: Confirmation | undefined
  /** `at`: ms since the epoch. */
  notice: { readonly text: string; readonly bad: boolean; readonly at: number } | undefined
  /** First line of the overlay that is shown; in logs counted from the end. */
  scroll = 0
  /** Increases with each change. */
  version = 0
  #shownNode: string | undefined
  #chosenWorker: number | undefined
  #chosenTask: string | undefined
  #listener: (() => void) | undefined

  constructor(options: ControllerOptions) {
    this.options = options
    this.#shownNode = options.node
    options.log?.onLine(() => this.changed())
  }

  async open(): Promise<void> {
    await this.options.source.open((event) => {
      const known = this.model.get(event.node) !== undefined
      this.model.apply(event, this.now())
      // Jobs from before the dashboard was opened.
      if (!known) this.ask({ command: 'snapshot' }, { node: event.node, silent: true, answered: (value) => this.#applySnapshot(event.node, value) })
      this.changed()
    })
  }

  now(): number {
    return this.options.now?.() ?? Date.now()
  }

  /** The time by the clock of the node that is shown. */
  nodeNow(): number {
    return this.now() - (this.node?.skew ?? 0)
  }

  onChange(listener: () => void): void {
    this.#listener = listener
  }

  changed(): void {
    this.version++
    this.#listener?.()
  }

  nodes(): NodeModel[] {
    return this.model.nodes(this.now(), this.#shownNode)
  }

  get node(): NodeModel | undefined {
    if (this.#shownNode === undefined) this.#shownNode = this.nodes().find((each) => each.stats !== undefined)?.name
    return this.#shownNode === undefined ? undefined : this.model.get(this.#shownNode)
  }

  get workers(): readonly NodeWorker[] {
    return this.node?.stats?.workers ?? []
  }

  get worker(): NodeWorker | undefined {
    return this.workers.find((each) => each.id === this.#chosenWorker) ?? this.workers[0]
  }

  get task(): TaskRecord | undefined {
    const { tasks } = this.node ?? {}
    return (this.#chosenTask === undefined ? undefined : tasks?.get(this.#chosenTask)) ?? tasks?.list()[0]
  }

  /** Moves the choice within the focused list, or scrolls the overlay. */
  move(by: number): void {
    if (this.overlay !== undefined) this.scroll = Math.max(0, this.scroll + by)
    else if (this.focus === 'workers') this.#chosenWorker = moved(this.workers, this.worker, by)?.id
    else this.#chosenTask = moved(this.node?.tasks.list() ?? [], this.task, by)?.id
    this.changed()
  }

  /** Focuses the other list. Its choice stays, however many jobs come. */
  changeFocus(): void {
    this.focus = this.focus === 'workers' ? 'tasks' : 'workers'
    this.#chosenTask = this.task?.id
    this.changed()
  }

  nextNode(): void {
    const all = this.nodes()
    const at = all.findIndex((each) => each.name === this.#shownNode)
    this.#shownNode = all[(at + 1) % all.length]?.name
    this.#chosenWorker = undefined
    this.#chosenTask = undefined
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

  confirm(question: Confirmation): void {
    this.confirmation = question
    this.changed()
  }

  /** Shows the current log of the chosen job. */
  showTask(): void {
    const { task } = this
    if (task === undefined) return
    this.show({ kind: 'task', id: task.id })
    const { name } = this.node!
    this.ask({ command: 'snapshot' }, { silent: true, answered: (value) => this.#applySnapshot(name, value) })
  }

  showStack(): void {
    const { worker } = this
    if (worker === undefined) return
    this.show({ kind: 'stack', worker: worker.id, text: undefined })
    const put = (text: string): void => {
      if (this.overlay?.kind === 'stack' && this.overlay.worker === worker.id) this.overlay = { kind: 'stack', worker: worker.id, text }
    }
    this.ask(
      { command: 'stack', worker: worker.id },
      { silent: true, answered: (value) => put(stackOf(value)), failed: (reason) => put(`No stack: ${reason}`) },
    )
  }

  refresh(): void {
    const { node } = this
    if (node !== undefined) this.ask({ command: 'snapshot' }, { answered: (value) => this.#applySnapshot(node.name, value) })
  }

  /** Sends a command to the shown node, and shows a notice of the outcome. */
  ask(
    command: Command,
    {
      node = this.node?.name,
      silent = false,
      answered,
      failed,
    }: { node?: string; silent?: boolean; answered?(value: unknown): void; failed?(reason: string): void } = {},
  ): void {
    if (node === undefined) return
    const { command: name } = command
    if (!silent) this.notify(`${name} …`)
    this.options.source
      .ask(node, command)
      .then((value) => {
        answered?.(value)
        if (!silent) this.notify(`${name}: done`)
        else this.changed()
      })
      .catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error)
        failed?.(reason)
        if (!silent) this.notify(`${name}: ${reason}`, true)
        else this.changed()
      })
  }

  notify(text: string, bad = false): void {
    this.notice = { text, bad, at: this.now() }
    this.changed()
  }

  #applySnapshot(name: string, value: unknown): void {
    if (!isNodeSnapshot(value)) throw new Error('the answer is not what this version reads')
    this.model.get(name)?.applySnapshot(value)
  }
}

const moved = <T>(list: readonly T[], chosen: T | undefined, by: number): T | undefined => {
  const at = chosen === undefined ? 0 : list.indexOf(chosen)
  return list[Math.min(list.length - 1, Math.max(0, at + by))]
}

const stackOf = (value: unknown): string => {
  if (typeof value === 'string') return value
  const { stack } = (value ?? {}) as { stack?: unknown }
  return typeof stack === 'string' ? stack : JSON.stringify(value, null, 2)
}
