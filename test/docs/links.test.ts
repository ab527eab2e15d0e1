/** Every relative link of a page points to a file, and every anchor to a heading. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from './document.js'

const pagesIn = (folder: string): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return pagesIn(path)
    return entry.name.endsWith('.md') ? [path] : []
  })

const proseOf = (path: string): string => readFileSync(join(root, path), 'utf8').replace(/^```[\s\S]*?^```$/gm, '')

/** The anchors of the headings, made as GitHub makes them. */
const anchorsOf = (path: string): string[] =>
  [...proseOf(path).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )

for (const page of ['README.md', 'CHANGELOG.md', ...pagesIn('docs')]) {
  it(page, () => {
    const broken: string[] = []
    for (const [, link] of proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(link!)) continue
      const [file, anchor] = link!.split('#') as [string, string?]
      const target = file === '' ? page : join(dirname(page), file)
      if (!existsSync(join(root, target))) broken.push(link!)
      else if (anchor !== undefined && statSync(join(root, target)).isFile() && !anchorsOf(target).includes(anchor)) broken.push(link!)
    }
    expect(broken).toEqual([])
  })
}
