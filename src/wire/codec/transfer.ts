/** ArrayBuffers given away at the call. */
import { types } from 'node:util'
import { SerializationError } from '../errors.js'
import { describe } from './path.js'

/** Refuses a list that cannot be moved, before anything is. */
export const checkTransfer = (transfer: readonly unknown[]): void => {
  const once = new Set<unknown>()
  for (const [i, item] of transfer.entries()) {
    if (!types.isArrayBuffer(item)) {
      const hint = ArrayBuffer.isView(item) ? ': name its .buffer' : ''
      throw new TypeError(`transfer[${i}] must be an ArrayBuffer, but is ${describe(item)}${hint}`)
    }
    if (once.has(item)) throw new SerializationError(`transfer[${i}] is an ArrayBuffer that the list names twice`)
    // Node 20 would detach the pool under every other Buffer in it; later ones refuse by themselves.
    if (item === Buffer.allocUnsafe(1).buffer) throw new SerializationError(`transfer[${i}] is the pool that small Buffers share, which cannot be transferred`)
    once.add(item)
  }
}

/** Moves all of them or none: they are detached here, and what is returned owns their memory. */
export const move = (transfer: readonly ArrayBuffer[]): ArrayBuffer[] => {
  try {
    return structuredClone(transfer as ArrayBuffer[], { transfer: transfer as ArrayBuffer[] })
  } catch (cause) {
    throw new SerializationError(`transfer: ${(cause as Error).message}`, { cause })
  }
}
