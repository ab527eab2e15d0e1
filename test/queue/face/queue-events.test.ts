/** What the listeners of a queue get when events come faster than their jobs are read. */
import { expect, it, onTestFinished, vi } from 'vitest'
import { QueueEventListeners, type QueueEventName } from '../../../src/queue/face/queue-events.js'
import type { Store, StoredJobData, StoreEvent } from '../../../src/queue/store/store.js'
import { until } from '../../fixtures/until.js'

/** A store whose reads wait for `open`. */
const heldStore = () => {
  let watcher: (event: StoreEvent) => void = () => {}
  const held: (() => void)[] = []
  const reads: string[] = []
  let isOpen = false
  const store = {
    watch: (listener: typeof watcher) => {
      watcher = listener
      return () => {}
    },
    read: async (queue: string, id: string): Promise<StoredJobData> => {
      reads.push(id)
      if (!isOpen) await new Promise<void>((resolve) => held.push(resolve))
      return { id, queue, seq: Number(id) } as StoredJobData
    },
  } as unknown as Store
  const send = (type: StoreEvent['type'], seq: number): void => watcher({ type, queue: 'q', id: String(seq), seq })
  const open = (): void => {
    isOpen = true
    for (const resolve of held) resolve()
  }
  return { store, send, open, reads, held }
}

const listenTo = (...names: QueueEventName[]) => {
  const stored = heldStore()
  const listeners = new QueueEventListeners(stored.store, 'q')
  const told: string[] = []
  for (const name of names) listeners.on(name, (event) => void told.push('id' in event ? `${name} ${event.id}` : `${name} ${event.count} ${event.ends}`))
  onTestFinished(() => listeners.close())
  return { ...stored, told }
}

it('jobs of events that gathered are read together, a number at once, and told in their order', async () => {
  const { send, open, held, reads, told } = listenTo('completed')
  for (let seq = 1; seq <= 100; seq++) send('completed', seq)
  await until('some are read together', () => held.length === 32)
  open()
  await until('all are told', () => told.length === 100)
  expect(told).toEqual(Array.from({ length: 100 }, (_, index) => `completed ${index + 1}`))
  expect(held).toHaveLength(32)
  expect(new Set(reads).size).toBe(reads.length)
})

it('the newest progress of a job stands for those that wait', async () => {
  const { send, open, told } = listenTo('progress', 'completed')
  send('completed', 1)
  for (let times = 0; times < 50; times++) send('progress', 2)
  send('completed', 2)
  open()
  await until('the end is told', () => told.includes('completed 2'))
  expect(told).toEqual(['completed 1', 'progress 2', 'completed 2'])
})

it('what exceeds the backlog is told as dropped; ends of jobs are the last to be left out', async () => {
  const { send, open, told } = listenTo('waiting', 'completed', 'dropped')
  send('completed', 1)
  for (let seq = 1; seq <= 10_100; seq++) send('waiting', seq)
  for (let seq = 2; seq <= 20_000; seq++) send('completed', seq)
  open()
  await until('what was left out is told', () => told.some((line) => line.startsWith('dropped')))
  expect(told.filter((line) => line.startsWith('completed'))).toHaveLength(20_000)
  expect(told.filter((line) => line.startsWith('waiting'))).toHaveLength(9_999)
  expect(told.at(-1)).toBe('dropped 101 0')
})

it('ends of jobs that are left out cause a warning where nobody listens to it', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warn.mockRestore())
  const { send, open, told } = listenTo('completed')
  for (let seq = 1; seq <= 100_500; seq++) send('completed', seq)
  open()
  await until('it has warned', () => warn.mock.calls.length > 0)
  expect(told).toHaveLength(100_000)
  expect(warn.mock.calls[0]![0]).toMatch(/^500 ends of jobs of the queue 'q' were not told/)
})
