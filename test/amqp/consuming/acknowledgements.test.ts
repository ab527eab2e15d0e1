import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Acknowledgements } from '../../../src/amqp/consuming/acknowledgements.js'

/** The broker's side of one channel, which closes it for a tag that is not unsettled. */
class Channel {
  readonly unsettled: Set<number>
  readonly acknowledged = new Set<number>()
  frames = 0
  gone = false

  constructor(delivered: number) {
    this.unsettled = new Set(Array.from({ length: delivered }, (_, index) => index + 1))
  }

  ack({ fields: { deliveryTag } }: { fields: { deliveryTag: number } }, allUpTo = false): void {
    if (this.gone) throw new Error('Channel closed')
    this.frames++
    expect(this.unsettled).toContain(deliveryTag)
    for (const tag of [...this.unsettled]) {
      if (tag !== deliveryTag && !(allUpTo && tag < deliveryTag)) continue
      this.unsettled.delete(tag)
      this.acknowledged.add(tag)
    }
  }

  nack(tag: number): void {
    expect(this.unsettled.delete(tag)).toBe(true)
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('acknowledgements', () => {
  it('of one turn are one frame when no earlier delivery is unsettled', async () => {
    const channel = new Channel(100)
    const acknowledgements = new Acknowledgements(channel)
    for (let tag = 100; tag > 0; tag--) acknowledgements.add(tag)
    expect(channel.frames).toBe(0)
    await turn()
    expect([channel.frames, channel.unsettled.size]).toEqual([1, 0])
  })

  it('never wait for a long job: few are sent at once, many after a moment, or when they take up half of the capacity', async () => {
    const channel = new Channel(400)
    const acknowledgements = new Acknowledgements(channel)
    acknowledgements.capacity = 400
    for (let tag = 2; tag <= 5; tag++) acknowledgements.add(tag)
    await turn()
    expect(channel.acknowledged.size).toBe(4)
    for (let tag = 6; tag <= 50; tag++) acknowledgements.add(tag)
    await turn()
    expect(channel.acknowledged.size).toBe(4)
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(channel.acknowledged.size).toBe(49)
    for (let tag = 51; tag <= 251; tag++) acknowledgements.add(tag)
    await turn()
    expect(channel.acknowledged.size).toBe(250)
    expect(channel.unsettled).toContain(1)
  })

  it('cover exactly the acknowledged deliveries, in any order, and name only unsettled ones', () => {
    const step = fc.record({ tag: fc.integer({ min: 1, max: 60 }), nack: fc.boolean(), flush: fc.integer({ max: 5, min: 0 }) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const channel = new Channel(60)
        const acknowledgements = new Acknowledgements(channel)
        const wanted = new Set<number>()
        const done = new Set<number>()
        for (const { tag, nack, flush } of steps) {
          if (!done.has(tag)) {
            done.add(tag)
            if (nack) {
              channel.nack(tag)
              acknowledgements.settled(tag)
            } else {
              wanted.add(tag)
              acknowledgements.add(tag)
            }
          }
          if (flush === 0) acknowledgements.flush()
        }
        acknowledgements.flush()
        expect(channel.acknowledged).toEqual(wanted)
      }),
    )
  })

  it('are dropped with their channel', async () => {
    const channel = new Channel(3)
    const acknowledgements = new Acknowledgements(channel)
    acknowledgements.add(1)
    channel.gone = true
    await turn()
    acknowledgements.add(2)
    acknowledgements.end()
    channel.gone = false
    await turn()
    acknowledgements.flush()
    expect(channel.frames).toBe(0)
  })
})
