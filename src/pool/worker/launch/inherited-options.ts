/** The host's own Node options that workers inherit. Left out: options that make sense for one process only, or would use the same port twice. */

const DROPPED = /^--(inspect|eval|print|test|watch|experimental-test|cpu-prof|heap-prof|input-type|check|interactive)|^-(e|p|pe|c|i)$/
/** Options whose value is code, which may begin with a dash. */
const CODE = new Set(['--eval', '-e', '--print', '-p', '-pe'])

/** The host's `process.execArgv` for a worker. */
export const inheritedExecArgv = (hostArgv: readonly string[]): string[] => {
  const kept: string[] = []
  for (let i = 0; i < hostArgv.length; i++) {
    const option = hostArgv[i]!
    if (!DROPPED.test(option)) {
      kept.push(option)
      continue
    }
    // The value of a dropped option is dropped with it; it may be an argument of its own.
    const next = hostArgv[i + 1]
    if (next !== undefined && (CODE.has(option) || !next.startsWith('-'))) i++
  }
  return kept
}

/** The arguments in NODE_OPTIONS, with their quotes. */
const WORDS = /(?:"(?:\\.|[^"\\])*"|[^\s"])+/g

/** The host's `NODE_OPTIONS` for a worker. */
export const inheritedNodeOptions = (hostOptions: string): string => inheritedExecArgv(hostOptions.match(WORDS) ?? []).join(' ')

/** The workers' environment, as `env` is now. `NODE_OPTIONS` that came from the host, by `{ ...process.env }` too, are reduced; those that the caller set are kept. */
export const inheritedEnv = (env: Record<string, string | undefined>, host: Record<string, string | undefined>): Record<string, string | undefined> => {
  const options = host.NODE_OPTIONS
  if (options === undefined || env.NODE_OPTIONS !== options) return { ...env }
  const kept = inheritedNodeOptions(options)
  return { ...env, NODE_OPTIONS: kept === '' ? undefined : kept }
}
