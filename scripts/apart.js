import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * For esbuild: leaves a source file out of a bundle, which requires `file` instead when it runs. From ESM too: an `import` of
 * CommonJS would first search it for the names that it exports, which takes 5 ms.
 */
export const apart = (source, file) => ({
  name: `${source} apart`,
  setup({ onResolve, onLoad }) {
    const path = resolve(root, source)
    const namespace = `instead of ${source}`
    onResolve({ filter: /\.js$/, namespace: 'file' }, (asked) =>
      resolve(asked.resolveDir, asked.path).replace(/\.js$/, '.ts') === path ? { path: file, namespace } : undefined,
    )
    onLoad({ filter: /^/, namespace }, () => ({ contents: `module.exports = require('${file}')` }))
    onResolve({ filter: /^/, namespace }, () => ({ path: file, external: true }))
  },
})
