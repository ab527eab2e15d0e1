/** @import { Case, Variant } from '../types.js' */
import { check } from '../lib/load.js'

/** @typedef {Variant & { workers: number }} StartVariant */

/** @type {Case<StartVariant>} */
export default {
  name: 'start',
  title: 'From creating the pool to the first result',
  about: "The pool's module is loaded already. The floor in C forks and does not load a program.",
  variants: [
    { key: '2w', title: '2 workers', workers: 2, quick: true, page: { often: true } },
    { key: '1w', title: '1 worker', workers: 1 },
  ],
  metrics: { ms: { title: 'time', unit: 'ms', digits: 1, better: 'less' } },
  async measure({ pool: name, open, variant: { workers } }) {
    const began = performance.now()
    const pool = await open({ workers, eager: true })
    const answer = await pool.call('echo', name)
    const ms = performance.now() - began
    check(answer === name, 'the first answer')
    await pool.close()
    return { ms }
  },
  floor: ({ workers }) => (workers === 1 ? { mode: 'start' } : undefined),
  fromFloor: ({ ms = Number.NaN }) => ({ ms }),
}
