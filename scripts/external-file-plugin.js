import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** An esbuild plugin that leaves a source file out of a bundle of CommonJS: the bundle requires `file` at run time. */
export const externalFile = (source, file) => replaced(source, file, `module.exports = require('${file}')`)

/**
 * The same for a bundle of ESM, with a file below dist/, which src/util/own-files.ts finds. It is required: an `import` of CommonJS would first
 * parse it for its exports, which takes 5 ms.
 */
export const ownFile = (source, file) => replaced(source, file, `module.exports = require('${resolve(root, 'src/util/own-files.ts')}').requireOwn('${file}')`)

const replaced = (source, file, contents) => ({
  name: `${source} as an external file`,
  setup({ onResolve, onLoad }) {
    const path = resolve(root, source)
    const namespace = `external:${source}`
    onResolve({ filter: /\.js$/, namespace: 'file' }, (request) =>
      resolve(request.resolveDir, request.path).replace(/\.js$/, '.ts') === path ? { path: file, namespace } : undefined,
    )
    onLoad({ filter: /^/, namespace }, () => ({ contents, resolveDir: root }))
    onResolve({ filter: /^/, namespace }, (request) => (request.path === file ? { path: file, external: true } : undefined))
  },
})
