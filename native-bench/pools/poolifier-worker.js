import { ThreadWorker } from 'poolifier'
import { echo, noop } from '../tasks.js'

export default new ThreadWorker({ noop, echo })
