// Never run: compile.test.ts checks what compiles here and what does not.
import { createPublisher, createWorker, type FarmNode, type Publisher, RemoteError } from 'prefork/amqp'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(..._: Equal<A, B> extends true ? [] : [never]): void => {}

export const typed = async (): Promise<void> => {
  const publisher = await createPublisher<typeof import('./example-tasks.js')>({ url: 'amqp://localhost', queue: 'jobs', queueType: 'classic' })
  same<typeof publisher, Publisher<typeof import('./example-tasks.js')>>()

  // names, arguments and results
  const id = await publisher.publish('add', [1, 2], { delay: 5_000, priority: 1, ttl: 60_000, backoff: { kind: 'fixed', delay: 1 }, compress: 'gzip' })
  same<typeof id, string>()
  const total = await publisher.call('add', [1, 2], { timeout: 5_000 })
  same<typeof total, number>()
  const ids = await publisher.publishMany('add', [
    [1, 2],
    [3, 4],
  ])
  same<typeof ids, string[]>()
  await publisher.publish('greet', ['you'])

  // @ts-expect-error: no such task
  await publisher.publish('ad', [1, 2])
  // @ts-expect-error: exported, but no function
  await publisher.call('version', [])
  // @ts-expect-error: one argument too few
  await publisher.publish('add', [1])
  // @ts-expect-error: an argument of the wrong type
  await publisher.call('add', [1, '2'])
  // @ts-expect-error: no such option
  await publisher.publish('add', [1, 2], { timelimit: 5 })
  // @ts-expect-error: an option of call() only
  await publisher.publish('add', [1, 2], { timeout: 5 })
  // @ts-expect-error: one id for several jobs
  await publisher.publishMany('add', [[1, 2]], { messageId: 'x' })
  // @ts-expect-error: arguments of the wrong type
  await publisher.publishMany('add', [[1, '2']])
  // @ts-expect-error: no such queue type
  await createPublisher({ queueType: 'mirrored' })

  // without a type parameter: any name, any arguments
  const anything = await createPublisher()
  const result = await anything.call('whatever', [1, 'two'])
  same<typeof result, unknown>()

  const node = await createWorker({ tasks: './tasks.js', queues: ['a', 'b'], priorityLevels: 3, minWorkers: 2 })
  same<typeof node, FarmNode>()
  // @ts-expect-error: no such option
  await createWorker({ tasks: './tasks.js', queu: 'a' })

  const error: unknown = undefined
  if (error instanceof RemoteError) same<typeof error.code, string | undefined>()
}
