import type { RegisteredTask } from '../../src/worker/tasks/load.js'
import { itemOf, type Plan, resultOf, TASKS } from './plans.js'
import type { SimProcess } from './process.js'
import type { SimScope } from './scope.js'
import type { Beginning, Truth } from './truth.js'

/** The tasks of a simulated worker: they do what their plan says, and tell the truth about it. */
export const simTasks = (process: SimProcess, scope: SimScope, truth: Truth): RegisteredTask[] => {
  const { main } = process

  /** The task's first instruction. Its end is told before its answer is written. */
  const begin = (plan: Plan): { attempt: number; delivery: number; signal: AbortSignal; progress: (value: unknown) => void; end: () => void } => {
    const job = scope.current()!
    let beginning: Beginning | undefined
    main.mark(() => {
      if (plan.retries !== undefined) truth.of(job.number).retryLost = plan.retries
      beginning = truth.begin(job.number, process.id, job.delivery, job.attempt)
    })
    return {
      attempt: job.attempt,
      delivery: job.delivery,
      get signal() {
        return job.signal
      },
      progress: (value) => process.loop.reports.currentOf(job).progress(value),
      end: () => main.mark(() => truth.end(beginning!)),
    }
  }

  const run = (given: unknown): unknown => {
    const plan = given as Plan
    const job = begin(plan)
    const value = resultOf(plan, job.attempt)
    switch (plan.kind) {
      case 'noop':
        job.end()
        // A large result fills the pipe; its length is all that is looked at.
        return plan.ballast === undefined ? value : { ...(value as object), back: plan.ballast }
      case 'busy':
        main.busy(plan.ms)
        scope.tookTime = plan.ms > 0
        job.end()
        return value
      case 'place':
        main.busy(plan.ms)
        scope.tookTime = plan.ms > 0
        job.end()
        return process.id
      case 'leftover':
        job.end()
        main.later(plan.ms, () => {
          // Beside a job that runs it would be as if that one never ended.
          if (process.loop.running.length === 0) main.stand()
        })
        return value
      case 'throw':
        job.end()
        throw Object.assign(new RangeError(`job ${plan.key} throws`), { key: plan.key })
      case 'unsendable':
        job.end()
        return () => 'a function does not travel'
      case 'progress':
        for (let i = 0; i < plan.count; i++) job.progress(i)
        job.end()
        return value
      case 'sleep': {
        const { signal } = job
        return new Promise((resolve, reject) => {
          let over = false
          const once = (fn: () => void) => () => {
            if (over) return
            over = true
            job.end()
            fn()
          }
          main.later(
            plan.ms,
            once(() => resolve(value)),
          )
          if (!plan.heeds) return
          const stop = once(() => reject(signal.reason))
          if (signal.aborted) stop()
          else signal.addEventListener('abort', stop, { once: true })
        })
      }
      case 'never':
        return new Promise(() => {})
      case 'hang':
      case 'stuck':
        return main.hang(job.delivery, plan.kind === 'hang')
      case 'exit':
        main.exit({ exitCode: 7, signal: null })
        scope.tookTime = true
        return value
      case 'crash':
        main.exit({ exitCode: null, signal: 'SIGSEGV' })
        scope.tookTime = true
        return value
      case 'items':
        throw new Error('items are for streams')
    }
  }

  const items = (given: unknown): unknown => {
    const plan = given as Plan
    const job = begin(plan)
    let sent = 0
    let over = false
    const end = (): void => {
      if (!over) job.end()
      over = true
    }
    const step = (): IteratorResult<unknown> => {
      if (over || sent === plan.count) {
        end()
        return { done: true, value: undefined }
      }
      return { done: false, value: itemOf(plan, sent++) }
    }
    const generator = {
      [Symbol.asyncIterator]() {
        return this
      },
      next: () => (plan.ms === 0 ? Promise.resolve(step()) : new Promise((resolve) => main.later(plan.ms, () => resolve(step())))),
      return: () => {
        end()
        return Promise.resolve({ done: true, value: undefined })
      },
    }
    // Credit may be granted before there is anything to draw from.
    return plan.heeds ? generator : new Promise((resolve) => main.later(plan.ms, () => resolve(generator)))
  }

  return TASKS.map((name) => ({ name, run: name === 'items' ? items : run }))
}
