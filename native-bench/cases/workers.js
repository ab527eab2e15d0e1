/** @import { Case, Variant } from '../types.js' */
import noop from './noop.js'

/** @typedef {Variant & { workers: number, outstanding: number }} WorkersVariant */

/** @type {Case<WorkersVariant>} */
export default {
  ...noop,
  name: 'workers',
  title: 'As workers are added',
  about: 'The no-ops of 128 callers on more and more workers: the bookkeeping must not grow with the fleet.',
  variants: [1, 2, 8, 32].map((workers) => ({
    key: `${workers}w`,
    title: `${workers} worker${workers > 1 ? 's' : ''}`,
    workers,
    outstanding: 128,
    quick: workers === 8,
  })),
  chart: [{ metric: 'perSecond', variant: '32w' }],
}
