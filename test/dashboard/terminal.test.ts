import type { EventEmitter } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { enterAlternateScreen } from '../../src/dashboard/terminal/alternate-screen.js'

const RESTORED = '\x1b[0m\x1b[?25h\x1b[?1049l'

/** A file as a terminal: what is written to it, and its raw mode. */
const terminal = () => {
  const folder = mkdtempSync(join(tmpdir(), 'prefork-screen-'))
  const fd = openSync(join(folder, 'tty'), 'w+')
  onTestFinished(() => {
    closeSync(fd)
    rmSync(folder, { recursive: true })
  })
  const stdin = {
    isRaw: true,
    setRawMode(raw: boolean) {
      this.isRaw = raw
    },
  }
  let asked = ''
  return { stdout: { fd, write: (text: string) => (asked += text) }, stdin, asked: () => asked, written: () => readFileSync(join(folder, 'tty'), 'utf8') }
}

test.each([
  ['closed', (leave: () => void) => leave()],
  ['the process exits', () => process.emit('exit', 0)],
  ['an exception is about to end it', () => (process as EventEmitter).emit('uncaughtExceptionMonitor', new Error('crash'), 'uncaughtException')],
])('%s: the screen, the cursor and the line mode are restored once', (_, end) => {
  const others = process.listeners('exit').slice()
  for (const each of others) process.off('exit', each)
  onTestFinished(() => {
    for (const each of others) process.on('exit', each)
  })
  const { stdout, stdin, asked, written } = terminal()
  const order: string[] = []
  const leave = enterAlternateScreen(stdout, stdin, () => order.push(written()))
  expect(asked()).toBe('\x1b[?1049h\x1b[H')
  end(leave)
  leave()
  expect(written()).toBe(RESTORED)
  expect(stdin.isRaw).toBe(false)
  // Drawing stopped before the switch back.
  expect(order).toEqual([''])
  expect(process.listenerCount('exit')).toBe(0)
  expect(process.listenerCount('uncaughtExceptionMonitor')).toBe(0)
})

test('an error of stopDrawing does not keep the alternate screen', () => {
  const { stdout, stdin, written } = terminal()
  const leave = enterAlternateScreen(stdout, stdin, () => {
    throw new Error('it is what has crashed')
  })
  leave()
  expect(written()).toBe(RESTORED)
})
