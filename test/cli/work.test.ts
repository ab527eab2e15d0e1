import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { controlClientOf, ScriptedNode } from '../fixtures/scripted-node.js'
import { commandLine, farmOf } from './command-line.js'

/** vitest waits a second where nothing else is said: too little for a busy machine. */
const waitFor = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, { timeout: 20_000 })

const TASKS = ['--tasks', `./${basename(fileURLToPath(import.meta.url))}`]
const CLEAN = { clean: true, requeued: 2, killed: 0 }

/** `prefork work` over a scripted node. */
const begin = async (typed: string[] = [], { terminal = false, env = {} } = {}) => {
  const node = new ScriptedNode()
  const { farm, created } = farmOf(node)
  const line = commandLine({ farm, terminal, env })
  const code = line.run('work', ...TASKS, ...typed)
  await waitFor(() => expect(created).toHaveLength(1))
  return { node, created, code, ...line }
}

test('the node gets the settings, and its clean end is exit code 0', async () => {
  const { node, created, code, stdout } = await begin(['--workers', '3', '--queue', 'q', '--name', 'n1', '--concurrency', '1'])
  const [broker, options] = created[0]!
  expect(broker.queues).toEqual(['q'])
  expect(options).toMatchObject({ minWorkers: 3, maxWorkers: 3, name: 'n1', concurrency: 1 })
  node.end(CLEAN)
  expect(await code).toBe(0)
  const lines = stdout.text
    .trim()
    .split('\n')
    .map((each) => JSON.parse(each))
  expect(lines[0]).toMatchObject({ level: 30, msg: 'prefork work starts', version: '1.2.3', queues: 'q' })
  expect(lines.at(-1)).toMatchObject({ requeued: 2, killed: 0, msg: expect.stringContaining('every job in flight has ended') })
})

test.each([
  [{ clean: false, requeued: 0, killed: 1 }, 3],
  [{ clean: false, requeued: 4, killed: 0 }, 3],
  [CLEAN, 0],
])('%o is exit code %i', async (report, wanted) => {
  const { node, code } = await begin()
  node.end(report)
  expect(await code).toBe(wanted)
})

test.each([
  [1, false, 'Stopped: the grace was over; 1 job that had begun was killed, 0 that had not went back to the queue.'],
  [2, true, 'Stopped: it was asked again; 2 jobs that had begun were killed, 0 that had not went back to the queue.'],
])('%i killed, by a second signal: %o', async (killed, again, msg) => {
  const { node, code, signals, stdout } = await begin()
  signals.emit('SIGTERM')
  if (again) signals.emit('SIGTERM')
  node.end({ clean: false, requeued: 0, killed })
  expect(await code).toBe(3)
  expect(JSON.parse(stdout.text.trim().split('\n').at(-1)!)).toMatchObject({ msg })
})

test('the summary counts the jobs that stay reserved', async () => {
  const { node, code, stdout } = await begin()
  node.end({ clean: false, requeued: 0, killed: 3, left: 1 })
  expect(await code).toBe(3)
  expect(JSON.parse(stdout.text.trim().split('\n').at(-1)!)).toMatchObject({
    left: 1,
    msg: 'Stopped: the grace was over; 3 jobs that had begun were killed, 0 that had not went back to the queue, and 1 stays reserved, as no retry is left.',
  })
})

test.each(['SIGTERM', 'SIGINT', 'SIGHUP'])('%s drains; a second one leaves no grace', async (signal) => {
  const { node, code, signals } = await begin()
  signals.emit(signal)
  expect(node.shutdowns).toEqual([{ reason: signal }])
  signals.emit('SIGINT')
  expect(node.shutdowns[1]).toEqual({ grace: 0, reason: 'SIGINT' })
  node.end(CLEAN)
  expect(await code).toBe(0)
  expect(signals.eventNames()).toEqual([])
})

test('SIGTSTP makes the node quiet, SIGCONT resumes it; a SIGCONT alone, or while it drains, does nothing', async () => {
  const { node, code, signals } = await begin()
  signals.emit('SIGCONT')
  expect(node.asked).toEqual([])
  signals.emit('SIGTSTP')
  signals.emit('SIGTSTP')
  expect(node.asked).toEqual([{ command: 'quiet' }])
  signals.emit('SIGCONT')
  expect(node.asked).toEqual([{ command: 'quiet' }, { command: 'resume' }])
  signals.emit('SIGTSTP')
  signals.emit('SIGTERM')
  signals.emit('SIGCONT')
  expect(node.asked).toHaveLength(3)
  node.end(CLEAN)
  await code
})

test.each(['quiet', 'paused', 'starting'] as const)('a node that is %s ignores SIGTSTP, so SIGCONT does not resume it', async (state) => {
  const { node, code, signals } = await begin()
  node.figures = { ...node.figures, state }
  signals.emit('SIGTSTP')
  signals.emit('SIGCONT')
  expect(node.asked).toEqual([])
  node.end(CLEAN)
  await code
})

test('a node that was paused after SIGTSTP stays paused at SIGCONT', async () => {
  const { node, code, signals } = await begin()
  signals.emit('SIGTSTP')
  node.figures = { ...node.figures, state: 'paused' }
  signals.emit('SIGCONT')
  expect(node.asked).toEqual([{ command: 'quiet' }])
  node.end(CLEAN)
  await code
})

test('SIGTTIN logs the stack of each worker', async () => {
  const { node, code, signals, stdout } = await begin()
  node.answers.stack = { worker: 1, stack: '    at resize (file:///tasks.js:3:5)' }
  signals.emit('SIGTTIN')
  expect(node.asked).toEqual([
    { command: 'stack', worker: 1 },
    { command: 'stack', worker: 2 },
  ])
  await waitFor(() => expect(stdout.text.split('at resize')).toHaveLength(3))
  expect(stdout.text).toContain('"worker":2,"pid":4712,"msg":"    at resize')
  node.end(CLEAN)
  await code
})

test('a signal before the node is up ends it', async () => {
  const line = commandLine({ farm: { createNode: () => new Promise(() => {}) } })
  const code = line.run('work', ...TASKS)
  await waitFor(() => expect(line.signals.listenerCount('SIGTERM')).toBe(1))
  line.signals.emit('SIGTERM')
  expect(await code).toBe(0)
})

test('a start that fails is one line on stderr', async () => {
  const line = commandLine({ farm: { createNode: () => Promise.reject(new Error('./tasks.js cannot be loaded:\n  SyntaxError: no')) } })
  expect(await line.run('work', ...TASKS)).toBe(1)
  expect(line.stderr.text).toBe('prefork: ./tasks.js cannot be loaded: SyntaxError: no\n')
})

test('on a terminal: a banner without the password, and readable lines', async () => {
  const { node, created, code, stdout } = await begin(['--autoscale', '2,6', '--time-limit', '1m', '--niceness', '5'], {
    terminal: true,
    env: { RABBITMQ_URL: 'amqp://me:s3cret@rabbit/v' },
  })
  created[0]![1].logger!.warn({ task: 'add\n\u202e' }, 'a name\nof two lines')
  node.end(CLEAN)
  await code
  expect(stdout.text).toMatch(/prefork 1\.2\.3, Node /)
  expect(stdout.text).toMatch(/broker +amqp:\/\/me:\*\*\*@rabbit\/v/)
  expect(stdout.text).toMatch(/workers +2 to 6, by what waits/)
  expect(stdout.text).toMatch(/per worker +1 at once, up to 10 held, nice 5\n/)
  expect(stdout.text).toMatch(/limits +hard 60 s/)
  expect(stdout.text).toMatch(/\d\d:\d\d:\d\d\.\d{3} INFO {2}Stopped: every job in flight has ended/)
  expect(stdout.text).toMatch(/ WARN {2}a name\\nof two lines task="add\\n\\u202e"\n/)
  expect(stdout.text).not.toContain('s3cret')
})

test('the workers get the environment without the secrets of the broker', async () => {
  const env = { PATH: '/bin', ASYNC_FARM_SECRET: 'long enough', RABBITMQ_URL: 'amqp://me:s3cret@rabbit/v' }
  const withPassword = await begin([], { env })
  const without = await begin([], { env: { ...env, RABBITMQ_URL: 'amqp://rabbit/v' } })
  const envs = [withPassword, without].map(({ created }) => created[0]![1].env)
  expect(envs).toEqual([
    { NO_COLOR: '1', PATH: '/bin' },
    { NO_COLOR: '1', PATH: '/bin', RABBITMQ_URL: 'amqp://rabbit/v' },
  ])
  for (const { node, code } of [withPassword, without]) {
    node.end(CLEAN)
    await code
  }
})

test('--import is loaded before the variables are read', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'prefork-cli-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const env: Record<string, string | undefined> = {}
  const boot = join(folder, 'boot.mjs')
  writeFileSync(boot, 'globalThis.bootedByTheTest()\n')
  Object.assign(globalThis, { bootedByTheTest: () => Object.assign(env, { MAX_LOSSES: '7' }) })
  const node = new ScriptedNode()
  const { farm, created } = farmOf(node)
  const line = commandLine({ farm })
  Object.assign(line.context, { env })
  node.end(CLEAN)
  expect(await line.run('work', ...TASKS, '--import', boot)).toBe(0)
  expect(created[0]![1].maxLosses).toBe(7)
  expect(String((created[0]![1].imports as URL[])[0])).toMatch(/boot\.mjs$/)
  writeFileSync(join(folder, 'bad.mjs'), 'throw new Error("no database")\n')
  expect(await line.run('work', ...TASKS, '--import', join(folder, 'bad.mjs'))).toBe(1)
  expect(line.stderr.text).toMatch(/--import .*bad\.mjs could not be loaded: no database/)
})

const get = (port: number, path: string, method = 'GET'): Promise<{ status: number; body: string }> =>
  new Promise((resolve, reject) => {
    request({ port, path, method, host: '127.0.0.1', agent: false }, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        body += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
    })
      .on('error', reject)
      .end()
  })

test('--http responds from the start to the end, and the port is free afterwards', async () => {
  const node = new ScriptedNode()
  let up = (): void => {}
  const line = commandLine({
    farm: {
      createNode: () =>
        new Promise((resolve) => {
          up = () => resolve(node)
        }),
    },
  })
  const code = line.run('work', ...TASKS, '--http', '0')
  const port = await waitFor(() => Number(/"port":(\d+)/.exec(line.stdout.text)![1]))
  expect(await get(port, '/healthz')).toEqual({ status: 200, body: '{"status":"starting"}\n' })
  expect((await get(port, '/readyz')).status).toBe(503)
  expect((await get(port, '/metrics')).body).toContain('prefork_up 0\n')
  up()
  await waitFor(async () => expect((await get(port, '/readyz')).status).toBe(200))
  node.emit({ type: 'task.succeeded', id: '1', name: 'mail', worker: 1, duration: 30 })
  const { body } = await get(port, '/metrics')
  expect(body).toContain('prefork_jobs_total{outcome="succeeded"} 100\n')
  expect(body).toContain('prefork_task_duration_seconds_bucket{task="mail",outcome="success",le="0.05"} 1\n')
  node.figures = { ...node.figures, state: 'draining' }
  expect(await get(port, '/readyz')).toMatchObject({ status: 503, body: expect.stringContaining('"status":"draining"') })
  expect((await get(port, '/healthz')).status).toBe(200)
  expect((await get(port, '/other')).status).toBe(404)
  expect((await get(port, '/metrics', 'POST')).status).toBe(405)
  expect(await get(port, '/metrics', 'HEAD')).toEqual({ status: 200, body: '' })
  const second = commandLine({})
  expect(await second.run('work', ...TASKS, '--http', String(port))).toBe(1)
  expect(second.stderr.text).toContain(`--http ${port}: cannot listen on 127.0.0.1: something else listens there; choose another port.`)
  // Reserved for documentation (RFC 5737): no machine has it.
  const elsewhere = commandLine({})
  expect(await elsewhere.run('work', ...TASKS, '--http', '0', '--http-host', '192.0.2.1')).toBe(2)
  expect(elsewhere.stderr.text).toMatch(
    /^prefork: --http-host must be a host name or an address of this machine; it was given '192\.0\.2\.1' \(.*EADDRNOTAVAIL.*\)\.\n$/,
  )
  node.end(CLEAN)
  expect(await code).toBe(0)
  expect(node.listening).toBe(0)
  await expect(get(port, '/healthz')).rejects.toThrow('ECONNREFUSED')
})

const TOKEN = 'a-token-of-the-tests'

test.each([
  ['on this machine', [], {}, /^http:\/\/127\.0\.0\.1:\d+\/#token=([\w-]{32})$/],
  ['with the token of the operator, which no log has', [], { ASYNC_FARM_HTTP_TOKEN: TOKEN }, /^http:\/\/127\.0\.0\.1:\d+\/()$/],
  ['for others, with the token of the operator', ['--http-host', '0.0.0.0'], { ASYNC_FARM_HTTP_TOKEN: TOKEN }, /^http:\/\/[^/]+:\d+\/()$/],
])('--http serves the dashboard %s', async (_, typed, env, address) => {
  const { node, code, stdout, created } = await begin(['--http', '0', ...typed], { env })
  const line = JSON.parse(stdout.text.split('\n').find((each) => each.includes('The dashboard is served'))!) as { url: string }
  const token = address.exec(line.url)![1] || TOKEN
  const { port } = new URL(line.url)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const post = (given: Record<string, string>) =>
    fetch(`http://127.0.0.1:${port}/dashboard/api/command`, {
      method: 'POST',
      headers: { ...headers, ...given },
      body: JSON.stringify({ node: 'alpha', command: { command: 'pause' } }),
    })
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toContain('<title>prefork</title>')
  expect((await post({ authorization: 'Bearer no' })).status).toBe(401)
  await waitFor(async () => expect((await post({})).status).toBe(200))
  expect(node.asked.at(-1)).toEqual({ command: 'pause' })
  expect(stdout.text).toContain('alpha: {\\"command\\":\\"pause\\"}')
  // Neither the workers nor the log get the operator's token.
  expect(created[0]![1].env).not.toHaveProperty('ASYNC_FARM_HTTP_TOKEN')
  expect(stdout.text).not.toContain(TOKEN)
  expect((await get(Number(port), '/healthz')).status).toBe(200)
  const stream = await fetch(`http://127.0.0.1:${port}/dashboard/api/live`, { headers })
  node.end(CLEAN)
  // An open stream delays no end.
  expect(await code).toBe(0)
  await stream.text().catch(() => {})
  expect(node.listening).toBe(0)
})

test('a node that opens health and metrics to others opens no dashboard without a token of the operator', async () => {
  const { node, code, stdout } = await begin(['--http', '0', '--http-host', '0.0.0.0'])
  const port = Number(/"port":(\d+)/.exec(stdout.text)![1])
  expect((await get(port, '/')).status).toBe(404)
  expect((await get(port, '/dashboard/api/live')).status).toBe(404)
  expect((await get(port, '/metrics')).status).toBe(200)
  expect(stdout.text).toContain('ASYNC_FARM_HTTP_TOKEN')
  node.end(CLEAN)
  expect(await code).toBe(0)
})

test.each(['short', 'with a space in it', ' '])('a token is long and fits an address, not %o', async (token) => {
  const line = commandLine({ env: { ASYNC_FARM_HTTP_TOKEN: token } })
  expect(await line.run('work', ...TASKS, '--http', '0')).toBe(2)
  expect(line.stderr.text).toBe('prefork: ASYNC_FARM_HTTP_TOKEN must be a text of at least 16 letters, digits and - . _ ~.\n')
})

test('top --http serves the nodes of the broker without a terminal, until a signal', async () => {
  const node = new ScriptedNode()
  const line = commandLine({ farm: { createControlClient: async () => controlClientOf(node) } })
  const code = line.run('top', '--http', '0')
  const url = await waitFor(() => new URL(/http:\S+/.exec(line.stdout.text)![0]))
  const headers = { authorization: `Bearer ${url.hash.slice('#token='.length)}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ node: 'alpha', command: { command: 'grow' } })
  const api = `${url.origin}/dashboard/api`
  expect((await fetch(url.origin)).status).toBe(200)
  expect((await fetch(`${url.origin}/healthz`)).status).toBe(404)
  await waitFor(async () => expect((await fetch(`${api}/command`, { method: 'POST', headers, body })).status).toBe(200))
  expect(node.asked.at(-1)).toEqual({ command: 'grow' })
  expect(line.stdout.text).toContain('alpha: {"command":"grow"}')
  const stream = await fetch(`${api}/live`, { headers })
  expect(stream.headers.get('content-type')).toContain('text/event-stream')
  line.signals.emit('SIGINT')
  expect(await code).toBe(0)
  await stream.text().catch(() => {})
  expect(node.listening).toBe(0)
  const alone = commandLine({})
  expect(await alone.run('top', '--http-host', '0.0.0.0')).toBe(2)
})
