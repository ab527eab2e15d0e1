/** The default number of workers follows the CPU quota of a cgroup. A host runs in a real one, and with files of version 2 in a mount namespace of its own. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { execaSync } from 'execa'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Host, hostScript } from '../fixtures/hosts.js'
import { scratch, until } from '../fixtures/support.js'

const MOUNT = '/sys/fs/cgroup'
const PERIOD = 100_000
const CPUS = availableParallelism()

const read = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '')

const VERSIONS = {
  2: { folder: MOUNT, enabled: () => read(`${MOUNT}/cgroup.subtree_control`).includes('cpu '), quota: (us: number) => [['cpu.max', `${us} ${PERIOD}`]] },
  1: {
    folder: `${MOUNT}/cpu`,
    enabled: () => existsSync(`${MOUNT}/cpu/cpu.cfs_quota_us`),
    quota: (us: number) => [
      ['cpu.cfs_period_us', String(PERIOD)],
      ['cpu.cfs_quota_us', String(us)],
    ],
  },
}

/** Makes a cgroup for the test. */
const makeCgroup = (folder: string): string => {
  mkdirSync(folder)
  // It can be removed once its last process has been reaped.
  onTestFinished(() =>
    until(`${folder} is empty`, () => {
      try {
        rmdirSync(folder)
        return true
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EBUSY') return false
        throw error
      }
    }).then(() => {}),
  )
  return folder
}

/** Why no cgroup with a quota can be made here; undefined: it can. */
const lackOf = ({ folder, enabled }: (typeof VERSIONS)[1 | 2]): string | undefined => {
  if (!enabled()) return `there is no cpu controller in ${folder}`
  const probe = join(folder, `prefork-test-probe-${process.pid}`)
  try {
    mkdirSync(probe)
    rmdirSync(probe)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

const version = ([2, 1] as const).find((each) => lackOf(VERSIONS[each]) === undefined)
const NO_CGROUP = `no cgroup with a CPU quota can be made: ${lackOf(VERSIONS[2])}; ${lackOf(VERSIONS[1])}`
if (version === undefined) console.warn(`SKIPPED: the test of a real CPU quota, because ${NO_CGROUP}`)

const HOST = [process.execPath, hostScript('pool-of.js'), JSON.stringify({ aliveTimeout: 60_000 })]

/** Undefined: as many as Node sees. */
const expectWorkers = async (host: Host, workers: number | undefined): Promise<void> => {
  const pids = await host.reported<number[]>('workers', 55_000)
  expect(pids).toHaveLength(workers ?? (await host.reported('parallelism')))
  expect(await host.ends()).toEqual({ code: 0, signal: null })
}

let made = 0

describe.skipIf(version === undefined)(`in a cgroup of version ${version} without the option workers`, () => {
  const { folder, quota } = VERSIONS[version ?? 2]
  const cgroupWith = (us: number): string => {
    const cgroup = makeCgroup(join(folder, `prefork-test-${process.pid}-${++made}`))
    for (const [file, text] of quota(us)) writeFileSync(join(cgroup, file!), text!)
    return cgroup
  }
  const hostIn = (cgroup: string): Host => new Host('sh', ['-c', 'echo $$ > "$0/cgroup.procs" && exec "$@"', cgroup, ...HOST])

  it.each([
    ['half a CPU', 0.5],
    ['one CPU', 1],
    ['one and a half', 1.5],
  ])('a pool with a quota of %s has one worker', async (_, cpus) => {
    await expectWorkers(hostIn(cgroupWith(cpus * PERIOD)), 1)
  })

  it('a pool whose cgroup is within one with a quota of one CPU has one worker', async () => {
    await expectWorkers(hostIn(makeCgroup(join(cgroupWith(PERIOD), 'within'))), 1)
  })
})

/** Its own /sys/fs/cgroup, with these files of version 2, and its own /proc/PID/cgroup. */
const SCRIPT = `set -e
mount -t tmpfs tmpfs ${MOUNT}
mkdir -p ${MOUNT}/outer/inner
# Node reads no quota of a cgroup without this file.
echo cpu | tee ${MOUNT}/cgroup.controllers ${MOUNT}/outer/cgroup.controllers > ${MOUNT}/outer/inner/cgroup.controllers
echo "$1" > ${MOUNT}/outer/inner/cpu.max
echo "$2" > ${MOUNT}/outer/cpu.max
echo '0::/outer/inner' > "$3"
mount --bind "$3" /proc/$$/cgroup
shift 3
exec "$@"`

const canUnshare = execaSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', MOUNT], { reject: false }).exitCode === 0
if (!canUnshare) console.warn('SKIPPED: the test of the files of cgroup v2, because no mount namespace can be made (unshare -m)')

describe.skipIf(!canUnshare)('with the files of cgroup v2', () => {
  it.each([
    ['half a CPU', '50000 100000', 'max 100000', 1],
    ['one CPU', '100000 100000', 'max 100000', 1],
    ['one CPU within a quota of more', '100000 100000', `${CPUS * PERIOD} ${PERIOD}`, 1],
    ['none within a quota of one CPU', 'max 100000', '100000 100000', 1],
    ['none', 'max 100000', 'max 100000', undefined],
  ])('a pool with a quota of %s: %s, %s', async (_, inner, outer, workers) => {
    const host = new Host('unshare', ['-m', 'sh', '-c', SCRIPT, 'sh', inner, outer, join(scratch(), 'cgroup'), ...HOST])
    await expectWorkers(host, workers)
  })
})
