/** A node without a logger whose broker cannot be reached. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { expect, it, onTestFinished } from 'vitest'
import { makeProject } from '../docs/document.js'
import { until } from '../fixtures/until.js'

it.each([
  ['amqp', 'amqp://127.0.0.1:1', 'RabbitMQ cannot be reached, and is tried again: connect ECONNREFUSED'],
  ['faktory', 'tcp://127.0.0.1:1', 'Faktory cannot be reached, and is tried again: '],
])('says once what it waits for (%s)', async (entry, url, reason) => {
  const { folder, remove } = makeProject()
  onTestFinished(remove)
  writeFileSync(join(folder, 'tasks.js'), 'export const one = () => 1\n')
  writeFileSync(
    join(folder, 'main.js'),
    `import { createWorker } from 'prefork/${entry}'\nawait createWorker({ url: '${url}', tasks: new URL('./tasks.js', import.meta.url), maxWorkers: 1 })\n`,
  )
  const host = execa(process.execPath, ['main.js'], { cwd: folder, all: true, reject: false, stdin: 'ignore', killSignal: 'SIGKILL' })
  onTestFinished(async () => {
    host.kill()
    await host
  })
  let output = ''
  host.all.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  const line = `Warning: A node waits for its broker (and has no 'logger'): ${reason}`
  await until('it says so', () => output.includes(line))
  expect(output.split(line)).toHaveLength(2)
})
