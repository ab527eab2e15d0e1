// The routes. A handler runs its work in the pool and awaits it, like any other asynchronous call.
import { readFileSync } from 'node:fs'
import { clientSignal } from 'prefork'
import { HttpError, numberParam, readBody, send, sendError, sendJson } from './http.js'

const MAX_UPLOAD = 20 * 1024 * 1024

// Route → [task, arguments, options]. Only POST, so that no crawler or prefetch triggers them.
// The soft limit aborts the signal and interrupts if that is safe; the hard limit kills the worker.
const FAULTS = {
  '/segfault': ['segfault'],
  '/abort': ['abort'],
  '/exit': ['exit'],
  '/spin': ['spin', [], { softTimeLimit: 200, timeLimit: 800 }],
  '/spin-after-await': ['spinAfterAwait', [], { softTimeLimit: 200, timeLimit: 400 }],
  '/leak': ['leak', [], { timeLimit: 30_000 }],
  '/fail': ['fail'],
}

const page = (file, type) => ({ type: `${type}; charset=utf-8`, body: readFileSync(new URL(`./public/${file}`, import.meta.url)) })
const PAGES = {
  '/': page('index.html', 'text/html'),
  '/page.js': page('page.js', 'text/javascript'),
  '/style.css': page('style.css', 'text/css'),
}

/** @returns a listener for `http.createServer` */
export function createApp({ pool, feed, load, snapshot }) {
  let painting
  const sample = () => {
    // Painted once, by the pool, at the first request; a failure is not cached.
    painting ??= pool.run('paint', [640, 480]).catch((error) => {
      painting = undefined
      throw error
    })
    return painting
  }

  async function resize(req, res, url) {
    const width = numberParam(url, 'width', 320, 16, 2_000)
    const signal = clientSignal(res)
    const image = req.method === 'POST' ? await readBody(req, MAX_UPLOAD) : await sample()
    const began = performance.now()
    const result = await pool.run('resize', [image, width], { signal })
    const headers = {
      'content-type': 'image/jpeg',
      'x-worker-pid': result.pid,
      'x-image-size': `${result.width}x${result.height}`,
      'server-timing': `job;dur=${(performance.now() - began).toFixed(1)}`,
    }
    send(res, 200, headers, result.jpeg)
  }

  async function nap(res, url) {
    const ms = numberParam(url, 'ms', 2_000, 0, 60_000)
    sendJson(res, 200, { result: await pool.run('nap', [ms], { signal: clientSignal(res) }) })
  }

  // With a higher priority than ordinary requests, so that the page shows the effect at once.
  async function runFault(res, name, args = [], options = {}) {
    sendJson(res, 200, { result: await pool.run(name, args, { priority: 10, ...options, signal: clientSignal(res) }) })
  }

  // Kills from outside, like the kernel's OOM killer or an operator: the pool sees only the exit.
  function kill(res, url) {
    const id = numberParam(url, 'worker', 0, 1, Number.MAX_SAFE_INTEGER)
    const { workers } = pool.stats()
    const worker = id ? workers.find((one) => one.id === id) : (workers.find(({ job }) => job) ?? workers.find(({ pid }) => pid))
    if (!worker?.pid) throw new HttpError(404, 'there is no such worker')
    process.kill(worker.pid, 'SIGKILL')
    sendJson(res, 200, { killed: worker.pid })
  }

  function setLoad(res, url) {
    const rate = numberParam(url, 'rate', 5, 0, 200)
    if (rate > 0) load.start(rate)
    else load.stop()
    sendJson(res, 200, load.snapshot())
  }

  async function route(req, res, url) {
    const path = url.pathname
    if (req.method === 'GET' || req.method === 'HEAD') {
      if (PAGES[path])
        return send(
          res,
          200,
          { 'content-type': PAGES[path].type, 'content-security-policy': "default-src 'self'; img-src 'self' blob: data:" },
          PAGES[path].body,
        )
      if (path === '/resize') return resize(req, res, url)
      if (path === '/nap') return nap(res, url)
      if (path === '/stats') return sendJson(res, 200, snapshot())
      if (path === '/live') return feed.subscribe(res)
    }
    if (req.method === 'POST') {
      if (path === '/resize') return resize(req, res, url)
      if (path === '/load') return setLoad(res, url)
      if (path === '/flood') return sendJson(res, 200, { statuses: await load.flood(400) })
      if (FAULTS[path]) return runFault(res, ...FAULTS[path])
      if (path === '/kill') return kill(res, url)
    }
    throw new HttpError(404, `no route for ${req.method} ${path}`)
  }

  return async (req, res) => {
    try {
      await route(req, res, parseUrl(req))
    } catch (error) {
      sendError(res, error)
    }
  }
}

function parseUrl(req) {
  try {
    return new URL(`http://localhost${req.url}`)
  } catch {
    throw new HttpError(400, 'invalid URL')
  }
}
