/** Long enough for a Node that starts on a busy machine, ms. */
const PATIENCE = 5_000

/**
 * Puts the place of a syntax error into its text. Node keeps it to itself and prints it only when the error ends the process;
 * so the module is given to `node --check`, which parses and runs nothing. What it cannot tell, of an imported module for instance, stays as it is.
 */
export const namePlace = (error: unknown, module: string): void => {
  if (!(error instanceof SyntaxError)) return
  const { spawnSync } = process.getBuiltinModule('node:child_process')
  const { stderr } = spawnSync(process.execPath, ['--check', module], { encoding: 'utf8', timeout: PATIENCE, stdio: ['ignore', 'ignore', 'pipe'] })
  const line = /:(\d+)\n/.exec(stderr)?.[1]
  // Of something else than this module's own text: `JSON.parse` throws such errors, too.
  if (line === undefined || !stderr.includes(`SyntaxError: ${error.message}\n`)) return
  error.message += ` (line ${line})`
}
