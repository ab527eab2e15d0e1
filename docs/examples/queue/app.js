// The routes. An upload is answered when its job is stored; the page learns the rest from events.
import { readFileSync } from 'node:fs'
import { HttpError, readBody, send, sendError, sendJson } from '../server/http.js'
import { WIDTHS } from './pictures.js'

const MAX_UPLOAD = 20 * 1024 * 1024
const ID = /^[0-9a-f-]{36}$/

const page = (path, type) => ({ headers: { 'content-type': `${type}; charset=utf-8` }, body: readFileSync(new URL(path, import.meta.url)) })
const PAGES = {
  '/': page('./public/index.html', 'text/html'),
  '/page.js': page('./public/page.js', 'text/javascript'),
  '/style.css': page('../server/public/style.css', 'text/css'),
  '/pictures.css': page('./public/pictures.css', 'text/css'),
}
PAGES['/'].headers['content-security-policy'] = "default-src 'self'; img-src 'self' data:"

/** @returns a listener for `http.createServer` */
export function createApp({ pictures, feed, kill }) {
  async function picture(res, id, width) {
    const jpeg = ID.test(id) && WIDTHS.includes(Number(width)) ? await pictures.file(id, width) : undefined
    if (jpeg === undefined) throw new HttpError(404, 'there is no such picture')
    send(res, 200, { 'content-type': 'image/jpeg', 'cache-control': 'private, max-age=3600' }, jpeg)
  }

  async function upload(req, res) {
    const bytes = await readBody(req, MAX_UPLOAD)
    if (bytes.length === 0) throw new HttpError(400, 'the body is empty: send the bytes of a picture')
    sendJson(res, 201, { id: await pictures.add(bytes) })
  }

  async function route(req, res, path) {
    const [, first, id, width] = path.split('/')
    if (req.method === 'GET') {
      if (PAGES[path]) return send(res, 200, PAGES[path].headers, PAGES[path].body)
      if (path === '/live') return feed.subscribe(res)
      if (path === '/pictures') return sendJson(res, 200, await pictures.list())
      if (first === 'pictures' && width) return picture(res, id, width)
    }
    if (req.method === 'POST') {
      // A page of another site cannot send this header without being asked for it first, which is refused.
      if (req.headers['x-demo'] !== '1') throw new HttpError(403, 'send the header x-demo: 1')
      if (path === '/pictures') return upload(req, res)
      if (path === '/paint') return sendJson(res, 201, { id: await pictures.paint() })
      if (path === '/kill') return kill()
    }
    throw new HttpError(404, `no route for ${req.method} ${path}`)
  }

  return (req, res) => {
    route(req, res, req.url.split('?')[0]).catch((error) => sendError(res, error))
  }
}
