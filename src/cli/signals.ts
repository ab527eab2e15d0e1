import type { CliContext } from './cli-context.js'

export interface SignalHandlers {
  /** SIGTERM, SIGINT (Ctrl-C) or SIGHUP (the terminal was closed); `again`: not the first of them. */
  stop(signal: NodeJS.Signals, again: boolean): void
  /** SIGTSTP. False: it changed nothing, so a SIGCONT has nothing to undo. */
  quiet(): boolean
  /** SIGCONT after a SIGTSTP. Any other SIGCONT is ignored: systemd sends one with each stop, a shell with each `fg`. */
  resume(): void
}

const STOP = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/** Listens until the function that it returns is called. */
export const onSignals = (signals: CliContext['signals'], handlers: SignalHandlers): (() => void) => {
  let stopping = false
  let quiet = false
  const listeners: [NodeJS.Signals, () => void][] = STOP.map((signal) => [
    signal,
    () => {
      handlers.stop(signal, stopping)
      stopping = true
    },
  ])
  listeners.push(
    [
      'SIGTSTP',
      () => {
        if (quiet || stopping) return
        quiet = handlers.quiet()
      },
    ],
    [
      'SIGCONT',
      () => {
        if (!quiet || stopping) return
        quiet = false
        handlers.resume()
      },
    ],
  )
  for (const [signal, listener] of listeners) signals.on(signal, listener)
  return () => {
    for (const [signal, listener] of listeners) signals.off(signal, listener)
  }
}
