import type { Logger } from 'pino'
import type { LogTail } from '../../dashboard/model/log-tail.js'
import type { FarmNode, ShutdownReport } from '../../node/types.js'
import { escapeControl } from '../../util/escape.js'
import type { CliContext } from '../cli-context.js'
import { CommandError, EXIT, type ExitCode } from '../exit.js'
import { serveHttp } from '../http/server.js'
import { createLogger } from '../log/logger.js'
import { paintFor } from '../log/paint.js'
import { prettyLine } from '../log/pretty.js'
import { banner, configuration } from '../output/banner.js'
import { findModules } from '../settings/modules.js'
import type { Flags } from '../settings/setting.js'
import { readWork, type WorkSettings } from '../settings/work.js'
import { onSignals } from '../signals.js'

/** A node that takes jobs until it is told to stop. */
export const work = async (flags: Flags, around: CliContext): Promise<ExitCode> => {
  // First: it may be what sets the variables.
  await loadImports(flags, around)
  const settings = readWork(flags, around.env, around.folder)
  tellLostLog(around)
  if (!settings.tui) return await run(settings, around, createLogger(around.stdout, around.env, settings))
  if (around.stdin.isTTY !== true || around.stdout.isTTY !== true)
    throw new CommandError('--tui needs a terminal: leave it out where input or output is a file or a pipe.', EXIT.usage)
  const { LogTail } = await import('../../dashboard/model/log-tail.js')
  const tail = new LogTail()
  return await run(settings, around, createLogger(tail, around.env, settings), tail)
}

/** The node, and its jobs, are worth more than its log. */
const tellLostLog = ({ stdout, stderr }: CliContext): void =>
  stdout.onFailure?.((error) =>
    stderr.write(`prefork: The log cannot be written: ${escapeControl(error.message)}. The node goes on; lines that cannot be written are lost.\n`),
  )

const loadImports = async (flags: Flags, { folder }: CliContext): Promise<void> => {
  for (const url of findModules('--import', flags.import, folder) ?? []) {
    try {
      await import(url.href)
    } catch (error) {
      throw new CommandError(`--import ${url.pathname} could not be loaded: ${messageOf(error)}`, EXIT.failed, { cause: error })
    }
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const run = async (settings: WorkSettings, around: CliContext, logger: Logger, tail?: LogTail): Promise<ExitCode> => {
  announce(settings, around, logger)
  const http = settings.http === undefined ? undefined : await serveHttp(settings.http, logger)
  const stop = new Stop(logger)
  const stopListening = onSignals(around.signals, stop)
  try {
    const farm = await around.farm()
    const node = await Promise.race([farm.createNode(settings.broker, { ...settings.node, logger }), stop.beforeTheNode])
    if (node === undefined) return EXIT.ok
    http?.attach(node)
    stop.node = node
    const closeDashboard = tail === undefined ? undefined : await openDashboard(node, tail, stop, around)
    const report = await node.done
    await closeDashboard?.()
    tellEnd(report, stop.hurried, logger)
    if (tail !== undefined) around.stdout.write(`${escapeControl(endOf(report, stop.hurried))}\n`)
    return report.killed > 0 || !report.clean ? EXIT.killed : EXIT.ok
  } finally {
    stopListening()
    await http?.close()
  }
}

const openDashboard = async (node: FarmNode, tail: LogTail, stop: Stop, { stdout, env }: CliContext) => {
  const { openLocal } = await import('../../dashboard/open.js')
  const onQuit = (): void => stop.stop('SIGINT', stop.asked)
  const onFailure = (error: unknown): void => {
    // The node is worth more than its picture.
    tail.forward = (json) => stdout.write(prettyLine(json, paintFor(stdout, env)))
    stop.logger.error({ err: error }, 'The dashboard has failed; the node goes on')
  }
  return await openLocal(node, { log: tail, onQuit, onFailure })
}

const announce = (settings: WorkSettings, { stdout, env, folder, version }: CliContext, logger: Logger): void => {
  const lines = configuration(settings, folder)
  if (stdout.isTTY === true) {
    if (!settings.tui) stdout.write(banner(version, lines, paintFor(stdout, env)))
  } else logger.info({ version, ...Object.fromEntries(lines) }, 'prefork work starts')
}

/** `hurried`: by a second signal, before the grace was over. */
const endOf = ({ clean, requeued, killed }: ShutdownReport, hurried: boolean): string =>
  clean && killed === 0
    ? `Stopped: every job in flight has ended; ${requeued} that had not begun went back to the queue.`
    : `Stopped: ${hurried ? 'it was asked again' : 'the grace was over'}; ${killed === 1 ? '1 job that had begun was' : `${killed} jobs that had begun were`} killed, ${requeued} that had not went back to the queue.`

const tellEnd = (report: ShutdownReport, hurried: boolean, logger: Logger): void => {
  logger[report.clean ? 'info' : 'warn']({ requeued: report.requeued, killed: report.killed }, endOf(report, hurried))
}

/** What the signals do to the node, or before there is one. */
class Stop {
  node: FarmNode | undefined
  asked = false
  /** Asked again, which leaves no grace. */
  hurried = false
  readonly beforeTheNode: Promise<undefined>
  private giveUp!: (nothing: undefined) => void

  constructor(readonly logger: Logger) {
    this.beforeTheNode = new Promise((resolve) => {
      this.giveUp = resolve
    })
  }

  stop(signal: string, again: boolean): void {
    this.asked = true
    if (this.node === undefined) {
      this.logger.info({ signal }, 'Stopped before the node was up: nothing had begun')
      this.giveUp(undefined)
      return
    }
    this.logger.info(
      { signal },
      again ? 'Asked again: what still runs is ended now' : 'Draining: no new jobs; those in flight have the grace to end. Once more ends them now',
    )
    this.hurried = again
    // A failure comes up where `done` is awaited.
    this.node.shutdown(again ? { grace: 0, reason: signal } : { reason: signal }).catch(() => {})
  }

  quiet(): boolean {
    const state = this.node?.stats().state ?? 'starting'
    // What an operator has asked for is not a signal's to undo.
    if (state !== 'running') {
      this.logger.info({ signal: 'SIGTSTP', state }, 'It takes no jobs as it is: nothing changes')
      return false
    }
    this.logger.info({ signal: 'SIGTSTP' }, 'Quiet: no new jobs; SIGCONT takes them up again, SIGTERM ends the node')
    this.ask('quiet')
    return true
  }

  resume(): void {
    if (this.node?.stats().state === 'paused') {
      this.logger.info({ signal: 'SIGCONT' }, 'It was paused meanwhile, and stays so')
      return
    }
    this.logger.info({ signal: 'SIGCONT' }, 'Taking jobs again')
    this.ask('resume')
  }

  private ask(command: 'quiet' | 'resume'): void {
    this.node?.command({ command }).catch((error: unknown) => this.logger.error({ err: error }, `The node could not be made to ${command}`))
  }
}
