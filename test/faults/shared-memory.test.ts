import { randomBytes } from 'node:crypto'
import { fstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { describe, expect, it } from 'vitest'
import { Host } from '../fixtures/hosts.js'
import { allUp, fixture, pidOf, startPool, upPids } from '../fixtures/pools.js'
import { failure, scratch, until } from '../fixtures/support.js'

const MB = 1024 * 1024

/** The descriptors of files in `/dev/shm` that this process has open. */
const sharedFiles = (): number[] =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith('/dev/shm/') ? [Number(fd)] : []
    } catch {
      return []
    }
  })

const pagesOf = (fds: readonly number[]): number => fds.reduce((sum, fd) => sum + fstatSync(fd).blocks * 512, 0)

/** Files that were opened since. */
const since = (before: readonly number[]): number[] => sharedFiles().filter((fd) => !before.includes(fd))

/** Around what goes through the pipe, what finds a place, and what is too large for one. */
const SIZES = [0, 1, 8_191, 16_000, 49_151, 49_152, 49_153, 65_536, 300_000, MB, 4 * MB - 100, 4 * MB + 100, 9 * MB]

/** All tests may be run without it. */
const isOff = process.platform !== 'linux' || process.env.PREFORK_TEST_SHARED_MEMORY === '0'

describe.skipIf(isOff)('large values through shared memory', () => {
  it.each([1, 3])('arrive as they were, whatever their size, with %i jobs at once in a worker', async (concurrency) => {
    const pool = await startPool({ workers: 2, concurrency, sharedMemory: 48 * MB })
    for (let round = 0; round < 2; round++) {
      const sent = SIZES.map((size) => ({ text: 'x'.repeat(size % 50_000), bytes: randomBytes(size), floats: new Float64Array([size]) }))
      const came = await Promise.all(sent.map((value) => pool.run('echo', [value])))
      // Not toEqual, which would compare megabytes element by element.
      for (const [i, value] of came.entries()) {
        const { text, bytes, floats } = value as (typeof sent)[0]
        expect([text === sent[i]!.text, sent[i]!.bytes.equals(bytes), floats]).toEqual([true, true, sent[i]!.floats])
      }
    }
  })

  it('arrive also in an array, and in an error', async () => {
    const pool = await startPool()
    const [first, second] = (await pool.run('pair', [200_000])) as Buffer[]
    expect([first!.equals(Buffer.alloc(200_000, 1)), second!.equals(Buffer.alloc(200_000, 2))]).toEqual([true, true])
    const message = 'y'.repeat(100_000)
    expect(await failure(pool.run('throwOrHold', [message]))).toMatchObject({ message })
  })

  it('are run elsewhere when their worker dies before it takes them up, and the memory of the dead worker is closed', async () => {
    const before = sharedFiles()
    const pool = await startPool({ workers: 1 })
    const files = since(before).length
    const pid = await pidOf(pool)
    process.kill(pid, 'SIGSTOP')
    const bytes = randomBytes(300_000)
    const answers = [pool.run('echo', [bytes]), pool.run('sizeOf', [bytes])]
    await until('one is written', () => pool.stats().workers[0]!.writtenAhead >= 1)
    process.kill(pid, 'SIGKILL')
    const [echo, size] = await Promise.all(answers)
    expect([bytes.equals(echo as Buffer), size]).toEqual([true, 300_000])
    await until('the files of one worker are open', () => since(before).length === files)
  })

  it('come whole when workers are killed again and again', async () => {
    const before = sharedFiles()
    const pool = await startPool({ workers: 2, maxPutBacks: 1_000 })
    const sent = Array.from({ length: 150 }, (_, i) => randomBytes(16_000 + 4_001 * (i % 40)))
    let killed = 0
    const timer = setInterval(() => {
      const pid = upPids(pool)[killed % 2]
      if (pid === undefined || killed >= 8) return
      process.kill(pid, 'SIGKILL')
      killed++
    }, 60)
    const came = await Promise.all(sent.map((bytes) => pool.run('echo', [bytes], { retryLost: 100 })))
    clearInterval(timer)
    expect(came.every((bytes, i) => sent[i]!.equals(bytes as Buffer))).toBe(true)
    await allUp(pool, 2)
    await until('the files of two workers are open', () => since(before).length <= 4)
  })

  it('take memory while they are on their way, and give it back when the pool is idle', async () => {
    const before = sharedFiles()
    const pool = await startPool({ workers: 2, heartbeatInterval: 100, sharedMemory: 24 * MB })
    await allUp(pool, 2)
    const small = pagesOf(since(before))
    await Promise.all(Array.from({ length: 40 }, () => pool.run('echo', [Buffer.alloc(MB, 1)])))
    expect(pagesOf(since(before))).toBeGreaterThan(small + MB)
    expect(pagesOf(since(before))).toBeLessThanOrEqual(24 * MB)
    await until('it is given back', () => pagesOf(since(before)) <= small)
    const bytes = randomBytes(MB)
    expect(bytes.equals((await pool.run('echo', [bytes])) as Buffer)).toBe(true)
  })

  it('go through the pipes with sharedMemory: 0', async () => {
    const before = sharedFiles()
    const pool = await startPool({ sharedMemory: 0 })
    expect(since(before)).toHaveLength(1)
    const bytes = randomBytes(MB)
    expect(bytes.equals((await pool.run('echo', [bytes])) as Buffer)).toBe(true)
    expect(pagesOf(since(before))).toBeLessThan(10_000)
  })

  it('go through the pipe, or to the next worker, when a task has closed the descriptor', async () => {
    const pool = await startPool()
    const bytes = randomBytes(MB)
    const first = await pidOf(pool)
    await pool.run('closeFd', [6])
    expect(bytes.equals((await pool.run('echo', [bytes])) as Buffer)).toBe(true)
    expect(await pidOf(pool)).toBe(first)
    await pool.run('closeFd', [7])
    expect(bytes.equals((await pool.run('echo', [bytes])) as Buffer)).toBe(true)
    expect(await pidOf(pool)).not.toBe(first)
    expect(pool.stats().totals).toMatchObject({ lost: 0, putBack: 1 })
  })

  it('are not written into a file that a task has opened under the number of the descriptor', async () => {
    const pool = await startPool({ tasks: [fixture('tasks.js'), fixture('descriptors.js')] })
    const file = join(mkdtempSync(join(scratch(), 'own-')), 'file')
    expect(await pool.run('openInPlaceOf', [6, file])).toBe(6)
    const bytes = randomBytes(MB)
    expect(bytes.equals((await pool.run('echo', [bytes])) as Buffer)).toBe(true)
    // Nor is the acceptance of a job that comes alone recorded there.
    expect(await pool.run('sleep', [30, 'done'])).toBe('done')
    expect(readFileSync(file)).toHaveLength(0)
  })

  it('can be read by no other worker, and by no child of a task', async () => {
    const pool = await startPool({ workers: 2, tasks: [fixture('tasks.js'), fixture('descriptors.js')] })
    await allUp(pool, 2)
    const secret = Buffer.alloc(100_000, 'a secret of one job. ')
    const { pid } = (await pool.run('pidAndLength', [secret])) as { pid: number }
    const found = (await pool.broadcast('sharedContents', ['a secret of one job'])) as { pid: number; count: number; inChild: string[] }[]
    expect(found).toHaveLength(2)
    expect(found.find((each) => each.pid === pid)!.count).toBeGreaterThan(100)
    expect(found.find((each) => each.pid !== pid)!.count).toBe(0)
    expect(found.flatMap(({ inChild }) => inChild)).toEqual([])
  })

  it('of a job do not reach a task that gets fewer bytes in the same place', async () => {
    const pool = await startPool({ tasks: [fixture('tasks.js'), fixture('descriptors.js')] })
    await pool.run('sizeOf', [Buffer.alloc(MB, 'secret')])
    const seen = (await pool.run('whole', [Buffer.alloc(60_000, 'mine')])) as { bytes: number; others: number }
    expect(seen.others).toBe(0)
    expect(seen.bytes).toBeLessThan(61_000)
  })
})

const namespaces = process.platform === 'linux' && (await execa('unshare', ['-m', 'true'], { reject: false })).exitCode === 0
if (!namespaces) console.warn('**** SKIPPED: other kinds of /dev/shm, which need the right to mount ****')

describe.skipIf(isOff || !namespaces)('a host whose /dev/shm', () => {
  const script = fileURLToPath(new URL('../fixtures/hosts/shared-memory.js', import.meta.url))
  const report = async (prepare: string) => {
    const host = new Host('unshare', ['-m', process.execPath, script, prepare])
    const done = await host.reported<{ wrong: number; workersStarted: number; files: number; used: number }>('done')
    expect(done).toMatchObject({ wrong: 0, workersStarted: 2 })
    return done
  }

  it('has 64 MB, as in a container: takes a quarter at most', async () => {
    const { files, used } = await report('mount -t tmpfs -o size=64m tmpfs /dev/shm')
    expect(files).toBe(4)
    expect(used).toBeGreaterThan(100_000)
    expect(used).toBeLessThanOrEqual(16 * MB + 8 * 4_096)
  })

  it('is full: uses the pipes', async () => {
    const { files } = await report('mount -t tmpfs -o size=64m tmpfs /dev/shm && head -c 66500000 /dev/zero > /dev/shm/ballast')
    expect(files).toBe(4)
  })

  it('has no room at all: uses the pipes', async () => {
    const { files } = await report('mount -t tmpfs -o size=64m tmpfs /dev/shm && (cat /dev/zero > /dev/shm/ballast 2>/dev/null || true)')
    expect(files).toBe(0)
  })

  it('is tiny: uses the pipes', async () => {
    const { files } = await report('mount -t tmpfs -o size=1m tmpfs /dev/shm')
    expect(files).toBe(2)
  })

  it('is a disk: uses the pipes', async () => {
    const { files } = await report(`mount --bind ${mkdtempSync(join(scratch(), 'disk-'))} /dev/shm`)
    expect(files).toBeLessThanOrEqual(2)
  })
})
