// The watchdog thread: reads the lifeline, keeps the limits, beats the heart, whatever the main thread is doing. It never blocks.
import { workerData } from 'node:worker_threads'
import { Recaller } from '../claim.js'
import { WatchdogContext } from './context.js'
import { Heartbeat } from './heartbeat.js'
import { Interruption } from './interruption.js'
import { leave } from './leave.js'
import { Lifeline } from './lifeline.js'
import { LimitTimer } from './limit-timer.js'
import { MainDebugger } from './main-debugger.js'
import { MainThread } from './main-thread.js'
import type { ToWatchdog, WatchdogData } from './port-messages.js'
import { SharedRecords, Word } from './shared-records.js'

const data = workerData as WatchdogData
const records = new SharedRecords(data.slots, data.memory)
const main = new MainThread(data.port, records)
const recaller = new Recaller(records.words, Word.CLAIM)

const lifeline: Lifeline = new Lifeline(
  {
    onEnd: () => leave(data.killTree),
    onRecall: (upTo) => lifeline.recalled(recaller.recall(upTo), upTo),
    onCancel: (delivery, upTo, reason) => {
      const lastClaimed = recaller.recall(upTo)
      lifeline.recalled(lastClaimed, upTo)
      // One that was not claimed never begins; one that has settled meanwhile is unknown to the main thread, which takes no notice.
      if (delivery <= lastClaimed) new Interruption(watch, delivery, 'cancel', main.cancel(delivery, reason))
    },
    onStackAsk: (question) => watch.stack((text) => lifeline.stack(question, text)),
    onSoftAsk: () => {},
    onPing: () => heartbeat.beat(),
  },
  data.maxMessageSize,
)

const inspector = new MainDebugger(main, data.inspector)
const watch = new WatchdogContext({ records, main, debugger: inspector, lifeline, recaller, own: data.own, cancelGrace: data.cancelGrace })
const limits = new LimitTimer(watch)
const heartbeat = new Heartbeat(lifeline, main, records)

data.port.on('message', (message: ToWatchdog) => {
  if (message === 'deadline') limits.check()
  else if (typeof message === 'object') lifeline.broken(message.broken)
  else {
    inspector.detach()
    main.detached()
  }
})
heartbeat.start(data.heartbeatInterval)
// Jobs may have begun while this thread was starting.
limits.check()
