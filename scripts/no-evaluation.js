import { readFileSync } from 'node:fs'

/**
 * For esbuild. msgpackr compiles a function (`new Function`) for each shape of record that it reads, out of names that were
 * received. What comes over a pipe is never made code of: `BlockedFunction` is msgpackr's own name for "there is none" (it is
 * undefined, and the reader goes on without). It costs nothing that could be measured.
 */
export const noEvaluation = {
  name: 'no evaluation',
  setup({ onLoad }) {
    onLoad({ filter: /\/msgpackr\/unpack\.js$/ }, ({ path }) => {
      const source = readFileSync(path, 'utf8')
      if (source.split('new Function(').length !== 2) throw new Error(`${path} has changed: look at what it evaluates`)
      return { contents: source.replace('new Function(', 'new BlockedFunction('), loader: 'js' }
    })
  },
}
