import { INTERRUPTION_SITES } from '../fixtures/interruption-site-list.js'
import { commitFaults, type Fault } from './own-host.js'

const busyLoop = (task: string): Fault => ({ task, args: ['/dev/null'], run: { timeLimit: 300 }, outcome: { name: 'TimeLimitError', limit: 300 } })

commitFaults(Object.fromEntries(INTERRUPTION_SITES.map(([site]) => [`a busy loop: ${site}`, busyLoop(site)])))
