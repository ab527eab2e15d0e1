import { EventEmitter } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createLogger } from '../../src/cli/output/logger.js'
import { ProcessStream } from '../../src/cli/output/output-stream.js'
import { LOG_LEVELS } from '../../src/cli/settings/work.js'

/** stdout, as the writes that it got. */
const fakeStdout = (given: { isTTY?: boolean } = {}) => {
  const writes: string[] = []
  const output = new ProcessStream(Object.assign(new EventEmitter(), given, { write: (text: string) => writes.push(text) }))
  return { output, writes, messages: () => writes.map((each) => each.match(/(?<="msg":")[^"]+/g) ?? [each]) }
}

test.each(LOG_LEVELS)('at the level %s, lines below it are not written', (logLevel) => {
  const { output, messages } = fakeStdout()
  const logger = createLogger(output, {}, { logLevel })
  const levels = LOG_LEVELS.slice(0, -1) as Exclude<(typeof LOG_LEVELS)[number], 'silent'>[]
  for (const level of levels) logger[level](level)
  output.flush()
  expect(messages().flat()).toEqual(LOG_LEVELS.slice(LOG_LEVELS.indexOf(logLevel), -1))
})

test('lines of one turn are one write, at its end; a warning is written at once, behind those before it', async () => {
  const { output, messages } = fakeStdout()
  const logger = createLogger(output, {}, { logLevel: 'info' })
  logger.info('1')
  logger.info('2')
  expect(messages()).toEqual([])
  await nextTurn()
  expect(messages()).toEqual([['1', '2']])
  logger.info('3')
  logger.warn('4')
  expect(messages()).toEqual([['1', '2'], ['3'], ['4']])
  logger.info('5')
  output.write('6')
  await nextTurn()
  expect(messages()).toEqual([['1', '2'], ['3'], ['4'], ['5'], ['6']])
})

test('many lines do not wait for the end of the turn', () => {
  const { output, writes } = fakeStdout()
  const line = `${'x'.repeat(999)}\n`
  for (let n = 0; n < 200; n++) output.writeSoon(line)
  expect(writes.length).toBeGreaterThan(1)
  output.flush()
  expect(writes.join('')).toBe(line.repeat(200))
})

test('an error whose message has that of its cause says it once', () => {
  const { output, writes } = fakeStdout()
  const logger = createLogger(output, {}, { logLevel: 'error' })
  const cause = new Error('no config')
  logger.error({ err: new Error('No worker: no config', { cause }) }, 'a')
  logger.error({ err: new Error('No worker', { cause }) }, 'b')
  logger.error({ err: 'text' }, 'c')
  const errors = writes.map((line) => JSON.parse(line).err)
  expect(errors).toMatchObject([{ type: 'Error', message: 'No worker: no config' }, { message: 'No worker: no config' }, 'text'])
  expect(errors[0].stack).toContain('caused by: Error: no config')
})

test('a terminal gets readable lines', () => {
  const { output, writes } = fakeStdout({ isTTY: true })
  createLogger(output, { NO_COLOR: '1' }, { logLevel: 'info' }).info({ job: 'a' }, 'job succeeded')
  output.flush()
  expect(writes).toEqual([expect.stringMatching(/^\d\d:\d\d:\d\d\.\d{3} INFO {2}job succeeded job=a\n$/)])
})

test('on a terminal the time of a line that a task has printed is a time of day; JSON keeps its number', () => {
  const at = new Date(2026, 10, 24, 14, 3, 59, 7).getTime()
  const fields = { job: 'a', stream: 'stdout', at }
  const { output, writes } = fakeStdout({ isTTY: true })
  createLogger(output, { NO_COLOR: '1' }, { logLevel: 'info' }).info(fields, 'hello')
  output.flush()
  expect(writes).toEqual([expect.stringMatching(/ INFO {2}hello job=a stream=stdout at=14:03:59\.007\n$/)])
  const plain = fakeStdout()
  createLogger(plain.output, {}, { logLevel: 'info' }).info(fields, 'hello')
  plain.output.flush()
  expect(JSON.parse(plain.writes.join(''))).toMatchObject({ at })
})

test('on a terminal lists and objects are quoted once', () => {
  const { output, writes } = fakeStdout({ isTTY: true })
  const logger = createLogger(output, { NO_COLOR: '1' }, { logLevel: 'info' })
  logger.info({ queues: ['a', 'b.c'], tasks: ['two words', 'a="b"'], none: [], counts: { attempt: 1 }, text: '"quoted"', name: 'plain', worker: 3 }, 'node up')
  output.flush()
  const shown = String.raw`node up queues=[a, b.c] tasks=["two words","a=\"b\""] none=[] counts={"attempt":1} text="\"quoted\"" name=plain worker=3`
  expect(writes.join('')).toContain(`${shown}\n`)
})
