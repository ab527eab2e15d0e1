import { type PoolEvents, TaskNotFoundError } from 'prefork'
import { describe, expect, it, onTestFinished } from 'vitest'
import { fixture, sharedPool, startPool } from '../fixtures/pools.js'
import { failure, Latch, until, within } from '../fixtures/support.js'

const NAME = 'nightly report'

describe('a job with calledAs', () => {
  const shared = sharedPool({ cancelGrace: 200 })

  it('has that name in itself, in its task, in events and in statistics', async () => {
    const pool = await startPool({ tasks: fixture('job-context.js'), output: 'capture' })
    const events: [string, string][] = []
    const names = [
      'jobSubmitted',
      'jobAccepted',
      'jobSettled',
      'jobRetried',
      'jobPutBack',
      'softTimeLimit',
      'jobLog',
    ] as const satisfies readonly (keyof PoolEvents)[]
    for (const event of names) pool.on(event, ({ name }) => events.push([event, name]))
    const job = pool.submit('about', [], { calledAs: NAME })
    expect(job.name).toBe(NAME)
    expect(await job.result).toMatchObject({ name: NAME })
    await pool.run('print', ['a'], { calledAs: NAME })
    const spinning = pool.submit('printAndSpin', ['b'], { calledAs: NAME, softTimeLimit: 100 })
    await until('it runs', () => spinning.accepted)
    expect(pool.stats().workers[0]!.job).toMatchObject({ name: NAME })
    expect(await failure(spinning.result)).toMatchObject({ message: `The job '${NAME}' did not end at its soft time limit of 100 ms.` })
    await failure(pool.run('printAndDie', ['c'], { calledAs: NAME, retryLost: 1 }))
    expect(new Set(events.map(([event]) => event))).toEqual(new Set(['jobSubmitted', 'jobAccepted', 'jobSettled', 'jobRetried', 'softTimeLimit', 'jobLog']))
    expect(new Set(events.map(([, name]) => name))).toEqual(new Set([NAME]))
  })

  it.each([
    ['a loss', 'exitWith', [3], {}, `The job '${NAME}' was lost: `],
    ['a time limit', 'never', [], { timeLimit: 50 }, `The job '${NAME}' ran longer than its time limit of 50 ms.`],
    ['a soft limit', 'never', [], { softTimeLimit: 50 }, `The job '${NAME}' did not end at its soft time limit of 50 ms.`],
    ['a task that does not exist', 'eccho', [], {}, `There is no task 'eccho' for the job '${NAME}'; did you mean 'echo'?`],
  ])('is named in the error of %s', async (_, task, args, options, message) => {
    const error = await failure(shared.pool.run(task, args, { ...options, calledAs: NAME }))
    expect(error).toMatchObject({ message: expect.stringContaining(message) })
    if (task === 'eccho') expect(error).toBeInstanceOf(TaskNotFoundError)
  })

  it('is named in the errors of values that cannot be sent or are too large', async () => {
    const pool = await startPool({ tasks: [fixture('tasks.js'), fixture('errors.js')], maxMessageSize: 100_000 })
    const run = (task: string, args: unknown[]) => failure(pool.run(task, args, { calledAs: NAME }))
    expect(await run('echo', [Buffer.alloc(200_000)])).toMatchObject({ message: expect.stringContaining(`The arguments of '${NAME}' take 200`) })
    expect(await run('bytes', [200_000])).toMatchObject({ message: expect.stringContaining(`The result of the task '${NAME}' has 200`) })
    expect(await run('bad', ['function'])).toMatchObject({ message: expect.stringContaining(`The result of the task '${NAME}' cannot be sent`) })
  })

  it('is named when it is cancelled, when the pool ends, and when its worker never began it', async () => {
    const pool = await startPool({ dispatch: 'fast', maxPutBacks: 0, cancelGrace: 100 })
    const latch = new Latch()
    const pid = (await pool.run('pid', [])) as number
    pool.run('holdSync', [latch.path])
    const [cancelled, unbegun] = [1, 2].map((id) => pool.submit('echo', [id], { calledAs: NAME }))
    await until('they are written', () => unbegun!.state === 'written')
    cancelled!.cancel()
    expect(await failure(cancelled!.result)).toMatchObject({ name: 'AbortError', message: `The job '${NAME}' was cancelled.` })
    await cancelled!.began
    await until('it is written again', () => unbegun!.state === 'written')
    process.kill(pid, 'SIGKILL')
    expect(await within(failure(unbegun!.result), 20_000)).toMatchObject({ message: expect.stringContaining(`The job '${NAME}' never began: `) })
    const running = pool.submit('never', [], { calledAs: NAME })
    await until('it runs', () => running.accepted)
    await pool.terminate()
    expect(await failure(running.result)).toMatchObject({ message: `The pool was terminated before the job '${NAME}' had ended.` })
  })

  it('may be one of a map, a stream or a broadcast', async () => {
    const pool = await startPool({ tasks: fixture('streams.js') })
    const seen = new Set<string>()
    pool.on('jobSettled', ({ name }) => seen.add(name))
    for await (const _ of pool.map('pid', [[], []], { calledAs: NAME }));
    for await (const _ of pool.stream('upTo', [3], { calledAs: NAME }));
    await pool.broadcast('pid', [], { calledAs: NAME })
    expect([...seen]).toEqual([NAME])
    expect(await failure(pool.run('upTo', [3], { calledAs: NAME }))).toMatchObject({ message: expect.stringContaining(`The task '${NAME}' is a generator`) })
  })

  it('is named in the warning about an error that no task caught, without its control characters', async () => {
    const warnings: Error[] = []
    const onWarning = (warning: Error): void => void warnings.push(warning)
    // Node's own listener prints it.
    const printers = process.listeners('warning')
    process.removeAllListeners('warning').on('warning', onWarning)
    onTestFinished(() => {
      process.off('warning', onWarning)
      for (const printer of printers) process.on('warning', printer)
    })
    const pool = await startPool()
    await pool.run('rejectBeside', [200], { calledAs: '\x1b[31mred' })
    await until('the host is warned', () => warnings.length > 0)
    expect(warnings[0]!.message).toContain("in the job '\\x1b[31mred'")
  })

  it.each([
    ['', "Option 'calledAs' must be a non-empty string; it was given ''."],
    [5, "Option 'calledAs' must be a non-empty string; it was given 5."],
    ['x'.repeat(4_097), "Option 'calledAs' must have at most 4096 characters; it has 4097."],
  ])('refuses another value: %#', async (calledAs, message) => {
    expect(await failure(shared.pool.run('echo', [1], { calledAs } as never))).toMatchObject({ name: 'TypeError', message })
  })

  it('takes the longest name', async () => {
    expect(shared.pool.submit('echo', [1], { calledAs: 'x'.repeat(4_096) }).name).toHaveLength(4_096)
  })
})
