// Never run: compile.test.ts checks what compiles here and what does not.
import { createPublisher, createWorker, type FarmNode, type PublishedMany, type Publisher, type purge, type retryDeadLetters } from 'prefork/faktory'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(..._: Equal<A, B> extends true ? [] : [never]): void => {}

export const typed = async (): Promise<void> => {
  const publisher = await createPublisher<typeof import('./example-tasks.js')>({ url: 'tcp://:password@localhost:7419', queue: 'jobs' })
  same<typeof publisher, Publisher<typeof import('./example-tasks.js')>>()

  // names and arguments
  const jid = await publisher.publish('add', [1, 2], {
    queue: 'critical',
    delay: 5_000,
    retry: -1,
    reserveFor: 60_000,
    backtrace: 5,
    custom: { locale: 'de' },
    jid: 'jid-00001',
  })
  same<typeof jid, string | undefined>()
  const many = await publisher.publishMany(
    'add',
    [
      [1, 2],
      [3, 4],
    ],
    { at: new Date() },
  )
  same<typeof many, PublishedMany>()
  await publisher.queue.pause('critical', 'default')
  same<Awaited<ReturnType<typeof publisher.queue.latency>>, Readonly<Record<string, number>>>()
  await publisher.mutate({ cmd: 'requeue', target: 'dead', filter: { jobtype: 'add' } })

  // @ts-expect-error: Faktory keeps no results
  await publisher.call('add', [1, 2])
  // @ts-expect-error: nor without arguments
  await publisher.call()
  // @ts-expect-error: no such task
  await publisher.publish('ad', [1, 2])
  // @ts-expect-error: one argument too few
  await publisher.publish('add', [1])
  // @ts-expect-error: arguments of the wrong type
  await publisher.publishMany('add', [[1, '2']])
  // @ts-expect-error: Faktory has no priorities
  await publisher.publish('add', [1, 2], { priority: 1 })
  // @ts-expect-error: one id for several jobs
  await publisher.publishMany('add', [[1, 2]], { jid: 'jid-00001' })
  // @ts-expect-error: no set of this name
  await publisher.mutate({ cmd: 'clear', target: 'working' })
  // @ts-expect-error: an option of RabbitMQ
  await createPublisher({ queueType: 'quorum' })

  const node = await createWorker({ tasks: './tasks.js', queues: { critical: 5, default: 1 }, fetchers: 5 })
  same<typeof node, FarmNode>()
  // @ts-expect-error: Faktory does the retrying
  await createWorker({ tasks: './tasks.js', maxAttempts: 5 })

  same<Awaited<ReturnType<typeof purge>>, { removed: number }>()
  same<Awaited<ReturnType<typeof retryDeadLetters>>, { retried: number }>()
}
