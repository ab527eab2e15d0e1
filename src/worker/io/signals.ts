/** Only the parent ends a worker: a terminal's Ctrl-C or a control group's SIGTERM is the host's to answer. Listeners of the tasks' own still run. */
export const ignoreSignals = (): void => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.on(signal, () => {})
}
