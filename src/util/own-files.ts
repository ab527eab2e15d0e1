import { existsSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** The files that are loaded by path at run time: the entry of a worker, threads, the classes of errors. */

const REMEDY =
  'prefork was bundled, and its package is not installed where the bundle runs: its workers are started from its files. Install it there, and keep it ' +
  "external: esbuild --external:prefork '--external:prefork/*', or in webpack externals: /^prefork(\\/|$)/."

/** A tool that deploys what imports name (`output: 'standalone'` of Next.js, @vercel/nft) copies no other file. */
const incomplete = (folder: string): string =>
  `Files of prefork are missing in ${folder}: its workers are started from files that no import names. Copy the whole folder; for Next.js: ` +
  "outputFileTracingIncludes: { '/*': ['./node_modules/prefork/dist/**'] }."

/** Not seen by a bundler, which would try to resolve what is required. In a bundle of CommonJS `import.meta.url` is undefined. */
const requireFrom = (base: string): NodeJS.Require => process.getBuiltinModule('node:module').createRequire(base)

const has = (dist: URL): boolean => existsSync(new URL('wire/errors.cjs', dist))

/** The package as it is installed for a module at `base`. */
const installedFor = (base: string | undefined): URL | undefined => {
  try {
    const dist = new URL('dist/', pathToFileURL(requireFrom(base!).resolve('prefork/package.json')))
    return has(dist) ? dist : undefined
  } catch {
    return undefined
  }
}

const here: string | undefined = import.meta.url

/** The folder `dist` that this module is in, or below; undefined: it is in a bundle of the application, or was not built. */
export const distAround = (): URL | undefined => {
  const at = here?.lastIndexOf('/dist/') ?? -1
  const folder = at === -1 ? undefined : new URL(here!.slice(0, at + '/dist/'.length))
  return folder !== undefined && has(folder) ? folder : undefined
}

/** Why there are no own files. Bundles of webpack have the address that this module had when they were built: it need not exist. */
const remedy = (): string => {
  const folder = here === undefined ? undefined : /^file:.*\/node_modules\/prefork\/dist\//.exec(here)?.[0]
  return folder !== undefined && existsSync(new URL(folder)) ? incomplete(fileURLToPath(folder)) : REMEDY
}

let dist: URL | undefined

/** A file below `dist`. In a bundle of the application it is that of the installed package. Throws where there is none. */
export const ownFile = (name: string): URL => {
  dist ??= distAround() ?? installedFor(here) ?? installedFor(process.argv[1]) ?? installedFor(`${process.cwd()}/`)
  if (dist === undefined) throw new Error(remedy())
  return new URL(name, dist)
}

/** Requires a file below `dist`. */
export const requireOwn = (name: string): unknown => {
  const file = ownFile(name)
  return requireFrom(file.href)(fileURLToPath(file))
}
