import { executionAsyncResource } from 'node:async_hooks'

/**
 * On Node 20 and 22 `AsyncLocalStorage.run` keeps its store on the current resource and takes it off in a `finally`, which a
 * termination skips: the store would be seen by every later job called out of the same callback. Later majors keep no store there.
 */
export class LeftStores {
  #resource: object = {}

  static whereNeeded(): LeftStores | undefined {
    return Number.parseInt(process.versions.node, 10) < 24 ? new LeftStores() : undefined
  }

  /** Before each synchronous call of a task: it runs on this resource. */
  note(): void {
    this.#resource = executionAsyncResource()
  }

  /** After a termination: nothing may be left on the resource that was noted last. */
  clear(): void {
    for (const key of Object.getOwnPropertySymbols(this.#resource)) {
      if (key.description === 'kResourceStore') Reflect.deleteProperty(this.#resource, key)
    }
  }
}
