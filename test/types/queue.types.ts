// Never run: compile.test.ts checks what compiles here and what does not.
import { createQueue, createWorker, type FarmNode, type Queue, type QueueJob, runWorker, type ShutdownReport } from 'prefork/queue'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(..._: Equal<A, B> extends true ? [] : [never]): void => {}

export const typed = async (signal: AbortSignal): Promise<void> => {
  const queue = await createQueue<typeof import('./example-tasks.js')>({ store: 'memory:', queue: 'jobs', defaults: { maxAttempts: 5 } })
  same<typeof queue, Queue<typeof import('./example-tasks.js')>>()

  // names, arguments and results
  const job = await queue.add('add', [1, 2], { id: 'x', delay: 5_000, dedup: { key: 'k', ttl: 5 }, keep: { completed: { age: 5, count: 1 } } })
  same<typeof job, QueueJob<number>>()
  const total = await job.result({ timeout: 5_000, signal })
  same<typeof total, number>()
  await queue.add('greet', ['you'], { runAt: new Date(), dependsOn: ['x'], onFailedDependency: 'run' })
  await queue.addBulk([
    { task: 'add', args: [1, 2] },
    { task: 'greet', args: ['you', true], options: { priority: 1 } },
  ])
  await queue.addFlow({ task: 'sum', args: [], children: [{ task: 'add', args: [1, 2], children: [{ task: 'nothing', args: [] }] }] })
  await queue.schedule('key', { cron: '0 3 * * *', timeZone: 'UTC', catchUp: 'none', task: 'add', args: [1, 2], options: { maxAttempts: 2 } })

  // @ts-expect-error: no such task
  await queue.add('ad', [1, 2])
  // @ts-expect-error: exported, but no function
  await queue.add('version', [])
  // @ts-expect-error: a generator
  await queue.add('count', [1])
  // @ts-expect-error: one argument too few
  await queue.add('add', [1])
  // @ts-expect-error: an argument of the wrong type
  await queue.addBulk([{ task: 'add', args: [1, '2'] }])
  // @ts-expect-error: an argument of the wrong type, in a child
  await queue.addFlow({ task: 'sum', args: [], children: [{ task: 'add', args: ['1'] }] })
  // @ts-expect-error: no such option
  await queue.add('add', [1, 2], { timelimit: 5 })
  // @ts-expect-error: no such catch-up
  await queue.schedule('key', { every: 5, catchUp: 'some', task: 'add', args: [1, 2] })
  // @ts-expect-error: the arguments of another task
  await queue.schedule('key', { every: 5, task: 'add', args: ['you'] })
  // @ts-expect-error: no such state
  await queue.jobs({ states: ['done'] })
  // @ts-expect-error: a closure is no module
  await queue.run({ tasks: () => {} })
  // @ts-expect-error: no such event
  queue.on('complete', () => {})

  queue.on('completed', ({ id, value }) => same<[typeof id, typeof value], [string, unknown]>())
  queue.on('retrying', ({ runAt }) => same<typeof runAt, number | undefined>())
  const counts = await queue.counts()
  same<typeof counts.expired, number>()

  // without a type parameter: any name, any arguments
  const anything = await (await createQueue({ store: 'memory:' })).add('whatever', [1, 'two'])
  same<typeof anything, QueueJob<unknown>>()

  const node = await createWorker({ store: 'memory:', tasks: './tasks.js', queues: ['a', 'b'], schedulers: false, onStartup: [({ node }) => node] })
  same<typeof node, FarmNode>()
  const report = await runWorker({ store: 'memory:', tasks: './tasks.js', signal })
  same<typeof report, ShutdownReport>()
  // @ts-expect-error: no such option
  await createWorker({ store: 'memory:', tasks: './tasks.js', queu: 'a' })
  // @ts-expect-error: no store
  await createQueue({ queue: 'a' })
}
