import { AsyncLocalStorage, AsyncResource, executionAsyncResource } from 'node:async_hooks'
import { types } from 'node:util'

const MANUAL = { requireManualDestroy: true }

/** Node 24 and later keep all stores in one frame (a Map by AsyncLocalStorage), which each AsyncResource keeps under this symbol. */
const frameSymbol = Object.getOwnPropertySymbols(new AsyncResource('prefork', MANUAL)).find((key) => key.description === 'context_frame')
/** Node 20 and 22: every store is a property of the current resource, here the handle whose callback calls the tasks. */
const onResource = Number.parseInt(process.versions.node, 10) < 24

/**
 * `enterWith` in a task changes the stores of the native callback that called it, and so those of every later job called
 * from within the same one (on Node 20 and 22 for ever). This keeps a job's stores away from the next.
 */
export class ForeignStores {
  #entered = false

  /** Node 20, 22: reading the resource's symbols after each job would take 0.5 µs, so `enterWith` itself notes that it was called. */
  listen(): void {
    if (!onResource) return
    const { prototype } = AsyncLocalStorage
    const original = prototype.enterWith
    const noteCall = (): void => {
      this.#entered = true
    }
    prototype.enterWith = function enterWith(store) {
      noteCall()
      return original.call(this, store)
    }
  }

  /** To be called after a job, while its callback still runs. (After an interrupted job the watchdog's link does it.) */
  clear(): void {
    if (!this.#entered) return
    this.#entered = false
    const resource = executionAsyncResource()
    for (const key of Object.getOwnPropertySymbols(resource)) if (key.description === 'kResourceStore') Reflect.set(resource, key, undefined)
  }

  /** To be called after a job. False: its stores cannot be removed here, and the next job must be called from within another callback. */
  isClean(own: unknown): boolean {
    if (onResource || frameSymbol === undefined) return true
    const frame: unknown = Reflect.get(new AsyncResource('prefork', MANUAL), frameSymbol)
    // Node's own copy of the class, with another prototype.
    if (!types.isMap(frame)) return true
    for (const [storage, store] of Map.prototype.entries.call(frame)) if (storage !== own && store !== undefined) return false
    return true
  }
}
