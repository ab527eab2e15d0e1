import { describe, expect, it } from 'vitest'
import type { Broker } from '../../../src/node/broker.js'
import { PrefetchControl } from '../../../src/node/scaling/prefetch-control.js'

const none = (): void => {}

describe('the prefetch of a node', () => {
  const start = (settings = { concurrency: 5, prefetchPerWorker: 5 }) => {
    const calls: string[] = []
    const consumption = {
      setCapacity: (capacity: number) => calls.push(`capacity ${capacity}`),
      pause: async () => void calls.push('pause'),
      resume: () => calls.push('resume'),
      stop: async () => void calls.push('stop'),
    }
    const consume = (capacity: number) => {
      calls.push(`consume ${capacity}`)
      return consumption
    }
    const broker = { consume } as unknown as Broker
    return { calls, control: new PrefetchControl(broker, settings) }
  }

  it('is that of the workers that are up, at most that of the wanted ones', () => {
    const { calls, control: it } = start()
    it.start(1, 3, () => {}, none)
    it.workersChanged(2, 3)
    it.workersChanged(4, 3)
    it.workersChanged(3, 2)
    expect(calls).toEqual(['consume 5', 'capacity 10', 'capacity 15', 'capacity 10'])
    expect(it.capacity).toBe(10)
  })

  it('is what can run, and what is held ahead for each slot, up to prefetchPerWorker', () => {
    const slots: (number | undefined)[] = []
    const broker = {
      consume: (_capacity: number, _receive: unknown, _giveBack: unknown, given?: number) => {
        slots.push(given)
        return { setCapacity: (_next: number, to?: number) => slots.push(to) }
      },
    } as unknown as Broker
    const it = new PrefetchControl(broker, { concurrency: 2, prefetchPerWorker: 9 })
    it.start(1, 3, () => {}, none)
    const capacities = [it.capacity]
    for (const ahead of [0.5, 1, 2, 99]) {
      it.setAhead(ahead)
      capacities.push(it.capacity)
    }
    it.workersChanged(2, 3)
    it.setWaiting(1)
    capacities.push(it.capacity)
    expect(capacities).toEqual([2, 3, 4, 6, 9, 19])
    expect([it.slots, ...slots]).toEqual([4, 2, 2, 2, 2, 2, 4, 4])
  })

  it('holds nothing ahead for workers whose slots do not become free', () => {
    const { control: it, calls } = start({ concurrency: 1, prefetchPerWorker: 10 })
    it.start(3, 3, () => {}, none)
    it.setAhead(9)
    it.setAhead(9, 1)
    it.setAhead(9, 0)
    it.setAhead(9)
    expect(calls).toEqual(['consume 3', 'capacity 30', 'capacity 12', 'capacity 3', 'capacity 30'])
  })

  it.each([
    [3, 7],
    [3, 50],
    [12, 50],
  ])('reaches prefetchPerWorker: %d at once, %d held', (concurrency, prefetchPerWorker) => {
    const { control: it } = start({ concurrency, prefetchPerWorker })
    it.start(1, 1, () => {}, none)
    it.setAhead((prefetchPerWorker - concurrency) / concurrency)
    expect(it.capacity).toBe(prefetchPerWorker)
  })

  it('has room for others in place of jobs that wait for a rate limit', () => {
    const { control: it } = start({ concurrency: 1, prefetchPerWorker: 10 })
    it.start(1, 1, () => {}, none)
    const capacities = [0, 1, 3, 60, 10_000].map((jobs) => {
      it.setWaiting(jobs)
      return it.capacity
    })
    expect(capacities).toEqual([1, 2, 5, 65, 91])
  })

  it('includes a worker that died until the second check', () => {
    const { calls, control: it } = start()
    it.start(2, 2, () => {}, none)
    it.check(1, 2)
    it.check(2, 2)
    it.check(1, 2)
    expect(calls).toEqual(['consume 10'])
    it.check(1, 2)
    expect(calls).toEqual(['consume 10', 'capacity 5'])
  })

  it('pauses without workers, and resumes with the first one', () => {
    const { calls, control: it } = start()
    it.start(1, 1, () => {}, none)
    it.check(0, 1)
    it.check(0, 1)
    expect(calls).toEqual(['consume 5', 'pause'])
    it.workersChanged(1, 1)
    expect(calls).toEqual(['consume 5', 'pause', 'resume'])
  })

  it('pauses while a job is to run alone, beside a pause of the operator', async () => {
    const { calls, control: it } = start()
    it.start(1, 1, () => {}, none)
    await it.setIntake('none')
    await it.pause()
    await it.setIntake('all')
    expect(calls).toEqual(['consume 5', 'pause'])
    await it.setIntake('none')
    await it.resume()
    expect(calls).toEqual(['consume 5', 'pause'])
    await it.setIntake('all')
    expect(calls).toEqual(['consume 5', 'pause', 'resume'])
  })

  it('is one where a job may follow that is to run alone, whatever the workers do', async () => {
    const { calls, control: it } = start()
    it.start(1, 2, () => {}, none)
    await it.setIntake('none')
    it.workersChanged(2, 2)
    await it.setIntake('one')
    it.workersChanged(1, 1)
    it.setWaiting(7)
    expect(calls.splice(0)).toEqual(['consume 5', 'pause', 'capacity 10', 'capacity 1', 'resume'])
    await it.setIntake('all')
    expect(calls).toEqual(['capacity 13'])
  })

  it('stays paused until the operator resumes it, whatever the workers do', async () => {
    const { calls, control: it } = start()
    it.start(1, 2, () => {}, none)
    await it.pause()
    it.workersChanged(2, 2)
    await it.pause()
    await it.resume()
    await it.stop()
    it.workersChanged(1, 1)
    expect(calls).toEqual(['consume 5', 'pause', 'capacity 10', 'resume', 'stop'])
  })
})
