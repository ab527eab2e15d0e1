import { afterEach, describe, expect, it, vi } from 'vitest'
import { MAX_AGE, SignatureCheck, sign } from '../../../src/amqp/control/signature.js'

afterEach(() => vi.useRealTimers())
const body = Buffer.from('{"to":"all"}')

it('without a secret every command is accepted, and none is signed', () => {
  expect(sign(undefined, body)).toEqual({})
  expect(new SignatureCheck(undefined).refusal({}, body)).toBeUndefined()
})

it('the secret itself is not sent', () => {
  expect(JSON.stringify(sign('correct horse', body))).not.toContain('correct')
})

it('a command is accepted once, within its maximum age, in both directions of a clock difference', () => {
  vi.useFakeTimers()
  const check = new SignatureCheck('correct horse')
  const early = sign('correct horse', body)
  const stale = sign('correct horse', body)
  vi.advanceTimersByTime(MAX_AGE)
  expect(check.refusal(early, body)).toBeUndefined()
  expect(check.refusal(early, body)).toBe('the command was seen before')
  vi.advanceTimersByTime(1)
  expect(check.refusal(stale, body)).toMatch(/^the command was signed 60 s ago by the clock of this node: it is stale, or a clock is wrong$/)
  const ahead = sign('correct horse', body)
  vi.setSystemTime(Date.now() - MAX_AGE - 1)
  expect(check.refusal(ahead, body)).toMatch(/signed -60 s ago/)
})

it('a command from before the start is refused: an earlier process may have executed it', () => {
  vi.useFakeTimers()
  const command = sign('correct horse', body)
  expect(new SignatureCheck('correct horse').refusal(command, body)).toBeUndefined()
  vi.advanceTimersByTime(5)
  const restarted = new SignatureCheck('correct horse')
  expect(restarted.refusal(command, body)).toBe('the command was signed before this node started: send it again, unless a clock is wrong')
  expect(restarted.refusal(sign('correct horse', body), body)).toBeUndefined()
})

it('a nonce is forgotten only when its command would be too old anyway', () => {
  vi.useFakeTimers()
  const check = new SignatureCheck('correct horse')
  const first = sign('correct horse', body)
  expect(check.refusal(first, body)).toBeUndefined()
  for (let i = 0; i < 5; i++) {
    vi.advanceTimersByTime(MAX_AGE / 2)
    expect(check.refusal(sign('correct horse', body), body)).toBeUndefined()
    expect(check.refusal(first, body)).toMatch(/seen before|stale/)
  }
})

it('damaged signatures are refused', () => {
  const check = new SignatureCheck('correct horse')
  const good = sign('correct horse', body)
  const refusals = [
    {},
    { ...good, signature: 5 },
    { ...good, signature: '' },
    { ...good, signature: 'zz' },
    { ...good, signature: `${String(good.signature)}00` },
    { ...good, signed_once: 'other' },
    { ...good, signed_at: Number(good.signed_at) + 1 },
  ].map((headers) => check.refusal(headers, body))
  expect(refusals.every((each) => each !== undefined)).toBe(true)
  expect(check.refusal(good, Buffer.from('{"to":"one"}'))).toBe('the secret is wrong')
})

describe('an answer', () => {
  const secret = 'correct horse'

  it('is accepted under the id of its request alone, whatever the clocks say', () => {
    vi.useFakeTimers()
    const answer = sign(secret, body, 'request 1')
    vi.advanceTimersByTime(10 * MAX_AGE)
    const check = new SignatureCheck(secret)
    expect(check.isAnswer('request 1', answer, body)).toBe(true)
    expect(check.isAnswer('request 2', answer, body)).toBe(false)
    expect(check.isAnswer('request 1', answer, Buffer.from('{"to":"one"}'))).toBe(false)
    expect(check.isAnswer('request 1', sign('wrong horse', body, 'request 1'), body)).toBe(false)
    for (const headers of [{}, { ...answer, signature: 5 }, { ...answer, signature: '' }, { ...answer, signed_at: 'now' }])
      expect(check.isAnswer('request 1', headers, body)).toBe(false)
  })

  it('needs no signature where there is no secret', () => {
    expect(new SignatureCheck(undefined).isAnswer('request 1', {}, body)).toBe(true)
  })
})
