import { describe, expect, it } from 'vitest'
import { Host, hostScript, launchers } from '../fixtures/hosts.js'

describe('promises 3, 9: a host', () => {
  it.each(launchers)('that has no free descriptor for a replacement keeps the job waiting and answers it (launcher: %s)', async (_, env) => {
    const host = new Host('sh', ['-c', `ulimit -n 128; exec ${process.execPath} ${hostScript('descriptors-run-out.js')}`], env)
    const { outcome, recovered } = await host.reported<{ outcome: string; recovered: boolean }>('outcome')
    expect(outcome).toBe('answered')
    expect(recovered).toBe(true)
    expect(await host.ends()).toEqual({ code: 0, signal: null })
    expect(host.stderr).toBe('')
  })
})
