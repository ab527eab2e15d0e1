import { describe, expect, it } from 'vitest'
import { pidOf, startPool } from '../fixtures/pools.js'
import { failure, gone, isAlive, until } from '../fixtures/support.js'

const kill = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has exited.
  }
}

describe('promise 6: a process that a task spawned', () => {
  it('ends with a worker that dies', async () => {
    const pool = await startPool()
    const child = (await pool.run('spawnChild', [])) as number
    expect(isAlive(child)).toBe(true)
    process.kill(await pidOf(pool), 'SIGKILL')
    await gone([child])
  })

  it('ends with a worker that exits when the pool closes', async () => {
    const pool = await startPool()
    const child = (await pool.run('spawnChild', [])) as number
    await pool.close()
    await gone([child])
  })

  it('ends with a worker that exits by itself, or is killed at a limit', async () => {
    const pool = await startPool()
    const first = (await pool.run('spawnChild', [])) as number
    await failure(pool.run('exitWith', [0]))
    await gone([first])
    const second = (await pool.run('spawnChild', [])) as number
    await failure(pool.run('never', [], { timeLimit: 50 }))
    await gone([second])
  })

  it('survives with killTree false, whether the worker dies or exits', async () => {
    const pool = await startPool({ killTree: false })
    const children: number[] = []
    try {
      children.push((await pool.run('spawnChild', [])) as number)
      const worker = await pidOf(pool)
      process.kill(worker, 'SIGKILL')
      await gone([worker])
      children.push((await pool.run('spawnChild', [])) as number)
      await pool.close()
      await until('the pool is gone', () => pool.stats().workers.length === 0)
      expect(children.map(isAlive)).toEqual([true, true])
    } finally {
      children.forEach(kill)
    }
  })
})
