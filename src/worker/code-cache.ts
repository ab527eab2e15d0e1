/**
 * The code cache of the worker's main file: what V8 has compiled of it, in a file beside it. A start that finds it compiles nothing (5 ms of 45). The first
 * worker of a pool makes it, wherever the folder of the package can be written.
 *
 * V8 runs what it finds in a cache: a damaged one crashes the process, and one that somebody else has made runs their code. So the data is there twice, and
 * a cache counts only if nobody but those who can change the main file, too, can have written it.
 */
import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { Script } from 'node:vm'

const WRAPPER = ['(function (exports, require, module, __filename, __dirname) {', '\n})'] as const

/** Caches of one file, each for other options of V8, another version of Node or an earlier text. The oldest go. */
const MAX_CACHES = 8

/** The data of a cache that can be trusted. `owner`: that of the file that it is of. */
export const readCache = (path: string, owner: number): Buffer | undefined => {
  let fd: number | undefined
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const stat = fstatSync(fd)
    const isOurs = stat.uid === owner || stat.uid === 0 || stat.uid === process.getuid?.()
    if (!stat.isFile() || !isOurs || (stat.mode & 0o022) !== 0) return undefined
    const bytes = readFileSync(fd)
    const data = bytes.subarray(0, bytes.length / 2)
    return data.length > 0 && data.equals(bytes.subarray(data.length)) ? data : undefined
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/** Does nothing where the folder cannot be written. */
export const writeCache = (path: string, data: Buffer): void => {
  const unfinished = `${path}.${process.pid}`
  try {
    try {
      writeFileSync(unfinished, Buffer.concat([data, data]), { flag: 'wx', mode: 0o644 })
      renameSync(unfinished, path)
    } finally {
      rmSync(unfinished, { force: true })
    }
  } catch {
    // The package is installed read-only, or the disk is full.
  }
}

/** Deletes the oldest caches beyond MAX_CACHES. The unfinished file of a killed process counts as one. `prefix`: of their names in `folder`. */
const deleteOldest = (folder: string, prefix: string): void => {
  try {
    const names = readdirSync(folder).filter((name) => name.startsWith(prefix) && /\.cache(\.\d+)?$/.test(name))
    if (names.length <= MAX_CACHES) return
    const aged = names.map((name) => ({ path: `${folder}/${name}`, at: statSync(`${folder}/${name}`).mtimeMs }))
    for (const { path } of aged.sort((a, b) => b.at - a.at).slice(MAX_CACHES)) rmSync(path, { force: true })
  } catch {
    // Another process deletes them, too, or the folder cannot be written.
  }
}

/** The options of this process, Node's and V8's. */
const options = (): string => `${process.execArgv.join(' ')} ${process.env.NODE_OPTIONS ?? ''}`

/** Of the options that V8 may have. A path is left out: it names a module to load. `v8.cachedDataVersionTag()` would tell more, but loading node:v8 takes 4 ms. */
const optionsHash = (): string => {
  let hash = 0
  for (const option of options().split(' ')) {
    if (option.includes('/')) continue
    for (let i = 0; i < option.length; i++) hash = (Math.imul(hash, 31) + option.charCodeAt(i)) | 0
  }
  return (hash >>> 0).toString(36)
}

/** Coverage, source maps, a policy and Node's own code cache work only for files that are loaded by `require`. */
const wantsRequire = (): boolean => {
  const { NODE_V8_COVERAGE, NODE_COMPILE_CACHE } = process.env
  return NODE_V8_COVERAGE !== undefined || NODE_COMPILE_CACHE !== undefined || process.sourceMapsEnabled === true || /policy/.test(options())
}

export interface Loaded {
  readonly exports: unknown
  /** Makes the cache, with what has been compiled until then; undefined: there is one. */
  readonly makeCache?: () => void
}

/** Loads a CommonJS file, which must use no `import()`. `build`: another one for each text of it. */
export const loadCached = (file: string, build: string, require: NodeJS.Require): Loaded => {
  if (wantsRequire()) return { exports: require(file) }
  const { uid, mtimeMs } = statSync(file)
  const folder = file.slice(0, file.lastIndexOf('/'))
  // The time: V8 would take the cache of another text of the same length, as a patch may make. The options: V8 rejects the cache of others, and pools
  // with different ones would each replace the file of the other at every start.
  const path = file.replace(/\.cjs$/, `.${build}-${Math.floor(mtimeMs)}.${process.version}-${process.arch}-${optionsHash()}.cache`)
  const cachedData = readCache(path, uid)
  const script = new Script(WRAPPER.join(readFileSync(file, 'utf8')), { filename: file, cachedData })
  const module = { exports: {} }
  script.runInThisContext()(module.exports, require, module, file, folder)
  // V8 rejects a cache of another version, of other options, or for another processor.
  if (cachedData !== undefined && script.cachedDataRejected !== true) return module
  const makeCache = (): void => {
    writeCache(path, script.createCachedData())
    deleteOldest(folder, file.slice(folder.length + 1).replace(/cjs$/, ''))
  }
  return { exports: module.exports, makeCache }
}
