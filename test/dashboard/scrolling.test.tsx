/** Where somebody is in a list or on a page of the terminal, as keys move it. */
import { renderToString } from 'ink'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Controller, type ControllerOptions } from '../../src/dashboard/controller.js'
import { press } from '../../src/dashboard/keys.js'
import { LocalSource } from '../../src/dashboard/model/farm-source.js'
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
