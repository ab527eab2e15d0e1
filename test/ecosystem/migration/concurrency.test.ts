/** What the pages for Celery and AsyncMQ say of concurrency: as many jobs at once, in as many processes. */
import { join } from 'node:path'
import { execa } from 'execa'
import { describe, expect, it, onTestFinished } from 'vitest'
import { root } from '../../docs/document.js'
import { hasSqlite } from '../../queue/store/sqlite/files.js'
import { MEETING, meeting } from './meeting.js'
import { literal, rowsOf } from './page.js'
import { preforkSide } from './prefork-side.js'

const CELERY = rowsOf('docs/migrating-from-celery.md', 'Names', /^\| `-(?:c|P threads -c) (\d+)`.*?(\d+|one) process(?:es)?.*?\| `(--workers [^`]*)`/)
const ASYNCMQ = rowsOf('docs/migrating-from-asyncmq.md', 'What becomes what', /^\| [^|]*`concurrency=.*?\| `(maxWorkers: [^`]*)`/)

it('the pages have what is read here', () => {
  expect(CELERY).toHaveLength(2)
  expect(ASYNCMQ).toHaveLength(2)
})

describe.skipIf(!hasSqlite)('concurrency of a queue in a file', () => {
  it.each(CELERY)('-c %s: %s processes with %s', async (jobs, processes, flags) => {
    const { folder, store, run } = await preforkSide({ 'meeting.js': MEETING })
    const node = execa(process.execPath, [join(root, 'dist/cli/prefork.js'), 'work', '--broker', store, '--tasks', 'meeting.js', ...flags!.split(' ')], {
      cwd: folder,
      stdin: 'ignore',
      reject: false,
    })
    onTestFinished(async () => {
      node.kill('SIGTERM')
      await node
    })
    const ended = await run(meeting(folder, Number(jobs)).jobs)
    expect(ended.every(({ state }) => state === 'completed')).toBe(true)
    expect(new Set(ended.map(({ value }) => value)).size).toBe(processes === 'one' ? 1 : Number(processes))
  })

  it.each(ASYNCMQ)('%s: so many jobs at once', async (shown) => {
    const options = literal(`{ ${shown} }`)
    const { maxWorkers = 0, concurrency = 1 } = options
    const { folder, work, run } = await preforkSide({ 'meeting.js': MEETING })
    await work('meeting.js', options)
    const ended = await run(meeting(folder, maxWorkers * concurrency).jobs)
    expect(ended.every(({ state }) => state === 'completed')).toBe(true)
    expect(new Set(ended.map(({ value }) => value)).size).toBe(maxWorkers)
  })
})
