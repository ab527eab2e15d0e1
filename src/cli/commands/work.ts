import type { Logger } from 'pino'
import type { DeadLetters } from '../../dashboard/model/dead-letters.js'
import { LocalSource } from '../../dashboard/model/farm-source.js'
import type { LogTail } from '../../dashboard/model/log-tail.js'
import type { FarmNode, ShutdownReport } from '../../node/types.js'
import { escapeControl } from '../../util/shown-text.js'
import { deferred } from '../../util/with-timeout.js'
import type { CliContext } from '../cli-context.js'
import { CommandError, EXIT, type ExitCode } from '../exit.js'
import { serveHttp } from '../http/server.js'
import { deadLettersOf } from '../operations/dead-letters.js'
import { nodeServesDashboard, type OpenedDashboard, webDashboard } from '../operations/web-dashboard.js'
import { banner, configuration } from '../output/banner.js'
import { createLogger, prettyLine } from '../output/logger.js'
import { paintFor } from '../output/output-stream.js'
import { withoutBrokerSecrets } from '../settings/broker.js'
import { findModules } from '../settings/modules.js'
import type { Flags } from '../settings/setting.js'
import { readWork, type WorkSettings } from '../settings/work.js'
import { onSignals, type SignalHandlers } from '../signals.js'

/** Runs a node until it shuts down. */
export const work = async (flags: Flags, context: CliContext): Promise<ExitCode> => {
  // Before the settings are read: an imported module may set the variables.
  await loadImports(flags, context)
  const settings = readWork(flags, context.env, context.folder)
  const { stdout, stderr } = context
  // A log that cannot be written does not stop the node.
  stdout.onFailure?.((error) =>
    stderr.write(`prefork: The log cannot be written: ${escapeControl(error.message)}. The node goes on; lines that cannot be written are lost.\n`),
  )
  if (!settings.tui) return await run(settings, context, createLogger(stdout, context.env, settings))
  if (context.stdin.isTTY !== true || stdout.isTTY !== true)
    throw new CommandError('--tui needs a terminal: leave it out where input or output is a file or a pipe.', EXIT.usage)
  const { LogTail } = await import('../../dashboard/model/log-tail.js')
  const tail = new LogTail()
  return await run(settings, context, createLogger(tail, context.env, settings), tail)
}

const loadImports = async (flags: Flags, { folder }: CliContext): Promise<void> => {
  for (const url of findModules('--import', flags.import, folder) ?? []) {
    try {
      await import(url.href)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      throw new CommandError(`--import ${url.pathname} could not be loaded: ${reason}`, EXIT.failed, { cause: error })
    }
  }
}

const run = async (settings: WorkSettings, context: CliContext, logger: Logger, tail?: LogTail): Promise<ExitCode> => {
  logConfiguration(settings, context, logger)
  const web = await createWebDashboard(settings, logger)
  const http = settings.http === undefined ? undefined : await serveHttp(settings.http, logger, web?.dashboard)
  if (web !== undefined) logger.info({ url: web.address(http!.port) }, 'The dashboard is served')
  const signals = new NodeSignals(logger)
  const stopListening = onSignals(context.signals, signals)
  try {
    const farm = await context.farm(settings.broker)
    const node = await Promise.race([
      farm.createNode(settings.broker, { ...settings.node, env: withoutBrokerSecrets(context.env), logger }),
      signals.startCancelled,
    ])
    if (node === undefined) return EXIT.ok
    http?.attach(node)
    signals.node = node
    const deadLetters = deadLettersOf(farm, settings.broker, { arguments: settings.node.showArguments })
    await web?.dashboard.open(new LocalSource(node), deadLetters)
    const closeDashboard = tail === undefined ? undefined : await openDashboard(node, { tail, signals, deadLetters }, context)
    const report = await node.done
    await closeDashboard?.()
    const end = endOf(report, signals.hurried)
    logger[report.error !== undefined ? 'error' : report.clean ? 'info' : 'warn']({ requeued: report.requeued, killed: report.killed, left: report.left }, end)
    if (tail !== undefined) context.stdout.write(`${escapeControl(end)}\n`)
    if (report.error !== undefined) throw new CommandError(end, EXIT.broker)
    return report.killed > 0 || !report.clean ? EXIT.killed : EXIT.ok
  } finally {
    stopListening()
    await web?.dashboard.close()
    await http?.close()
  }
}

/** Undefined: no port was named, or it would be open to other machines without a token of the operator's. */
const createWebDashboard = async ({ http, broker }: WorkSettings, logger: Logger): Promise<OpenedDashboard | undefined> => {
  if (http === undefined) return undefined
  if (nodeServesDashboard(http)) return await webDashboard(http, broker, (text) => logger.info({ request: text }, 'Asked by the dashboard'))
  logger.info({ host: http.host }, 'No dashboard is served beyond this machine: it needs a token in ASYNC_FARM_HTTP_TOKEN')
  return undefined
}

interface DashboardParts {
  readonly tail: LogTail
  readonly signals: NodeSignals
  readonly deadLetters: DeadLetters
}

const openDashboard = async (node: FarmNode, { tail, signals, deadLetters }: DashboardParts, { stdout, env }: CliContext) => {
  const { openLocal } = await import('../../dashboard/open.js')
  const onQuit = (): void => signals.stop('SIGINT', signals.asked)
  const onFailure = (error: unknown): void => {
    // Without the dashboard the log goes to the terminal.
    tail.forward = (json) => stdout.write(prettyLine(json, paintFor(stdout, env)))
    signals.logger.error({ err: error }, 'The dashboard has failed; the node goes on')
  }
  return await openLocal(node, { log: tail, deadLetters, onQuit, onFailure })
}

const logConfiguration = (settings: WorkSettings, { stdout, env, folder, version }: CliContext, logger: Logger): void => {
  const lines = configuration(settings, folder)
  if (stdout.isTTY === true) {
    if (!settings.tui) stdout.write(banner(version, lines, paintFor(stdout, env)))
  } else logger.info({ version, ...Object.fromEntries(lines) }, 'prefork work starts')
}

/** `hurried`: a second signal came before the grace was over. */
const endOf = ({ clean, requeued, killed, left = 0, error }: ShutdownReport, hurried: boolean): string => {
  if (error !== undefined) return `Stopped: ${error.message} What ran was ended, and its outcome is not stored.`
  const reserved = left === 0 ? '' : `, and ${left} ${left === 1 ? 'stays' : 'stay'} reserved, as no retry is left`
  return clean && killed === 0
    ? `Stopped: every job in flight has ended; ${requeued} that had not begun went back to the queue.`
    : `Stopped: ${hurried ? 'it was asked again' : 'the grace was over'}; ${killed === 1 ? '1 job that had begun was' : `${killed} jobs that had begun were`} killed, ${requeued} that had not went back to the queue${reserved}.`
}

/** The signals, for a node that may still start. */
class NodeSignals implements SignalHandlers {
  node: FarmNode | undefined
  asked = false
  /** A second signal came, which leaves no grace. */
  hurried = false
  readonly logger: Logger
  readonly #start = deferred<undefined>()

  constructor(logger: Logger) {
    this.logger = logger
  }

  /** Resolves when a signal stops the start. */
  get startCancelled(): Promise<undefined> {
    return this.#start.promise
  }

  stop(signal: string, again: boolean): void {
    this.asked = true
    if (this.node === undefined) {
      this.logger.info({ signal }, 'Stopped before the node was up: nothing had begun')
      this.#start.resolve(undefined)
      return
    }
    this.logger.info(
      { signal },
      again ? 'Asked again: what still runs is ended now' : 'Draining: no new jobs; those in flight have the grace to end. Once more ends them now',
    )
    this.hurried = again
    // `run` awaits `done`, which rejects with the same error.
    this.node.shutdown(again ? { grace: 0, reason: signal } : { reason: signal }).catch(() => {})
  }

  quiet(): boolean {
    const state = this.node?.stats().state ?? 'starting'
    // A signal does not undo a command of an operator.
    if (state !== 'running') {
      this.logger.info({ signal: 'SIGTSTP', state }, 'It takes no jobs as it is: nothing changes')
      return false
    }
    this.logger.info({ signal: 'SIGTSTP' }, 'Quiet: no new jobs; SIGCONT takes them up again, SIGTERM ends the node')
    this.#command('quiet')
    return true
  }

  resume(): void {
    if (this.node?.stats().state === 'paused') {
      this.logger.info({ signal: 'SIGCONT' }, 'It was paused meanwhile, and stays so')
      return
    }
    this.logger.info({ signal: 'SIGCONT' }, 'Taking jobs again')
    this.#command('resume')
  }

  /** Logs what each worker executes at this moment. */
  dump(): void {
    const { node, logger } = this
    const workers = node?.stats().workers.filter(({ state }) => state !== 'dead' && state !== 'starting') ?? []
    logger.info({ signal: 'SIGTTIN', workers: workers.length }, 'The stacks of all workers')
    for (const { id, pid } of workers)
      node!.command({ command: 'stack', worker: id }).then(
        (answer) => logger.info({ worker: id, pid }, (answer as { stack: string }).stack),
        (error: unknown) => logger.error({ worker: id, pid, err: error }, 'The stack of a worker could not be had'),
      )
  }

  #command(command: 'quiet' | 'resume'): void {
    this.node?.command({ command }).catch((error: unknown) => this.logger.error({ err: error }, `The node could not be made to ${command}`))
  }
}
