/** Packages that prefork is tried with: they are installed at their first use, in a folder of their own. */
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { onTestFinished } from 'vitest'
import { makeProject } from '../docs/document.js'
import { until } from '../fixtures/until.js'

/** `node_modules` of this folder has them, once they are installed. */
export const packagesFolder = fileURLToPath(new URL('./packages/', import.meta.url))

/** ms. A slow registry is no failure. */
export const INSTALL_TIMEOUT = 300_000

const take = (lock: string): boolean => {
  try {
    mkdirSync(lock)
    return true
  } catch {
    return false
  }
}

/** Of several processes that need the packages, one installs them and the others wait. */
export const installPackages = async (): Promise<void> => {
  const { dependencies } = JSON.parse(readFileSync(join(packagesFolder, 'package.json'), 'utf8')) as { dependencies: Record<string, string> }
  // npm writes the lock last. The folder may be older than a package that was added since.
  const wanted = ['.package-lock.json', ...Object.keys(dependencies)]
  const isInstalled = (): boolean => wanted.every((name) => existsSync(join(packagesFolder, 'node_modules', name)))
  const lock = join(packagesFolder, 'node_modules.lock')
  let mine = false
  await until(
    `packages are installed; if no process installs them, remove ${lock}`,
    () => {
      if (isInstalled()) return true
      mine = take(lock)
      return mine
    },
    INSTALL_TIMEOUT,
  )
  if (!mine) return
  try {
    const env = { NODE_EXTRA_CA_CERTS: process.env.PREFORK_TEST_CA_CERTS || undefined }
    await execa('npm', ['ci', '--prefix', packagesFolder, '--no-audit', '--no-fund', '--loglevel=error'], { env, stdin: 'ignore', timeout: INSTALL_TIMEOUT })
  } finally {
    rmSync(lock, { recursive: true, force: true })
  }
}

const own = fileURLToPath(new URL('../../node_modules/', import.meta.url))

/** Makes packages importable in a project: those of this folder, or of the project itself. */
export const linkPackages = (folder: string, names: readonly string[]): void => {
  for (const name of names) {
    const tried = join(packagesFolder, 'node_modules', name)
    symlinkSync(existsSync(tried) ? tried : join(own, name), join(folder, 'node_modules', name))
  }
}

export interface Outcome {
  readonly output: string
  readonly code: number | undefined
}

/** A project with `prefork`, these packages and these files; it ends with the test. */
export const projectOf = async (names: readonly string[], files: Readonly<Record<string, string>>) => {
  if (names.length > 0) await installPackages()
  const { folder, remove } = makeProject()
  onTestFinished(remove)
  linkPackages(folder, names)
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  const node = async (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Outcome> => {
    const { all, exitCode } = await execa(process.execPath, args, { cwd: folder, env, stdin: 'ignore', all: true, reject: false, timeout: 140_000 })
    return { output: all, code: exitCode }
  }
  return { folder, node }
}
