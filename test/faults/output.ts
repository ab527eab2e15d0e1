import { expect, it } from 'vitest'
import { Host, hostScript, startHost } from '../fixtures/hosts.js'
import { fixture, pidOf, startPool } from '../fixtures/pools.js'
import { failure, within } from '../fixtures/support.js'

type Output = 'inherit' | 'ignore' | 'capture'

export const tasks = fixture('job-context.js')

/** Tests that a flood of output blocks nothing. */
export const floods = (outputs: readonly Output[]): void => {
  it.each(outputs)('%s: 16 MB on stdout and stderr block neither host nor worker', async (output) => {
    const pool = await startPool({ watchdog: false, tasks, output, workers: 2 })
    const flood = pool.run('floodBoth', [16_000_000, 128])
    for (let index = 0; index < 50; index += 1) expect(await within(pidOf(pool), 10_000)).toBeTypeOf('number')
    expect(await within(flood, 20_000)).toBe('flooded')
  })
}

/** Tests output that does not go through the streams of Node. */
export const rawWrites = (outputs: readonly Output[]): void => {
  it.each(outputs)('%s: a task that writes to the descriptor itself, and a child that does, are not refused', async (output) => {
    const pool = await startPool({ watchdog: false, tasks, output })
    expect(await pool.run('shell', ['head -c 1000000 /dev/zero'])).toBe(0)
    expect(await pool.run('rawWrite', [1_000_000])).toBe('written')
  })
}

/** Tests that the event loop of the host turns during a flood. */
export const turns = (outputs: readonly Output[]): void => {
  it.each(outputs)("'%s': a flood of short lines does not keep the host from turning", async (output) => {
    const host = new Host('sh', ['-c', `exec "$0" "$1" '"${output}"' 3>&1 >/dev/null 2>/dev/null`, process.execPath, hostScript('output-flood.js')])
    // It should cost a few ms at a time; the rest allows for a cold compiler and garbage collection.
    expect(await host.reported('stood')).toBeLessThan(400)
    await host.ends()
  })
}

/** Tests that the host prints nothing. */
export const leftAlone = (outputs: readonly Output[]): void => {
  it.each(outputs)("'%s' leaves the host's output alone", async (output) => {
    const host = startHost('prints.js', [output])
    expect(await host.ends()).toEqual({ code: 0, signal: null })
    expect([host.stdout, host.stderr]).toEqual(['', ''])
  })
}

/** Tests that log lines are kept. */
export const logged = (outputs: readonly Output[]): void => {
  it.each(outputs)('log lines of currentJob().log are kept with %s too', async (output) => {
    const pool = await startPool({ watchdog: false, tasks, output })
    const job = pool.submit('logAndDie', ['a'])
    await failure(job.result)
    expect(job.logs).toMatchObject([{ stream: 'log', text: 'a logged' }])
  })
}

/** Tests a host with the option `inherit`, or without one. */
export const inherited = (args: readonly Output[]): void => {
  it(`'inherit' ${args.length === 0 ? 'is the default' : 'as an option'}: the lines appear in the host's own output`, async () => {
    const host = startHost('prints.js', args)
    await host.ends()
    expect(host.stdout).toBe('seen log\nseen stdout\nseen late\n')
    expect(host.stderr).toContain('seen error\nseen stderr\n')
  })
}
