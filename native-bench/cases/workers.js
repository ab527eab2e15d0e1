/** @import { Case, Variant } from '../types.js' */
import noop from './noop.js'

/** @typedef {Variant & { workers: number, outstanding: number }} WorkersVariant */

/** @type {Case<WorkersVariant>} */
export default {
  ...noop,
  name: 'workers',
  title: 'As workers are added',
  about:
    'No-ops of 128 callers on more and more workers, and of 4,096 callers on 2 and 64. The cost of a job must not depend on the number of workers. With 128 callers the jobs for each write become fewer.',
  variants: [
    ...[1, 2, 8, 32].map((workers) => ({
      key: `${workers}w`,
      title: `${workers} worker${workers > 1 ? 's' : ''}`,
      workers,
      outstanding: 128,
      quick: workers === 8,
      ...(workers === 32 ? { page: {} } : {}),
    })),
    ...[2, 64].map((workers) => ({
      key: `${workers}w-4096`,
      title: `${workers} workers, 4,096 callers`,
      workers,
      outstanding: 4_096,
      page: { pools: ['prefork', 'fork-json', 'node-floor'] },
    })),
  ],
  chart: [{ metric: 'perSecond', variant: '32w' }],
}
