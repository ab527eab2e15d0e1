/** A disk that is full, and a file that is removed, replaced or damaged, under a node. */
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { until } from '../fixtures/until.js'
import { checkRuns, problemLines } from './check-runs.js'
import { Member, type MemberError } from './member.js'
import { ProofFolder } from './proof-folder.js'
import type { ProofReport } from './report.js'

const NODE = { minWorkers: 1, maxWorkers: 1, concurrency: 5, prefetchPerWorker: 5 }

/** Undefined: a small disk cannot be mounted here. */
export const fullDisk = async (seconds: number): Promise<ProofReport | undefined> => {
  await using outer = new ProofFolder()
  const disk = join(outer.folder, 'disk')
  mkdirSync(disk)
  if ((await execa('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', disk], { reject: false })).failed) return undefined
  try {
    return await whileFull(disk, seconds)
  } finally {
    await execa('umount', ['-l', disk])
  }
}

const fill = (path: string): void => {
  const ballast = openSync(path, 'w')
  try {
    for (;;) writeSync(ballast, Buffer.alloc(4096))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  } finally {
    closeSync(ballast)
  }
}

const whileFull = async (disk: string, seconds: number): Promise<ProofReport> => {
  await using folder = new ProofFolder(disk)
  const [client, node] = await Promise.all([Member.start(folder), Member.start(folder)])
  await node.call('node', NODE)
  const bulk = Array.from({ length: 10 }, (_, index) => ({ task: 'nap', args: [500], options: { id: `job-${index}` } }))
  const added = await client.queue<string[]>('default', 'addBulk', bulk)
  await until('five have begun', () => folder.ids('begun').length === 5)
  fill(join(disk, 'ballast'))
  const began = performance.now()
  const refused = await client.queue('default', 'add', 'nap', [0], { id: 'late' }).catch((error: MemberError) => error)
  const refusedAfter = performance.now() - began
  await until('the five have ended', () => folder.ids('ended').length === 5)
  await delay(1_000 * seconds)
  const meanwhile = { begun: folder.ids('begun').length, confirmed: folder.ids('confirmed').length }
  rmSync(join(disk, 'ballast'))
  const freed = performance.now()
  await until('all has completed', () => added.every((id) => folder.states().get(id) === 'completed'))
  const settledAfter = performance.now() - freed
  await until('all is told', () => folder.ids('confirmed').length === added.length)
  return {
    figures: { seconds, 'add refused after, ms': Math.round(refusedAfter), 'all ended after, ms': Math.round(settledAfter) },
    problems: [
      ...((refused as MemberError).code === 'ERR_PREFORK_STORE_FULL' ? [] : [`an add on a full disk came to ${String(refused)}`]),
      ...(meanwhile.begun === 5 ? [] : [`${meanwhile.begun} runs began while the disk was full`]),
      ...(meanwhile.confirmed === 0 ? [] : [`${meanwhile.confirmed} ends were confirmed while the disk was full`]),
      ...(folder.ids('begun').length === 10 ? [] : [`${folder.ids('begun').length} runs of 10 jobs`]),
      ...problemLines(checkRuns({ added, lines: folder.lines, states: folder.states() })),
      ...folder.fileProblems(),
    ],
  }
}

/** The file is removed, or another one is put in its place: the runtime ends and says so. */
export const fileGone = async (how: 'removed' | 'replaced'): Promise<ProofReport> => {
  await using folder = new ProofFolder()
  const node = await Member.start(folder)
  await node.call('run', NODE)
  await node.queue('default', 'add', 'longUnlessLost', [60_000], {})
  await until('it has begun', () => folder.ids('begun').length === 1)
  const began = performance.now()
  if (how === 'removed') rmSync(folder.path)
  else {
    await using other = new ProofFolder()
    const maker = await Member.start(other)
    await maker.queue('default', 'add', 'nap', [0], {})
    await maker.kill()
    for (const end of ['-wal', '-shm']) rmSync(folder.path + end, { force: true })
    renameSync(other.path, folder.path)
  }
  const refused = until('an add is refused', () =>
    node.queue('default', 'add', 'nap', [0], {}).then(
      () => false,
      (error: MemberError) => error.code,
    ),
  )
  await until('it is noticed', () => node.ended !== undefined)
  const after = performance.now() - began
  const code = await refused
  return {
    figures: { 'runtime ended after, ms': Math.round(after) },
    problems: [node.ended, code].flatMap((found) => (found === 'ERR_PREFORK_STORE_REMOVED' ? [] : [`it came to ${found}`])),
  }
}

const PAGE = 4096

const zero = (path: string, pages: readonly number[]): void => {
  const file = openSync(path, 'r+')
  for (const page of pages) writeSync(file, Buffer.alloc(PAGE), 0, PAGE, (page - 1) * PAGE)
  closeSync(file)
}

/** A page of a table is zeroed: the runtime ends when it reads it. */
export const damagedTable = async (table: string): Promise<ProofReport> => {
  await using folder = new ProofFolder()
  const maker = await Member.start(folder)
  await maker.queue('default', 'add', 'nap', [0], { id: 'a' })
  await maker.queue('default', 'close')
  await maker.kill()
  zero(
    folder.path,
    folder.sql((database) => database.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').all(table)).map(({ rootpage }) => Number(rootpage)),
  )
  const node = await Member.start(folder)
  await node.call('run', NODE)
  await until('the runtime has ended', () => node.ended !== undefined)
  return { figures: { 'runtime ended with': node.ended }, problems: node.ended === 'ERR_PREFORK_STORE_CORRUPT' ? [] : [`it ended with ${node.ended}`] }
}

/** The pages of one body are zeroed: that job fails, and no other. */
export const damagedBody = async (): Promise<ProofReport> => {
  await using folder = new ProofFolder()
  const maker = await Member.start(folder)
  const LETTER = 'b'
  await maker.queue('default', 'add', 'nap', [0, false, LETTER.repeat(40_000)], { id: 'damaged' })
  const added = await maker.queue<string[]>(
    'default',
    'addBulk',
    Array.from({ length: 20 }, () => ({ task: 'nap', args: [0] })),
  )
  await maker.queue('default', 'close')
  await maker.kill()
  const content = readFileSync(folder.path)
  // A page of a long body holds nothing else but the number of the next one.
  const pages = Array.from({ length: content.length / PAGE }, (_, index) => index + 1).filter((page) =>
    content.subarray((page - 1) * PAGE + 1_000, (page - 1) * PAGE + 1_200).every((byte) => byte === LETTER.charCodeAt(0)),
  )
  zero(folder.path, pages.slice(-1))
  const node = await Member.start(folder)
  await node.call('node', NODE)
  await until('all has ended', () => [...folder.states().values()].every((state) => state === 'completed' || state === 'failed'))
  const details = await node.queue<{ reason: string }[]>('default', 'jobs', { ids: ['damaged'] })
  return {
    figures: { pages: pages.length, reason: details[0]?.reason },
    problems: [
      ...(folder.states().get('damaged') === 'failed' && details[0]?.reason === 'undecodable' ? [] : [`it is ${JSON.stringify(details[0])}`]),
      ...(folder.ids('begun').includes('damaged') ? ['the damaged job ran'] : []),
      ...problemLines(checkRuns({ added, lines: folder.lines, states: folder.states() }, false)),
      ...added.flatMap((id) => (folder.states().get(id) === 'completed' ? [] : [`${id} is ${folder.states().get(id)}`])),
    ],
  }
}

/** A script that adds one job and ends. */
export const shortScript = async (): Promise<ProofReport> => {
  await using folder = new ProofFolder()
  const script = fileURLToPath(new URL('../../test/queue-soak/processes/add-one.js', import.meta.url))
  const began = performance.now()
  const { exitCode, stderr } = await execa(process.execPath, [script, folder.address], { reject: false, timeout: 20_000 })
  const took = performance.now() - began
  const state = folder.states().get('a')
  return {
    figures: { 'ended after, ms': Math.round(took) },
    problems: exitCode === 0 && stderr === '' && state === 'waiting' ? [] : [`exit code ${exitCode}, job ${state}, ${stderr}`],
  }
}
