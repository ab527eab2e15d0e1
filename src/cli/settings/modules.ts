import { statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { UsageError } from '../exit.js'
import type { Flags } from './setting.js'

/** Undefined: the flag was not given. */
const listOf = (flag: string, typed: Flags[string], wants: string): string[] | undefined => {
  const given = Array.isArray(typed) ? typed : typeof typed === 'string' ? [typed] : []
  const found = given.flatMap((each) => each.split(',').map((part) => part.trim())).filter((each) => each !== '')
  // Most likely an empty variable of the shell.
  if (given.length > 0 && found.length === 0) throw new UsageError(`${flag} must be ${wants}; it was given '${given.join(',')}'.`)
  return found.length === 0 ? undefined : found
}

const kindOf = (path: string): 'file' | 'folder' | undefined => {
  const found = statSync(path, { throwIfNoEntry: false })
  return found?.isFile() ? 'file' : found?.isDirectory() ? 'folder' : undefined
}

/** The URLs of the modules that a flag names: paths relative to `folder`, or packages installed there. */
export const findModules = (flag: string, typed: Flags[string], folder: string): URL[] | undefined =>
  listOf(flag, typed, 'the path of a module or the name of a package, several with commas between')?.map((each) => {
    const path = each.startsWith('file:') ? fileURLToPath(each) : resolve(folder, each)
    if (kindOf(path) === 'file') return pathToFileURL(path)
    // './tasks' is a path, 'dotenv/config' may be a package.
    if (/^(\.{0,2}\/|file:)/.test(each)) throw new UsageError(`${flag} ${each}: there is no such file (looked for ${path}).`)
    try {
      return pathToFileURL(createRequire(join(folder, 'package.json')).resolve(each))
    } catch {
      throw new UsageError(`${flag} ${each}: there is neither such a file (looked for ${path}) nor an installed package of this name.`)
    }
  })

/** The folders below which `module/path#export` may name a task. */
export const findRoots = (typed: Flags[string], folder: string): URL[] | undefined =>
  listOf('--root', typed, 'the path of a folder, several with commas between')?.map((each) => {
    const path = resolve(folder, each)
    if (kindOf(path) !== 'folder') throw new UsageError(`--root ${each}: there is no such folder (looked for ${path}).`)
    return pathToFileURL(`${path}/`)
  })
