import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * An esbuild plugin that leaves a source file out of a bundle: the bundle requires `file` at run time. An ESM bundle uses require
 * too: an `import` of CommonJS would first parse it for its exports, which takes 5 ms.
 */
export const externalFile = (source, file) => ({
  name: `${source} as an external file`,
  setup({ onResolve, onLoad }) {
    const path = resolve(root, source)
    const namespace = `external:${source}`
    onResolve({ filter: /\.js$/, namespace: 'file' }, (request) =>
      resolve(request.resolveDir, request.path).replace(/\.js$/, '.ts') === path ? { path: file, namespace } : undefined,
    )
    onLoad({ filter: /^/, namespace }, () => ({ contents: `module.exports = require('${file}')` }))
    onResolve({ filter: /^/, namespace }, () => ({ path: file, external: true }))
  },
})
