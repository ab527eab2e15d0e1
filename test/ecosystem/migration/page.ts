/** What the tables and blocks of a migration page say, so that tests run what it shows. */
import { type Block, blocksOf, fileNameOf, readPage } from '../../docs/document.js'

export const codeOf = (page: string, heading: string, name: string): string => sectionOf(page, heading).find((block) => fileNameOf(block) === name)!.text

const textOf = (page: string, heading: string): string => {
  const text = readPage(page)
    .split(/^## /m)
    .find((section) => section.startsWith(`${heading}\n`))
  if (text === undefined) throw new Error(`${page} has no section '${heading}'`)
  return text
}

export const sectionOf = (page: string, heading: string): Block[] => blocksOf(textOf(page, heading))

/** The rows of the tables of a section that match, as the groups of the pattern. */
export const rowsOf = (page: string, heading: string, row: RegExp): string[][] =>
  textOf(page, heading)
    .split('\n')
    .flatMap((line) => {
      const found = row.exec(line)
      return found === null ? [] : [found.slice(1)]
    })

/** `{ failures: 2 }` as a value. */
export const literal = (text: string): Record<string, number> => JSON.parse(text.replace(/(\w+):/g, '"$1":')) as Record<string, number>
