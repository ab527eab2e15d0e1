import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

/** Returns the text of a file; undefined for one that cannot be read. */
type Read = (path: string) => string | undefined

const readText: Read = (path) => {
  try {
    // Asked first, since most are missing: an error costs three times as much.
    return existsSync(path) ? readFileSync(path, 'utf8') : undefined
  } catch {
    return undefined
  }
}

/** Without a quota it is `max` (version 2) or -1 (version 1). */
const cpusOf = (quota: string | undefined, period: string | undefined): number => {
  const cpus = Number(quota) / Number(period)
  return cpus > 0 ? cpus : Number.POSITIVE_INFINITY
}

const quotaV1 = (read: Read, folder: string): number => cpusOf(read(`${folder}/cpu.cfs_quota_us`), read(`${folder}/cpu.cfs_period_us`))

const quotaV2 = (read: Read, folder: string): number => {
  const [quota, period] = (read(`${folder}/cpu.max`) ?? '').split(' ')
  return cpusOf(quota, period)
}

/**
 * A cgroup and its ancestors, below their mount: '', '/a' and '/a/b'. In a container the root of the mount is often its own cgroup, while the path is the one
 * outside: then only '' is found. The same holds for a path outside the namespace ('/../a').
 */
const lineage = (path: string): string[] => {
  const names = path.split('/').filter((name) => name !== '')
  return names.includes('..') ? [''] : ['', ...names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`)]
}

/** The smallest CPU quota of the cgroups of this process and of their ancestors, in CPUs. Infinity: none that can be read. */
export const cpuQuota = (read: Read = readText): number => {
  let smallest = Number.POSITIVE_INFINITY
  for (const [, controllers, path] of (read('/proc/self/cgroup') ?? '').matchAll(/^\d+:([^:\n]*):(\/.*)$/gm)) {
    const v2 = controllers === ''
    if (!v2 && !controllers!.split(',').includes('cpu')) continue
    const mounts = v2 ? ['/sys/fs/cgroup', '/sys/fs/cgroup/unified'] : ['/sys/fs/cgroup/cpu', '/sys/fs/cgroup/cpu,cpuacct']
    const folders = mounts.flatMap((mount) => lineage(path!).map((cgroup) => mount + cgroup))
    smallest = Math.min(smallest, ...folders.map((folder) => (v2 ? quotaV2 : quotaV1)(read, folder)))
  }
  return smallest
}

/** Undefined: not read yet. */
let quota: number | undefined

/**
 * How many CPUs this process may use, at least 1: `os.availableParallelism()`, or the CPU quota of its cgroup, rounded down, where that is less. Node 20 ignores
 * quotas, and later versions miss some. The quota is read once.
 */
export const availableCpus = (): number => {
  quota ??= process.platform === 'linux' ? cpuQuota() : Number.POSITIVE_INFINITY
  return Math.max(1, Math.min(availableParallelism(), Math.floor(quota)))
}
