/** The page in a browser, over a node with real workers. Without Debian's chromium it is skipped, with one line that says so. */
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type FarmSource, LocalSource } from '../../../src/dashboard/model/farm-source.js'
import { WebDashboard } from '../../../src/dashboard/web/web-dashboard.js'
import { startNode } from '../../fixtures/nodes.js'
import { until } from '../../fixtures/until.js'
import { deadLettersIn, letterOf, TOKEN } from './served.js'

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium'
const isThere = existsSync(CHROMIUM)
if (!isThere) console.warn(`SKIPPED: the dashboard's page was not tried, for want of ${CHROMIUM} (apt-get install chromium, or name a browser in CHROMIUM)`)

let browser: Browser

beforeAll(async () => {
  if (!isThere) return
  const args = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run']
  browser = await chromium.launch({ executablePath: CHROMIUM, args })
})

afterAll(async () => {
  await browser?.close()
})

const HOSTILE = '<script>document.title = "taken"</script><img src=x onerror="document.title = \'taken\'">'

/** The page of a node, and what it complains of. `serveAgain`: on the same port, as after a restart. */
const openPage = async (letters = [letterOf({ task: `mail ${HOSTILE}` })]) => {
  const { node, server: jobs } = await startNode({ minWorkers: 2, concurrency: 1 })
  const dead = deadLettersIn(letters)
  const serveOn = async (port: number, source: FarmSource = new LocalSource(node)) => {
    const dashboard = new WebDashboard({ token: TOKEN, host: '127.0.0.1', title: HOSTILE, report: () => {} })
    await dashboard.open(source, dead)
    const server = createServer((request, response) => {
      if (!dashboard.handle(request, response)) response.writeHead(404).end()
    })
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    return {
      port: (server.address() as AddressInfo).port,
      async close() {
        await dashboard.close()
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      },
    }
  }
  let served = await serveOn(0)
  const { port } = served
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  const problems: string[] = []
  page.on('pageerror', ({ message }) => problems.push(message))
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text())
  })
  onTestFinished(async () => {
    await page.close()
    await served.close()
  })
  await page.goto(`http://127.0.0.1:${port}/#token=${TOKEN}`)
  await page.getByText('live', { exact: true }).waitFor()
  const serveAgain = async (source?: FarmSource): Promise<void> => {
    served = await serveOn(port, source)
  }
  return { node, jobs, dead, page, problems, stop: () => served.close(), serveAgain }
}

const focused = (page: Page): Promise<string> => page.evaluate('document.activeElement.textContent')

test.skipIf(!isThere)('it is live, and what a task says is text', { timeout: 60_000 }, async () => {
  const { page, jobs, problems } = await openPage()
  // Neither the address nor the history keep the token.
  expect(page.url()).not.toContain('token')
  jobs.add('print', [HOSTILE, 'second line'], { id: 'printing' })
  jobs.add('sleep', [60_000], { id: 'sleeping' })
  const row = page.locator('#jobs tr', { hasText: 'sleeping' })
  await row.getByText('running').waitFor()
  await page.locator('#workers .job', { hasText: 'sleep' }).waitFor()
  await page.locator('#jobs tr', { hasText: 'printing' }).getByText('success').waitFor()
  await page.locator('#jobs tr', { hasText: 'printing' }).getByRole('button').click()
  const log = page.locator('#details pre.log')
  await log.waitFor()
  expect(await log.textContent()).toContain(HOSTILE)
  expect(await page.locator('#title').textContent()).toBe(HOSTILE)
  await page.keyboard.press('Escape')
  await page.keyboard.press('d')
  await page.locator('#letters').getByText('<script>').waitFor()
  // The markup has become no element.
  expect(await page.locator('script:not([src]), main img, dialog img').count()).toBe(0)
  expect(await page.title()).toMatch(/^prefork/)
  expect(problems).toEqual([])
})

test.skipIf(!isThere)('by keyboard alone: pause, resume, grow, revoke, retry', { timeout: 60_000 }, async () => {
  const { page, jobs, node, dead } = await openPage()
  const { keyboard } = page
  await keyboard.press('P')
  await until('the pause', () => node.stats().state === 'paused')
  await page.locator('#nodes').getByText('paused').waitFor()
  await keyboard.press('P')
  await until('the end of the pause', () => node.stats().state === 'running')
  await keyboard.press('+')
  await until('another worker', () => node.stats().scale.wanted === 3)
  // A key that is held is one key.
  for (let i = 0; i < 5; i++) await keyboard.down('+')
  await keyboard.up('+')
  await until('one more', () => node.stats().scale.wanted >= 4)

  jobs.add('sleep', [60_000], { id: 'sleeping' })
  await page.locator('#jobs tr', { hasText: 'sleeping' }).getByText('running').waitFor()
  await keyboard.press('j')
  expect(await focused(page)).toBe('sleep')
  await keyboard.press('Enter')
  await page.locator('#details').getByText('sleeping').waitFor()
  await keyboard.press('Escape')
  // Back where it was.
  expect(await focused(page)).toBe('sleep')
  await keyboard.press('x')
  await page.locator('#confirm').waitFor()
  await keyboard.press('y')
  await page.locator('#jobs tr', { hasText: 'sleeping' }).getByText('revoked').waitFor()
  await page.getByText('revoke: sleep sleeping: terminated').waitFor()

  await keyboard.press('d')
  await page.locator('#letters tr').waitFor()
  await until('the focus on the dead letter', async () => (await focused(page)).startsWith('mail'))
  await keyboard.press('R')
  await page.locator('#confirm').waitFor()
  await keyboard.press('y')
  await until('the retry', () => dead.retried.length > 0)
  await page.getByText('No dead letters.').waitFor()

  expect(node.stats().scale.wanted).toBe(4)

  // A job that has failed may be retried where it is listed, too.
  await keyboard.press('d')
  jobs.add('fail', [], { id: 'failing', maxAttempts: 1 })
  await page
    .locator('#newer')
    .or(page.locator('#jobs tr', { hasText: 'failing' }))
    .first()
    .waitFor()
  await keyboard.press('/')
  await keyboard.type('failing')
  await page.locator('#jobs tr', { hasText: 'failing' }).getByText('failure').waitFor()
  await keyboard.press('Enter')
  await until('the focus on the job that is found', async () => (await focused(page)) === 'fail')
  await keyboard.press('R')
  await page.locator('#confirm').getByText('Send fail failing back to jobs?').waitFor()
  await keyboard.press('y')
  await page.getByText('it is not among the dead letters any more').waitFor()

  // A chart is read by its arrows, and read out.
  await page.locator('#rate-plot').focus()
  await keyboard.press('ArrowLeft')
  await page.locator('#rate-note[aria-live=polite]').getByText('a second').waitFor()

  // Everything is reached by Tab as well, and seen to be.
  const reached = new Set<string>()
  await keyboard.press('a')
  for (let i = 0; i < 40; i++) {
    await keyboard.press('Tab')
    reached.add(await page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent.trim()"))
  }
  for (const name of [`Pause ${node.name}`, `One worker more on ${node.name}`, `Restart the workers of ${node.name}`, 'Hold h', 'Keys ?']) {
    expect([...reached]).toContain(name)
  }
})

test.skipIf(!isThere)('dead letters are read once, shown as they were read last, and a late answer is left out', { timeout: 60_000 }, async () => {
  const mine = [letterOf(), letterOf({ id: undefined }), letterOf({ id: undefined })]
  const { page, dead } = await openPage(mine)
  const filters: string[] = []
  let isNewerShown = false
  await page.route('**/dashboard/api/dead', async (route) => {
    const { filter } = route.request().postDataJSON() as { filter: string }
    filters.push(filter)
    const answer = await route.fetch()
    if (filter === 'slow') await until('the answer to the second filter', () => isNewerShown)
    await route.fulfill({ response: answer })
  })
  await page.keyboard.press('d')
  await page.getByText('3 dead letters', { exact: true }).waitFor()
  expect(filters).toEqual([''])
  expect(await page.locator('#letters tr').count()).toBe(3)
  // A message without an id cannot be named.
  await page.locator('#letters tr', { hasText: '(no id)' }).getByRole('button').first().focus()
  await page.keyboard.press('R')
  await page.getByText('This message has no id').waitFor()
  mine[0] = letterOf({ stack: 'Error: the second failure' })
  await page.keyboard.press('s')
  await until('the reading', async () => filters.length === 2 && (await page.locator('#dead-note').textContent()) === '3 dead letters')
  await page.locator('#letters tr', { hasText: 'dead-1' }).getByRole('button').click()
  await page.locator('#details').getByText('Error: the second failure').waitFor()
  // Its button asks, as the key does.
  await page.locator('#details').getByRole('button', { name: 'Retry' }).click()
  await page.locator('#confirm').getByText('Send mail dead-1 back to async_farm.jobs?').waitFor()
  await page.keyboard.press('Escape')
  // The answer to the first filter comes after that to the second.
  await page.keyboard.press('/')
  await page.keyboard.type('slow')
  await until('the first filter', () => filters.includes('slow'))
  const late = page.waitForResponse((response) => response.request().postData()?.includes('slow') === true)
  await page.locator('#filter').fill('dead-1')
  await page.getByText('1 dead letter', { exact: true }).waitFor()
  isNewerShown = true
  await (await late).finished()
  expect(await page.locator('#letters tr').count()).toBe(1)
  await page.getByRole('button', { name: 'Retry these 1' }).click()
  await page.getByText('Send the 1 dead letter that the filter finds back').waitFor()
  await page.keyboard.press('y')
  await until('the retry', () => dead.retried.length > 0)
  expect(dead.retried).toEqual([['dead-1']])
})

test.skipIf(!isThere)('a busy worker is profiled, and the profile is a file', { timeout: 60_000 }, async () => {
  const { page, jobs, problems } = await openPage()
  jobs.add('spinFor', [20_000], { id: 'spinning' })
  await page.locator('#workers li', { hasText: 'spinFor' }).getByRole('button').click()
  await page.locator('#details pre', { hasText: 'at spinFor' }).waitFor()
  await page.keyboard.press('Escape')
  // The focus is back on the worker.
  await page.keyboard.press('p')
  await page.locator('#details pre', { hasText: 'spinFor' }).filter({ hasText: 'samples' }).waitFor()
  expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe('Where its time went')
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download' }).click()])
  expect(file.suggestedFilename()).toMatch(/-worker-\d+\.cpuprofile$/)
  expect(JSON.parse(readFileSync(await file.path(), 'utf8'))).toMatchObject({ nodes: expect.any(Array), samples: expect.any(Array) })
  expect(problems).toEqual([])
})

test.skipIf(!isThere)('in a dialog the keys that its buttons show press them', { timeout: 60_000 }, async () => {
  const { page, jobs, dead, problems } = await openPage()
  const { keyboard } = page
  jobs.add('spinFor', [20_000], { id: 'spinning' })
  await page.locator('#workers li', { hasText: 'spinFor' }).getByRole('button').click()
  await page.getByRole('button', { name: 'Profile 5 s p' }).waitFor()
  await keyboard.press('p')
  await page.locator('#details pre', { hasText: 'samples' }).waitFor()
  await keyboard.press('Escape')

  await page.locator('#jobs tr', { hasText: 'spinning' }).getByRole('button').click()
  await page.getByRole('button', { name: 'End it x' }).waitFor()
  await keyboard.press('x')
  await page.locator('#confirm').getByText('End spinFor spinning?').waitFor()
  await keyboard.press('Escape')
  await keyboard.press('Escape')

  await keyboard.press('d')
  await until('the focus on the dead letter', async () => (await focused(page)).startsWith('mail'))
  await keyboard.press('Enter')
  await page.getByRole('button', { name: 'Retry R' }).waitFor()
  await keyboard.press('R')
  // As where it is listed, it asks first.
  await page
    .locator('#confirm')
    .getByText(/^Send mail /)
    .waitFor()
  expect(dead.retried).toEqual([])
  await keyboard.press('y')
  await until('the retry', () => dead.retried.length > 0)
  expect(problems).toEqual([])
})

test.skipIf(!isThere)('the list stands still while a row has the focus, and says what is newer', { timeout: 60_000 }, async () => {
  const { page, jobs } = await openPage()
  jobs.add('echo', ['first'], { id: 'first' })
  await page.locator('#jobs tr', { hasText: 'first' }).getByText('success').waitFor()
  await page.keyboard.press('j')
  for (let i = 0; i < 5; i++) jobs.add('echo', [i], { id: `later-${i}` })
  await page.getByRole('button', { name: '5 newer' }).waitFor()
  expect(await page.locator('#jobs tr').count()).toBe(1)
  await page.getByRole('button', { name: '5 newer' }).click()
  await page.locator('#jobs tr', { hasText: 'later-4' }).waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('first')
  await until('the one that is found', async () => (await page.locator('#jobs tr').count()) === 1)
})

test.skipIf(!isThere)('it goes on after a restart of the server; without the token it asks for it', { timeout: 60_000 }, async () => {
  const { page, node, stop, serveAgain } = await openPage()
  await page.keyboard.press('n')
  await stop()
  await page.getByText('the server does not answer; trying again').waitFor()
  // As over a broker, where the first answers of the nodes take a while.
  const local = new LocalSource(node)
  let begin = (): void => {}
  await serveAgain({
    open: async (receive) => {
      begin = () => void local.open(receive)
    },
    ask: (name, command) => local.ask(name, command),
    close: () => local.close(),
  })
  await page.getByText('live', { exact: true }).waitFor()
  await until('a state without nodes', async () => (await page.locator('#nodes tr').count()) === 0)
  begin()
  await page.locator('#nodes tr.chosen', { hasText: node.name }).waitFor()
  expect(await page.locator('#notice').textContent()).not.toContain('has gone')
  await page.evaluate("sessionStorage.removeItem('prefork-token')")
  await page.reload()
  await page.getByLabel('Token').fill('a-wrong-token-of-20-')
  await page.keyboard.press('Enter')
  await page.getByText('The token is not the one of this server.').waitFor()
  await page.getByLabel('Token').fill(TOKEN)
  await page.keyboard.press('Enter')
  await page.locator('#nodes tr').waitFor()
  // The address with another token, opened in the same tab.
  await page.evaluate("location.hash = '#token=a-wrong-token-of-20-'")
  await page.getByLabel('Token').waitFor()
  await page.evaluate(`location.hash = '#token=${TOKEN}'`)
  await page.locator('#nodes tr').waitFor()
  expect(page.url()).not.toContain('token')
})

test.skipIf(!isThere).each([390, 1280])('nothing is wider than a screen of %i pixels', { timeout: 60_000 }, async (width) => {
  const { page, jobs } = await openPage()
  await page.setViewportSize({ width, height: 800 })
  jobs.add('fail', ['x'.repeat(500)], { id: 'y'.repeat(120), maxAttempts: 1 })
  await page.locator('#jobs tr').waitFor()
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
})
