import { ThreadWorker } from 'poolifier'
import { tasks } from '../../tasks.js'

export default new ThreadWorker(tasks)
