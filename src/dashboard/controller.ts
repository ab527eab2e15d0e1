import type { Command } from '../runtime/report/commands.js'
import { isNodeSnapshot } from '../runtime/report/read-report.js'
import type { NodeWorker, TaskRecord } from '../runtime/report/report.js'
import { FarmModel } from './model/farm-model.js'
import type { LogLine } from './model/log-tail.js'
import type { NodeModel } from './model/node-model.js'
import type { FarmSource } from './model/source.js'

export type Overlay =
  | { readonly kind: 'help' | 'node-log' }
  | { readonly kind: 'task'; readonly id: string }
  | { readonly kind: 'stack'; readonly worker: number; readonly text: string | undefined }

export interface Notice {
  readonly text: string
  readonly bad: boolean
  /** When it was told, ms since the epoch. */
  readonly at: number
}

/** A question that `y` answers. */
interface Confirmation {
  readonly text: string
  yes(): void
}

export interface ControllerOptions {
  readonly source: FarmSource
  /** The node to show first; default the first that is heard of. */
  readonly node?: string
  /** The log of a node of this process. */
  readonly log?: { readonly lines: readonly LogLine[]; onLine(listener: () => void): void }
  /** Ctrl-C, and `q`. */
  onQuit(): void
  /** What `q` asks before it quits; without it nothing is asked. */
  readonly quitQuestion?: string
  readonly now?: () => number
}

/** What is shown, and what the actions do: all of the dashboard but keys and picture. */
export class Controller {
  readonly model = new FarmModel()
  focus: 'workers' | 'tasks' = 'workers'
  overlay: Overlay | undefined
  confirmation: Confirmation | undefined
  notice: Notice | undefined
  /** First line shown of an overlay; counted from the end in logs. */
  scroll = 0
  /** Raised with each change. */
  version = 0
  private shownNode: string | undefined
  private chosenWorker: number | undefined
  private chosenTask: string | undefined
  private listener: (() => void) | undefined

  constructor(readonly options: ControllerOptions) {
    this.shownNode = options.node
    options.log?.onLine(() => this.changed())
  }

  async open(): Promise<void> {
    await this.options.source.open((event) => {
      const known = this.model.get(event.node) !== undefined
      this.model.take(event, this.now())
      // What it did before the dashboard was opened.
      if (!known) this.ask({ command: 'snapshot' }, { node: event.node, silent: true, answered: (value) => this.takeSnapshot(event.node, value) })
      this.changed()
    })
  }

  now(): number {
    return this.options.now?.() ?? Date.now()
  }

  /** Now, by the clock of the node that is shown. */
  nodeNow(): number {
    return this.now() - (this.node?.skew ?? 0)
  }

  onChange(listener: () => void): void {
    this.listener = listener
  }

  changed(): void {
    this.version++
    this.listener?.()
  }

  nodes(): NodeModel[] {
    return this.model.nodes(this.now(), this.shownNode)
  }

  get node(): NodeModel | undefined {
    if (this.shownNode === undefined) this.shownNode = this.nodes().find((each) => each.stats !== undefined)?.name
    return this.shownNode === undefined ? undefined : this.model.get(this.shownNode)
  }

  get workers(): readonly NodeWorker[] {
    return this.node?.stats?.workers ?? []
  }

  get worker(): NodeWorker | undefined {
    return this.workers.find((each) => each.id === this.chosenWorker) ?? this.workers[0]
  }

  get task(): TaskRecord | undefined {
    const { tasks } = this.node ?? {}
    return (this.chosenTask === undefined ? undefined : tasks?.get(this.chosenTask)) ?? tasks?.list()[0]
  }

  /** Moves the choice within the list that has the focus, or scrolls what lies over it. */
  move(by: number): void {
    if (this.overlay !== undefined) this.scroll = Math.max(0, this.scroll + by)
    else if (this.focus === 'workers') this.chosenWorker = moved(this.workers, this.worker, by)?.id
    else this.chosenTask = moved(this.node?.tasks.list() ?? [], this.task, by)?.id
    this.changed()
  }

  /** Gives the keys to the other list, and keeps its choice however many jobs come. */
  changeFocus(): void {
    this.focus = this.focus === 'workers' ? 'tasks' : 'workers'
    this.chosenTask = this.task?.id
    this.changed()
  }

  nextNode(): void {
    const all = this.nodes()
    const at = all.findIndex((each) => each.name === this.shownNode)
    this.shownNode = all[(at + 1) % all.length]?.name
    this.chosenWorker = undefined
    this.chosenTask = undefined
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

  /** The log of the chosen job, as the node has it now. */
  showTask(): void {
    const { task } = this
    if (task === undefined) return
    this.show({ kind: 'task', id: task.id })
    const { name } = this.node!
    this.ask({ command: 'snapshot' }, { silent: true, answered: (value) => this.takeSnapshot(name, value) })
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
    if (node !== undefined) this.ask({ command: 'snapshot' }, { answered: (value) => this.takeSnapshot(node.name, value) })
  }

  /** Asks the shown node, and tells how it went. */
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
    const told = command.command
    if (!silent) this.notify(`${told} …`)
    this.options.source
      .ask(node, command)
      .then((value) => {
        answered?.(value)
        if (!silent) this.notify(`${told}: done`)
        else this.changed()
      })
      .catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error)
        failed?.(reason)
        if (!silent) this.notify(`${told}: ${reason}`, true)
        else this.changed()
      })
  }

  notify(text: string, bad = false): void {
    this.notice = { text, bad, at: this.now() }
    this.changed()
  }

  private takeSnapshot(name: string, value: unknown): void {
    if (!isNodeSnapshot(value)) throw new Error('the answer is not what this version reads')
    this.model.get(name)?.takeSnapshot(value)
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
