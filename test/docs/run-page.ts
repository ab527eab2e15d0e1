import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { reachable, removeQueues } from '../amqp/rabbit.js'
import { INSTALL_TIMEOUT, installPackages, linkPackages } from '../ecosystem/packages.js'
import { blocksOf, commandsOf, fileNameOf, isCode, makeProject, pattern, readPage, run, writeBlock } from './document.js'

/** Reads `<!-- node >= 22.18 -->` above a console block: the block runs on those versions only. */
const runsHere = (note: string): boolean => {
  const wanted = /^node >= (\d+)\.(\d+)$/.exec(note)
  if (wanted === null) return true
  const [major, minor] = process.versions.node.split('.').map(Number) as [number, number]
  return major > Number(wanted[1]) || (major === Number(wanted[1]) && minor >= Number(wanted[2]))
}

/** Stands above a console block that needs a broker. Pages run in parallel, so each has queues of its own, with these names. */
const BROKER = 'needs RabbitMQ'
const QUEUE = /'(prefork\.tour(?:\.\w+)?)'/g
const EXCHANGES = ['async_farm.supervisor', 'async_farm.worker']

/** Stands above a console block that needs other packages: `<!-- needs packages: express -->`. */
const packagesOf = (note: string): string[] => /^needs packages: (.+)$/.exec(note)?.[1]?.split(' ') ?? []

/** Tests a page: writes every block of code to its file, runs every command and compares its output with the page. */
export const testPage = (path: string): void => {
  const blocks = blocksOf(readPage(path)).filter((block) => !block.note.startsWith('not run:'))
  const code = blocks.filter(isCode)
  const consoles = blocks.filter((block) => block.lang === 'console' && runsHere(block.note))
  if (code.length === 0) return

  describe(path, () => {
    let project: ReturnType<typeof makeProject>
    const packages = [...new Set(consoles.flatMap(({ note }) => packagesOf(note)))]
    beforeAll(async () => {
      if (packages.length > 0) await installPackages()
      project = makeProject()
      linkPackages(project.folder, packages)
    }, INSTALL_TIMEOUT)
    afterAll(async () => {
      project.remove()
      if (reachable && blocks.some(({ note }) => note === BROKER))
        await removeQueues(new Set(code.flatMap(({ text }) => [...text.matchAll(QUEUE)].map((found) => found[1]!))), EXCHANGES)
    })

    it('names every block of code as a file, and uses every file', () => {
      for (const block of code) {
        const name = fileNameOf(block)
        expect(name, `line ${block.line}: the first line is not a comment with a file name`).toBeDefined()
        const base = name!.replace(/\.\w+$/, '')
        const used = blocks.some((other) => other !== block && other.text.includes(base)) || name === 'tsconfig.json'
        expect(used, `line ${block.line}: nothing runs or imports ${name}`).toBe(true)
      }
    })

    // In the order of the page: a later block of the same name replaces the earlier one.
    const steps = blocks.filter((block) => isCode(block) || consoles.includes(block))
    for (const block of consoles) {
      for (const { command, output, line } of commandsOf(block)) {
        it.skipIf(block.note === BROKER && !reachable)(`${command} (line ${line})`, async () => {
          for (const file of steps.slice(0, steps.indexOf(block)).filter(isCode)) writeBlock(project.folder, fileNameOf(file)!, file.text)
          const result = await run(project.folder, command)
          expect(result.output).toMatch(pattern(output))
          const wanted = Number(/^exits with (\d+)$/.exec(block.note)?.[1] ?? 0)
          expect(result.code, result.output).toBe(wanted)
        })
      }
    }
  })
}
