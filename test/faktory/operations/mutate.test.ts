import { expect, it } from 'vitest'
import { mutateArgument, ofJob } from '../../../src/faktory/operations/mutate.js'

it('writes commands without a space', () => {
  expect(mutateArgument({ cmd: 'clear', target: 'dead' })).toBe('{"cmd":"clear","target":"dead"}')
  expect(mutateArgument({ cmd: 'requeue', target: 'retries', filter: { jids: ['a', 'b'] } })).toBe(
    '{"cmd":"requeue","target":"retries","filter":{"jids":["a","b"]}}',
  )
})

it.each([
  [{ cmd: 'explode', target: 'dead' }, "Option 'cmd' must be 'requeue' or 'kill' or 'discard' or 'clear'"],
  [{ cmd: 'clear', target: 'working' }, "Option 'target' must be 'scheduled' or 'retries' or 'dead'"],
  [{ cmd: 'clear', target: 'dead', filter: { jobtype: 'T' } }, "Option 'filter' has no effect with 'clear'"],
  [{ cmd: 'kill', target: 'retries', filter: { jobtype: 'my task' } }, "Option 'filter' must have no space"],
  [{ cmd: 'kill', target: 'retries', filter: { regexp: '*a b*' } }, "Option 'filter' must have no space"],
  [{ cmd: 'kill', target: 'retries', filter: {} }, "Option 'filter' must have one of jids, regexp, jobtype; it has none"],
  [{ cmd: 'kill', target: 'retries', filter: { jids: ['a'], regexp: '*' } }, 'it has jids and regexp'],
  [{ cmd: 'kill', target: 'retries', filter: { jids: [] } }, "Option 'filter.jids' must name a job"],
  [{ cmd: 'kill', target: 'retries', filter: { jids: [5] } }, "Option 'filter.jids[0]' must be a job's id"],
  [{ cmd: 'kill', target: 'retries', filter: { jid: 'a' } }, "Unknown option 'jid' of filter; did you mean 'jids'?"],
  [{ cmd: 'kill', target: 'retries', fitler: {} }, "Unknown option 'fitler' of mutate; did you mean 'filter'?"],
])('refuses %j', (command, message) => {
  expect(() => mutateArgument(command)).toThrow(expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(message) }))
})

it('fits one job by the beginning of its text, and by its id where no pattern can spell that', () => {
  expect(ofJob({ jid: 'Ab-1_2.c', queue: 'mail' })).toEqual({ regexp: '*,"jid":"Ab-1_2.c","queue":"mail","jobtype":*' })
  for (const jid of ['a*', 'a?', 'a[b]', 'a"b', 'a\\b', 'a b', 'é', 'a<b']) expect(ofJob({ jid, queue: 'mail' })).toEqual({ jids: [jid] })
  expect(ofJob({ jid: 'a', queue: 'é' })).toEqual({ jids: ['a'] })
})
