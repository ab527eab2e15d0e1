import { pino } from 'pino'
import type { PoolOptions } from 'prefork'

/** A pino logger is what the option wants. */
export const options: PoolOptions = { tasks: './tasks.js', logger: pino() }
