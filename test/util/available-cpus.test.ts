import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { describe, expect, test } from 'vitest'
import { availableCpus, cpuQuota } from '../../src/util/available-cpus.js'

const NONE = Number.POSITIVE_INFINITY

/** The quota that a process in these cgroups reads, with these files below /sys/fs/cgroup. */
const quotaOf = (cgroups: string | undefined, files: Record<string, string> = {}): number =>
  cpuQuota((path) => (path === '/proc/self/cgroup' ? cgroups : files[path.replace('/sys/fs/cgroup/', '')]))

const V2 = '0::/a/b\n'

describe('the quota of cgroup v2', () => {
  test.each<[string, string, Record<string, string>, number]>([
    ["is the process's own", V2, { 'a/b/cpu.max': '150000 100000\n' }, 1.5],
    ['is that of an ancestor with less', V2, { 'a/b/cpu.max': '400000 100000\n', 'a/cpu.max': '200000 100000\n' }, 2],
    ['is its own, where an ancestor has more', V2, { 'a/b/cpu.max': '100000 100000\n', 'a/cpu.max': '200000 100000\n' }, 1],
    ['is that of an ancestor, where it has none', V2, { 'a/b/cpu.max': 'max 100000\n', 'a/cpu.max': '50000 100000\n' }, 0.5],
    ['is that of an ancestor, where its own cgroup has no controller', V2, { 'a/cpu.max': '300000 100000\n' }, 3],
    ['is in periods of any length', V2, { 'a/b/cpu.max': '30000 20000\n' }, 1.5],
    ['is none with max', V2, { 'a/b/cpu.max': 'max 100000\n', 'a/cpu.max': 'max 100000\n' }, NONE],
    ['is none without files', V2, {}, NONE],
    ["is that of the mount's root, where a container sees itself there", '0::/\n', { 'cpu.max': '200000 100000\n' }, 2],
    ["is that of the mount's root, where a container has the path outside", '0::/docker/0123\n', { 'cpu.max': '200000 100000\n' }, 2],
    ["is that of the mount's root, where the cgroup is outside the namespace", '0::/../b\n', { 'cpu.max': '200000 100000\n', '../b/cpu.max': '1 1' }, 2],
    ['has a path with colons, spaces and signs', '0::/a:b/c d,cpu\n', { 'a:b/c d,cpu/cpu.max': '100000 100000\n' }, 1],
    ['is found beside a hierarchy of version 1 without the controller', '1:net_cls:/\n0::/a/b\n', { 'a/b/cpu.max': '100000 100000\n' }, 1],
  ])('%s', (_, cgroups, files, quota) => {
    expect(quotaOf(cgroups, files)).toBe(quota)
  })
})

const V1 = '11:memory:/a/b\n4:cpu,cpuacct:/a/b\n1:name=systemd:/a\n'
const v1 = (folder: string, quota: string, period = '100000'): Record<string, string> => ({
  [`${folder}/cpu.cfs_quota_us`]: `${quota}\n`,
  [`${folder}/cpu.cfs_period_us`]: `${period}\n`,
})

describe('the quota of cgroup v1', () => {
  test.each<[string, string, Record<string, string>, number]>([
    ["is the process's own", V1, v1('cpu/a/b', '250000'), 2.5],
    ['is that of an ancestor with less', V1, { ...v1('cpu/a/b', '-1'), ...v1('cpu/a', '50000'), ...v1('cpu', '-1') }, 0.5],
    ['is none with -1', V1, { ...v1('cpu/a/b', '-1'), ...v1('cpu', '-1') }, NONE],
    ['is found where the controllers are mounted together', V1, v1('cpu,cpuacct/a/b', '100000'), 1],
    ['is found where they are named the other way round', '4:cpuacct,cpu:/a\n', v1('cpu/a', '100000'), 1],
    ['is found where the controller is mounted alone', '4:cpu:/a\n', v1('cpu/a', '100000'), 1],
    ["is that of the mount's root in a container", '4:cpu,cpuacct:/docker/0123\n', v1('cpu', '200000'), 2],
    ['is not that of another controller', '4:cpuset:/a\n5:cpuacct:/a\n', v1('cpu/a', '100000'), NONE],
    ['is in periods of any length', V1, v1('cpu/a/b', '30000', '20000'), 1.5],
  ])('%s', (_, cgroups, files, quota) => {
    expect(quotaOf(cgroups, files)).toBe(quota)
  })
})

describe('the quota of both versions at once', () => {
  const HYBRID = `${V1}0::/c\n`

  test.each<[string, Record<string, string>, number]>([
    ['is that of version 1, which has the controller', v1('cpu/a/b', '200000'), 2],
    ['is that of version 2, where it is mounted at unified', { 'unified/c/cpu.max': '100000 100000\n', ...v1('cpu/a/b', '-1') }, 1],
    ['is the smaller one', { 'unified/c/cpu.max': '300000 100000\n', ...v1('cpu/a/b', '200000') }, 2],
  ])('%s', (_, files, quota) => {
    expect(quotaOf(HYBRID, files)).toBe(quota)
  })
})

describe('what cannot be read', () => {
  test.each([undefined, '', '\n', 'garbage', '0:', '0::', ':::', '0::a', '\0', 'x:cpu:/a', '4:cpu:\n'])('%j is no cgroup', (cgroups) => {
    expect(quotaOf(cgroups, { 'cpu.max': '100000 100000', 'a/cpu.max': '100000 100000', ...v1('cpu/a', '100000') })).toBe(NONE)
  })

  test.each(['', '\n', 'max', '100000', 'a b', '0 0', '0 100000', '-1 100000', '100000 0', '100000 max', 'NaN 1', '\0'])('%j is no quota', (text) => {
    expect(quotaOf(V2, { 'a/b/cpu.max': text, 'a/cpu.max': '300000 100000' })).toBe(3)
    const [quota = '', period = ''] = text.split(' ')
    expect(quotaOf(V1, { ...v1('cpu/a/b', quota, period), ...v1('cpu/a', '300000') })).toBe(3)
  })

  test('is skipped: a file of version 1 without the other', () => {
    expect(quotaOf(V1, { 'cpu/a/b/cpu.cfs_quota_us': '100000\n', 'cpu/a/cpu.cfs_period_us': '100000\n' })).toBe(NONE)
  })
})

describe('the CPUs of this process', () => {
  test('are those of the machine, or as many as its quota allows, at least one', () => {
    const cpus = availableCpus()
    expect(cpus).toBe(Math.max(1, Math.min(availableParallelism(), Math.floor(cpuQuota()))))
    expect(Number.isInteger(cpus)).toBe(true)
  })

  test.runIf(process.platform === 'linux')('are read from the files of the system', () => {
    const read: string[] = []
    cpuQuota((path) => {
      read.push(path)
      return path === '/proc/self/cgroup' ? readFileSync(path, 'utf8') : undefined
    })
    expect(read[0]).toBe('/proc/self/cgroup')
    expect(read.slice(1).every((path) => path.startsWith('/sys/fs/cgroup/'))).toBe(true)
  })
})
