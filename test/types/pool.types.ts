// Never run: compile.test.ts checks what compiles here and what does not.
import { type BroadcastOptions, createPool, type Job, type PoolEvents, type PoolStats, SoftTimeLimitError, WorkerLostError } from 'prefork'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(..._: Equal<A, B> extends true ? [] : [never]): void => {}

export const typed = async (): Promise<void> => {
  const pool = await createPool<typeof import('./example-tasks.js')>({ tasks: new URL('./example-tasks.js', import.meta.url), workers: { min: 1, max: 4 } })

  // names, arguments and results
  const total = await pool.run('add', [1, 2])
  same<typeof total, number>()
  const image = await pool.run('resize', [Buffer.from('x'), 200], { timeLimit: 5_000, signal: AbortSignal.timeout(10), priority: 1 })
  same<typeof image, Buffer<ArrayBufferLike>>()
  const nothing = await pool.run('nothing', [])
  same<typeof nothing, void>()
  await pool.run('greet', ['you'])
  await pool.run('greet', ['you', true])
  await pool.run('sum', [1, 2, 3, 4])

  // a function that never returns is a task too
  const given = pool.submit('giveUp', ['no luck'])
  same<typeof given, Job<never>>()
  const spun = pool.run('spin', [])
  same<typeof spun, Promise<never>>()

  const pair = [1, 2] as const
  await pool.run('add', pair)

  // @ts-expect-error: no such task
  await pool.run('ad', [1, 2])
  // @ts-expect-error: exported, but no function
  await pool.run('version', [])
  // @ts-expect-error: one argument too few
  await pool.run('add', [1])
  // @ts-expect-error: one argument too many
  await pool.run('add', [1, 2, 3])
  // @ts-expect-error: an argument of the wrong type
  await pool.run('add', [1, '2'])
  // @ts-expect-error: an argument of the wrong type, in a task of defineTask
  await pool.run('resize', ['x', 200])
  // @ts-expect-error: no array
  await pool.run('nothing', 1)
  // @ts-expect-error: no such run option
  await pool.run('add', [1, 2], { timelimit: 5 })
  // @ts-expect-error: the result is a number
  const text: string = await pool.run('add', [1, 2])
  void text

  // a generator has no single result: it is streamed
  // @ts-expect-error: run
  await pool.run('count', [3])
  // @ts-expect-error: submit
  pool.submit('lines', ['a'])
  // @ts-expect-error: map
  pool.map('count', [[3]])
  // @ts-expect-error: broadcast
  await pool.broadcast('count', [3])

  // undefined counts as absent; a broadcast has no id
  await pool.run('add', [1, 2], { timeLimit: undefined, signal: undefined })
  await createPool({ tasks: 'tasks.js', workers: undefined, timeLimit: undefined, cwd: undefined })
  await pool.close({ timeout: undefined })
  const wide: BroadcastOptions = { retryLost: 1 }
  await pool.broadcast('add', [1, 2], wide)
  const env: Record<string, string> | undefined = undefined
  await createPool({ tasks: 'tasks.js', env })
  // @ts-expect-error: an option of a single job
  await pool.broadcast('add', [1, 2], { id: 'one' })

  // calls
  await pool.run('add', [1, 2], { calls: { lookUp: async (id: number) => `${id}`, save() {} } })
  await pool.run('add', [1, 2], { calls: undefined })
  // @ts-expect-error: a function for each name
  await pool.run('add', [1, 2], { calls: { lookUp: 5 } })
  await pool.run('add', [1, 2], { cancel: 'ask', calledAs: 'a sum' })
  // @ts-expect-error: no such way to cancel
  await pool.run('add', [1, 2], { cancel: 'now' })

  // jobs
  const job = pool.submit('add', [1, 2])
  same<typeof job, Job<number>>()
  same<typeof job.result, Promise<number>>()
  job.on('progress', (value) => same<typeof value, unknown>())
  // @ts-expect-error: no such event
  job.on('progres', () => {})
  same<typeof job.worker, number | undefined>()
  same<ReturnType<typeof job.cancel>, boolean>()
  job.cancel('enough', { grace: 0 })
  // @ts-expect-error: no such option of a cancellation
  job.cancel('enough', { grce: 0 })
  // @ts-expect-error: read-only
  job.state = 'lost'
  // @ts-expect-error: no such task
  pool.submit('ad', [1, 2])

  // map
  for await (const value of pool.map('add', [[1, 2]], { ordered: false, concurrency: 3 })) same<typeof value, number>()
  // @ts-expect-error: the source yields argument arrays
  pool.map('add', [1, 2])
  // @ts-expect-error: of the right types
  pool.map('add', [['1', '2']])

  // stream
  // @ts-expect-error: its result cannot be iterated over
  pool.stream('add', [1, 2])
  for await (const value of pool.stream('count', [3])) same<typeof value, number>()
  for await (const line of pool.stream('lines', ['a'])) same<typeof line, string>()
  // @ts-expect-error: an argument of the wrong type
  pool.stream('count', ['3'])

  // broadcast
  const answers = await pool.broadcast('add', [1, 2])
  same<typeof answers, number[]>()
  // @ts-expect-error: one argument too few
  await pool.broadcast('add', [1])

  // other members
  const stats = pool.stats()
  same<typeof stats, PoolStats>()
  pool.on('workerExit', (exit) => same<typeof exit, PoolEvents['workerExit']>())
  // @ts-expect-error: no such event
  pool.on('workerExits', () => {})
  await pool.ready()
  await pool.close({ timeout: 5 })
  // @ts-expect-error: a number of ms
  await pool.close({ timeout: '5' })
  const disposable: AsyncDisposable = pool
  void disposable
}

export const options = async (): Promise<void> => {
  // @ts-expect-error: tasks are required
  await createPool({})
  // @ts-expect-error: no such option
  await createPool({ tasks: 'x', worker: 3 })
  // @ts-expect-error: no such output
  await createPool({ tasks: 'x', output: 'pipe' })
  const untyped = await createPool({ tasks: 'x' })
  const result = await untyped.run('anything', [1, 'two'])
  void result
}

export const errors = (error: unknown): string => {
  if (error instanceof WorkerLostError) return `${error.code} ${error.accepted} ${error.reason} ${error.exitCode} ${error.signal} ${error.stderr}`
  if (error instanceof SoftTimeLimitError) return `${error.limit} ${error.taskStack}`
  return ''
}
