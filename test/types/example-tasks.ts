import { currentJob, defineTask, NonRetryableError, onWorkerStart, onWorkerStop, RetryAfterError } from 'prefork/worker'

onWorkerStart(async () => {})
onWorkerStop(() => {})

export const resize = defineTask({ timeLimit: 10_000, retryLost: 2 }, async (image: Buffer, width: number) => {
  const { id, signal, log, progress, context } = currentJob()
  signal.throwIfAborted()
  log(`${id} ${String(context)}`)
  progress({ width })
  return image.subarray(0, width)
})
export const decides = defineTask({ maxAttempts: 2, backoff: { kind: 'exponential', delay: 5, maxDelay: 9, jitter: 0.5 } }, (kind: string): void => {
  const cause = new Error('inside')
  if (kind === 'final') throw new NonRetryableError('never', { cause })
  if (kind === 'later') throw new RetryAfterError('busy', { delay: 5, cause })
  // @ts-expect-error: no delay
  if (kind === 'no delay') throw new RetryAfterError('busy')
  // @ts-expect-error: a number of ms
  if (kind === 'text') throw new RetryAfterError('busy', { delay: '5' })
  class NoSuchCustomer extends NonRetryableError {
    readonly customer = 7
  }
  const { code, customer }: { code: string; customer: number } = new NoSuchCustomer()
  void [code, customer]
})
// @ts-expect-error: no such kind
export const undecided = defineTask({ backoff: { kind: 'linear', delay: 5 } }, () => {})
export interface HostFunctions {
  lookUp(id: number): Promise<string>
  save: (key: string, value?: unknown) => void
}
export const calls = async (): Promise<string> => {
  const { call } = currentJob<HostFunctions>()
  const saved: void = await call('save', 'key')
  void saved
  // @ts-expect-error: no such function
  await call('lokUp', 1)
  // @ts-expect-error: an argument of the wrong type
  await call('lookUp', '1')
  const untyped: unknown = await currentJob().call('anything', 1, 'two')
  void untyped
  return call('lookUp', 1)
}
export const add = (a: number, b: number): number => a + b
export function greet(name: string, polite?: boolean): string {
  return polite ? `Good day, ${name}` : `hi ${name}`
}
export async function* count(to: number): AsyncGenerator<number> {
  for (let value = 0; value < to; value += 1) yield value
}
export const lines = defineTask({}, async function* (text: string) {
  yield* text.split('\n')
})
export const nothing = async (): Promise<void> => {}
export const sum = (...values: number[]): number => values.reduce((total, value) => total + value, 0)
export const version = '1.0'
export class Helper {}

// @ts-expect-error: no such task option
export const misspelt = defineTask({ timelimit: 5 }, () => {})

export const giveUp = async (why: string): Promise<never> => {
  throw new Error(why)
}
export const spin = (): never => {
  for (;;);
}
