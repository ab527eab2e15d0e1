import { describe, expect, it } from 'vitest'
import { readPublisherOptions } from '../../../src/faktory/create-publisher.js'
import { NAMES, prepareJob, readPublishOptions } from '../../../src/faktory/publishing/publish-options.js'

const read = (options: object) => readPublishOptions("publisher.publish('t', …)", options, NAMES)
const jobOf = (options: object): Record<string, unknown> => JSON.parse(prepareJob('t', [1], read(options), 'default').json)

describe('the options of a job', () => {
  it('sends the retries always', () => {
    expect(jobOf({})).toEqual({ jid: expect.stringMatching(/^[0-9a-f-]{36}$/), jobtype: 't', queue: 'default', args: [1], retry: 25 })
    expect(jobOf({ retry: -1 })).toMatchObject({ retry: -1 })
    expect(jobOf({ retry: undefined })).toMatchObject({ retry: 25 })
  })

  it('sends the others under the names of the server', () => {
    const at = new Date('2030-01-01T00:00:00.123Z')
    expect(jobOf({ queue: 'critical', at, retry: 0, reserveFor: 60_001, backtrace: 7, custom: { locale: 'de' }, jid: 'jid-00001' })).toEqual({
      jid: 'jid-00001',
      jobtype: 't',
      queue: 'critical',
      args: [1],
      retry: 0,
      at: '2030-01-01T00:00:00.123Z',
      reserve_for: 61,
      backtrace: 7,
      custom: { locale: 'de' },
    })
  })

  it('turns a delay into a time', () => {
    const before = Date.now()
    const at = Date.parse(String(jobOf({ delay: 60_000 }).at))
    expect(at).toBeGreaterThanOrEqual(before + 60_000)
    expect(at).toBeLessThanOrEqual(Date.now() + 60_000)
    expect(jobOf({ delay: 0 })).not.toHaveProperty('at')
  })

  it.each([
    [{ queue: 'a b' }, "Option 'queue' must be the name of a queue: letters, digits and . _ -; it was given 'a b'."],
    [{ queue: '' }, "Option 'queue' must be the name of a queue"],
    [{ retry: 2.5 }, "Option 'retry' must be a whole number from -1"],
    [{ retry: '3' }, "Option 'retry' must be a whole number from -1"],
    [{ reserveFor: 59_999 }, "Option 'reserveFor' must be a number of milliseconds from 60000 (Faktory takes a shorter time for one minute)"],
    [{ reserveFor: 86_400_001 }, "Option 'reserveFor' must be"],
    [{ backtrace: 51 }, "Option 'backtrace' must be a whole number from 0 to 50"],
    [{ custom: [] }, "Option 'custom' must be an object"],
    [{ custom: { _bid: 'b' } }, "Option 'custom._bid' must have another name: those that begin with '_' are the server's"],
    [{ jid: 'short' }, "Option 'jid' must be a text of at least 8 characters"],
    [{ delay: -1 }, "Option 'delay' must be a number of milliseconds"],
    [{ delay: Number.MAX_SAFE_INTEGER }, "Option 'delay' must be a number of milliseconds"],
    [{ at: 'tomorrow' }, "Option 'at' must be a Date"],
    [{ at: new Date('never') }, "Option 'at' must be a Date"],
    [{ at: Date.UTC(10_000, 0) }, "Option 'at' must be a Date"],
    [{ at: 1_795_000_000 }, "Option 'at' must be a Date, or a number of milliseconds since the epoch: this one is in 1970. Is it in seconds?"],
    [{ at: 2_000_000_000_000, delay: 1 }, "Option 'at' excludes 'delay'"],
    [{ priority: 9 }, "Option 'priority' has no effect: Faktory has no priorities since 0.9.6. Use a queue of its own"],
    [{ messageId: 'x' }, "Option 'messageId' is called 'jid' under Faktory"],
    [{ context: {} }, "Option 'context' is called 'custom' under Faktory"],
    [{ retrys: 1 }, "Unknown option 'retrys' of publisher.publish('t', …); did you mean 'retry'?"],
    [{ ttl: 1 }, "Option 'ttl' has no effect: Faktory Enterprise alone lets jobs expire"],
    [{ timeLimit: 1 }, "Option 'timeLimit' is set by the task"],
  ])('refuses %j', (options, message) => {
    expect(() => read(options)).toThrow(expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(message) }))
  })

  it('names the place of what cannot be sent', () => {
    expect(() => prepareJob('t', [{ at: new Date() }], read({}), 'q')).toThrow('args[0].at is a Date')
    expect(() => prepareJob('t', [], read({ custom: { big: 2 ** 60 } }), 'q')).toThrow('custom.big is the number')
  })
})

describe('the options of a publisher', () => {
  it.each([
    [{ url: 'http://localhost' }, "Option 'url' must be a URL of the form tcp://:password@host:7419"],
    [{ queue: 'ü' }, "Option 'queue' must be the name of a queue"],
    [{ publishTimeout: 0 }, "Option 'publishTimeout' must be a number of milliseconds above 0"],
    [{ connectTimeout: '1' }, "Option 'connectTimeout' must be"],
    [{ url: 'tcp://localhost', tls: {} }, "Option 'tls' is for an encrypted connection"],
    [{ ulr: 'tcp://localhost' }, "did you mean 'url'?"],
  ])('refuses %j', (options, message) => {
    expect(() => readPublisherOptions(options)).toThrow(expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(message) }))
  })

  it('has defaults', () => {
    expect(readPublisherOptions({ url: 'tcp://:s%40cret@example.com' })).toMatchObject({
      address: { host: 'example.com', port: 7419, password: 's@cret' },
      queue: 'default',
      publishTimeout: 60_000,
      connectTimeout: 30_000,
    })
  })
})
