import { pino } from 'pino'
import type { PoolOptions } from 'prefork'

/** A pino logger is a valid logger. */
export const options: PoolOptions = { tasks: './tasks.js', logger: pino() }
