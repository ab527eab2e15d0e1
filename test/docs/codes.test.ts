/** The tables of the documentation list every error code of the source, and no others. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readPage, root } from './document.js'

const CODE = /\bERR_PREFORK_[A-Z_]+\b/g

const codesIn = (texts: readonly string[]): string[] => [...new Set(texts.flatMap((text) => text.match(CODE) ?? []))].sort()

const files = (folder: string, ending: RegExp): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name))
    .map((name) => join(folder, name))

const pages = ['README.md', ...files('docs', /\.md$/)].map(readPage)
const inCode = codesIn(files('src', /\.tsx?$/).map((path) => readFileSync(join(root, path), 'utf8')))

it('every code has a row in a table', () => {
  const rows = pages.flatMap((page) => page.split('\n').filter((line) => /^\|.*`ERR_PREFORK_/.test(line)))
  expect(inCode.length).toBeGreaterThan(20)
  expect(codesIn(rows)).toEqual(inCode)
})

it('no page names an unknown code', () => {
  expect(codesIn(pages).filter((code) => !inCode.includes(code))).toEqual([])
})
