import { closeSync } from 'node:fs'
import { isatty } from 'node:tty'

/**
 * Node gives terminals the modes back that they had, when it ends, and aborts (SIGABRT) where that fails: as it does with one that was
 * closed meanwhile. What is no terminal any more is closed before, so that Node leaves it alone.
 */
export const leaveLostTerminals = (): void => {
  const terminals = [0, 1, 2].filter((fd) => isatty(fd))
  process.on('exit', () => {
    for (const fd of terminals) {
      if (isatty(fd)) continue
      try {
        closeSync(fd)
      } catch {
        // It is closed.
      }
    }
  })
}
