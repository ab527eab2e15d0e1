import { writeSync } from 'node:fs'

const ENTER = '\x1b[?1049h\x1b[H'
/** Text as it was, a cursor that shows, the screen from before. */
const LEAVE = '\x1b[0m\x1b[?25h\x1b[?1049l'

export interface TerminalStream {
  readonly fd: number
  write(text: string): unknown
}

/**
 * Takes the second screen of the terminal; the function that it returns gives the first one back. So does every end of this
 * process that can still do anything: an exit, an uncaught exception (before Node prints it, so that it can be read).
 * `stopDrawing` is called first: a last picture belongs to the second screen.
 */
export const takeScreen = (stdout: TerminalStream, stdin: { isRaw?: boolean; setRawMode?(raw: boolean): unknown }, stopDrawing: () => void): (() => void) => {
  let taken = true
  const leave = (): void => {
    if (!taken) return
    taken = false
    process.off('exit', leave)
    process.off('uncaughtExceptionMonitor', leave)
    try {
      stopDrawing()
    } catch {
      // It may be what has crashed.
    }
    try {
      if (stdin.isRaw === true) stdin.setRawMode?.(false)
      // Synchronously: there may be no later.
      writeSync(stdout.fd, LEAVE)
    } catch {
      // The terminal has gone, and took its screens along.
    }
  }
  stdout.write(ENTER)
  process.on('exit', leave)
  process.on('uncaughtExceptionMonitor', leave)
  return leave
}
