import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { ownFile } from '../../util/own-files.js'

const TYPES = { html: 'text/html; charset=utf-8', css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8', svg: 'image/svg+xml' } as const

/** By path: the files of the page. Their sources are in page/; the build copies them. */
const FILES: Readonly<Record<string, string>> = {
  '/': 'index.html',
  ...Object.fromEntries(
    [
      'base.css',
      'boxes.css',
      'lists.css',
      'dialogs.css',
      'narrow.css',
      'page.js',
      'connection.js',
      'actions.js',
      'charts.js',
      'dead-letters.js',
      'details.js',
      'elements.js',
      'keys.js',
      'lists.js',
      'text.js',
    ].map((file) => [`/dashboard/${file}`, file]),
  ),
}

/**
 * On every response of the dashboard. What a task logs is shown as text; should it ever become markup, no script, style, image or frame of it
 * would load.
 */
export const SECURITY_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
} as const

const ICON_PATH = '/dashboard/icon.svg'
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M8 1v5M8 6 3 14M8 6v8M8 6l5 8" fill="none" stroke="#2f6fed" stroke-width="2"/></svg>`

/** The files of the page, read when they are asked for the first time. */
export class PageFiles {
  readonly #read = new Map<string, Buffer>()

  has(path: string): boolean {
    return path === ICON_PATH || Object.hasOwn(FILES, path)
  }

  send(path: string, response: ServerResponse, { head }: { head: boolean }): void {
    const file = FILES[path] ?? ICON_PATH
    const body = this.#bodyOf(file)
    const type = TYPES[file.slice(file.lastIndexOf('.') + 1) as keyof typeof TYPES]
    response.writeHead(200, { ...SECURITY_HEADERS, 'content-type': type, 'content-length': body.length })
    response.end(head ? undefined : body)
  }

  #bodyOf(file: string): Buffer {
    let body = this.#read.get(file)
    if (body === undefined) {
      body = file === ICON_PATH ? Buffer.from(ICON) : readFileSync(ownFile(`dashboard/${file}`))
      this.#read.set(file, body)
    }
    return body
  }
}
