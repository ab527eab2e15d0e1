/** msgpackr as it is shipped: in the bundles that pack messages, and in no other. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { expect, test } from 'vitest'

const dist = fileURLToPath(new URL('../../../dist/', import.meta.url))

/** The text of a file of dist, and of all that it imports or requires there. */
const shipped = (file: string, seen = new Map<string, string>()): string => {
  if (seen.has(file)) return ''
  const text = readFileSync(join(dist, file), 'utf8')
  seen.set(file, text)
  for (const [, to] of text.matchAll(/(?:from|import|require|import\()\s*\(?["'](\.{1,2}\/[^"']+\.c?js)["']/g)) shipped(join(dirname(file), to!), seen)
  return [...seen.values()].join('\n')
}

const MARKER = 'MessagePack 0xC1'

test.for(['index.js', 'worker/index.js', 'worker/entry.cjs', 'worker/main.cjs', 'worker/watchdog.cjs'])('%s does not hold it', (file) => {
  expect(shipped(file)).not.toContain(MARKER)
})

test.for(['runtime/index.js', 'node/index.js', 'amqp/index.js'])('%s holds it, without native code and without functions made of text', (file) => {
  const text = shipped(file)
  expect(text).toContain(MARKER)
  expect(text).not.toMatch(/new Function\b|msgpackr-extract|setExtractor/)
  expect(text).not.toMatch(/(?:from|import|require\()\s*["']msgpackr/)
})

test('it packs where no text may become code, and adds nothing to the table of a host that uses msgpackr', async () => {
  const script = `
    import msgpackr from 'msgpackr/index-no-eval'
    const { encodeReply, decodeReply } = await import(${JSON.stringify(new URL('../../../dist/runtime/index.js', import.meta.url).href)})
    const value = [{ id: 1, name: 'a' }, { id: 2, name: 'b' }, -0, new Date(-1), 2n ** 53n]
    for (let i = 0; i < 20; i++) decodeReply(encodeReply({ ok: true, value }))
    const date = msgpackr.unpack(Buffer.from('c70cff3b9ac9ffffffffffffffffff', 'hex'))
    console.log(JSON.stringify([Object.is(decodeReply(encodeReply({ ok: true, value })).value[2], -0), date.getTime()]))`
  const options = ['--disallow-code-generation-from-strings', '--input-type=module', '--eval', script]
  const { stdout, stderr } = await execa(process.execPath, options, { cwd: dirname(dist) })
  expect(stderr).toBe('')
  // The host's copy still reads one nanosecond before 1970 by msgpackr's own extension: as 0, not as -1.
  expect(stdout).toBe('[true,0]')
})
