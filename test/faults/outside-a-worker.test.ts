import { execa } from 'execa'
import { expect, it, vi } from 'vitest'
import { fixture } from '../fixtures/pools.js'

type Module = Record<string, (...args: unknown[]) => unknown>

it('a task module that imports prefork/worker runs in its own unit tests, outside a worker', async () => {
  const context = (await import(fixture('job-context.js').href)) as Module
  expect(context.about!()).toMatchObject({ name: expect.any(String), attempt: 1, aborted: false })
  expect(await context.count!(3)).toBe(3)
  for (const method of ['log', 'error'] as const) vi.spyOn(console, method).mockImplementation(() => {})
  for (const stream of [process.stdout, process.stderr]) vi.spyOn(stream, 'write').mockReturnValue(true)
  await context.print!('outside')
  vi.restoreAllMocks()

  const hooks = (await import(fixture('hooks.js').href)) as Module
  expect(await hooks.limited!(1)).toBe('done')
  expect(hooks.isOpen!()).toBe(false)
})

it('a task module that imports prefork/worker runs in plain Node, which then exits by itself', async () => {
  const script = `const { about, count } = await import(${JSON.stringify(fixture('job-context.js').href)}); await count(2); console.log(JSON.stringify(about()))`
  const { stdout } = await execa(process.execPath, ['--input-type=module', '-e', script], { timeout: 10_000 })
  expect(JSON.parse(stdout)).toMatchObject({ attempt: 1, aborted: false })
})
