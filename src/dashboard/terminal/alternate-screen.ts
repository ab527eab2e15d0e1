import { writeSync } from 'node:fs'

/** Control sequences of xterm: the alternate screen, the cursor to its top left. */
const ENTER = '\x1b[?1049h\x1b[H'
/** Default text attributes, a visible cursor, the normal screen. */
const LEAVE = '\x1b[0m\x1b[?25h\x1b[?1049l'

/**
 * Switches the terminal to its alternate screen. The function that it returns switches back; so does an exit of the process, or an uncaught
 * exception before Node prints it. `stopDrawing` is called before: a last frame belongs to the alternate screen.
 */
export const enterAlternateScreen = (
  stdout: { readonly fd: number; write(text: string): unknown },
  stdin: { isRaw?: boolean; setRawMode?(raw: boolean): unknown },
  stopDrawing: () => void,
): (() => void) => {
  let entered = true
  const leave = (): void => {
    if (!entered) return
    entered = false
    process.off('exit', leave)
    process.off('uncaughtExceptionMonitor', leave)
    try {
      stopDrawing()
    } catch {
      // Drawing may be what has failed.
    }
    try {
      if (stdin.isRaw === true) stdin.setRawMode?.(false)
      // Synchronous: the process may be about to exit.
      writeSync(stdout.fd, LEAVE)
    } catch {
      // The terminal was closed.
    }
  }
  stdout.write(ENTER)
  process.on('exit', leave)
  process.on('uncaughtExceptionMonitor', leave)
  return leave
}
