/**
 * The worker process begins here. HELLO is written before anything else is loaded: the host then knows that the process runs,
 * however long its task modules take to load.
 */
import { writeSync } from 'node:fs'
import { FD_RESULTS } from '../wire/messages.js'
import { helloFrame } from './io/hello.js'

const frame = helloFrame(process.pid, process.version)
for (let at = 0; at < frame.length; ) at += writeSync(FD_RESULTS, frame, at)

// Not awaited, and no `await` at the top: an error here ends the process, which the host sees.
import('./main.js').then(({ main }) => main())
