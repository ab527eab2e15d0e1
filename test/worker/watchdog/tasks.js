// Places where a task can stand when its limit passes.
import { AsyncLocalStorage, AsyncResource, createHook } from 'node:async_hooks'
// Node's own: this runs in a worker, and its children are part of what is tested.
import { execSync, spawn } from 'node:child_process'
import { pbkdf2Sync } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { setTimeout as delay } from 'node:timers/promises'

const storage = new AsyncLocalStorage()
export const spin = (ms = 60_000) => {
  const end = Date.now() + ms
  while (Date.now() < end) Math.random()
}
const never = () => new Promise(() => {})

export const value = () => 42
export const store = () => storage.getStore() ?? 'empty'
export const short = () => spin(30)
/** Nothing but calls that end: a termination strikes between them, or after the last. */
export const flat = () => {
  const end = performance.now() + 30
  while (performance.now() < end);
}
export const neighbour = () =>
  storage.run('mine', async () => {
    for (let i = 0; i < 40; i++) await delay(20)
    return storage.getStore()
  })
export const debuggers = () => {
  for (let i = 0; i < 1e9; i++) {
    // biome-ignore lint/suspicious/noDebugger: what a user may have left behind
    debugger
  }
}
export const withHooks = () => {
  createHook({ init() {}, before() {}, after() {}, destroy() {}, promiseResolve() {} }).enable()
  return 'hooked'
}
export const exits = () => {
  setTimeout(() => {
    spin(150)
    process.exit(7)
  }, 1)
  return never()
}
export const idle = () => never()

export const sync = () => spin()
export const asyncHead = async () => spin()
export const listener = () => new EventEmitter().on('x', () => spin()).emit('x')
export const inStorage = () => storage.run('left behind', () => spin())
export const inArray = () => [1].map(() => [2].some(() => spin()))
export const deep = (n = 900) => (n > 0 ? deep(n - 1) + 1 : spin())
export const regexp = () => /^(a+)+$/.test(`${'a'.repeat(60)}!`)
export const sleep = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000)
export const syncFs = () => {
  for (;;) existsSync('/no/such/file')
}
export const wasm = () => {
  const code = [0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0, 10, 9, 1, 7, 0, 3, 64, 12, 0, 11, 11]
  new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(code))).exports.f()
}
export const swallows = () => {
  for (;;) {
    try {
      spin()
    } catch {
    } finally {
      globalThis.finallyRan = true
    }
  }
}
export const didFinallyRun = () => globalThis.finallyRan === true
export const withPromises = () => {
  Promise.resolve().then(() => {
    globalThis.innocent = 'settled'
  })
  process.nextTick(() => {
    globalThis.innocentTick = 'ran'
  })
  spin()
}
export const innocents = () => [globalThis.innocent, globalThis.innocentTick].join()

export const afterAwait = async () => {
  await null
  spin()
}
export const inTimer = () => {
  setTimeout(spin, 1)
  return never()
}
export const inTick = () => {
  process.nextTick(spin)
  return never()
}
export const inMicrotask = () => {
  queueMicrotask(() => spin())
  return never()
}
export const inImmediate = () => {
  setImmediate(() => spin())
  return never()
}
export const inAsyncScope = () => new AsyncResource('scope').runInAsyncScope(() => spin())
export const inRequire = () => createRequire(import.meta.url)('./spins.cjs')
export const exec = () => execSync('sleep 60')
export const pbkdf2 = () => pbkdf2Sync('secret', 'salt', 200_000_000, 64, 'sha512')
export const child = () => spawn('sleep', ['60'], { stdio: 'ignore' }).pid
