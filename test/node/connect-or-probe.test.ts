import { describe, expect, it } from 'vitest'
import { connectOrProbe, isTransient } from '../../src/node/connect-or-probe.js'
import { failure } from '../fixtures/support.js'

const open = (): { promise: Promise<void>; resolve: () => void; reject: (error: Error) => void } => {
  let resolve = (): void => {}
  let reject = (_: Error): void => {}
  const promise = new Promise<void>((settle, refuse) => {
    resolve = settle
    reject = refuse
  })
  return { promise, resolve, reject }
}

describe('the wait for the broker', () => {
  it('probes nothing when the broker accepts or refuses in time', async () => {
    let probes = 0
    const probe = async (): Promise<void> => void probes++
    await connectOrProbe(async () => {}, probe, 60_000)
    expect(await failure(connectOrProbe(() => Promise.reject(new Error('login refused')), probe, 60_000))).toMatchObject({ message: 'login refused' })
    expect(probes).toBe(0)
  })

  it('probes the tasks once, and rejects with their error', async () => {
    const never = new Promise<void>(() => {})
    expect(
      await failure(
        connectOrProbe(
          () => never,
          () => Promise.reject(new Error('not loaded')),
          1,
        ),
      ),
    ).toMatchObject({ message: 'not loaded' })
  })

  it('resolves only after a probe in progress has ended, but rejects at once when the broker refuses', async () => {
    const [broker, begun, probe] = [open(), open(), open()]
    const probes = (): Promise<void> => {
      begun.resolve()
      return probe.promise
    }
    let connected = false
    const connecting = connectOrProbe(() => broker.promise, probes, 1).then(() => {
      connected = true
    })
    await begun.promise
    broker.resolve()
    await new Promise((resolve) => setImmediate(resolve))
    expect(connected).toBe(false)
    probe.resolve()
    await connecting

    const [refusing, again, hanging] = [open(), open(), open()]
    const refused = connectOrProbe(
      () => refusing.promise,
      () => {
        again.resolve()
        return hanging.promise
      },
      1,
    )
    await again.promise
    refusing.reject(new Error('login refused'))
    expect(await failure(refused)).toMatchObject({ message: 'login refused' })
    // The result of the probe is ignored then.
    hanging.reject(new Error('not loaded'))
  })

  it('aborts a probe in progress when the broker refuses, and only then', async () => {
    for (const refuses of [false, true]) {
      const [broker, begun, probe] = [open(), open(), open()]
      let refused: AbortSignal | undefined
      const connecting = connectOrProbe(
        () => broker.promise,
        (signal) => {
          refused = signal
          begun.resolve()
          return probe.promise
        },
        1,
      )
      await begun.promise
      if (refuses) {
        broker.reject(new Error('login refused'))
        await failure(connecting)
      } else {
        broker.resolve()
        probe.resolve()
        await connecting
      }
      expect(refused?.aborted).toBe(refuses)
    }
  })
})

const coded = (code: string, more: object = {}): Error => Object.assign(new Error(code), { code, ...more })

it.each<[what: string, error: unknown, passes: boolean]>([
  ['a module that threw', new Error('x', { cause: new SyntaxError('y') }), false],
  ['a module that is missing', new Error('x', { cause: coded('ERR_MODULE_NOT_FOUND') }), false],
  ['a module that threw nothing', new Error('x', { cause: undefined }), false],
  ['a module that threw a text', new Error('x', { cause: 'ECONNREFUSED' }), false],
  ['a broker that it could not reach', new Error('x', { cause: coded('ERR_PREFORK_BROKER') }), true],
  ['a database, wrapped', new Error('x', { cause: new Error('y', { cause: coded('ENOTFOUND') }) }), true],
  ['both addresses of a host', new Error('x', { cause: new AggregateError([coded('EACCES'), coded('ECONNREFUSED')]) }), true],
  ['a start that took too long', new Error('x', { cause: coded('ERR_PREFORK_START_TIMEOUT') }), true],
])('%s', (_what, error, passes) => {
  expect(isTransient(error)).toBe(passes)
})

it('an error that is its own cause is no endless loop', () => {
  const error = new Error('x')
  error.cause = error
  expect(isTransient(error)).toBe(false)
})
