import { describe, expect, test } from 'vitest'
import type { LogLine } from '../../../src/wire/messages.js'
import { JobLog, LINE_COST, LOG_BOUND, LOG_MARKER } from '../../../src/worker/jobs/job-log.js'

describe('a job log', () => {
  const make = (bound?: number) => {
    const sent: LogLine[][] = []
    return {
      sent,
      log: new JobLog(
        () => 5,
        (lines) => sent.push(lines),
        bound,
      ),
      texts: () => sent.flat().map(({ text }) => text),
    }
  }

  test('cuts output into lines, and keeps an unfinished one until its end or the end of the job', () => {
    const { log, sent, texts } = make()
    log.write('stdout', 'one\ntwo\nthr')
    expect(sent).toEqual([
      [
        { time: 5, stream: 'stdout', text: 'one' },
        { time: 5, stream: 'stdout', text: 'two' },
      ],
    ])
    log.write('stderr', 'other')
    log.write('stdout', 'ee\n')
    log.write('stdout', '\n')
    log.flush()
    log.flush()
    expect(texts()).toEqual(['one', 'two', 'three', '', 'other'])
  })

  test('is bounded over all its streams, and ends with one marker', () => {
    const { log, texts } = make(9 + LINE_COST)
    log.write('stdout', '12345\n')
    log.entry('log', 'äöü')
    log.write('stderr', 'more\n')
    log.write('stderr', 'unfinished')
    log.flush()
    expect(texts()).toEqual(['12345', 'äö', LOG_MARKER])
  })

  test('counts more for a short line than its text: each line is an object in the host', () => {
    const { log, texts } = make()
    log.write('stdout', 'x\n'.repeat(LOG_BOUND / 2))
    expect(texts().at(-1)).toBe(LOG_MARKER)
    expect(texts().length - 2).toBeLessThanOrEqual(LOG_BOUND / (LINE_COST + 1))
    expect(texts().length).toBeGreaterThan(LOG_BOUND / (LINE_COST + 1) / 2)
  })

  test('bounds an endless line, too', () => {
    const { log, texts } = make()
    for (let i = 0; i < 100; i += 1) log.write('stdout', 'x'.repeat(10_000))
    log.flush()
    expect(texts()).toEqual(['x'.repeat(LOG_BOUND), LOG_MARKER])
  })
})
