import { it } from 'vitest'
import { clockMoved, locked, restarts, stopped } from '../../queue-soak/sessions.js'
import { describeProofs, expectKept } from './prove.js'

describeProofs('a session', () => {
  it('a node that was stopped for two leases tells no end of the jobs that ran elsewhere, and ends its runs', async () => {
    expectKept(await stopped())
  })

  it('a lock that is held for two leases costs no session and no second run', async () => {
    expectKept(await locked())
  })

  it('a wall clock that is moved by an hour each way costs no session, and delays are as long as before', async () => {
    expectKept(await clockMoved())
  })

  it('what ran on a node that is killed begins elsewhere', async () => {
    expectKept(await restarts(1))
  })

  it.skipIf(process.platform !== 'linux' || process.getuid?.() !== 0)('also where each node has a PID namespace of its own', async () => {
    expectKept(await restarts(1, { namespace: true, name: 'in-a-namespace' }))
  })
})
