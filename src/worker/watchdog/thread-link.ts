import { executionAsyncResource } from 'node:async_hooks'
import { fileURLToPath } from 'node:url'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { monotonic } from '../../util/node-time.js'
import { decode } from '../../wire/codec/index.js'
import type { WorkerConfig } from '../../wire/messages.js'
import { Claimer } from '../claim.js'
import type { LinkEvents, WatchdogLink } from '../link.js'
import { killProcess, resultsLostText } from './lifeline.js'
import type { ToMain, ToWatchdog, WatchdogData } from './main-thread.js'
import { MainThreadLink, Waker } from './main-thread-link.js'
import { SharedRecords, SlotTime, Time, Word } from './shared-records.js'

/** Starts the watchdog beside the main thread, or (`watchdog: false`) gives its duties to the main thread. */
export const startWatchdog = (config: WorkerConfig, events: LinkEvents): WatchdogLink =>
  config.watchdog ? new ThreadLink(config, events) : new MainThreadLink(config, events)

/** The folder of this package's built files, the watchdog's among them. This code has been bundled into `worker/`. */
const own = new URL('..', import.meta.url)
const threadFile = new URL('worker/watchdog.cjs', own)

/** Under Node's permission model, connecting to the inspector without that permission aborts the process. */
const mayInspect = (): boolean => {
  const { permission } = process as { permission?: { has(scope: string): boolean } }
  return process.features.inspector && (permission === undefined || permission.has('inspector'))
}

/** How long the host may take to kill this process once the watchdog (which may still be starting) has written BROKEN, ms. If the host is gone, the watchdog kills it. */
const BROKEN_MS = 10_000

/** How often to look whether the watchdog has disconnected the profiler, one ms apart. */
const DETACH_TRIES = 200

/**
 * On Node 20 and 22 `AsyncLocalStorage.run` keeps its store on the current resource and removes it in a `finally`, which a
 * termination skips: every later job called from within the same callback would see the store. Later majors keep no store there.
 */
class StaleStores {
  #resource: object = {}

  /** To be called before each synchronous call of a task, which runs on this resource. */
  note(): void {
    this.#resource = executionAsyncResource()
  }

  /** To be called after a termination: removes what is left on the resource that was noted last. */
  clear(): void {
    for (const key of Object.getOwnPropertySymbols(this.#resource)) {
      if (key.description === 'kResourceStore') Reflect.deleteProperty(this.#resource, key)
    }
  }
}

/** The main thread's end. Each job costs a few stores. The watchdog gets a message only for a deadline before its next check. */
class ThreadLink implements WatchdogLink {
  readonly claimer: Claimer
  readonly #events: LinkEvents
  readonly #records: SharedRecords
  readonly #ints: Int32Array
  readonly #times: Float64Array
  readonly #port: MessagePort
  #detached: (() => void) | undefined
  readonly #waker: Waker
  readonly #staleStores = Number.parseInt(process.versions.node, 10) < 24 ? new StaleStores() : undefined
  /** How many running jobs have a limit. */
  #limited = 0
  /** The delivery whose task is being called; 0: none. */
  #inside = 0

  constructor(config: WorkerConfig, events: LinkEvents) {
    this.#events = events
    this.#records = new SharedRecords(config.concurrency)
    this.#ints = this.#records.ints
    this.#times = this.#records.times
    this.#times[Time.TURNED_AT] = monotonic()
    this.claimer = new Claimer(this.#ints, Word.CLAIM)
    this.#waker = new Waker(() => events.onWake())
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    port1.on('message', (message: ToMain) => this.#turn(message))
    port1.unref()
    this.#start(config, port2)
  }

  began(slot: number, delivery: number, softLimit: number, hardLimit: number): void {
    const at = this.#records.timesOf(slot)
    const times = this.#times
    if (softLimit === 0 && hardLimit === 0) {
      times[at + SlotTime.SOFT_AT] = 0
      times[at + SlotTime.HARD_AT] = 0
      this.#ints[Word.SLOTS + slot] = delivery
      return
    }
    this.#limited++
    const now = monotonic()
    times[at + SlotTime.SOFT_AT] = softLimit === 0 ? 0 : now + softLimit
    times[at + SlotTime.HARD_AT] = hardLimit === 0 ? 0 : now + hardLimit
    times[at + SlotTime.SOFT_LIMIT] = softLimit
    times[at + SlotTime.BLOCKED_BEFORE] = times[Time.BLOCKED]!
    Atomics.store(this.#ints, Word.SLOTS + slot, delivery)
    const earliest = Math.floor(now + (softLimit === 0 ? hardLimit : softLimit) - times[Time.BASE]!)
    if (earliest < Atomics.load(this.#ints, Word.ARMED)) {
      Atomics.store(this.#ints, Word.ARMED, earliest)
      this.#port.postMessage('deadline' satisfies ToWatchdog)
    }
  }

  ended(slot: number): void {
    const at = this.#records.timesOf(slot)
    if (this.#times[at + SlotTime.SOFT_AT] !== 0 || this.#times[at + SlotTime.HARD_AT] !== 0) this.#limited--
    this.#ints[Word.SLOTS + slot] = 0
  }

  entering(delivery: number): void {
    this.#inside = delivery
    this.#ints[Word.SYNC] = delivery
    this.#staleStores?.note()
  }

  left(): void {
    if (this.#ints[Word.INTERRUPTED] !== 0) this.#awaitTermination()
    this.#inside = 0
    this.#ints[Word.SYNC] = 0
  }

  beforeWrite(): void {
    this.#ints[Word.WRITING] = 1
    if (this.#limited > 0) this.#times[Time.WRITING_SINCE] = monotonic()
  }

  afterWrite(): void {
    this.#ints[Word.WRITING] = 0
    const since = this.#times[Time.WRITING_SINCE]!
    if (since === 0) return
    this.#times[Time.BLOCKED] = this.#times[Time.BLOCKED]! + monotonic() - since
    this.#times[Time.WRITING_SINCE] = 0
  }

  wake(): void {
    this.#waker.wake()
  }

  resultsLost(error: NodeJS.ErrnoException): void {
    // The host has closed its end: no message would be read.
    if (error.code === 'EPIPE') return
    this.#port.postMessage({ broken: resultsLostText(error) } satisfies ToWatchdog)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BROKEN_MS)
  }

  detach(): Promise<void> {
    return new Promise((resolve) => {
      this.#detached = resolve
      this.#port.postMessage('leaving' satisfies ToWatchdog)
    })
  }

  exiting(): void {
    if (Atomics.load(this.#ints, Word.PROFILED) === 0) return
    this.#port.postMessage('leaving' satisfies ToWatchdog)
    const pause = new Int32Array(new SharedArrayBuffer(4))
    for (let tries = 0; Atomics.load(this.#ints, Word.PROFILED) === 1 && tries < DETACH_TRIES; tries++) Atomics.wait(pause, 0, 0, 1)
  }

  /**
   * A termination takes effect at the next loop or call. If it is requested just before the task returns, it would terminate the
   * worker's own code, so this waits for it. If it is past (this is another call of the same job), the watchdog clears the word once it knows.
   */
  #awaitTermination(): void {
    while (this.#inside !== 0 && Atomics.load(this.#ints, Word.INTERRUPTED) === this.#inside);
  }

  #turn(message: ToMain): void {
    this.#times[Time.TURNED_AT] = monotonic()
    Atomics.store(this.#ints, Word.TURN, message.turn)
    switch (message.kind) {
      case 'soft':
        this.#events.onSoftLimit(message.delivery, message.limit)
        break
      case 'cancel': {
        const { buffer, byteOffset, length } = message.reason
        this.#events.onCancel(message.delivery, decode(Buffer.from(buffer, byteOffset, length), 0), message.asked)
        break
      }
      case 'detached':
        this.#detached?.()
        break
      case 'interrupted':
        // The call was terminated before it could clear these words, perhaps on its way into a write.
        this.left()
        this.afterWrite()
        this.#staleStores?.clear()
        this.#events.onInterrupted(message.delivery, message.cause, message.stack)
    }
  }

  #start(config: WorkerConfig, port: MessagePort): void {
    const data: WatchdogData = {
      memory: this.#records.buffer,
      slots: this.#records.slots,
      port,
      cancelGrace: config.cancelGrace,
      heartbeatInterval: config.heartbeatInterval,
      killTree: config.killTree,
      maxMessageSize: config.maxMessageSize,
      inspector: mayInspect(),
      coverage: process.env.NODE_V8_COVERAGE !== undefined,
      own: fileURLToPath(own),
    }
    const thread = new Worker(threadFile, {
      name: 'prefork watchdog',
      workerData: data,
      transferList: [port],
      // The user's --require, --import and NODE_OPTIONS are not this thread's.
      execArgv: [],
      env: {},
      stdin: false,
      // Capture both streams, although nothing reads them: otherwise Node opens the process's own streams and makes their descriptors non-blocking.
      stdout: true,
      stderr: true,
      trackUnmanagedFds: false,
      // Far above the few MB that it needs. The largest value is the profile of a job whose stacks became deep, and ever different, after the probe.
      resourceLimits: { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 4, stackSizeMb: 1 },
    })
    thread.unref()
    // Without its watchdog this worker does not notice the host's end: it must not go on.
    thread.on('error', (error) => {
      process.stderr.write(`prefork: the watchdog of worker ${config.id} failed: ${error instanceof Error ? error.stack : String(error)}\n`)
      killProcess(config.killTree)
    })
  }
}
