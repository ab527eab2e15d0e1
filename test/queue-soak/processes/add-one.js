// A script that adds one job and ends: it closes nothing.
import { createQueue } from 'prefork/queue'

const queue = await createQueue({ store: process.argv[2] })
await queue.add('nap', [0], { id: 'a' })
