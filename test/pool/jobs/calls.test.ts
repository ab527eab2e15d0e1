import { describe, expect, test } from 'vitest'
import { CallFunctions, callFunctions, type HostCall, JobCalls } from '../../../src/pool/jobs/calls.js'
import { encode } from '../../../src/wire/codec/index.js'
import { CALL_HEAD, writeCallHead } from '../../../src/wire/frame.js'
import { collectGarbage } from '../gc.js'

const payloadOf = (number: number, name: string, ...args: unknown[]): Buffer => {
  const nameBytes = Buffer.byteLength(name)
  const { body } = encode(args, CALL_HEAD + nameBytes)
  writeCallHead(body, 0, number, nameBytes)
  body.write(name, CALL_HEAD)
  return body
}

const setUp = (functions: Record<string, (...args: never[]) => unknown>) => {
  const calls = new JobCalls(new CallFunctions('calls', functions))
  const answered: HostCall[] = []
  const receive = (payload: Buffer): void => calls.receive('job', 3, payload, { add: (call) => answered.push(call) })
  return { calls, answered, receive }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('the calls of a job', () => {
  test('run their function and pass its answer on', async () => {
    const { answered, receive, calls } = setUp({ add: (a: number, b: number) => a + b, fail: () => Promise.reject(new Error('no')) })
    receive(payloadOf(1, 'add', 1, 2))
    receive(payloadOf(2, 'fail'))
    receive(payloadOf(3, 'ad'))
    await turn()
    expect(answered.map(({ number, delivery, answer }) => [number, delivery, answer])).toEqual([
      [1, 3, { value: 3 }],
      [3, 3, { error: expect.objectContaining({ code: 'ERR_PREFORK_UNKNOWN_CALL' }) }],
      [2, 3, { error: new Error('no') }],
    ])
    expect(calls.outstanding).toBe(3)
    for (const call of answered) call.end()
    expect(calls.outstanding).toBe(0)
  })

  test('hold nothing once their attempt has ended, and pass nothing on', async () => {
    let answer: (value: unknown) => void = () => {}
    const { answered, receive, calls } = setUp({
      wait: () =>
        new Promise((resolve) => {
          answer = resolve
        }),
      now: () => 'now',
    })
    receive(payloadOf(1, 'wait'))
    receive(payloadOf(2, 'now'))
    await turn()
    calls.end()
    expect([calls.outstanding, answered.map((call) => call.answer)]).toEqual([0, [undefined]])
    answer('too late')
    await turn()
    expect(answered).toHaveLength(1)
  })

  test('hold no worker in memory, even if a function never returns', async () => {
    const never: ((value: unknown) => void)[] = []
    const receive = (): [JobCalls, WeakRef<object>] => {
      const answers = { add: () => {} }
      const own = new JobCalls(new CallFunctions('calls', { wait: () => new Promise((resolve) => never.push(resolve)) }))
      own.receive('job', 3, payloadOf(1, 'wait'), answers)
      return [own, new WeakRef(answers)]
    }
    const [running, kept] = receive()
    const [ended, dropped] = receive()
    ended.end()
    // A WeakRef is not cleared in the turn in which it was made.
    await turn()
    collectGarbage()
    expect([kept.deref() === undefined, dropped.deref() === undefined]).toEqual([false, true])
    expect([never.length, running.outstanding, ended.outstanding]).toEqual([2, 1, 0])
  })

  test('with arguments that cannot be decoded do not run', async () => {
    let ran = 0
    const { answered, receive } = setUp({ take: () => ++ran })
    const payload = payloadOf(1, 'take', 1)
    payload[CALL_HEAD + 4] = 0xff
    receive(payload)
    await turn()
    expect([ran, answered.map((call) => call.answer)]).toEqual([0, [{ error: expect.objectContaining({ code: 'ERR_PREFORK_SERIALIZATION' }) }]])
  })

  test('that no worker sends are refused', () => {
    const { receive } = setUp({ wait: () => new Promise(() => {}) })
    expect(() => receive(Buffer.alloc(3))).toThrow('A CALL of 3 bytes is too short.')
    expect(() => receive(payloadOf(1, 'wait').subarray(0, CALL_HEAD + 4))).toThrow('too short')
    const noArray = Buffer.concat([payloadOf(1, 'wait').subarray(0, CALL_HEAD + 4), encode({ length: 2 ** 31 }, 0).body])
    expect(() => setUp({}).receive(noArray)).toThrow('The arguments of a CALL are not an array.')
    for (let number = 1; number <= 64; number++) receive(payloadOf(number, 'wait'))
    expect(() => receive(payloadOf(65, 'wait'))).toThrow('A CALL although 64 of its job are unanswered.')
  })

  test('functions that were checked before are taken as they are', () => {
    const functions = new CallFunctions('calls', {})
    expect(callFunctions('calls', functions)).toBe(functions)
    expect(() => callFunctions('calls', { a: 1 })).toThrow("Option 'calls.a' must be a function; it was given 1.")
  })
})
