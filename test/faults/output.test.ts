import { describe, expect, it } from 'vitest'
import { Host, hostScript, startHost } from '../fixtures/hosts.js'
import { pidOf, sharedPool, startPool } from '../fixtures/pools.js'
import { failure, until } from '../fixtures/support.js'
import { floods, inherited, leftAlone, logged, rawWrites, tasks, turns } from './output.js'

const texts = (job: { logs: readonly { text: string }[] }): string[] => job.logs.map((line) => line.text)

describe("promise 9: output: 'capture'", () => {
  const shared = sharedPool({ watchdog: false, tasks, output: 'capture', concurrency: 3 })

  it('attaches each line to its job, once, with its stream and time', async () => {
    const { pool } = shared
    const before = Date.now()
    const job = pool.submit('print', ['a'])
    await job.result
    const lines = job.logs.map(({ stream, text }) => `${stream}: ${text}`)
    expect(lines.filter((line) => line.startsWith('stdout'))).toEqual(['stdout: a log', 'stdout: a stdout', 'stdout: a late'])
    expect(lines.filter((line) => line.startsWith('stderr'))).toEqual(['stderr: a error', 'stderr: a stderr'])
    expect(lines.filter((line) => line.startsWith('log'))).toEqual(['log: a line'])
    for (const { time } of job.logs) {
      expect(time).toBeGreaterThanOrEqual(before - 1_000)
      expect(time).toBeLessThanOrEqual(Date.now() + 1_000)
    }
  })

  it('keeps the lines of concurrent jobs apart', async () => {
    const { pool } = shared
    const jobs = ['x', 'y', 'z'].map((label, index) => pool.submit('print', [label, 30 - index * 10]))
    for (const [index, job] of jobs.entries()) {
      await job.result
      expect(texts(job)).toHaveLength(6)
      for (const text of texts(job)) expect(text).toMatch(new RegExp(`^${'xyz'[index]} `))
    }
  })

  it('reports every line of a worker that exits while the host still handles its lines', async () => {
    const pool = await startPool({ watchdog: false, tasks, output: 'capture' })
    const lines: string[] = []
    pool.on('output', ({ line }) => {
      lines.push(line.text)
      // Longer than a turn for each chunk: some chunks come while the one before is handled.
      for (const end = performance.now() + 0.02; performance.now() < end; );
    })
    await pool.run('leaveLinesAndExit', [20_000])
    await until('the last line has come', () => lines.at(-1) === '19999')
    expect(lines).toEqual(Array.from({ length: 20_000 }, (_, n) => String(n)))
  })

  it('attaches the lines of a job whose worker died or was killed at a limit', async () => {
    const pool = await startPool({ tasks, output: 'capture' })
    const died = pool.submit('printAndDie', ['a'])
    await failure(died.result)
    expect(texts(died)).toEqual(expect.arrayContaining(['a last line', 'a logged']))
    const ended = pool.submit('printAndSpin', ['b'], { timeLimit: 200 })
    await failure(ended.result)
    expect(texts(ended)).toEqual(['b last line'])
    const asked = pool.submit('printAndSpin', ['c'], { softTimeLimit: 200 })
    await failure(asked.result)
    expect(texts(asked)).toEqual(['c last line'])
  })

  it('keeps 256 KiB of a job, then a marker', async () => {
    const { pool } = shared
    const pid = await pidOf(pool)
    const job = pool.submit('flood', [2_000_000])
    expect(await job.result).toBe('flooded')
    const size = texts(job).reduce((sum, text) => sum + text.length, 0)
    expect(size).toBeGreaterThan(200_000)
    expect(size).toBeLessThan(300_000)
    expect(texts(job).at(-1)).not.toMatch(/^x+$/)
    const small = pool.submit('flood', [100_000])
    await small.result
    expect(texts(small).every((text) => /^x{1023}$/.test(text))).toBe(true)
    expect(texts(small)).toHaveLength(Math.ceil(100_000 / 1024))
    expect(await pidOf(pool)).toBe(pid)
  })

  it('emits a line without a job as an event of the pool', async () => {
    const { pool } = shared
    const lines: string[] = []
    pool.on('output', ({ line }) => lines.push(line.text))
    const job = pool.submit('outsideOfAJob', [])
    await job.result
    const shell = pool.submit('shell', ['echo from a child'])
    await shell.result
    await until('both lines are seen', () => [...lines, ...texts(job), ...texts(shell)].length >= 2)
    expect([...lines, ...texts(job), ...texts(shell)].sort()).toEqual(['after the job', 'from a child'])
  })
})

describe('promise 9: output of any kind', () => {
  // The others: output.long.test.ts.
  floods(['capture'])

  rawWrites(['capture'])

  // The default.
  inherited([])

  it("'inherit': a host that prints nothing itself survives the end of the reader of its stderr", async () => {
    // The reader of the pipe exits before anything is written.
    const host = new Host('sh', ['-c', 'exec 4>&1; { exec "$0" "$1" 2>&3 >&4; } 3>&1 | true', process.execPath, hostScript('stderr-closed.js')])
    expect(await host.reported('outcome')).toEqual({ printed: 3, listeners: 0 })
  })

  it("'inherit': an interruption of a worker prints nothing", async () => {
    const host = startHost('interrupts.js')
    expect(await host.reported('outcome')).toEqual({ error: 'SoftTimeLimitError', kept: true })
    await host.ends()
    expect(host.stderr).toBe('')
    expect(host.lines).toHaveLength(1)
  })

  turns(['capture'])

  leftAlone(['capture'])

  logged(['inherit'])
})

/** ms after which a new worker is through with its start: before, Node may abort when these descriptors are closed, as its watchdog's thread still reads files. */
const STARTED = 500

describe.each([true, false])('promise 2: with watchdog: %s', (watchdog) => {
  it('a task that closes stdin, stdout and stderr does not end its worker, whose heartbeats measure its memory', async () => {
    const pool = await startPool({ workers: 1, watchdog, heartbeatInterval: 20, maxMemoryPerWorker: 4_000_000_000 })
    const pid = await pidOf(pool)
    await pool.run('sleep', [STARTED])
    for (const fd of [0, 1, 2]) expect(await pool.run('closeFd', [fd])).toBe('closed')
    expect(await pool.run('sleep', [200])).toBeUndefined()
    expect(await pidOf(pool)).toBe(pid)
    expect(pool.stats().workers[0]!.rss).toBeGreaterThan(1_000_000)
  })

  it('a task that closes them while a heartbeat measures its memory does not end its worker', async () => {
    const pool = await startPool({ workers: 1, watchdog, heartbeatInterval: 10, maxMemoryPerWorker: 4_000_000_000 })
    const pid = await pidOf(pool)
    await pool.run('sleep', [STARTED])
    expect(await pool.run('keepClosing', [1_500])).toBeUndefined()
    expect(await pidOf(pool)).toBe(pid)
  })
})
