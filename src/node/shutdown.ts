import { withTimeout } from '../util/with-timeout.js'
import type { Countdown } from './countdown.js'
import type { NodeParts } from './node-stats.js'
import type { ShutdownReport } from './types.js'

/** What a task has to answer its aborted signal before its worker is killed, ms. */
const TERMINATE_MS = 500
/** Stop hooks of workers that are through have so long, ms; never beyond the grace. */
const STOP_HOOKS_MS = 5_000
/** Settlements have so long to reach the broker, then a last moment to be given back instead, ms. */
const SETTLE_MS = 800
const LAST_SETTLE_MS = 300

const ignore = (): void => {}

/** Drains, ends what is left, settles it. The broker is still open afterwards. */
export const drain = async ({ runtime, pool, intake, settings }: NodeParts, countdown: Countdown): Promise<ShutdownReport> => {
  const alreadyBack = runtime.requeued
  runtime.release()
  const stopped = intake.stop().catch((err: unknown) => settings.logger?.warn({ err }, 'the consumer could not be stopped'))
  let empty = false
  const emptied = runtime.empty().then(() => {
    empty = true
  })
  await Promise.race([emptied, countdown.over])
  if (!empty) runtime.kill()
  await pool.close({ timeout: empty ? Math.max(TERMINATE_MS, Math.min(STOP_HOOKS_MS, countdown.left)) : TERMINATE_MS })
  const killed = runtime.settleKilled()
  await withTimeout(runtime.settled(), SETTLE_MS, ignore)
  await withTimeout(runtime.settled(true), LAST_SETTLE_MS, ignore)
  await withTimeout(stopped, LAST_SETTLE_MS, ignore)
  runtime.close()
  return { clean: killed === 0, requeued: runtime.requeued - alreadyBack, killed }
}
