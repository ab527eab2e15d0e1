import { describe, expect, it, onTestFinished } from 'vitest'
import { startPool } from '../fixtures/pools.js'
import { until } from '../fixtures/support.js'

describe('promise 3: an error after the job has settled', () => {
  it.each([
    ['unhandledRejection', 'lateRejection', 'rejected after the answer'],
    ['uncaughtException', 'lateException', 'thrown from a timer'],
    ['uncaughtException', 'lateDeepException', 'nested too deep'],
  ])('%s: is reported and costs no other job its result', async (type, task, message) => {
    const pool = await startPool({ concurrency: 2 })
    const faults: { type: string; error: unknown; job: string | undefined }[] = []
    pool.on('workerFault', (fault) => faults.push(fault))
    const neighbour = pool.submit('sleep', [300, 'unharmed'])
    const pid = await pool.run('pid', [])
    const job = pool.submit(task, [])
    expect(await job.result).toBe('answered')
    await until('the fault is reported', () => faults.length > 0)
    expect(faults).toMatchObject([{ type, error: { message } }])
    expect(faults[0]!.error).toBeInstanceOf(Error)
    expect(await neighbour.result).toBe('unharmed')
    expect(await pool.run('pid', [])).toBe(pid)
  })

  it('is a process warning of the host when workerFault has no listener, once for each worker', async () => {
    const warnings: (Error & { code?: string; detail?: string })[] = []
    const onWarning = (warning: Error): void => void warnings.push(warning)
    // Node's own listener prints it.
    const printers = process.listeners('warning')
    process.removeAllListeners('warning').on('warning', onWarning)
    onTestFinished(() => {
      process.off('warning', onWarning)
      for (const printer of printers) process.on('warning', printer)
    })
    const pool = await startPool()
    for (let i = 0; i < 3; i++) expect(await pool.run('lateException', [])).toBe('answered')
    await until('the host is warned', () => warnings.length > 0)
    await pool.run('sleep', [200, 'and no more'])
    expect(warnings).toMatchObject([
      { name: 'PreforkWarning', code: 'PREFORK_WORKER_FAULT', message: expect.stringContaining('An uncaughtException in worker ') },
    ])
    expect(warnings[0]!.detail).toContain('thrown from a timer')
  })
})
