/** @import { Case, Variant } from '../types.js' */
import noop from './noop.js'

/** @typedef {Variant & { workers: number, outstanding: number }} WorkersVariant */

/** @type {Case<WorkersVariant>} */
export default {
  ...noop,
  name: 'workers',
  title: 'As workers are added',
  about: 'No-ops of 128 callers on more and more workers. The cost of a job must not depend on the number of workers.',
  variants: [1, 2, 8, 32].map((workers) => ({
    key: `${workers}w`,
    title: `${workers} worker${workers > 1 ? 's' : ''}`,
    workers,
    outstanding: 128,
    quick: workers === 8,
    ...(workers === 2 ? {} : { page: {} }),
  })),
  chart: [{ metric: 'perSecond', variant: '32w' }],
}
