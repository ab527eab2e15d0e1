import type { QueueBacklog } from '../../../src/node/broker.js'
import type { Clock } from './clock.js'
import type { Job } from './job.js'

/** How the capacity of a node is divided: each queue has room for all slots, as with RabbitMQ; or one room is over all queues, as with the store in a file. */
export type Division = 'queues' | 'together'

/** The room that a node has for jobs of some queues. */
class Room {
  readonly queues: readonly number[]
  readonly receive: (job: Job) => void
  capacity = 0
  unsettled = 0

  constructor(queues: readonly number[], receive: (job: Job) => void) {
    this.queues = queues
    this.receive = receive
  }
}

/** One node's consumption. */
export class SimConsumer {
  readonly queues: readonly number[]
  readonly rooms: readonly Room[]
  readonly #broker: SimBroker

  constructor(broker: SimBroker, queues: readonly number[], division: Division, receive: (job: Job) => void) {
    this.#broker = broker
    this.queues = queues
    this.rooms = division === 'queues' ? queues.map((queue) => new Room([queue], receive)) : [new Room(queues, receive)]
  }

  /** As `AmqpConsumption.setCapacity`. */
  setCapacity(capacity: number, slots: number): void {
    const ahead = Math.max(0, capacity - slots)
    this.rooms.forEach((room, index) => {
      room.capacity = Math.min(capacity, slots) + Math.floor(ahead / this.rooms.length) + (index < ahead % this.rooms.length ? 1 : 0)
    })
    this.#broker.deliver()
  }

  settled(job: Job): void {
    this.#broker.freed(this.#roomOf(job))
  }

  giveBack(jobs: readonly Job[]): void {
    this.#broker.takeBack(jobs, (job) => this.#roomOf(job))
  }

  #roomOf({ queue }: Job): Room {
    return this.rooms.find(({ queues }) => queues.includes(queue))!
  }
}

/** Queues that nodes consume. What is free is known to it after `latency` ms, and so is a job to its node. */
export class SimBroker {
  readonly latency: number
  readonly #clock: Clock
  readonly #ready: Job[][]
  readonly #consumers: SimConsumer[] = []
  readonly #division: Division
  readonly #turns: number[]
  /** By queue: of its ready jobs, those that were given just now. */
  readonly #given: number[]

  constructor(clock: Clock, { queues, division, latency }: { queues: number; division: Division; latency: number }) {
    this.#clock = clock
    this.#division = division
    this.latency = latency
    this.#ready = Array.from({ length: queues }, () => [])
    this.#turns = this.#ready.map(() => 0)
    this.#given = this.#ready.map(() => 0)
  }

  consume(queues: readonly number[], receive: (job: Job) => void): SimConsumer {
    const consumer = new SimConsumer(this, queues, this.#division, receive)
    this.#consumers.push(consumer)
    return consumer
  }

  publish(job: Job): void {
    this.#ready[job.queue]!.push(job)
    this.deliver()
  }

  readyIn(queue: number): readonly Job[] {
    return this.#ready[queue]!
  }

  /** As a node is told, some ms later. */
  backlog(queues: readonly number[]): QueueBacklog[] {
    return queues.map((queue) => ({ queue: String(queue), ready: this.#ready[queue]!.length, share: 1 / this.#shareOf(queue) }))
  }

  #shareOf(queue: number): number {
    return this.#consumers.filter(({ queues }) => this.#division === 'together' || queues.includes(queue)).length
  }

  /** Gives the oldest job first, of whatever queue; each queue to the nodes with room, in turns. */
  deliver(): void {
    const first = (queue: number): number => this.#ready[queue]![this.#given[queue]!]?.number ?? Number.POSITIVE_INFINITY
    const open = new Set(this.#ready.keys())
    while (open.size > 0) {
      const queue = [...open].reduce((oldest, each) => (first(each) < first(oldest) ? each : oldest))
      const room = this.#given[queue]! < this.#ready[queue]!.length ? this.#roomFor(queue) : undefined
      if (room === undefined) {
        open.delete(queue)
        continue
      }
      room.unsettled++
      const job = this.#ready[queue]![this.#given[queue]!++]!
      this.#clock.after(this.latency, () => room.receive(job))
    }
    for (const [queue, ready] of this.#ready.entries()) ready.splice(0, this.#given[queue])
    this.#given.fill(0)
  }

  #roomFor(queue: number): Room | undefined {
    const rooms = this.#consumers.flatMap((consumer) => consumer.rooms.filter(({ queues }) => queues.includes(queue)))
    for (let i = 0; i < rooms.length; i++) {
      const room = rooms[this.#turns[queue]!++ % rooms.length]!
      if (room.unsettled < room.capacity) return room
    }
    return undefined
  }

  freed(room: Room): void {
    this.#clock.after(this.latency, () => {
      room.unsettled--
      this.deliver()
    })
  }

  takeBack(jobs: readonly Job[], roomOf: (job: Job) => Room): void {
    if (jobs.length === 0) return
    this.#clock.after(this.latency, () => {
      for (const job of jobs) {
        roomOf(job).unsettled--
        this.#ready[job.queue]!.push(job)
      }
      for (const ready of this.#ready) ready.sort((a, b) => a.number - b.number)
      this.deliver()
    })
  }
}
