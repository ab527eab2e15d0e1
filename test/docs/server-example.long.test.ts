/** The example of a server: what its page shows, in a real browser where there is one. */
import { join } from 'node:path'
import { execa } from 'execa'
import { describe, expect, it, onTestFinished } from 'vitest'
import { missingBrowser, openPage } from '../fixtures/browser.js'
import { until } from '../fixtures/until.js'
import { root } from './document.js'

const start = async (): Promise<string> => {
  const server = execa(process.execPath, [join(root, 'docs/examples/server/server.js')], {
    env: { PORT: '0', WORKERS: '2' },
    all: true,
    reject: false,
    killSignal: 'SIGINT',
    forceKillAfterDelay: 20_000,
  })
  onTestFinished(async () => {
    server.kill()
    await server
  })
  let said = ''
  server.all.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  return until('the server has said its address', () => {
    if (server.exitCode !== null) throw new Error(`the server ended: ${said}`)
    return /http:\S+/.exec(said)?.[0]
  })
}

const WIDE = { viewport: { width: 1280, height: 900 } }
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }

/** The distances of the facts of a worker that stand in one line, with long values; ticks come between two expressions, not within one. */
const GAPS = `(() => {
  const spans = [...document.querySelector('.worker .facts').children]
  for (const [index, text] of ['1,158 MB', '12,233 jobs', 'up 12 h 59 min'].entries()) spans[index].textContent = text
  const boxes = spans.map((span) => span.getBoundingClientRect())
  const pairs = [[0, 1], [1, 2], [0, 2]].map(([a, b]) => [boxes[a], boxes[b]]).filter(([a, b]) => a.bottom > b.top && b.bottom > a.top)
  return pairs.map(([a, b]) => b.left - a.right)
})()`

it('has its load on', async () => {
  const url = await start()
  const load = await until('a request of the load is answered', async () => {
    const { load } = (await (await fetch(`${url}/stats`)).json()) as { load: { rate: number; ok: number } }
    return load.ok > 0 ? load : undefined
  })
  expect(load.rate).toBeGreaterThan(0)
})

describe.skipIf(missingBrowser !== undefined)('its page', () => {
  it('has a picture, and texts that do not collide', async () => {
    const url = await start()
    for (const view of [WIDE, PHONE]) {
      const page = await openPage(url, view)
      await page.waitForSelector('#image:not([hidden])')
      await page.waitForSelector('.worker')
      for (const gap of await page.evaluate<number[]>(GAPS)) expect(gap).toBeGreaterThanOrEqual(4)
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(view.viewport.width)
    }
  })

  it('shows the rate of the server, and no job of less than two seconds as a long one', async () => {
    const url = await start()
    const page = await openPage(url, WIDE)
    await page.waitForSelector('.worker')
    await fetch(`${url}/load?rate=9`, { method: 'POST' })
    const shown = "['value', 'textContent'].map((name, index) => document.getElementById(['load-rate', 'load-rate-text'][index])[name]).join()"
    await until('the page shows the rate', async () => (await page.evaluate(shown)) === '9,9')
    await fetch(`${url}/load?rate=0`, { method: 'POST' })
    const nap = fetch(`${url}/nap?ms=1800`)
    // The classes of its card each time that it is drawn with more than 300 ms.
    const classes = await page.evaluate<string[]>(`new Promise((resolve) => {
      const seen = []
      new MutationObserver(() => {
        const job = [...document.querySelectorAll('.worker .job')].find((one) => one.textContent.startsWith('nap'))
        if (job && parseInt(job.lastChild.textContent.replace(',', '')) > 300) seen.push(job.className)
        else if (!job && seen.length > 0) resolve(seen)
      }).observe(document.getElementById('workers'), { subtree: true, childList: true })
    })`)
    expect(new Set(classes)).toEqual(new Set(['job on']))
    await nap
  })

  it('cuts an entry of the journal to three lines, and opens it', async () => {
    const url = await start()
    const page = await openPage(url, WIDE)
    await page.waitForSelector('.worker')
    await page.click('[data-path="/spin"]')
    await page.waitForSelector('#journal .cut .text')
    const height = () => page.evaluate<number>("document.querySelector('#journal .cut .text').clientHeight")
    const cut = await height()
    expect(cut).toBeLessThanOrEqual(3 * 14 * 1.45 + 1)
    await page.click('#journal .cut .text')
    expect(await height()).toBeGreaterThan(cut)
    await page.focus('#journal .cut .text')
    await page.keyboard.press('Enter')
    expect(await height()).toBe(cut)
  })

  it('shows the answer to a tap on the screen of a phone, and has targets for fingers', async () => {
    const url = await start()
    const page = await openPage(url, PHONE)
    await page.waitForSelector('.worker')
    await page.tap('[data-path="/abort"]')
    await until('the page has the answer', () => page.evaluate("document.getElementById('answer').textContent.includes('HTTP 502')"))
    const answer = await page.evaluate<{ top: number; bottom: number }>("document.getElementById('answer').getBoundingClientRect().toJSON()")
    expect(answer.top).toBeGreaterThanOrEqual(0)
    expect(answer.bottom).toBeLessThanOrEqual(PHONE.viewport.height)
    const small = `[...document.querySelectorAll('button, input, [role=button]')]
      .map((one) => [one.id || one.textContent, one.getBoundingClientRect()])
      .filter(([, box]) => box.width < 44 || box.height < 44)
      .map(([name]) => name)`
    expect(await page.evaluate(small)).toEqual([])
  })
})
