import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { build, stop } from 'esbuild'
import { afterAll, expect, test } from 'vitest'
import { Claimer } from '../../src/worker/claim.js'

/**
 * The main thread claims 1, 2, 3 …; another thread recalls, each time a little beyond what was claimed last, as a host does
 * that writes ahead. It writes nothing new before it has the answer, so what a recall took back is certain.
 */
export const hammered = (times: readonly number[]): void => {
  // esbuild's service would run as long as this process, which other suites share.
  afterAll(() => stop())

  test.each(times)('hammered by two threads gives every delivery to exactly one of them (%i)', async () => {
    const rounds = 40_000
    const shared = new SharedArrayBuffer(16)
    const ints = new Int32Array(shared)
    const bundled = await build({
      stdin: {
        contents: `
          import { workerData, parentPort } from 'node:worker_threads'
          import { Recaller } from './claim.js'
          const ints = new Int32Array(workerData.shared)
          const recaller = new Recaller(ints, 0)
          const recalled = []
          let took = false
          parentPort.postMessage('up')
          // On a busy machine either thread may not run during all these rounds of the other: then as long as it takes.
          for (let i = 0; i < workerData.rounds || !took || Atomics.load(ints, 3) === 0; i++) {
            if (i >= workerData.rounds) Atomics.wait(ints, 2, 0, 1)
            const written = Atomics.load(ints, 1)
            const last = recaller.recall(written)
            took ||= last < written
            recalled.push(last, written)
            for (let spin = (i * 7) % 50; spin > 0; spin--) Atomics.load(ints, 2)
          }
          Atomics.store(ints, 2, 1)
          parentPort.postMessage(recalled)`,
        resolveDir: new URL('../../src/worker', import.meta.url).pathname,
        loader: 'ts',
      },
      bundle: true,
      write: false,
      format: 'cjs',
      platform: 'node',
    })
    const thread = new Worker(bundled.outputFiles[0]!.text, { eval: true, workerData: { shared, rounds } })
    const recalled = new Promise<number[]>((resolve) => thread.on('message', (message) => Array.isArray(message) && resolve(message)))
    await new Promise((resolve) => thread.once('message', resolve))

    const claimer = new Claimer(ints, 0)
    const began = new Set<number>()
    let delivery = 0
    while (Atomics.load(ints, 2) === 0) {
      // Up to eight written ahead, then claimed one after another.
      const written = delivery + 1 + (delivery % 8)
      Atomics.store(ints, 1, written)
      while (delivery < written) {
        if (!claimer.claim(++delivery)) continue
        began.add(delivery)
        Atomics.store(ints, 3, 1)
      }
      if (delivery % 4096 === 0) await delay(0)
    }

    const answers = await recalled
    const takenBack = new Set<number>()
    for (let i = 0; i < answers.length; i += 2) {
      const [last, upTo] = [answers[i]!, answers[i + 1]!]
      // The delivery that a recall returns has begun; no later one up to the mark ever begins.
      if (last > 0) expect(began.has(last)).toBe(true)
      for (let one = last + 1; one <= upTo; one++) {
        takenBack.add(one)
        if (began.has(one)) throw new Error(`${one} began although recall(${upTo}) said that ${last} was the last`)
      }
    }
    for (let one = 1; one <= delivery; one++) {
      if (!began.has(one) && !takenBack.has(one)) throw new Error(`${one} neither began nor was it taken back`)
    }
    expect(began.size).toBeGreaterThan(0)
    expect(takenBack.size).toBeGreaterThan(0)
    await thread.terminate()
  })
}
