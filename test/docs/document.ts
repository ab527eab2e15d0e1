import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** A fenced block of a Markdown page. */
export interface Block {
  lang: string
  text: string
  line: number
  /** The HTML comment on the line above the fence. */
  note: string
}

/** `$ command` in a console block, with the output that the page shows below it. */
export interface Command {
  command: string
  output: string[]
  line: number
}

export const readPage = (path: string): string => readFileSync(join(root, path), 'utf8')

export const blocksOf = (page: string): Block[] => {
  const blocks: Block[] = []
  const lines = page.split('\n')
  for (let i = 0; i < lines.length; i++) {
    const lang = /^```(\S+)/.exec(lines[i]!)?.[1]
    if (lang === undefined) continue
    const end = lines.indexOf('```', i + 1)
    if (end < 0) throw new Error(`line ${i + 1}: the block has no end`)
    const above = lines.slice(0, i).findLast((line) => line.trim() !== '') ?? ''
    blocks.push({ lang, text: `${lines.slice(i + 1, end).join('\n')}\n`, line: i + 1, note: /^<!-- (.*) -->$/.exec(above)?.[1] ?? '' })
    i = end
  }
  return blocks
}

/** The file name of a block: its first line is a comment with nothing but the name. */
export const fileNameOf = (block: Block): string | undefined => /^(?:\/\/|#) ([\w./-]+\.\w+)$/m.exec(block.text.split('\n', 1)[0]!)?.[1]

export const isCode = (block: Block): boolean => /^(js|mjs|cjs|ts|json|jsonc)$/.test(block.lang)

export const commandsOf = (block: Block): Command[] => {
  const commands: Command[] = []
  for (const [i, line] of block.text.trimEnd().split('\n').entries()) {
    if (line.startsWith('$ ')) commands.push({ command: line.slice(2), output: [], line: block.line + 1 + i })
    else commands.at(-1)?.output.push(line)
  }
  return commands
}

/** A package with `prefork`, its optional peers and the types of Node installed. */
export const makeProject = (): { folder: string; remove: () => void } => {
  const folder = mkdtempSync(join(tmpdir(), 'prefork-docs-'))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules/prefork'))
  symlinkSync(join(root, 'node_modules/@types'), join(folder, 'node_modules/@types'))
  for (const name of ['pino', 'amqplib']) symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module", "private": true }\n')
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

export const writeBlock = (folder: string, name: string, text: string): void => {
  mkdirSync(dirname(join(folder, name)), { recursive: true })
  writeFileSync(join(folder, name), text)
}

/** Runs `node …` or `npx tsc …`; resolves with what it printed and its exit code. */
export const run = async (folder: string, command: string): Promise<{ output: string; code: number | undefined }> => {
  const [program, ...args] = command.split(' ')
  if (program === 'npx' && args[0] === 'tsc') args[0] = join(root, 'node_modules/typescript/bin/tsc')
  else if (program !== 'node') throw new Error(`a page may run node and npx tsc, not: ${command}`)
  // Pages show plain text, and the runner of these tests asks for colours.
  const env = { FORCE_COLOR: undefined, NO_COLOR: '1' }
  const options = { cwd: folder, env, stdin: 'ignore', all: true, reject: false, stripFinalNewline: false, timeout: 25_000 } as const
  const { all, exitCode } = await execa(process.execPath, args, options)
  return { output: all, code: exitCode }
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** A pattern for the output that a page shows: `…` matches anything within a line; a line of `…` alone matches any lines. */
export const pattern = (shown: readonly string[]): RegExp =>
  new RegExp(`^${shown.map((line) => (line.trim() === '…' ? '(?:.*\\n)*?' : `${line.split('…').map(escaped).join('.*')}\\n`)).join('')}$`)
