import { cpSync, mkdtempSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { FLAG_ERROR, FLAG_INTERRUPTED, FLAG_SOFT, Kind, type LogLine } from '../../src/wire/messages.js'
import { frameOf, sentBy } from './loop-harness.js'
import { dist, fixture, WorkerUnderTest } from './worker-process.js'

describe('a worker process', () => {
  test('sends HELLO, then WORKER_UP with its tasks, then results; QUIT runs the stop hooks and ends it', async () => {
    const journal = join(mkdtempSync(join(tmpdir(), 'prefork-')), 'journal')
    const worker = await new WorkerUnderTest({}, { JOURNAL: journal }).up()
    expect(worker.frames.map(({ kind }) => kind)).toEqual([Kind.HELLO, Kind.WORKER_UP])
    expect(sentBy(worker.frames[0]!)).toMatchObject({ pid: worker.child.pid, node: process.version })
    expect(sentBy(worker.frames[1]!)).toMatchObject({ pid: worker.child.pid, rss: expect.any(Number) })
    expect(await worker.value('add', 1, 2)).toBe(3)
    expect(await worker.value('about')).toEqual({ argv: [], title: 'prefork worker 7', env: '7' })
    // A handle that is never closed does not keep it alive.
    await worker.value('holdOpen')
    worker.jobs.write(Buffer.concat([worker.frame('wait', [50]), worker.frame('add', [3, 4]), frameOf(Kind.QUIT, 0)]))
    expect(await worker.exit).toEqual([0, null])
    expect(worker.of(Kind.READY).slice(-2).map(sentBy)).toEqual(['waited', 7])
    expect(worker.frames.at(-1)!.kind).toBe(Kind.BYE)
    expect(sentBy(worker.of(Kind.FAULT)[0]!)).toMatchObject({ error: { message: 'the stop hook failed' } })
    expect(readFileSync(journal, 'utf8')).toBe('start\nstop first\nstop\n')
  })

  test('runs from the code cache that the first worker of a pool has made', async () => {
    const copy = mkdtempSync(join(tmpdir(), 'prefork-'))
    for (const folder of ['worker', 'wire']) cpSync(join(dist, folder), join(copy, folder), { recursive: true, filter: (path) => !path.endsWith('.cache') })
    const caches = () => readdirSync(join(copy, 'worker')).filter((name) => name.endsWith('.cache'))
    const runs = async (id: number, NODE_OPTIONS = '') => {
      const worker = await new WorkerUnderTest({ id }, { NODE_OPTIONS }, join(copy, 'worker/entry.cjs')).up()
      expect(await worker.value('add', 1, 2)).toBe(3)
      worker.quit()
      expect(await worker.exit).toEqual([0, null])
    }
    await runs(2)
    expect(caches()).toEqual([])
    await runs(1)
    expect(caches()).toEqual([expect.stringContaining(process.version)])
    const inodes = () => caches().map((name) => statSync(join(copy, 'worker', name)).ino)
    const first = inodes()
    // One that was not used would be made anew.
    await runs(1)
    expect(inodes()).toEqual(first)
    // V8 takes no cache of other options.
    await runs(1, '--stack-trace-limit=20')
    const both = inodes()
    expect(both).toEqual(expect.arrayContaining(first))
    expect(both).toHaveLength(2)
    await runs(1)
    await runs(1, '--stack-trace-limit=20')
    expect(inodes()).toEqual(both)
  })

  test('reports a failed start with its module and error', async () => {
    const worker = new WorkerUnderTest({ tasks: [fixture('kinds.js'), fixture('throws.js')] })
    expect(await worker.exit).toEqual([1, null])
    expect(sentBy(worker.of(Kind.START_FAILED)[0]!)).toMatchObject({
      module: expect.stringMatching(/throws\.js$/),
      error: { name: 'RangeError', message: 'cannot be loaded' },
    })
  })

  test('exits on QUIT while its tasks load', async () => {
    const worker = new WorkerUnderTest({ tasks: [fixture('slow.js')] })
    await worker.until(Kind.HELLO)
    worker.quit()
    expect(await worker.exit).toEqual([0, null])
    expect(worker.frames.map(({ kind }) => kind)).toEqual([Kind.HELLO, Kind.BYE])
  })

  test('ignores the signals that are for its host, and the end of its jobs pipe', async () => {
    const worker = await new WorkerUnderTest().up()
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) worker.child.kill(signal)
    expect(await worker.value('add', 1, 1)).toBe(2)
    worker.jobs.end()
    await delay(200)
    const before = cpuOf(worker.child.pid!)
    await delay(300)
    expect(worker.child.exitCode).toBeNull()
    if (process.platform === 'linux') expect(cpuOf(worker.child.pid!) - before).toBeLessThan(15)
  })

  test('exits at once when its results are not read', async () => {
    const worker = await new WorkerUnderTest().up()
    worker.results.destroy()
    worker.jobs.write(worker.frame('noop'))
    const [code, signal] = await worker.exit
    expect(code ?? signal).not.toBe(0)
  })

  test('exits after a frame that it cannot read, and reports it', async () => {
    const worker = await new WorkerUnderTest().up()
    worker.jobs.write(Buffer.from([255, 255, 255, 255, 0]))
    expect(await worker.exit).toEqual([70, null])
    expect(worker.stderr).toMatch(/^prefork: the worker cannot go on: .*4294967295 bytes/)
  })

  test("writes a result larger than the pipe's buffer completely", async () => {
    const worker = await new WorkerUnderTest().up()
    const answer = (await worker.value('large', 5_000_000)) as Buffer
    expect(answer.equals(Buffer.alloc(5_000_000, 1))).toBe(true)
  })
})

const cpuOf = (pid: number): number => {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    return Number(fields[11]) + Number(fields[12])
  } catch {
    return 0
  }
}

describe('the context of a job', () => {
  test('is its own across awaits, timers and immediates', async () => {
    const worker = await new WorkerUnderTest({ concurrency: 3 }).up()
    const ready = await worker.run(...['a', 'b', 'c'].map((id) => worker.frame('idLater', [], { meta: { id } })))
    expect(ready.map((frame) => [frame.delivery, sentBy(frame)]).sort()).toEqual([
      [1, 'a'],
      [2, 'b'],
      [3, 'c'],
    ])
  })

  test('is found by a task that imports prefork/worker only when it runs', async () => {
    const worker = await new WorkerUnderTest({ tasks: [fixture('late.js')], concurrency: 2 }).up()
    expect(await worker.value('id')).toBe('pool-1001')
    const ready = await worker.run(worker.frame('id'), worker.frame('id'))
    expect(ready.map(sentBy).sort()).toEqual(['pool-1002', 'pool-1003'])
  })

  test('the stores of one job are not seen by the next, also when many come in one chunk', async () => {
    const worker = await new WorkerUnderTest({ concurrency: 2 }).up()
    const jobs = ['stay', 'store', 'storeLater', 'stay', 'stayAsync', 'store', 'store', 'storeLater'].map((task, index) =>
      worker.frame(task, [`store ${index}`]),
    )
    const ready = (await worker.run(...jobs)).sort((a, b) => a.delivery - b.delivery)
    expect(ready.map(sentBy)).toEqual([undefined, null, null, undefined, 'store 4', null, null, null])
    expect(await worker.value('store')).toBeNull()
    expect(await worker.value('storeLater')).toBeNull()
  })

  test('nor are those of a job that was interrupted', async () => {
    const worker = await new WorkerUnderTest().up()
    const ready = await worker.run(worker.frame('spinInStore', [], { soft: 100 }), ...['store', 'storeLater', 'store'].map((task) => worker.frame(task)))
    expect(ready.map(({ flags }) => flags)).toEqual([FLAG_ERROR | FLAG_INTERRUPTED | FLAG_SOFT, 0, 0, 0])
    expect(ready[0]!.payload.toString()).toContain('tasks.js')
    expect(ready.slice(1).map(sentBy)).toEqual([null, null, null])
    expect(await worker.value('store')).toBeNull()
    expect(worker.of(Kind.FAULT)).toEqual([])
  })

  test.each([
    ['unhandledRejection', 'reject', 'late rejection'],
    ['uncaughtException', 'throwLater', 'late exception'],
  ])('is attached to a late %s, which affects no other job', async (type, task, message) => {
    const worker = await new WorkerUnderTest({ concurrency: 2 }).up()
    const [noop] = await worker.run(worker.frame('noop'))
    expect(noop!.delivery).toBe(1)
    const running = worker.run(worker.frame('wait', [100]), worker.frame(task, [5]))
    const fault = await worker.until(Kind.FAULT)
    expect(sentBy(fault)).toMatchObject({ type, error: { message }, delivery: 3 })
    expect((await running).map(sentBy)).toEqual(['answered', 'waited'])
    expect(await worker.value('add', 1, 1)).toBe(2)
  })
})

describe('output', () => {
  const linesOf = (worker: WorkerUnderTest, delivery: number): string[] =>
    worker
      .of(Kind.LOG)
      .filter((frame) => frame.delivery === delivery)
      .flatMap((frame) => sentBy(frame) as LogLine[])
      .map(({ stream, text }) => `${stream}: ${text}`)

  test("is captured for its job, an unfinished line at the job's end", async () => {
    const worker = await new WorkerUnderTest({ output: 'capture' }).up()
    await worker.value('print')
    expect(linesOf(worker, 1)).toEqual(['stdout: a line', 'stderr: an error', 'log: mine', 'stdout: unfinished'])
    // Counted first: the late line may arrive before the result is checked.
    const before = worker.of(Kind.LOG).length
    await worker.value('printLater')
    await worker.until(Kind.LOG, before + 1)
    expect(linesOf(worker, 0)).toEqual(['stdout: late'])
    worker.jobs.write(worker.frame('printAndExit'))
    expect(await worker.exit).toEqual([7, null])
    expect(linesOf(worker, 3)).toEqual(['stdout: unfinished'])
    expect([worker.stdout, worker.stderr]).toEqual(['', ''])
  })

  test('goes to the inherited streams; log lines are sent', async () => {
    const worker = await new WorkerUnderTest().up()
    await worker.value('print')
    worker.quit()
    await worker.exit
    expect(worker.stdout).toBe('a line\nunfinished')
    expect(worker.stderr).toBe('an error\n')
    expect(linesOf(worker, 1)).toEqual(['log: mine'])
  })
})
