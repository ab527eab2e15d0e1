/** Where somebody is in a list or on a page of the terminal, as keys move it. */
import { renderToString } from 'ink'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Controller, type ControllerOptions } from '../../src/dashboard/controller.js'
import { press } from '../../src/dashboard/keys.js'
import { LocalSource } from '../../src/dashboard/model/farm-source.js'
import { LogTail } from '../../src/dashboard/model/log-tail.js'
import { Screen } from '../../src/dashboard/view/screen.js'
import { ScriptedNode } from '../fixtures/scripted-node.js'
import { deadLettersIn, letterOf } from './web/served.js'

const openWith = async (more: Partial<ControllerOptions>) => {
  const node = new ScriptedNode()
  const source = new LocalSource(node)
  const controller = new Controller({ source, node: node.name, only: true, onQuit() {}, ...more })
  onTestFinished(() => source.close())
  await controller.open()
  const lines = (): string[] => renderToString(<Screen controller={controller} size={{ columns: 80, rows: 14 }} />, { columns: 80 }).split('\n')
  return { controller, lines }
}

test('each of several messages without an id can be chosen, and stays chosen when they are read again', async () => {
  const complaints = vi.spyOn(console, 'error').mockReturnValue()
  onTestFinished(() => complaints.mockRestore())
  const letters = ['one', 'two', 'three'].map((task) => letterOf({ id: undefined, task }))
  const { controller, lines } = await openWith({ deadLetters: deadLettersIn(letters) })
  press(controller, { input: 'd' })
  await vi.waitFor(() => expect(lines().join('\n')).toContain('three: no'))
  for (const task of ['two', 'three', 'three']) {
    press(controller, { input: 'j' })
    expect(controller.letter).toMatchObject({ task })
  }
  press(controller, { input: 's' })
  await vi.waitFor(() => expect(controller.notice?.text).toBe('dead letters: 3'))
  expect(controller.letter).toMatchObject({ task: 'three' })
  lines()
  expect(complaints).not.toHaveBeenCalled()
})

/** The first line of a page, below its title. */
const firstLine = (lines: () => string[]): string => lines()[4]!

test('a page that was scrolled to its end goes back with the first key', async () => {
  const { controller, lines } = await openWith({})
  press(controller, { input: '?' })
  const top = firstLine(lines)
  press(controller, { input: '', name: 'end' })
  const end = firstLine(lines)
  expect(end).not.toBe(top)
  for (const name of ['down', 'pagedown', 'end'] as const) {
    press(controller, { input: '', name })
    expect(firstLine(lines)).toBe(end)
  }
  press(controller, { input: '', name: 'up' })
  expect(firstLine(lines)).not.toBe(end)
  press(controller, { input: '', name: 'down' })
  expect(firstLine(lines)).toBe(end)
  press(controller, { input: '', name: 'home' })
  expect(firstLine(lines)).toBe(top)
})

test('the log shows its end; up goes to earlier lines, Home to the first', async () => {
  const log = new LogTail()
  for (let i = 0; i < 50; i++) log.write(JSON.stringify({ time: 1, level: 30, msg: `line ${i}` }))
  const { controller, lines } = await openWith({ log })
  press(controller, { input: 'l' })
  for (const [name, first] of [
    [undefined, 43],
    ['down', 43],
    ['up', 42],
    ['pageup', 32],
    ['down', 33],
    ['home', 0],
    ['up', 0],
    ['end', 43],
  ] as const) {
    if (name !== undefined) press(controller, { input: '', name })
    expect(firstLine(lines)).toMatch(new RegExp(` line ${first}$`))
  }
})

test('the earlier lines of a log stand still while new ones come, also long ones; its end follows', async () => {
  const log = new LogTail()
  const write = (msg: string) => log.write(JSON.stringify({ time: 1, level: 30, msg }))
  for (let i = 0; i < 50; i++) write(`line ${i}`)
  const { controller, lines } = await openWith({ log })
  press(controller, { input: 'l' })
  const first = () => / line (\d+)$/.exec(firstLine(lines))?.[1]
  expect(first()).toBe('43')
  write('line 50')
  expect(first()).toBe('44')
  for (let i = 0; i < 3; i++) press(controller, { input: '', name: 'up' })
  expect(first()).toBe('41')
  write('line 51')
  expect(first()).toBe('41')
  // Two lines of the terminal, and two before the next picture.
  write('x'.repeat(100))
  write('line 53')
  expect(first()).toBe('41')
  press(controller, { input: '', name: 'down' })
  expect(first()).toBe('42')
  // The lines that are shown are dropped: those that are left begin the page.
  for (let i = 54; i < 600; i++) write(`line ${i}`)
  expect(first()).toBe('100')
  press(controller, { input: '', name: 'down' })
  expect(first()).toBe('101')
  press(controller, { input: '', name: 'end' })
  expect(first()).toBe('593')
  write('line 600')
  expect(first()).toBe('594')
})
