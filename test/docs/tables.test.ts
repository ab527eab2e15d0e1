/** The tables of the reference pages against the code: members, options with their defaults, settings, events, errors with their codes. */
import * as prefork from 'prefork'
import * as taskModule from 'prefork/worker'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPublisher, PUBLISHER_OPTIONS } from '../../src/amqp/create-publisher.js'
import { createWorker, WORKER_OPTIONS } from '../../src/amqp/create-worker.js'
import { CONNECTION_OPTIONS, CONTROL_OPTIONS, FIRST_CONNECTION_OPTIONS, QUEUE_OPTIONS } from '../../src/amqp/options/client-options.js'
import { CALL_OPTIONS, PUBLISH_OPTIONS } from '../../src/amqp/publishing/publish-options.js'
import { VARIABLES } from '../../src/cli/program.js'
import { nodeFlags } from '../../src/cli/settings/work.js'
import { CONTROL_OPTIONS as FAKTORY_CONTROL_OPTIONS } from '../../src/faktory/control/control-path.js'
import { createPublisher as createFaktoryPublisher, PUBLISHER_OPTIONS as FAKTORY_PUBLISHER_OPTIONS } from '../../src/faktory/create-publisher.js'
import {
  createWorker as createFaktoryWorker,
  WORKER_NAMES as FAKTORY_WORKER_NAMES,
  WORKER_OPTIONS as FAKTORY_WORKER_OPTIONS,
} from '../../src/faktory/create-worker.js'
import { CONNECTION_OPTIONS as FAKTORY_CONNECTION_OPTIONS, FIRST_CONNECTION_OPTIONS as FAKTORY_FIRST_CONNECTION_OPTIONS } from '../../src/faktory/options.js'
import { PUBLISH_OPTIONS as FAKTORY_PUBLISH_OPTIONS } from '../../src/faktory/publishing/publish-options.js'
import { NODE_OPTIONS, readNodeOptions } from '../../src/node/options.js'
import { CANCEL_OPTIONS } from '../../src/pool/jobs/job-end.js'
import { MAP_OPTIONS } from '../../src/pool/jobs/map.js'
import { RUN_OPTIONS } from '../../src/pool/jobs/run-options.js'
import { POOL_OPTIONS, readOptions } from '../../src/pool/options.js'
import { createQueue, QUEUE_OPTIONS as QUEUE } from '../../src/queue/face/create-queue.js'
import { createWorker as createQueueWorker, WORKER_OPTIONS as QUEUE_WORKER_OPTIONS } from '../../src/queue/face/create-worker.js'
import { SCHEDULE_OPTIONS } from '../../src/queue/face/schedules.js'
import { ADD_OPTIONS, JOB_DEFAULTS } from '../../src/queue/jobs/add-options.js'
import { RUNTIME_OPTIONS } from '../../src/runtime/options.js'
import type { OptionSpec } from '../../src/util/option-table.js'
import { readPage } from './document.js'

const REFERENCE = 'docs/reference.md'

/** The first column is a name, or a call such as `pool.run(name)`. */
const MEMBER = /^`(?:pool\.)?(\w+)(?:\(.*\))?`$/

/** The rows of the table under a heading, by the name in their first column. */
const table = (heading: string, path = REFERENCE, pattern = /^`(\w+)`$/): Map<string, string[]> => {
  const page = readPage(path)
  const at = page.search(new RegExp(`^#+ ${heading}$`, 'm'))
  expect(at, `${path} has no heading '${heading}'`).toBeGreaterThanOrEqual(0)
  const section = page.slice(at).split(/\n#+ /)[0]!
  const rows = new Map<string, string[]>()
  for (const line of section.split('\n')) {
    const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim())
    const name = pattern.exec(cells[1] ?? '')?.[1]
    if (name !== undefined) rows.set(name, cells.slice(2, -1))
  }
  return rows
}

const membersIn = (heading: string): string[] => [...table(heading, REFERENCE, MEMBER).keys()].sort()

/** The names that an error lists. */
const namesIn = (error: unknown): string[] =>
  (error as Error).message
    .replace(/^.* (?:It has|there are): /, '')
    .replace(/\.$/, '')
    .split(', ')
    .sort()

/** The default of an option as the tables print it. */
const defaultOf = ({ unit, default: value, defaultText }: OptionSpec, inCode: unknown): string => {
  if (defaultText !== undefined) return defaultText
  const shown = typeof value === 'function' ? inCode : value
  if (shown === undefined || shown === Number.POSITIVE_INFINITY) return 'none'
  if (typeof shown === 'string') return `\`'${shown}'\``
  if (unit === 'bytes') return `${Number(shown) / 1024 ** 2} MiB`
  return typeof shown === 'number' ? shown.toLocaleString('en-US') : `\`${shown}\``
}

/** A phrase of a page without what only a page has: links, and references to other sections. */
const phraseOf = (cell: string): string => cell.replace(/^see \[[^\]]*\]\([^)]*\); |[;,] see \[[^\]]*\]\([^)]*\)/g, '').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')

/** The docstrings of an interface by member. */
const docstrings = (path: string, name: string): Map<string, string> => {
  const source = readPage(path)
  const at = source.search(new RegExp(`^export interface ${name}\\b`, 'm'))
  const body = source.slice(at, source.indexOf('\n}', at))
  return new Map([...body.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n {2}(\w+)\??:/g)].map(([, text, member]) => [member!, text!.replace(/\n \*/g, ' ')]))
}

/** A page has a row for each option, with the unit, default and phrase of the code. `read`: what no options come to. */
const checkPage = (rows: Map<string, string[]>, options: Readonly<Record<string, OptionSpec>>, read: object = {}): void => {
  expect([...rows.keys()].sort()).toEqual(Object.keys(options).sort())
  for (const [name, spec] of Object.entries(options)) {
    const [unit, fallback, doc] = rows.get(name)!
    expect([name, unit, fallback, phraseOf(doc!)]).toEqual([name, spec.unit, defaultOf(spec, (read as Record<string, unknown>)[name]), spec.doc])
  }
}

/** Each option has a docstring with its default, and with its unit where that is a time or a size. */
const checkDocstrings = (path: string, type: string, options: Readonly<Record<string, OptionSpec>>): void => {
  const found = docstrings(path, type)
  for (const [name, { unit, default: value, defaultText }] of Object.entries(options)) {
    const text = found.get(name)
    expect(text, `${type}.${name} has no docstring`).toBeDefined()
    if (unit === 'ms' || unit === 'bytes') expect(text, name).toMatch(new RegExp(`\\b${unit}\\b`, 'i'))
    const literal = defaultText === undefined && ['string', 'number', 'boolean'].includes(typeof value) && value !== Number.POSITIVE_INFINITY
    const shown = typeof value === 'string' ? `'${value}'` : defaultOf({ unit, default: value } as OptionSpec, undefined).replaceAll('`', '')
    expect(text, name).toMatch(defaultText === 'required' ? /Required\b/ : literal ? new RegExp(`(Default|, or) ${shown}[;:.,]`) : /\bDefault\b/)
  }
}

describe('the options of the pool', () => {
  it('are those of the page, with their units and defaults', () => {
    checkPage(table('Options of the pool'), POOL_OPTIONS, readOptions({ tasks: '/tasks.js' }))
    checkPage(table('Options of a job'), RUN_OPTIONS)
    checkPage(table('Options of cancel'), CANCEL_OPTIONS)
    const { ordered, concurrency } = MAP_OPTIONS
    checkPage(table('Options of map'), { ordered, concurrency })
  })

  it('are those of the docstrings', () => {
    checkDocstrings('src/pool/types.ts', 'PoolOptions', POOL_OPTIONS)
    checkDocstrings('src/pool/types.ts', 'RunOptions', RUN_OPTIONS)
    checkDocstrings('src/pool/types.ts', 'CancelOptions', CANCEL_OPTIONS)
    const { ordered, concurrency } = MAP_OPTIONS
    checkDocstrings('src/pool/types.ts', 'MapOptions', { ordered, concurrency })
  })

  it('are all there for a caller, and no others', async () => {
    expect(namesIn(await prefork.createPool({ nope: 1 } as never).catch((reason) => reason))).toEqual(Object.keys(POOL_OPTIONS).sort())
  })
})

const rest = <T extends object>(table: T, without: object): Record<string, OptionSpec> =>
  Object.fromEntries(Object.entries(table).filter(([name]) => !Object.hasOwn(without, name)))

describe('the options of a node, a publisher and a publication', () => {
  const page = 'docs/farm-reference.md'
  const amqp = 'src/amqp/options/client-options.ts'
  const shared = { ...CONNECTION_OPTIONS, ...FIRST_CONNECTION_OPTIONS, ...QUEUE_OPTIONS, ...CONTROL_OPTIONS }

  it('are those of the page, with their units and defaults', () => {
    checkPage(table('Options of a node', page), WORKER_OPTIONS, readNodeOptions({ tasks: '/tasks.js' }))
    checkPage(table('Options of a publisher', page), PUBLISHER_OPTIONS)
    checkPage(table('Options of a publication', page), CALL_OPTIONS)
  })

  it('are those of the docstrings', () => {
    checkDocstrings(amqp, 'ConnectionOptions', CONNECTION_OPTIONS)
    checkDocstrings(amqp, 'FirstConnectionOptions', FIRST_CONNECTION_OPTIONS)
    checkDocstrings(amqp, 'QueueOptions', QUEUE_OPTIONS)
    checkDocstrings(amqp, 'ControlOptions', CONTROL_OPTIONS)
    checkDocstrings('src/amqp/create-publisher.ts', 'PublisherOptions', rest(PUBLISHER_OPTIONS, shared))
    checkDocstrings('src/amqp/create-worker.ts', 'WorkerOptions', rest(WORKER_OPTIONS, { ...shared, ...NODE_OPTIONS }))
    checkDocstrings('src/node/types.ts', 'NodeOptions', NODE_OPTIONS)
    checkDocstrings('src/runtime/options.ts', 'RuntimeOptions', RUNTIME_OPTIONS)
    checkDocstrings('src/amqp/publishing/publish-options.ts', 'PublishJobOptions', PUBLISH_OPTIONS)
    checkDocstrings('src/amqp/publishing/publish-options.ts', 'CallOptions', rest(CALL_OPTIONS, PUBLISH_OPTIONS))
  })

  it('are all there for a caller, and no others', async () => {
    expect(namesIn(await createWorker({ nope: 1 } as never).catch((reason) => reason))).toEqual(Object.keys(WORKER_OPTIONS).sort())
    expect(namesIn(await createPublisher({ nope: 1 } as never).catch((reason) => reason))).toEqual(Object.keys(PUBLISHER_OPTIONS).sort())
  })
})

describe('the options of a node and a publisher for Faktory, and of its jobs', () => {
  const page = 'docs/faktory.md'
  const path = 'src/faktory/options.ts'
  const shared = { ...FAKTORY_CONNECTION_OPTIONS, ...FAKTORY_FIRST_CONNECTION_OPTIONS }
  const { shutdownGrace, ...others } = FAKTORY_WORKER_OPTIONS
  const ofWorker = { ...rest(others, NODE_OPTIONS), shutdownGrace }

  it('are those of the page, with their units and defaults', () => {
    checkPage(table('Options of a worker', page), ofWorker)
    checkPage(table('Options of a publisher', page), FAKTORY_PUBLISHER_OPTIONS)
    checkPage(table('Options of a publication', page), FAKTORY_PUBLISH_OPTIONS)
  })

  it('are those of the docstrings', () => {
    checkDocstrings(path, 'ConnectionOptions', FAKTORY_CONNECTION_OPTIONS)
    checkDocstrings(path, 'FirstConnectionOptions', FAKTORY_FIRST_CONNECTION_OPTIONS)
    checkDocstrings('src/faktory/control/control-path.ts', 'ControlOptions', FAKTORY_CONTROL_OPTIONS)
    checkDocstrings('src/faktory/create-worker.ts', 'WorkerOptions', rest(ofWorker, { ...FAKTORY_CONNECTION_OPTIONS, ...FAKTORY_CONTROL_OPTIONS }))
    checkDocstrings('src/faktory/create-publisher.ts', 'PublisherOptions', rest(FAKTORY_PUBLISHER_OPTIONS, shared))
    checkDocstrings('src/faktory/publishing/publish-options.ts', 'PublishJobOptions', FAKTORY_PUBLISH_OPTIONS)
  })

  it('are all there for a caller, and no others', async () => {
    expect(namesIn(await createFaktoryWorker({ nope: 1 } as never).catch((reason) => reason))).toEqual([...FAKTORY_WORKER_NAMES].sort())
    expect(namesIn(await createFaktoryPublisher({ nope: 1 } as never).catch((reason) => reason))).toEqual(Object.keys(FAKTORY_PUBLISHER_OPTIONS).sort())
  })
})

describe('the options of a queue, its jobs, schedules and nodes', () => {
  const page = 'docs/queue.md'

  it('and all that prefork/queue exports', () => {
    const source = readPage('src/queue/index.ts')
    const names = [...source.matchAll(/^export (?:type )?\{([^}]+)\}/gm)].flatMap(([, list]) =>
      list!.split(',').map((name) => name.trim().replace(/^type /, '')),
    )
    const shown = [...table('Exports of `prefork/queue`', page, /^(\w[\w ]*)$/).values()].flatMap(([cell]) =>
      [...cell!.matchAll(/`(\w+)`/g)].map(([, name]) => name!),
    )
    expect(shown.sort()).toEqual(names.sort())
  })

  const ofNode = rest(QUEUE_WORKER_OPTIONS, NODE_OPTIONS)

  it('are those of the page, with their units and defaults', () => {
    checkPage(table('Options of a queue', page), QUEUE)
    checkPage(table('Options of a queued job', page), ADD_OPTIONS)
    checkPage(table('Options of a schedule', page), SCHEDULE_OPTIONS)
    checkPage(table("Options of a queue's worker", page), ofNode)
  })

  it('are those of the docstrings', () => {
    checkDocstrings('src/queue/face/create-queue.ts', 'QueueOptions', QUEUE)
    checkDocstrings('src/queue/jobs/add-options.ts', 'JobDefaults', JOB_DEFAULTS)
    checkDocstrings('src/queue/jobs/add-options.ts', 'AddOptions', rest(ADD_OPTIONS, JOB_DEFAULTS))
    const { task: _, args: __, ...timing } = SCHEDULE_OPTIONS
    checkDocstrings('src/queue/face/schedules.ts', 'ScheduleOptions', timing)
    checkDocstrings('src/queue/face/create-worker.ts', 'WorkerOptions', ofNode)
  })

  it('are all there for a caller, and no others', async () => {
    expect(namesIn(await createQueue({ nope: 1 } as never).catch((reason) => reason))).toEqual(Object.keys(QUEUE).sort())
    expect(namesIn(await createQueueWorker({ nope: 1 } as never).catch((reason) => reason))).toEqual(Object.keys(QUEUE_WORKER_OPTIONS).sort())
  })
})

describe('the settings of the command line', () => {
  const rows = readPage('docs/farm-cli.md')
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')))
    .filter((cells) => /^([A-Z_]+)?$/.test(cells[1] ?? '-') && cells.length === 6)

  it('are variables with the defaults of the code', () => {
    const variables = rows.filter(([, variable]) => variable !== '').map(([, variable, , fallback]) => [variable, fallback])
    expect(variables.sort()).toEqual(VARIABLES.map(([variable, fallback]) => [variable, fallback]).sort())
  })

  it('are the flags of the options of a node, beside their variables', () => {
    for (const [usage, help] of nodeFlags()) {
      const flag = /--[\w-]+/.exec(usage)![0]
      const row = rows.find(([, , flags]) => flags!.split(', ').includes(flag))
      expect([flag, row?.[1]]).toEqual([flag, /\(([A-Z_]+)\)$/.exec(help)?.[1] ?? ''])
    }
  })
})

/** The compiler holds these lists to the types: a member that is missing here, or that the type lacks, is an error. */
const POOL: Record<Exclude<keyof prefork.Pool, typeof Symbol.asyncDispose>, true> = {
  run: true,
  submit: true,
  map: true,
  stream: true,
  broadcast: true,
  ready: true,
  resize: true,
  restart: true,
  stats: true,
  stack: true,
  profile: true,
  end: true,
  close: true,
  terminate: true,
  on: true,
  off: true,
  tasks: true,
}
const JOB: Record<keyof prefork.Job, true> = {
  id: true,
  name: true,
  state: true,
  worker: true,
  accepted: true,
  attempt: true,
  began: true,
  result: true,
  softTimedOut: true,
  logs: true,
  on: true,
  off: true,
  cancel: true,
  withdraw: true,
}
const MAP: Record<Exclude<keyof prefork.MapOptions, keyof prefork.RunOptions>, true> = { ordered: true, concurrency: true }

describe('a pool', () => {
  let pool: prefork.Pool
  beforeAll(async () => {
    pool = await prefork.createPool({ tasks: new URL('../fixtures/tasks.js', import.meta.url), workers: 1 })
  })
  afterAll(() => pool.close())

  it('has the members of the table, and a job has its own', () => {
    expect(membersIn('The pool')).toEqual([...Object.keys(POOL), 'createPool'].sort())
    for (const name of Object.keys(POOL)) expect(name in pool, name).toBe(true)
    expect(membersIn('A job')).toEqual(Object.keys(JOB).sort())
  })

  it('takes the options of a job that are in the table, and no others', async () => {
    const error = await pool.run(pool.tasks[0]!, [], { nope: 1 } as never).catch((reason) => reason)
    expect(membersIn('Options of a job')).toEqual(namesIn(error))
    expect(membersIn('Options of map')).toEqual(Object.keys(MAP).sort())
  })

  it('has the events of the table, and no others', () => {
    let error: unknown
    try {
      pool.on('nope' as never, () => {})
    } catch (thrown) {
      error = thrown
    }
    expect(membersIn('Events')).toEqual(namesIn(error))
  })

  it('answers with the statistics of the tables', () => {
    const stats = pool.stats()
    expect(membersIn('Statistics')).toEqual(Object.keys(stats).sort())
    expect(membersIn('A worker')).toEqual(Object.keys(stats.workers[0]!).sort())
    expect(membersIn('Totals')).toEqual(Object.keys(stats.totals).sort())
    for (const latency of Object.values(stats.latency)) expect(membersIn('Latencies')).toEqual(Object.keys(latency).sort())
  })
})

describe('a task module', () => {
  it('may import what the table says', () => {
    expect(membersIn('In a task module')).toEqual(Object.keys(taskModule).sort())
  })

  it('has the current job of the table', () => {
    expect(membersIn('The current job')).toEqual(Object.keys(taskModule.currentJob()).sort())
  })
})

describe('the errors', () => {
  it('are all there, with their codes', () => {
    const rows = table('Errors')
    const classes = Object.entries(prefork).filter(([, value]) => typeof value === 'function' && value.prototype instanceof prefork.PreforkError)
    expect([...rows.keys()].filter((name) => name !== 'PreforkError').sort()).toEqual(classes.map(([name]) => name).sort())
    for (const [name, make] of classes) {
      const error = new (make as new (...args: never[]) => prefork.PreforkError)(...(['', {}, ''] as never[]))
      expect(rows.get(name)?.[0], name).toBe(`\`${error.code}\``)
    }
  })
})
