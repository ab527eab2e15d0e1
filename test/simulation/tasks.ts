import type { WorkerJob } from '../../src/worker/jobs/job.js'
import type { RegisteredTask } from '../../src/worker/tasks/load.js'
import type { Execution } from './history.js'
import { itemOf, type Plan, resultOf, TASKS } from './plans.js'
import type { SimProcess, SimulationContext } from './process.js'
import type { SimScope } from './scope.js'

/** The tasks of a simulated worker. They do what their plan says, and record their start and end in the history. */
export const simTasks = (process: SimProcess, scope: SimScope, { history, calls }: SimulationContext): RegisteredTask[] => {
  const { main } = process

  /** Records the start of the task. A task calls `end` before its result is written. */
  const begin = (
    plan: Plan,
  ): { attempt: number; delivery: number; signal: AbortSignal; progress: (value: unknown) => void; end: () => void; job: WorkerJob } => {
    const job = scope.current()!
    const { padding, key } = plan
    history.check(padding?.every((byte) => byte === (key & 0xff)) !== false, () => `promise 7: other bytes than those of job ${key} reached its task`)
    let execution: Execution | undefined
    main.afterEffects(() => {
      if (plan.retries !== undefined) history.job(job.number).retryLost = plan.retries
      history.job(job.number).key = plan.key
      execution = history.begin(job.number, process.id, job.delivery, job.attempt)
    })
    return {
      job,
      attempt: job.attempt,
      delivery: job.delivery,
      get signal() {
        return job.signal
      },
      progress: (value) => process.loop.reports.currentOf(job).progress(value),
      end: () => main.afterEffects(() => history.end(execution!)),
    }
  }

  const run = (argument: unknown): unknown => {
    const plan = argument as Plan
    const job = begin(plan)
    const value = resultOf(plan, job.attempt)
    switch (plan.kind) {
      case 'noop':
        job.end()
        // A large result fills the pipe. Only `padding`, its length, is checked.
        return plan.padding === undefined ? value : { ...(value as object), echo: plan.padding }
      case 'busy':
        main.busy(plan.ms)
        scope.tookTime = plan.ms > 0
        job.end()
        return value
      case 'ident':
        main.busy(plan.ms)
        scope.tookTime = plan.ms > 0
        job.end()
        return process.id
      case 'detached':
        job.end()
        main.later(plan.ms, () => {
          // While another job runs, the block would count as that job's.
          if (process.loop.running.length === 0) main.hangDetached()
        })
        return value
      case 'throw':
        job.end()
        throw Object.assign(new RangeError(`job ${plan.key} throws`), { key: plan.key })
      case 'unsendable':
        job.end()
        return () => 'a function is not sendable'
      case 'progress':
        for (let i = 0; i < plan.count; i++) job.progress(i)
        job.end()
        return value
      case 'sleep': {
        const { signal } = job
        return new Promise((resolve, reject) => {
          let ended = false
          const once = (fn: () => void) => () => {
            if (ended) return
            ended = true
            job.end()
            fn()
          }
          main.later(
            plan.ms,
            once(() => resolve(value)),
          )
          if (!plan.eager) return
          const stop = once(() => reject(signal.reason))
          if (signal.aborted) stop()
          else signal.addEventListener('abort', stop, { once: true })
        })
      }
      case 'call':
        return calls.run(process, job.job, plan).then((answered) => {
          job.end()
          // The host has cancelled it.
          if (!answered) throw job.signal.reason
          return value
        })
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
        throw new Error('a stream runs the task items')
    }
  }

  const items = (argument: unknown): unknown => {
    const plan = argument as Plan
    const job = begin(plan)
    let sent = 0
    let ended = false
    const end = (): void => {
      if (!ended) job.end()
      ended = true
    }
    const step = (): IteratorResult<unknown> => {
      if (ended || sent === plan.count) {
        end()
        return { done: true, value: undefined }
      }
      return { done: false, value: itemOf(plan, sent++) }
    }
    let asked = 0
    const callsHost = plan.key % 3 === 0
    const stepUnlessEnded = (answered: boolean): IteratorResult<unknown> => {
      if (answered) return step()
      end()
      throw job.signal.reason
    }
    const generator = {
      [Symbol.asyncIterator]() {
        return this
      },
      next: () =>
        callsHost
          ? calls.make(process, job.job, asked++, 'value', plan.ms, plan.padding).then(stepUnlessEnded)
          : plan.ms === 0
            ? Promise.resolve(step())
            : new Promise((resolve) => main.later(plan.ms, () => resolve(step()))),
      return: () => {
        end()
        return Promise.resolve({ done: true, value: undefined })
      },
    }
    // The host may grant credit before the generator exists.
    return plan.eager ? generator : new Promise((resolve) => main.later(plan.ms, () => resolve(generator)))
  }

  return TASKS.map((name) => ({ name, run: name === 'items' ? items : run }))
}
