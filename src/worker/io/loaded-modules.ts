import { pathToFileURL } from 'node:url'
import { encode } from '../../wire/codec/index.js'
import { FRAME_HEAD } from '../../wire/frame.js'
import { Kind } from '../../wire/messages.js'
import { type FrameOutput, NO_JOB } from './frame-output.js'

/** What Node sends for each module: a path, or a URL. Modules of Node itself have neither. */
interface Report {
  readonly 'watch:require'?: unknown
  readonly 'watch:import'?: unknown
}

/** A task may send anything. */
const texts = (value: unknown): string[] => (Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [])

const urlsOf = (report: Report): string[] => [
  ...texts(report['watch:require']).map((path) => pathToFileURL(path).href),
  ...texts(report['watch:import']).filter((url) => url.startsWith('file:')),
]

/**
 * Under `node --watch`, tells the host of each module that this worker loads, before it runs: one that fails to load is watched, too. Node reports modules by
 * `process.send`, which a worker does not have otherwise. What a task sends itself goes nowhere.
 */
export const reportLoads = (output: FrameOutput): void => {
  if (process.env.WATCH_REPORT_DEPENDENCIES === undefined) return
  const send = (message: unknown): boolean => {
    for (const url of urlsOf((message ?? {}) as Report)) output.put(Kind.LOADED, 0, NO_JOB, encode(url, FRAME_HEAD))
    output.flush()
    return true
  }
  Object.defineProperty(process, 'send', { value: send, configurable: true, writable: true })
}
