import { cpSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ENTRIES = ['src', 'test', 'scripts', 'docs', 'README.md', 'package.json', 'tsconfig.json', 'tsconfig.build.json', 'vitest.config.ts']

/** A copy of the tree for mutations: the tree itself is never changed. */
export class Copy {
  constructor(root) {
    this.root = mkdtempSync(join(tmpdir(), 'prefork-mutations-'))
    for (const entry of ENTRIES) cpSync(join(root, entry), join(this.root, entry), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(this.root, 'node_modules'))
  }

  /** Applies a mutation while `fn` runs. Resolves with undefined if `find` does not occur exactly once. */
  async mutated({ file, find, put }, fn) {
    const path = join(this.root, file)
    const original = readFileSync(path, 'utf8')
    if (original.split(find).length !== 2) return undefined
    writeFileSync(
      path,
      original.replace(find, () => put),
    )
    try {
      return await fn()
    } finally {
      writeFileSync(path, original)
      this.#killSurvivors()
    }
  }

  remove() {
    rmSync(this.root, { recursive: true, force: true })
  }

  /** Kills processes that a mutation has left behind, found by their working directory (Linux). */
  #killSurvivors() {
    for (const pid of process.platform === 'linux' ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : []) {
      try {
        if (readlinkSync(`/proc/${pid}/cwd`).startsWith(this.root)) process.kill(Number(pid), 'SIGKILL')
      } catch {
        // It has exited, or belongs to another user.
      }
    }
  }
}
