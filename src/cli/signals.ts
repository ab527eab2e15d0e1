import type { CliContext } from './cli-context.js'

export interface SignalHandlers {
  /** SIGTERM, SIGINT (Ctrl-C) or SIGHUP (the terminal was closed); `again`: not the first of them. */
  stop(signal: NodeJS.Signals, again: boolean): void
  /** SIGTSTP. False: it changed nothing, so a SIGCONT has nothing to undo. */
  quiet(): boolean
  /** SIGCONT after a SIGTSTP. Any other SIGCONT is ignored: systemd sends one with each stop, a shell with each `fg`. */
  resume(): void
  /** SIGTTIN. Absent: it keeps its meaning for a terminal. */
  dump?(): void
}

/** Listens until the function that it returns is called. */
export const onSignals = (signals: CliContext['signals'], handlers: SignalHandlers): (() => void) => {
  let stopping = false
  let quiet = false
  const stop = (signal: NodeJS.Signals) => (): void => {
    handlers.stop(signal, stopping)
    stopping = true
  }
  const suspend = (): void => {
    if (!quiet && !stopping) quiet = handlers.quiet()
  }
  const resume = (): void => {
    if (!quiet || stopping) return
    quiet = false
    handlers.resume()
  }
  const listeners = {
    ...{ SIGTERM: stop('SIGTERM'), SIGINT: stop('SIGINT'), SIGHUP: stop('SIGHUP'), SIGTSTP: suspend, SIGCONT: resume },
    ...(handlers.dump === undefined ? undefined : { SIGTTIN: () => handlers.dump?.() }),
  }
  for (const [signal, listener] of Object.entries(listeners)) signals.on(signal, listener)
  return () => {
    for (const [signal, listener] of Object.entries(listeners)) signals.off(signal, listener)
  }
}
