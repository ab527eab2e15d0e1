import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Isolation, type ReturnedJob } from '../../../src/runtime/admission/isolation.js'
import { deferred } from '../../../src/util/with-timeout.js'
import { VirtualClock } from '../../fixtures/virtual-clock.js'

interface Job extends ReturnedJob {
  readonly id: string
}

const job = (id: string, returned = 0): Job => ({ id, returned })

/** `stopped` is when the broker delivers nothing any more. */
const setUp = (stopped: Promise<void> = Promise.resolve()) => {
  const clock = new VirtualClock()
  const log: string[] = []
  const state = { others: false, settling: false, only: true }
  const isolation: Isolation<Job> = new Isolation<Job>(
    {
      othersRun: () => state.others,
      isOnlyJob: () => state.only,
      settling: () => state.settling,
      begin: (each) => void (isolation.admit(each) && log.push(`begin ${each.id}`)),
      giveBack: (each) => void log.push(`give back ${each.id}`),
      withdraw: (each) => void log.push(`withdraw ${each.id}`),
      postpone: (each) => void log.push(`postpone ${each.id}`),
      giveBackOthers: (each) => void log.push(`give back all but ${each.id}`),
      intake: async (intake) => {
        log.push({ none: 'stop', one: 'one at a time', all: 'go on' }[intake])
        if (intake === 'none') await stopped
      },
    },
    10,
    clock,
  )
  const goTo = async (time: number): Promise<void> => {
    clock.goTo(time)
    await turn()
  }
  return { isolation, clock, log, state, goTo }
}

describe('isolation', () => {
  it('lets a job begin that has come back once, or never', () => {
    const { isolation, log } = setUp()
    expect([isolation.admit(job('a')), isolation.admit(job('b', 1))]).toEqual([true, true])
    expect(log).toEqual([])
  })

  it('runs a returned job alone, the one that has come back most often, once the others have ended', async () => {
    const { isolation, log, state, goTo } = setUp()
    const [two, four] = [job('two', 2), job('four', 4)]
    state.others = true
    for (const each of [two, job('new')]) expect(isolation.admit(each)).toBe(false)
    await goTo(40)
    expect(isolation.admit(four)).toBe(false)
    await goTo(89)
    expect(log).toEqual([])
    await goTo(90)
    expect(log).toEqual(['stop', 'give back all but four'])
    for (const each of [two, job('late')]) expect(isolation.admit(each)).toBe(false)
    await goTo(500)
    state.others = false
    await goTo(510)
    expect(log.slice(2)).toEqual(['give back two', 'give back late'])
    await goTo(520)
    expect(log.slice(4)).toEqual(['begin four'])
    isolation.leave(two)
    expect(isolation.admit(job('later'))).toBe(false)
    isolation.leave(four)
    expect(log.slice(5)).toEqual(['give back later', 'go on'])
    expect(isolation.admit(job('after'))).toBe(true)
  })

  it('waits until nothing is delivered any more', async () => {
    const stopped = deferred()
    const { isolation, log, goTo } = setUp(stopped.promise)
    isolation.admit(job('a', 2))
    await goTo(10_000)
    isolation.admit(job('b', 3))
    expect(log).toEqual(['stop'])
    stopped.resolve()
    await turn()
    await goTo(10_020)
    expect(log).toEqual(['stop', 'give back all but b', 'begin b'])
  })

  it('lasts no longer than half a minute for each wait', async () => {
    const { isolation, log, state, clock, goTo } = setUp(new Promise(() => {}))
    state.others = true
    const returned = job('a', 2)
    isolation.admit(returned)
    await goTo(30_050)
    expect(log.slice(1)).toEqual(['give back all but a'])
    state.others = false
    await goTo(30_070)
    expect(log.slice(2)).toEqual(['begin a'])
    await goTo(60_069)
    isolation.began(returned)
    isolation.began(returned)
    await goTo(90_068)
    expect(log.slice(3)).toEqual([])
    await goTo(90_069)
    expect(log.slice(3)).toEqual(['go on'])
    expect(isolation.admit(job('b'))).toBe(true)
    expect(clock.timers.size).toBe(0)
  })

  it('begins no job beside others that do not end: it comes again later', async () => {
    const { isolation, log, state, clock, goTo } = setUp()
    state.others = true
    isolation.admit(job('a', 2))
    await goTo(50)
    await goTo(30_049)
    expect(log).toEqual(['stop', 'give back all but a'])
    await goTo(30_050)
    expect(log.slice(2)).toEqual(['go on', 'postpone a'])
    expect(isolation.admit(job('b'))).toBe(true)
    expect(clock.timers.size).toBe(0)
  })

  it('waits a second at most for settlements, once the other jobs have ended', async () => {
    const { isolation, log, state, goTo } = setUp()
    Object.assign(state, { others: true, settling: true })
    isolation.admit(job('a', 2))
    await goTo(50)
    await goTo(5_000)
    state.others = false
    await goTo(6_015)
    expect(log).toEqual(['stop', 'give back all but a'])
    await goTo(6_020)
    expect(log.slice(2)).toEqual(['begin a'])
  })

  it('gives a job back that finds no worker', async () => {
    const { isolation, log, clock, goTo } = setUp()
    const returned = job('a', 2)
    isolation.admit(returned)
    await goTo(50)
    await goTo(70)
    isolation.began(job('before'))
    await goTo(30_070)
    expect(log.slice(2)).toEqual(['begin a', 'withdraw a'])
    isolation.leave(returned)
    expect(log.slice(4)).toEqual(['go on'])
    expect(clock.timers.size).toBe(0)
  })

  it('knows beforehand which jobs it does not admit', async () => {
    const { isolation, goTo } = setUp()
    const [other, returned, more] = [job('other'), job('a', 2), job('more', 3)]
    const refused = () => [other, returned, more].map((each) => isolation.refuses(each))
    expect(refused()).toEqual([false, false, false])
    isolation.admit(returned)
    isolation.admit(more)
    expect(refused()).toEqual([true, false, false])
    await goTo(50)
    expect(refused()).toEqual([true, true, false])
    await goTo(70)
    expect(refused()).toEqual([true, true, false])
    isolation.leave(more)
    expect(refused()).toEqual([false, false, false])
  })

  it('is over when its job leaves, whatever it waited for', async () => {
    for (const time of [0, 50, 70]) {
      const { isolation, log, state, clock, goTo } = setUp()
      state.others = time === 50
      const returned = job('a', 2)
      isolation.admit(returned)
      await goTo(time)
      isolation.leave(returned)
      expect(log.at(-1)).toBe('go on')
      expect([clock.timers.size, isolation.admit(job('b'))]).toEqual([0, true])
      await goTo(1_000_000)
      expect(log.at(-1)).toBe('go on')
    }
  })

  it('begins what has gathered when the returned job leaves before one was chosen', async () => {
    const { isolation, log, goTo } = setUp()
    const returned = job('a', 2)
    for (const each of [returned, job('b'), job('c', 1)]) isolation.admit(each)
    isolation.leave(returned)
    await goTo(50)
    expect(log).toEqual(['stop', 'go on', 'begin b', 'begin c'])
  })

  it('chooses none because an earlier one was to be chosen', async () => {
    const stopped = deferred()
    const { isolation, log, goTo } = setUp(stopped.promise)
    const [early, late] = [job('early', 2), job('late', 2)]
    isolation.admit(early)
    await goTo(50)
    isolation.leave(early)
    isolation.admit(late)
    stopped.resolve()
    await goTo(60)
    expect(log).toEqual(['stop', 'go on'])
    await goTo(100)
    await goTo(120)
    expect(log.slice(2)).toEqual(['stop', 'give back all but late', 'begin late'])
  })

  describe('that follows another', () => {
    const afterOne = async () => {
      const it = setUp()
      const first = job('first', 2)
      it.isolation.admit(first)
      await it.goTo(50)
      await it.goTo(70)
      it.isolation.began(first)
      it.isolation.leave(first)
      expect(it.log.splice(0)).toEqual(['stop', 'give back all but first', 'begin first', 'one at a time'])
      return it
    }

    it('begins as soon as nothing is delivered any more, where nothing else is here', async () => {
      const { isolation, log, clock, goTo } = await afterOne()
      expect(isolation.admit(job('new'))).toBe(true)
      await goTo(169)
      const next = job('next', 2)
      expect(isolation.admit(next)).toBe(false)
      await turn()
      expect(log.splice(0)).toEqual(['stop', 'give back all but next', 'begin next'])
      isolation.began(next)
      isolation.leave(next)
      await goTo(268)
      expect(log).toEqual(['one at a time'])
      await goTo(269)
      expect(log).toEqual(['one at a time', 'go on'])
      expect(clock.timers.size).toBe(0)
    })

    it.each([
      ['when it comes', true],
      ['when it is chosen', false],
    ])('waits for the others where there are others %s', async (_, early) => {
      const { isolation, log, state, goTo } = await afterOne()
      state.only = !early
      isolation.admit(job('next', 2))
      state.only = early
      await turn()
      expect(log.splice(0)).toEqual(['stop', 'give back all but next'])
      await goTo(90)
      expect(log).toEqual(['begin next'])
    })

    it('waits for settlements', async () => {
      const { isolation, log, state, goTo } = await afterOne()
      state.settling = true
      isolation.admit(job('next', 2))
      await turn()
      await goTo(80)
      expect(log.splice(0)).toEqual(['stop', 'give back all but next'])
      state.settling = false
      await goTo(100)
      expect(log).toEqual(['begin next'])
    })

    it('gathers again once all was delivered for a while', async () => {
      const { isolation, log, goTo } = await afterOne()
      await goTo(170)
      isolation.admit(job('next', 2))
      await goTo(219)
      expect(log).toEqual(['go on'])
      await goTo(220)
      expect(log).toEqual(['go on', 'stop', 'give back all but next'])
    })

    it('has the node take all again while the earlier job still runs', async () => {
      const { isolation, log, goTo } = setUp()
      const long = job('long', 2)
      isolation.admit(long)
      await goTo(50)
      await goTo(70)
      isolation.began(long)
      await goTo(30_070)
      isolation.leave(long)
      expect(log).toEqual(['stop', 'give back all but long', 'begin long', 'go on'])
    })
  })

  it('does not suspect a job for what the node has seen itself', () => {
    const { isolation } = setUp()
    isolation.explain('k', 2)
    isolation.explain('k', 1)
    expect([0, 2, 3, 5].map((returned) => isolation.unexplained('k', returned))).toEqual([0, 0, 0, 2])
    expect(isolation.unexplained('other', 2)).toBe(2)
  })
})
