import { it } from 'vitest'
import { poison } from '../../queue-soak/sessions.js'
import { describeProofs, expectKept } from './prove.js'

describeProofs('poison', () => {
  it('a job that kills each worker fails after maxLosses beginnings, and none of 100 others beside it', async () => {
    expectKept(await poison('worker'))
  })

  it('a job that kills each node fails after maxLosses beginnings, and none of 100 others that the nodes held', async () => {
    expectKept(await poison('node', 300))
  }, 180_000)

  it('a job that kills each worker before its beginning can be stored fails likewise', async () => {
    expectKept(await poison('worker at once'))
  })

  it('a job that kills each node before its beginning can be stored fails after two beginnings more, and no other', async () => {
    expectKept(await poison('node at once', 300))
  }, 180_000)
})
