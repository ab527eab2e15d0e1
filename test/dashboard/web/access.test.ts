/** Who may load the page, read the farm and change it. */
import { hostname } from 'node:os'
import { expect, test } from 'vitest'
import { serve, TOKEN } from './served.js'

const LIVE = '/dashboard/api/live'
const AUTHORIZED = { authorization: `Bearer ${TOKEN}` }
const JSON_TYPE = { 'content-type': 'application/json' }
const PAUSE = JSON.stringify({ node: 'alpha', command: { command: 'pause' } })

test('the page loads nothing but its own files, in no frame, and no answer has a header for other origins', async () => {
  const { ask } = await serve()
  const { status, headers, body } = await ask('/')
  expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
  const policy = headers['content-security-policy']
  for (const rule of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"]) {
    expect(policy).toContain(rule)
  }
  expect(policy).not.toContain('unsafe')
  expect(headers).toMatchObject({
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
  })
  const files = [...body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path!)
  expect(files.length).toBeGreaterThan(4)
  for (const path of files) expect((await ask(path)).status, path).toBe(200)
  // No script or style of its own, which the policy would refuse.
  expect(body).not.toMatch(/<script(?![^>]*src=)|<style|\son\w+=|style="/)
  for (const path of ['/', LIVE]) expect(Object.keys((await ask(path)).headers).filter((name) => name.startsWith('access-control'))).toEqual([])
  expect((await ask('/', { method: 'HEAD' })).body).toBe('')
  expect((await ask('/', { method: 'POST' })).status).toBe(405)
  expect((await ask('/other')).status).toBe(404)
})

test.each([
  ['no token', {}],
  ['another token', { authorization: 'Bearer another-token-of-20' }],
  ['another scheme', { authorization: `Basic ${TOKEN}` }],
  ['a cookie', { cookie: `token=${TOKEN}; prefork-token=${TOKEN}` }],
])('%s: neither read nor changed', async (_, headers) => {
  const { ask, node } = await serve()
  expect((await ask(`${LIVE}?token=${TOKEN}`, { headers })).status).toBe(401)
  const { status, body } = await ask('/dashboard/api/command', { method: 'POST', headers: { ...headers, ...JSON_TYPE }, body: PAUSE })
  expect([status, node.asked.filter(({ command }) => command === 'pause')]).toEqual([401, []])
  expect(body).not.toContain(TOKEN)
})

test.each([
  ['127.0.0.1', 200],
  ['127.0.0.1:8080', 200],
  ['localhost:7070', 200],
  ['[::1]:7070', 200],
  ['10.1.2.3:7070', 200],
  ['dash.localhost', 200],
  [hostname(), 200],
  // Its owner may make it lead to 127.0.0.1.
  ['attacker.example', 421],
  ['127.0.0.1.attacker.example', 421],
  ['localhost.attacker.example:7070', 421],
  ['user@127.0.0.1', 421],
  ['[::1].attacker.example', 421],
])('host %s: %i', async (host, status) => {
  const { ask } = await serve()
  expect((await ask('/', { headers: { host } })).status).toBe(status)
  const answer = await ask('/dashboard/api/command', { method: 'POST', headers: { host, ...AUTHORIZED, ...JSON_TYPE }, body: PAUSE })
  expect(answer.status).toBe(status)
})

test('the host that it listens on may be a name', async () => {
  const { ask } = await serve({ host: 'farm.internal' })
  expect((await ask('/', { headers: { host: 'farm.internal:7070' } })).status).toBe(200)
  expect((await ask('/', { headers: { host: 'other.internal:7070' } })).status).toBe(421)
})

test.each([
  ['its own page', 200, { origin: 'http://127.0.0.1:7070', 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }],
  ['its own page behind TLS', 200, { origin: 'https://127.0.0.1:7070' }],
  ['another origin', 403, { origin: 'http://attacker.example' }],
  ['another port', 403, { origin: 'http://127.0.0.1:8080' }],
  ['a page without an origin', 403, { origin: 'null' }],
  ['another site', 403, { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }],
  ['another origin of the site', 403, { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'empty' }],
  ['a link elsewhere', 403, { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }],
])('a change asked by %s: %i', async (_, status, headers) => {
  const { ask, node } = await serve()
  const sent = { host: '127.0.0.1:7070', ...AUTHORIZED, ...JSON_TYPE, ...headers } as Record<string, string>
  expect((await ask('/dashboard/api/command', { method: 'POST', headers: sent, body: PAUSE })).status).toBe(status)
  expect(node.asked.some(({ command }) => command === 'pause')).toBe(status === 200)
})

test.each([
  ['a typed address', 200, { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }],
  ['a link elsewhere', 200, { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }],
  ['a frame elsewhere', 403, { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }],
  ['a script elsewhere', 403, { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' }],
])('the page for %s: %i', async (_, status, headers) => {
  expect((await (await serve()).ask('/', { headers: headers as Record<string, string> })).status).toBe(status)
})

test.each([
  ['text/plain', 415],
  ['application/x-www-form-urlencoded', 415],
  ['multipart/form-data; boundary=x', 415],
  ['application/jsonp', 415],
  ['application/json; charset=utf-8', 200],
])('a body of the type %s: %i', async (type, status) => {
  const { ask } = await serve()
  const sent = { method: 'POST', headers: { ...AUTHORIZED, 'content-type': type }, body: PAUSE }
  expect((await ask('/dashboard/api/command', sent)).status).toBe(status)
})

test('what is no operation is refused: methods, bodies, commands of the command line, nodes that are not there', async () => {
  const { ask, post, node } = await serve()
  const headers = { ...AUTHORIZED, ...JSON_TYPE }
  expect((await ask('/dashboard/api/command', { headers })).status).toBe(405)
  expect((await ask(LIVE, { method: 'POST', headers, body: '{}' })).status).toBe(405)
  for (const body of ['', '[]', '7', '{', JSON.stringify({ node: 'x'.repeat(20_000) })]) {
    expect((await ask('/dashboard/api/command', { method: 'POST', headers, body })).status, body.slice(0, 10)).toBe(400)
  }
  expect(await post('command', { node: 'alpha', command: { command: 'shutdown' } })).toMatchObject({
    status: 400,
    error: expect.stringMatching(/may not send 'shutdown'/),
  })
  expect(await post('command', { node: 'alpha', command: { command: 'grow', by: -1 } })).toMatchObject({ status: 400, error: expect.stringMatching(/by/) })
  expect(await post('command', { node: 'nobody', command: { command: 'pause' } })).toMatchObject({ status: 400, error: "There is no node 'nobody'." })
  expect(await post('command', { command: { command: 'pause' } })).toMatchObject({ status: 400, error: "'node' must be a text." })
  expect(await post('other', {})).toMatchObject({ status: 400 })
  expect(node.asked.filter(({ command }) => command !== 'snapshot')).toEqual([])
})
