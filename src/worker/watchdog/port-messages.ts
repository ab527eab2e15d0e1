import type { MessagePort } from 'node:worker_threads'

/** What the main thread gives to the watchdog at its start. */
export interface WatchdogData {
  memory: SharedArrayBuffer
  slots: number
  port: MessagePort
  cancelGrace: number
  heartbeatInterval: number
  killTree: boolean
  maxMessageSize: number
  /** Whether the inspector may be used; if not there are no stacks and no interrupts. */
  inspector: boolean
  /** The folder that holds this package's own code: its frames are told from the task's by it. */
  own: string
}

/** Watchdog → main thread. `turn` numbers the messages; the main thread notes the last one it has turned to. */
export type ToMain =
  | { kind: 'ping'; turn: number }
  | { kind: 'soft'; turn: number; delivery: number; limit: number }
  /** `reason` is decoded where the decoder is loaded anyway. */
  | { kind: 'cancel'; turn: number; delivery: number; reason: Uint8Array }
  /** The inspector is not connected any more. */
  | { kind: 'detached'; turn: number }
  | { kind: 'interrupted'; turn: number; delivery: number; cause: 'soft' | 'cancel'; stack: string }

/** Main thread → watchdog: a deadline is due earlier than `Word.ARMED` said; the process is about to leave; it cannot write its results any more. */
export type ToWatchdog = 'deadline' | 'leaving' | { broken: string }
