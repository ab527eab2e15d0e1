import { describe, expect, it } from 'vitest'
import { OomKills } from '../../../src/pool/fleet/oom-kills.js'

/** A cgroup file system whose counter can be set. */
const cgroups = (cgroup: string, counter: string) => {
  const files = new Map([['/proc/self/cgroup', cgroup]])
  const set = (kills: number): void =>
    void files.set(counter, counter.endsWith('.events') ? `oom 9\noom_kill ${kills}\noom_group_kill 0\n` : `under_oom 0\noom_kill ${kills}\n`)
  return { set, kills: new OomKills((path) => files.get(path)) }
}

describe.skipIf(process.platform !== 'linux')('a kill for memory', () => {
  it.each([
    ['version 2', '0::/a/b\n', '/sys/fs/cgroup/a/b/memory.events'],
    ['version 2 in a container', '0::/docker/0123\n', '/sys/fs/cgroup/memory.events'],
    ['version 1', '5:cpu:/a\n4:memory:/a\n', '/sys/fs/cgroup/memory/a/memory.oom_control'],
    ['version 1 in a container', '4:memory:/docker/0123\n', '/sys/fs/cgroup/memory/memory.oom_control'],
  ])('is counted once by cgroups of %s', (_, cgroup, counter) => {
    const { set, kills } = cgroups(cgroup, counter)
    set(3)
    kills.begin()
    expect(kills.take()).toBe(false)
    set(5)
    expect([kills.take(), kills.take(), kills.take()]).toEqual([true, true, false])
  })

  it('is not seen without a counter', () => {
    const kills = new OomKills(() => undefined)
    kills.begin()
    expect(kills.take()).toBe(false)
  })
})
