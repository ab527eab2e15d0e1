import { cpSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ENTRIES = ['src', 'test', 'scripts', 'docs', 'README.md', 'package.json', 'tsconfig.json', 'tsconfig.build.json', 'vitest.config.ts']

/** A copy of the tree that may be broken: the tree itself is never touched. */
export class Copy {
  constructor(root) {
    this.root = mkdtempSync(join(tmpdir(), 'prefork-mutations-'))
    for (const entry of ENTRIES) cpSync(join(root, entry), join(this.root, entry), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(this.root, 'node_modules'))
  }

  /** Breaks one place while `fn` runs; undefined: the place is gone, or not unique. */
  async broken({ file, find, put }, fn) {
    const path = join(this.root, file)
    const sound = readFileSync(path, 'utf8')
    if (sound.split(find).length !== 2) return undefined
    writeFileSync(
      path,
      sound.replace(find, () => put),
    )
    try {
      return await fn()
    } finally {
      writeFileSync(path, sound)
      this.#endSurvivors()
    }
  }

  remove() {
    rmSync(this.root, { recursive: true, force: true })
  }

  /** A variant may leave workers behind that nothing ends: they are known by the folder they run in (Linux). */
  #endSurvivors() {
    for (const pid of process.platform === 'linux' ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : []) {
      try {
        if (readlinkSync(`/proc/${pid}/cwd`).startsWith(this.root)) process.kill(Number(pid), 'SIGKILL')
      } catch {
        // Gone, or somebody else's.
      }
    }
  }
}
