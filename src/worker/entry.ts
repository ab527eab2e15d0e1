/**
 * The worker process begins here. HELLO is written before anything else is loaded: the host then knows that the process runs,
 * however long its task modules take to load.
 */
import { writeSync } from 'node:fs'
import { FD_RESULTS } from '../wire/messages.js'
import { loadCached } from './code-cache.js'
import { helloFrame } from './io/hello.js'

/** Names the text of main.cjs; set by the build. */
declare const MAIN_BUILD: string

const frame = helloFrame(process.pid, process.version)
for (let at = 0; at < frame.length; ) at += writeSync(FD_RESULTS, frame, at)

const { exports, makeCache } = loadCached(`${__dirname}/main.cjs`, MAIN_BUILD, require)
const { main } = exports as typeof import('./main.js')
// `import()` is not available in a file that was compiled from a cache.
main((url) => import(url), makeCache)
