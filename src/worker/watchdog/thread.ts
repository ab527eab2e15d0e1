// The watchdog thread: reads the lifeline, keeps the limits and sends heartbeats, whatever the main thread is doing. It never blocks.
import { workerData } from 'node:worker_threads'
import { Recaller } from '../claim.js'
import { WatchdogContext } from './context.js'
import { startHeartbeats } from './heartbeat.js'
import { Interruption } from './interruption.js'
import { killProcess, Lifeline } from './lifeline.js'
import { LimitTimer } from './limit-timer.js'
import { MainDebugger } from './main-debugger.js'
import { MainThread, type ToWatchdog, type WatchdogData } from './main-thread.js'
import { Profiler } from './profiler.js'
import { SharedRecords, Word } from './shared-records.js'

const data = workerData as WatchdogData
const records = new SharedRecords(data.slots, data.memory)
const main = new MainThread(data.port, records)
const recaller = new Recaller(records.ints, Word.CLAIM)

const lifeline: Lifeline = new Lifeline(
  {
    onEnd: () => killProcess(data.killTree),
    onRecall: (upTo) => lifeline.recalled(recaller.recall(upTo), upTo),
    onCancel: (delivery, upTo, interruptFor, reason) => {
      const lastClaimed = recaller.recall(upTo)
      lifeline.recalled(lastClaimed, upTo)
      // A job that was not claimed never begins. The main thread ignores one that has settled meanwhile.
      if (delivery > lastClaimed) return
      const turn = main.cancel(delivery, reason, interruptFor === 0)
      if (interruptFor > 0) new Interruption(context, delivery, 'cancel', turn, interruptFor)
    },
    onStackRequest: (request) => context.stack((text) => lifeline.stack(request, text)),
    onProfileRequest: (request, ms) =>
      profiler.start(ms, (answer) => {
        if ('error' in answer) lifeline.profileFailed(request, answer.error)
        else lifeline.profile(request, Buffer.from(JSON.stringify(answer.profile)))
      }),
    onSoftLimitRequest: () => {},
  },
  data.maxMessageSize,
)

const mainDebugger = new MainDebugger(main, data.inspector)
const profiler = new Profiler(records, data)
const context = new WatchdogContext(records, main, mainDebugger, lifeline, recaller, data.own, data.cancelGrace)
const limits = new LimitTimer(context)

data.port.on('message', (message: ToWatchdog) => {
  if (message === 'deadline') limits.check()
  else if (typeof message === 'object') lifeline.broken(message.broken)
  else {
    mainDebugger.detach()
    profiler.end()
    main.detached()
  }
})
startHeartbeats(lifeline, main, records, data.heartbeatInterval)
// Jobs may have begun while this thread was starting.
limits.check()
