import { describe, expect, it } from 'vitest'
import { Host, hostScript, startHost } from '../fixtures/hosts.js'
import { fixture, pidOf, startPool } from '../fixtures/pools.js'
import { failure, until, within } from '../fixtures/support.js'

const tasks = fixture('job-context.js')
const texts = (job: { logs: readonly { text: string }[] }): string[] => job.logs.map((line) => line.text)

describe("promise 9: output: 'capture'", () => {
  it('attaches each line to its job, once, with its stream and time', async () => {
    const pool = await startPool({ tasks, output: 'capture' })
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
    const pool = await startPool({ tasks, output: 'capture', concurrency: 3 })
    const jobs = ['x', 'y', 'z'].map((label, index) => pool.submit('print', [label, 30 - index * 10]))
    for (const [index, job] of jobs.entries()) {
      await job.result
      expect(texts(job)).toHaveLength(6)
      for (const text of texts(job)) expect(text).toMatch(new RegExp(`^${'xyz'[index]} `))
    }
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
    const pool = await startPool({ tasks, output: 'capture' })
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
    const pool = await startPool({ tasks, output: 'capture' })
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
  it.each(['ignore', 'capture'] as const)('%s: 64 MB on stdout and stderr block neither host nor worker', async (output) => {
    const pool = await startPool({ tasks, output, workers: 2 })
    const flood = pool.run('floodBoth', [64_000_000, 128])
    for (let index = 0; index < 50; index += 1) expect(await within(pidOf(pool), 10_000)).toBeTypeOf('number')
    expect(await within(flood, 20_000)).toBe('flooded')
  })

  it.each(['ignore', 'capture'] as const)('%s: a task that writes to the descriptor itself, and a child that does, are not refused', async (output) => {
    const pool = await startPool({ tasks, output })
    expect(await pool.run('shell', ['head -c 8000000 /dev/zero'])).toBe(0)
    expect(await pool.run('rawWrite', [8_000_000])).toBe('written')
  })

  it("'inherit' is the default: the lines appear in the host's own output", async () => {
    for (const args of [[], ['inherit']]) {
      const host = startHost('prints.js', args)
      await host.ends()
      expect(host.stdout).toBe('seen log\nseen stdout\nseen late\n')
      expect(host.stderr).toContain('seen error\nseen stderr\n')
    }
  })

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

  it.each(['inherit', 'ignore', 'capture'])("'%s': a flood of short lines does not keep the host from turning", async (output) => {
    const host = new Host('sh', ['-c', `exec "$0" "$1" '"${output}"' 3>&1 >/dev/null 2>/dev/null`, process.execPath, hostScript('output-flood.js')])
    // It should cost a few ms at a time; the rest allows for a cold compiler and garbage collection.
    expect(await host.reported('stood')).toBeLessThan(400)
    await host.ends()
  })

  it.each(['ignore', 'capture'])("'%s' leaves the host's output alone", async (output) => {
    const host = startHost('prints.js', [output])
    expect(await host.ends()).toEqual({ code: 0, signal: null })
    expect([host.stdout, host.stderr]).toEqual(['', ''])
  })

  it.each(['inherit', 'ignore'] as const)('log lines of currentJob().log are kept with %s too', async (output) => {
    const pool = await startPool({ tasks, output })
    const job = pool.submit('logAndDie', ['a'])
    await failure(job.result)
    expect(job.logs).toMatchObject([{ stream: 'log', text: 'a logged' }])
  })
})
