/** @import { PoolKind } from '../types.js' */
/** @import { View } from './view.js' */

/**
 * @typedef {object} Found
 * @property {number} value
 * @property {number} [bound] set if it depends on the measurement
 * @property {string} [note] the peer of the comparison
 *
 * @typedef {object} Target
 * @property {string} text
 * @property {'at least' | 'at most'} sense
 * @property {number} bound
 * @property {string} unit 'x' for a ratio
 * @property {(view: View) => Found | undefined} of undefined if the run lacks a figure
 *
 * @typedef {Target & { found: Found, bound: number, met: boolean }} Evaluation
 */

/** Process peers: pools alone, and with Node's bare messages, which have no queue and replace no worker. Both comparisons are shown. @type {PoolKind[]} */
const PROCESS_POOLS = ['processes']
/** @type {PoolKind[]} */
const PROCESSES = ['processes', 'bare']
/** @type {PoolKind[]} */
const THREADS = ['threads']

/** No-ops a second of Celery's AsynPool on a machine where piscina had PISCINA_BESIDE_IT; it is not run here. */
const CELERY = 10_900
const PISCINA_BESIDE_IT = 30_400

const MAIN = 'noop/2w-128/perSecond'
const SATURATED = ['1ms', 'noop', '1KB'].flatMap((load) => ['50MB', '2000MB'].map((held) => `latency/${load}-${held}`))

/**
 * @param {string} text
 * @param {Target['sense']} sense
 * @param {number} bound
 * @param {Target['of']} of
 * @param {string} [unit]
 * @returns {Target}
 */
const target = (text, sense, bound, of, unit = 'x') => ({ text, sense, bound, unit, of })

/** The worst of prefork's ratios to piscina over several variants. @param {View} view @param {string} metric @param {'more' | 'less'} better @returns {Found | undefined} */
const worstAgainstPiscina = (view, metric, better) => {
  /** @type {Found | undefined} */
  let worst
  for (const where of SATURATED) {
    const found = view.times(`${where}/${metric}`, 'piscina')
    if (found !== undefined && (worst === undefined || found.value > worst.value === (better === 'less')))
      worst = { value: found.value, note: where.replace('latency/', '') }
  }
  return worst
}

/** @type {Target[]} */
export const TARGETS = [
  target('no-op: the fastest peer of any kind', 'at least', 2, (view) => view.timesBest(MAIN, 'more')),
  target('no-op: the fastest process pool', 'at least', 6, (view) => view.timesBest(MAIN, 'more', PROCESS_POOLS)),
  target('no-op: the same, bare fork among them', 'at least', 6, (view) => view.timesBest(MAIN, 'more', PROCESSES)),
  target("no-op: Celery's AsynPool (by way of piscina)", 'at least', 15, (view) => {
    const found = view.times(MAIN, 'piscina')
    return found && { value: (found.value * PISCINA_BESIDE_IT) / CELERY }
  }),
  target('no-op: the floor in C', 'at least', 0.35, (view) => view.times(MAIN, 'c-floor')),
  target('no-op: adaptive against fast', 'at least', 0.85, (view) => view.times(MAIN, 'prefork-fast')),
  target("no-op: host's CPU for each job", 'at most', 6, (view) => foundOf(view.median('noop/2w-128/hostMicros')), 'µs'),
  target('round trip p50: the fastest process pool', 'at most', 1, (view) => view.timesBest('rtt/one/p50', 'less', PROCESS_POOLS)),
  target('round trip p50: the same, bare fork among them', 'at most', 1, (view) => view.timesBest('rtt/one/p50', 'less', PROCESSES)),
  target('round trip p50: the floor in C', 'at most', 1.6, (view) => view.times('rtt/one/p50', 'c-floor')),
  target('round trip p99: the fastest process pool', 'at most', 1.5, (view) => view.timesBest('rtt/one/p99', 'less', PROCESS_POOLS)),
  target('round trip p99: the same, bare fork among them', 'at most', 1.5, (view) => view.timesBest('rtt/one/p99', 'less', PROCESSES)),
  target('1 KB objects: the fastest peer of any kind', 'at least', 1.5, (view) => view.timesBest('objects/1KB/perSecond', 'more')),
  target('64 KB Buffers: the fastest process pool', 'at least', 3, (view) => view.timesBest('buffers/64KB/perSecond', 'more', PROCESS_POOLS)),
  target('64 KB Buffers: the same, bare fork among them', 'at least', 3, (view) => view.timesBest('buffers/64KB/perSecond', 'more', PROCESSES)),
  target('64 KB Buffers: the fastest thread peer', 'at least', 0.8, (view) => view.timesBest('buffers/64KB/perSecond', 'more', THREADS)),
  target('1 MB Buffers: the fastest process pool', 'at least', 3, (view) => view.timesBest('buffers/1MB/perSecond', 'more', PROCESS_POOLS)),
  target('1 MB Buffers: the same, bare fork among them', 'at least', 3, (view) => view.timesBest('buffers/1MB/perSecond', 'more', PROCESSES)),
  target('1 MB Buffers: the fastest thread peer', 'at least', 0.5, (view) => view.timesBest('buffers/1MB/perSecond', 'more', THREADS)),
  target(
    'mixed: p99 of the short under adaptive, against 1.3 x fair + 5 ms',
    'at most',
    Number.NaN,
    (view) => {
      const fair = view.median('mixed/mixed/p99', 'prefork-fair')
      const found = foundOf(view.median('mixed/mixed/p99'))
      return fair === undefined || found === undefined ? undefined : { ...found, bound: 1.3 * fair + 5 }
    },
    'ms',
  ),
  target('mixed: short calls that waited for the 5 s call', 'at most', 0, (view) => foundOf(view.median('mixed/mixed/waited')), ''),
  target('no-ops from RabbitMQ: the bare client', 'at least', 0.8, (view) => foundOf(view.median('farm/quorum/ratio'))),
  target('create to first result: the fastest process pool', 'at most', 1.15, (view) => view.timesBest('start/2w/ms', 'less', PROCESS_POOLS)),
  target('create to first result: the same, bare fork among them', 'at most', 1.15, (view) => view.timesBest('start/2w/ms', 'less', PROCESSES)),
  target("import 'prefork'", 'at most', 60, (view) => foundOf(view.median('import/import/ms')), 'ms'),
  target('saturated: HTTP p99 against piscina, the worst of the loads', 'at most', 1.2, (view) => worstAgainstPiscina(view, 'httpP99', 'less')),
  target("saturated: event loop's p99 against piscina, the worst of the loads", 'at most', 1.2, (view) => worstAgainstPiscina(view, 'loopP99', 'less')),
  target('saturated: jobs/s against piscina, the worst of the loads', 'at least', 1, (view) => worstAgainstPiscina(view, 'perSecond', 'more')),
  target("a job that comes alone: the host's CPU, against bare fork", 'at most', 1.3, (view) => view.timesBest('alone/warm/hostMicros', 'less', ['bare'])),
  target("100,000 queued: piscina's time against ours", 'at least', 3, (view) => {
    const found = view.times('queued/100k/ms', 'piscina')
    return found && { value: 1 / found.value }
  }),
  target("100,000 queued: the host's growth, against piscina", 'at most', 1, (view) => view.times('queued/100k/grownMB', 'piscina')),
  target("host's CPU for each job with 64 workers, against 2 (4,096 callers)", 'at most', 1.5, (view) => {
    const few = view.median('workers/2w-4096/hostMicros')
    const many = view.median('workers/64w-4096/hostMicros')
    return few === undefined || many === undefined ? undefined : { value: many / few }
  }),
  target(
    'throughput lost from 1,000 to 1,000,000 queued',
    'at most',
    15,
    (view) => {
      const few = view.median('growth/1e3/perSecond')
      const many = view.median('growth/1e6/perSecond')
      return few === undefined || many === undefined ? undefined : { value: 100 * (1 - many / few) }
    },
    '%',
  ),
]

/** @param {number | undefined} value @returns {Found | undefined} */
const foundOf = (value) => (value === undefined ? undefined : { value })

/**
 * Evaluates the targets for which the run has the figures.
 * @param {View} view
 * @param {readonly Target[]} targets
 * @returns {Evaluation[]}
 */
export const evaluate = (view, targets = TARGETS) =>
  targets.flatMap((each) => {
    const found = each.of(view)
    if (found === undefined) return []
    const bound = found.bound ?? each.bound
    return [{ ...each, found, bound, met: each.sense === 'at least' ? found.value >= bound : found.value <= bound }]
  })
