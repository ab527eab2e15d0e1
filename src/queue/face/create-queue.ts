import type { AnyTasks } from '../../pool/jobs/task-types.js'
import { bytes, plainObject, refusal } from '../../util/checks.js'
import { type OptionTable, option, readOptions } from '../../util/option-table.js'
import { type JobDefaults, jobDefaults } from '../jobs/add-options.js'
import { DEFAULT_MAX_SIZE, DEFAULT_QUEUE, validName } from '../jobs/names.js'
import { makeStore, STORE_OPTION } from '../store/make-store.js'
import { Queue } from './queue.js'

/** An option given as `undefined` counts as absent. */
export interface QueueOptions {
  /** Where the jobs are kept: 'sqlite:./jobs.db', or 'memory:' (or 'memory:name') for this process. Required. */
  store: string
  /** The name of the queue: 1 to 255 bytes. Default 'default'. */
  queue?: string
  /** Options of all jobs that are added through this queue, unless they set them. Default empty. */
  defaults?: JobDefaults
  /** The largest body of a job in bytes: its arguments and context, encoded. Default 1 MiB. */
  maxBodySize?: number
}

/** The options of `createQueue`. */
export const QUEUE_OPTIONS = {
  store: STORE_OPTION,
  queue: option('name', validName, DEFAULT_QUEUE, 'the name of the queue'),
  defaults: option('object', jobDefaults, (): JobDefaults => ({}), 'options of all jobs that are added through it', 'empty'),
  maxBodySize: option('bytes', bytes, DEFAULT_MAX_SIZE, 'largest body of a job'),
} satisfies OptionTable<QueueOptions>

/**
 * Opens a queue. Resolves when its store is open.
 *
 * @throws {TypeError} an option is unknown, misspelt or has a value it cannot have
 * @throws {StoreError} the store cannot be used: the message says what to do
 */
export const createQueue = async <T = AnyTasks>(options: QueueOptions): Promise<Queue<T>> => {
  if (options === undefined) throw refusal('options', "an object: createQueue({ store: 'sqlite:./jobs.db' })", options)
  const { store: address, queue, defaults, maxBodySize } = readOptions(QUEUE_OPTIONS, 'createQueue', plainObject('options', options))
  const store = await makeStore(address)
  try {
    await store.open()
  } catch (error) {
    await store.close().catch(() => {})
    throw error
  }
  return new Queue<T>(store, { address, name: queue, defaults, maxBodySize })
}
