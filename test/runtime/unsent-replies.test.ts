import { expect, it, vi } from 'vitest'
import type { Delivery, Settlement } from '../../src/runtime/delivery.js'
import { type Outcome, Settler, UnsentReplies } from '../../src/runtime/settler.js'
import { FIRST_DELIVERY, NO_ERROR } from '../fixtures/memory-broker.js'

const MIB = 1_048_576

const setUp = (max = 1_000) => {
  const warn = vi.fn()
  const log = { trace: vi.fn(), debug: vi.fn(), info: vi.fn(), error: vi.fn(), warn }
  const settler = new Settler(log, new UnsentReplies(log, max))
  const settled: Settlement['kind'][] = []
  const delivery = (what: { gone?: boolean; refusing?: boolean } = {}): Delivery & { replies: Buffer[] } => {
    const replies: Buffer[] = []
    return {
      id: 'a',
      ...FIRST_DELIVERY,
      gone: what.gone ? AbortSignal.abort() : new AbortController().signal,
      settle: (settlement) => {
        settled.push(settlement.kind)
        return { settled: true, published: false }
      },
      reply: async (body) => {
        if (what.refusing) throw new Error('refused')
        replies.push(body)
      },
      replies,
    }
  }
  const outcome = (bytes: number, settlement: Settlement = { kind: 'acknowledge' }, remembered = true): Outcome => ({
    settlement,
    remembered,
    reply: { body: Buffer.alloc(bytes), ok: true },
    settling: undefined,
  })
  return { settler, settled, delivery, outcome, warn, sizeWarnings: () => warn.mock.calls.filter(([, text]) => /64 MiB/.test(text as string)).length }
}

it('unsent replies take at most 64 MiB: the oldest are dropped with one warning, and every outcome is kept', async () => {
  const { settler, settled, delivery, outcome, sizeWarnings } = setUp()
  const republish: Settlement = { kind: 'republish', why: 'failed', error: NO_ERROR, delay: 0, counts: { attempt: 2, losses: 0, requeues: 0 }, history: [] }
  // Four ways in which a reply is not sent.
  const outcomes = [outcome(30 * MIB), outcome(30 * MIB, republish), outcome(30 * MIB), outcome(30 * MIB)]
  settler.settle([], outcomes[0]!)
  settler.settle([delivery({ gone: true }), delivery({ gone: true })], outcomes[1]!)
  settler.settle([delivery({ gone: true })], outcomes[2]!)
  settler.settle([delivery({ refusing: true })], outcomes[3]!)
  await settler.idle()
  await vi.waitUntil(() => outcomes.filter(({ reply }) => reply !== undefined).length === 2)
  expect(outcomes.map(({ reply }) => reply !== undefined)).toEqual([false, false, true, true])
  expect(sizeWarnings()).toBe(1)
  expect(settled).toEqual(['acknowledge'])
  // Redelivered, each is settled as before, and answered if its reply is kept.
  const again = outcomes.map((each) => {
    const live = delivery()
    settler.settle([live], each)
    return live
  })
  await settler.idle()
  expect(settled.toSorted()).toEqual(['acknowledge', 'acknowledge', 'acknowledge', 'acknowledge', 'republish'])
  expect(again.map(({ replies }) => replies.length)).toEqual([0, 0, 1, 1])
})

it('replies that are being sent, were sent, or belong to outcomes that are not remembered take no room', async () => {
  const { settler, delivery, outcome, sizeWarnings } = setUp()
  const early = outcome(40 * MIB)
  settler.settle([], early)
  for (let n = 0; n < 5; n++) settler.settle([delivery()], outcome(40 * MIB))
  settler.settle([delivery({ gone: true })], outcome(40 * MIB, { kind: 'acknowledge' }, false))
  await settler.idle()
  expect(early.reply).toBeDefined()
  // The reply is sent late, and frees its room.
  settler.settle([delivery()], early)
  const next = outcome(40 * MIB)
  settler.settle([], next)
  await settler.idle()
  expect(early.reply).toBeUndefined()
  expect(next.reply).toBeDefined()
  expect(sizeWarnings()).toBe(0)
})

it('the runtime keeps no more replies than remembered outcomes', async () => {
  const { settler, outcome, sizeWarnings } = setUp(3)
  const outcomes = Array.from({ length: 5 }, () => outcome(1))
  for (const each of outcomes) settler.settle([], each)
  await settler.idle()
  expect(outcomes.map(({ reply }) => reply !== undefined)).toEqual([false, false, true, true, true])
  expect(sizeWarnings()).toBe(0)
})
