import { describe, expect, it } from 'vitest'
import { CASES } from '../../native-bench/cases/index.js'
import { readArgs, UsageError } from '../../native-bench/lib/args.js'
import { POOLS } from '../../native-bench/pools/index.js'

const read = (...args: string[]) => readArgs(args, Object.keys(CASES), POOLS)
const refused = (...args: string[]): string => {
  try {
    read(...args)
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError)
    return (error as Error).message
  }
  throw new Error(`${args.join(' ')} was not refused`)
}

describe('the command line of the benchmark', () => {
  it('measures every case with every pool by default', () => {
    const wanted = read()
    expect(wanted).toMatchObject({ quick: false, json: false, write: false, rounds: 3, cases: Object.keys(CASES), pools: Object.keys(POOLS) })
  })

  it('measures one round with --quick, unless --rounds is given', () => {
    expect(read('--quick').rounds).toBe(1)
    expect(read('--quick', '--rounds', '5').rounds).toBe(5)
    expect([read().all, read('--quick').all, read('--quick', '--all').all]).toEqual([true, false, true])
  })

  it('keeps prefork and the floors besides the named peers', () => {
    const { pools } = read('--peers', 'piscina, fork-json')
    expect(pools).toEqual(['prefork', 'prefork-fast', 'prefork-fair', 'piscina', 'fork-json', 'node-floor', 'c-floor'])
    expect(read('--peers', 'piscina', '--no-floors').pools).not.toContain('c-floor')
  })

  it('measures the named cases', () => {
    expect(read('--only', 'rtt,noop').cases).toEqual(['rtt', 'noop'])
  })

  it('takes the results of an earlier run', () => {
    expect(read('--from', 'a.json').from).toBe('a.json')
    expect(read().from).toBeUndefined()
  })

  it('lists the known names when one is wrong', () => {
    expect(refused('--only', 'rrt')).toMatch(/there is no rrt\. There are: noop, rtt/)
    expect(refused('--peers', 'piscina,bull')).toMatch(/there is no bull\. There are: piscina, tinypool-threads/)
    expect(refused('--peers', ',')).toMatch(/no name given/)
  })

  it('lists the options when one is unknown, and rejects an invalid number of rounds', () => {
    expect(refused('--fast')).toMatch(/--fast[\s\S]*--quick {2,}one round/)
    expect(refused('--rounds', '0')).toMatch(/whole number from 1 on/)
    expect(refused('--rounds', 'two')).toMatch(/'two'/)
  })
})

describe('the registries', () => {
  it('have variants with unique keys, and one for --quick, in each case', () => {
    for (const { name, variants, chart, metrics } of Object.values(CASES)) {
      const keys = variants.map(({ key }) => key)
      expect(new Set(keys).size, name).toBe(keys.length)
      expect(
        variants.some(({ quick }) => quick),
        name,
      ).toBe(true)
      for (const { metric, variant } of chart ?? []) {
        expect(Object.keys(metrics), name).toContain(metric)
        expect(keys, name).toContain(variant)
      }
    }
  })

  it('describe the configuration of each pool', () => {
    for (const [name, { configuration, kind, adapter }] of Object.entries(POOLS)) {
      expect(configuration, name).not.toBe('')
      expect(adapter === undefined, name).toBe(kind === 'floor')
    }
  })
})
