import { fileURLToPath } from 'node:url'
import { NO_STACK } from '../../wire/messages.js'

/** One frame of the paused main thread, innermost first in every list. */
export interface Frame {
  name: string
  /** Empty for code made by eval. */
  url: string
  /** Counted from 1. */
  line: number
  column: number
}

const MAX_LINES = 50

/** The functions of Node from within which the job loop is called, with no promise, timer, tick or AsyncResource around them. */
const isNativeCallback = (frame: Frame): boolean =>
  (frame.url === 'node:internal/stream_base_commons' && frame.name === 'onStreamRead') || frame.url === 'node:internal/per_context/messageport'

/** Frames that may call such a callback: its EventTarget, and the wrapper that Node 20 and 22 add when async hooks are in use. */
const isCallbackWrapper = (frame: Frame): boolean =>
  (frame.url === 'node:internal/async_hooks' && frame.name === 'callbackTrampoline') || frame.url === 'node:internal/event_target'

const isNode = (frame: Frame): boolean => frame.url.startsWith('node:')

/**
 * Modules of Node that hold no state which a termination (it runs no `finally`) would leave half changed. A task is not
 * interrupted in any other: module loaders, streams, async scopes, hooks, errors …
 */
const INTERRUPTIBLE = new Set([
  ...['buffer', 'child_process', 'crypto', 'events', 'fs', 'path', 'querystring', 'string_decoder', 'url', 'util', 'zlib'].map((name) => `node:${name}`),
  ...['buffer', 'child_process', 'fs/utils', 'querystring', 'url', 'util', 'util/inspect', 'util/types', 'validators'].map((name) => `node:internal/${name}`),
])

/** AsyncLocalStorage: its store stays on the callback's resource (Node 20, 22), from where the main thread removes it. */
const isStorageRun = (frame: Frame): boolean =>
  (frame.url === 'node:async_hooks' || frame.url.startsWith('node:internal/async_local_storage')) && (frame.name === 'run' || frame.name === 'getStore')

const isInterruptible = (frame: Frame): boolean =>
  !isNode(frame) || INTERRUPTIBLE.has(frame.url) || frame.url.startsWith('node:internal/crypto/') || isStorageRun(frame)

/** By the path: Node escapes fewer characters in the URL of a CommonJS file than in that of an ES module. */
const isOf = (folder: string, { url }: Frame): boolean => {
  try {
    return url.startsWith('file:') && fileURLToPath(url).startsWith(folder)
  } catch {
    // A name from a `sourceURL` comment.
    return false
  }
}

/** How many of the innermost frames are the task's: all but the outermost frames that belong to this package or Node. */
const taskFrames = (frames: readonly Frame[], own: string): number => {
  let count = frames.length
  while (count > 0 && (isNode(frames[count - 1]!) || isOf(own, frames[count - 1]!))) count--
  return count
}

/**
 * Whether JavaScript may be terminated here: from the outermost frame inwards there must be a native callback, then this package's
 * call of the task, then interruptible frames only. After an await, or in a timer, tick or async scope, there is no native callback.
 */
export const isSafePlace = (frames: readonly Frame[], own: string): boolean => {
  const isOwn = (frame: Frame): boolean => isOf(own, frame)
  const count = taskFrames(frames, own)
  const task = frames.slice(0, count)
  const caller = frames.slice(count)
  // This package's own code runs, with or without the task as its caller: it may be writing a frame.
  if (count === 0 || task.some((frame) => isOwn(frame) || !isInterruptible(frame))) return false
  const firstOwn = caller.findLastIndex(isOwn)
  const callback = caller.slice(firstOwn + 1)
  return (
    firstOwn >= 0 &&
    caller.slice(0, firstOwn).every((frame) => isOwn(frame) || isStorageRun(frame)) &&
    callback.some(isNativeCallback) &&
    callback.every((frame) => isNativeCallback(frame) || isCallbackWrapper(frame))
  )
}

/** The task's frames, as in `Error.stack`. */
export const stackText = (frames: readonly Frame[] | undefined, own: string): string => {
  const count = frames === undefined ? 0 : taskFrames(frames, own)
  if (frames === undefined || count === 0) return NO_STACK
  const lines = frames.slice(0, Math.min(count, MAX_LINES)).map(({ name, url, line, column }) => {
    const place = `${url === '' ? '<anonymous>' : url}:${line}:${column}`
    return name === '' ? `    at ${place}` : `    at ${name} (${place})`
  })
  return lines.join('\n')
}
