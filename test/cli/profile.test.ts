/** `prefork control profile`: the file, and what is printed. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { profile as runProfile } from '../../src/cli/commands/profile.js'
import type { CpuProfile } from '../../src/wire/cpu-profile.js'
import { controlClientOf, ScriptedNode } from '../fixtures/scripted-node.js'
import { commandLine } from './command-line.js'

const frame = (functionName: string, url: string) => ({ functionName, scriptId: '1', url, lineNumber: 11, columnNumber: 0 })
const profile: CpuProfile = {
  nodes: [
    { id: 1, callFrame: frame('(root)', ''), hitCount: 0, children: [2, 4] },
    { id: 2, callFrame: frame('res\u001bize', 'file:///app/tasks.js'), hitCount: 1, children: [3] },
    { id: 3, callFrame: frame('decode', 'file:///app/decode.js'), hitCount: 8 },
    { id: 4, callFrame: frame('(idle)', ''), hitCount: 1 },
  ],
  samples: [2, 3],
  timeDeltas: [0, 1_000],
  startTime: 0,
  endTime: 5_000_000,
}

const folder = (): string => {
  const path = mkdtempSync(join(tmpdir(), 'prefork-test-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

const nodeWith = (name: string, answer: unknown = { worker: 3, profile }): ScriptedNode => {
  const node = new ScriptedNode({ node: name })
  node.answers.profile = answer
  return node
}

const controlled = (...nodes: ScriptedNode[]) => commandLine({ farm: { createControlClient: async () => controlClientOf(...nodes) } })

test('writes the file, and prints its path and the heaviest calls', async () => {
  const node = nodeWith('alpha')
  const { run, stdout } = controlled(node)
  const path = join(folder(), 'it.cpuprofile')
  expect(await run('control', 'profile', '3', '--ms', '700', '--output', path)).toBe(0)
  expect(node.asked).toEqual([{ command: 'profile', worker: 3, ms: 700 }])
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(profile)
  expect(stdout.text.split('\n')).toEqual([
    'alpha, worker 3: 5.0 s, 10 samples, idle 10.0 %',
    path,
    '',
    expect.stringMatching(/self +total +call/),
    ' 500 ms  10.0 %    4.5 s  90.0 %  res\\x1bize  /app/tasks.js:12',
    '  4.0 s  80.0 %    4.0 s  80.0 %    decode  /app/decode.js:12',
    ' 500 ms  10.0 %   500 ms  10.0 %  (idle)',
    '',
  ])
})

test('names a file after the node, the worker and the time', async () => {
  const line = controlled(nodeWith('al/pha'))
  const path = folder()
  expect(await runProfile({ command: 'profile', worker: 3 }, {}, { ...line.context, folder: path })).toBe(0)
  expect(readdirSync(path)).toEqual([expect.stringMatching(/^al_pha-worker-3-\d{8}-\d{6}\.cpuprofile$/)])
})

test('two of the same second have a file each', async () => {
  vi.spyOn(Date.prototype, 'toISOString').mockReturnValue('2026-11-25T13:29:51.000Z')
  onTestFinished(() => void vi.restoreAllMocks())
  // Their names differ, but not in a file's name.
  const line = controlled(nodeWith('a/b'), nodeWith('a_b'))
  const path = folder()
  expect(await runProfile({ command: 'profile', worker: 3 }, {}, { ...line.context, folder: path })).toBe(0)
  expect(readdirSync(path).sort()).toEqual(['a_b-worker-3-20261125-132951-2.cpuprofile', 'a_b-worker-3-20261125-132951.cpuprofile'])
})

test('without an answer says what may take longer', async () => {
  const { run, stderr } = controlled()
  expect(await run('control', 'profile', '3', '--ms', '1')).toBe(5)
  expect(stderr.text).toMatch(/No node answered within 2\.001 s\..* A worker in native code takes up to 5 s longer: name its node with --node\.\n$/)
})

test('writes a file for each node, and prints the refusals of others', async () => {
  const path = folder()
  const { run, stdout } = controlled(
    nodeWith('alpha'),
    nodeWith('beta'),
    nodeWith('gamma', new RangeError('There is no worker 3')),
    nodeWith('old', { stack: 'x' }),
  )
  expect(await run('control', 'profile', '3', '--output', join(path, 'it.cpuprofile'))).toBe(6)
  expect(readdirSync(path).sort()).toEqual(['it.alpha.cpuprofile', 'it.beta.cpuprofile'])
  expect(stdout.text).toContain('{"node":"gamma","ok":false,"error":"There is no worker 3"}')
  expect(stdout.text).toContain('{"node":"old","ok":true,"value":{"stack":"x"}}')
})

test('a file that cannot be written is an error', async () => {
  const { run, stderr } = controlled(nodeWith('alpha'))
  expect(await run('control', 'profile', '3', '--output', join(folder(), 'none', 'it.cpuprofile'))).toBe(1)
  expect(stderr.text).toMatch(/^prefork: The profile cannot be written: ENOENT/)
})

test.each([
  [['profile', '0'], /The worker must be a whole number of at least 1/],
  [['profile', '1', '--ms', '60001'], /--ms must be a whole number from 1 to 60000; it was given '60001'/],
])('%j is refused in one line', async (typed, message) => {
  const { run, stderr } = commandLine()
  expect(await run('control', ...typed)).toBe(2)
  expect(stderr.text).toMatch(message)
})
