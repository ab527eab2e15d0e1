import { describe, expect, it } from 'vitest'
import { CASES } from '../../native-bench/cases/index.js'
import { barsText, type Chart, chartsOf, lengths } from '../../native-bench/lib/charts.js'
import { BEGIN, END, jsonOf, replacePart } from '../../native-bench/lib/page.js'
import { GROUPS, groupReport, SHOWN } from '../../native-bench/lib/page-tables.js'
import { svgSheet } from '../../native-bench/lib/svg.js'
import { caseReport, markdownTable } from '../../native-bench/lib/tables.js'
import { POOLS } from '../../native-bench/pools/index.js'
import { cell, noopResults } from './results.js'

const results = noopResults({ piscina: 40_000, prefork: 200_000, 'c-floor': 800_000 })
const noop = CASES.noop!

describe('the charts', () => {
  const [chart] = chartsOf(noop, results, POOLS) as [Chart]

  it('have the best bar first', () => {
    expect(chart.bars.map(({ title }) => title)).toEqual(['floor in C', 'prefork', 'piscina, threads'])
  })

  it('cut the bar of a floor that is far above the pools', () => {
    expect(lengths(chart.bars)).toEqual([
      { share: 1, cut: true },
      { share: 1, cut: false },
      { share: 0.2, cut: false },
    ])
    expect(barsText(chart)).toMatch(/floor in C +█+▶ 800,000\nprefork +█+ 200,000\npiscina, threads █+ 40,000/)
  })

  it('are drawn as well-formed SVG with escaped names', () => {
    const svg = svgSheet([{ ...chart, title: 'a < b & "c"' }], 'caption')
    expect(svg).toContain('a &#60; b &#38; &#34;c&#34;')
    expect(svg).not.toContain('NaN')
    const opened = svg.match(/<(text|svg)\b/g)!.length
    expect(svg.match(/<\/(text|svg)>/g)!.length).toBe(opened)
  })
})

describe('the tables', () => {
  it('are aligned', () => {
    expect(markdownTable(['a', 'long'], [['value', 'x']])).toBe('| a     | long |\n| ----- | ---- |\n| value | x    |')
  })

  it('have a dash for a missing figure, and each reason once', () => {
    const cells = { ...results.noop!['2w-128'], poolifier: { reason: 'it broke' } }
    const report = caseReport(noop, { noop: { '2w-128': cells, '1w-128': cells } }, POOLS)
    expect(report).toMatch(/\| poolifier, threads +\| - +\| - +\|/)
    expect(report.match(/it broke/g)).toHaveLength(1)
    expect(report).toContain('- no figure: poolifier, threads: it broke')
  })
})

describe('the tables of the page', () => {
  const [throughput] = GROUPS as [(typeof GROUPS)[number]]

  it('name existing figures, each once', () => {
    const named = SHOWN
    expect(new Set(named).size).toBe(named.length)
    for (const where of named) {
      const [name, variant, metric] = where.split('/')
      expect(
        CASES[name!]?.variants.map(({ key }) => key),
        where,
      ).toContain(variant)
      expect(Object.keys(CASES[name!]!.metrics), where).toContain(metric)
    }
  })

  it('have a column of each case', () => {
    const named = new Set(SHOWN.map((where) => where.split('/')[0]))
    expect([...named].sort()).toEqual(Object.keys(CASES).sort())
  })

  it('have one figure in each cell', () => {
    const report = groupReport(throughput, CASES, results, POOLS)
    expect(report).toMatch(/\| prefork +\| 200,000 +\| 3\.0 +\|/)
    expect(report).toMatch(/\| piscina, threads \| 40,000 +\| 3\.0 +\|/)
    expect(report).toMatch(/\| floor in C +\| 800,000 +\|/)
  })

  it('leave out missing columns and pools without a figure, with the reason', () => {
    const objects = { prefork: cell({ perSecond: 10, hostMicros: 1 }), poolifier: { reason: 'it broke' } }
    const report = groupReport(throughput, CASES, { ...results, objects: { '1KB': objects } }, POOLS)
    expect(report).not.toContain('Buffers')
    expect(report).not.toMatch(/\| poolifier/)
    expect(report).toContain('- no figure: poolifier, threads (1 KB objects/s): it broke')
    expect(groupReport(throughput, CASES, {}, POOLS)).toBeUndefined()
  })
})

describe('the page', () => {
  it('comes with all figures of the run as JSON, which is read again', () => {
    const machine = { cpu: 'c', cores: 2, memoryGB: 4, system: 's', node: 'v20', commit: 'abc', date: '2026-01-01', command: 'npm run bench' }
    const run = { machine, rounds: 'One round.', results }
    expect(JSON.parse(jsonOf(run))).toEqual(run)
    expect(
      jsonOf(run)
        .split('\n')
        .filter((line) => line.includes('"metrics"')),
    ).toHaveLength(3)
  })

  it('keeps the handwritten text', () => {
    const page = `by hand\n${BEGIN}\nold\n${END}\nfindings\n`
    expect(replacePart(page, 'new')).toBe(`by hand\n${BEGIN}\n\nnew\n\n${END}\nfindings\n`)
    expect(replacePart(replacePart(page, 'new'), 'new')).toBe(replacePart(page, 'new'))
    expect(() => replacePart('no marks', 'new')).toThrow(/has not the two lines/)
  })
})
