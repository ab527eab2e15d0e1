import { expect, it } from 'vitest'
import { packRequest, unpackRequest } from '../../../../src/queue/store/sqlite/protocol.js'
import type { Outcome } from '../../../../src/queue/store/store.js'

const request = (outcome: Outcome) => ({ id: 1, operation: { op: 'settle', session: 2, lease: { seq: 3, token: 4 }, outcome } }) as const

it('a job that has lost no run is completed by five values, one that has with its record', () => {
  const answer = Buffer.from('answer')
  const plain = request({ as: 'completed', answer })
  expect(packRequest(plain)).toEqual([1, 2, 3, 4, answer])
  const recorded = request({ as: 'completed', answer, record: { counts: { attempt: 1, losses: 1, requeues: 0 }, history: [] } })
  for (const each of [plain, recorded]) expect(unpackRequest(packRequest(each))).toEqual(each)
})
