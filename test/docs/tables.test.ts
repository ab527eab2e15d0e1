/** The tables of the README and of the guide to the farm against the code: the options with their defaults, the errors with their codes. */
import * as prefork from 'prefork'
import { describe, expect, it } from 'vitest'
import { createPublisher, readPublisherOptions } from '../../src/amqp/create-publisher.js'
import { createWorker } from '../../src/amqp/create-worker.js'
import { readControl, readQueues, readShape, readUrl } from '../../src/amqp/options/node-options.js'
import { NAMES } from '../../src/amqp/publishing/publish-options.js'
import { readNodeOptions } from '../../src/node/options.js'
import { readOptions } from '../../src/pool/options.js'
import { readPage } from './document.js'

/** The rows of the table under a heading, by the code in their first column. */
const table = (heading: string, path = 'README.md'): Map<string, string[]> => {
  const page = readPage(path)
  const at = page.search(new RegExp(`^#+ ${heading}$`, 'm'))
  expect(at, `${path} has no heading '${heading}'`).toBeGreaterThanOrEqual(0)
  const section = page.slice(at).split(/\n#+ /)[0]!
  const rows = new Map<string, string[]>()
  for (const line of section.split('\n')) {
    const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim())
    const name = /^`(\w+)`$/.exec(cells[1] ?? '')?.[1]
    if (name !== undefined) rows.set(name, cells.slice(2, -1))
  }
  return rows
}

const namesIn = (error: unknown): string[] =>
  (error as Error).message
    .replace(/^.* It has: /, '')
    .replace(/\.$/, '')
    .split(', ')
    .sort()

/** The defaults that a table says are those of the code, and each has a unit. */
const checkDefaults = (rows: Map<string, string[]>, settings: Record<string, unknown>): void => {
  for (const [name, [unit, fallback]] of rows) {
    const inCode = settings[name]
    if (/^[\d,]+$/.test(fallback!)) expect(inCode, name).toBe(Number(fallback!.replaceAll(',', '')))
    else if (/^\d+ MiB$/.test(fallback!)) expect(inCode, name).toBe(Number.parseInt(fallback!, 10) * 1024 * 1024)
    else if (/^`.*`$/.test(fallback!)) expect(`\`${typeof inCode === 'string' ? `'${inCode}'` : String(inCode)}\``, name).toBe(fallback)
    else if (fallback === 'none' || fallback === 'unbounded') expect([0, Number.POSITIVE_INFINITY, undefined], name).toContain(inCode)
    expect(unit, `${name} has no unit`).not.toBe('')
  }
}

describe('the options of the pool', () => {
  const rows = table('Options of the pool')

  it('are all there, and no others', async () => {
    const error = await prefork.createPool({ nope: 1 } as never).catch((reason) => reason)
    expect([...rows.keys()].sort()).toEqual(namesIn(error))
  })

  it('have the defaults that the page says', () => {
    checkDefaults(rows, readOptions({ tasks: '/tasks.js' }) as unknown as Record<string, unknown>)
  })
})

describe('the options of a node', () => {
  const rows = table('Options of a node', 'docs/farm-reference.md')

  it('are all there, and no others', async () => {
    expect([...rows.keys()].sort()).toEqual(namesIn(await createWorker({ nope: 1 } as never).catch((reason) => reason)))
  })

  it('have the defaults that the page says', () => {
    checkDefaults(rows, { ...readNodeOptions({ tasks: '/tasks.js' }), url: readUrl({}), queue: readQueues({})[0], ...readShape({}), ...readControl({}) })
  })
})

describe('the options of a publisher', () => {
  const rows = table('Options of a publisher', 'docs/farm-reference.md')

  it('are all there, and no others', async () => {
    expect([...rows.keys()].sort()).toEqual(namesIn(await createPublisher({ nope: 1 } as never).catch((reason) => reason)))
  })

  it('have the defaults that the page says', () => {
    const settings = readPublisherOptions({})
    checkDefaults(rows, { ...settings, ...settings.shape })
  })
})

it('the options of a publication are all there, and no others', () => {
  expect([...table('Options of a publication', 'docs/farm-reference.md').keys()].sort()).toEqual([...NAMES, 'timeout'].sort())
})

describe('the options of a job', () => {
  it('are all there, and no others', async () => {
    const pool = await prefork.createPool({ tasks: new URL('../fixtures/tasks.js', import.meta.url), workers: 1 })
    const name = pool.tasks[0]!
    const error = await pool.run(name, [], { nope: 1 } as never).catch((reason) => reason)
    await pool.close()
    expect([...table('Options of a job').keys()].sort()).toEqual(namesIn(error))
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
