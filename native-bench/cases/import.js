/** @import { Case, Variant } from '../types.js' */

/** @type {Case<Variant>} */
export default {
  name: 'import',
  title: 'Importing the pool',
  about: 'The `import()` of the package in a fresh process.',
  variants: [{ key: 'import', title: 'import()', quick: true, page: { often: true } }],
  metrics: { ms: { title: 'time', unit: 'ms', digits: 1, better: 'less' } },
  refuse: ({ imports }) => (imports === undefined ? 'has no package' : undefined),
  async measure({ entry }) {
    const specifier = entry.imports ?? ''
    const target = specifier.startsWith('.') ? new URL(`../${specifier}`, import.meta.url).href : specifier
    const began = performance.now()
    await import(target)
    return { ms: performance.now() - began }
  },
}
