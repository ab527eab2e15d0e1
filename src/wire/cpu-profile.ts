/** A CPU profile of V8, in the form that the inspector's `Profiler.stop` answers with: as JSON it is a `.cpuprofile`, which Chrome DevTools opens. */

export interface CpuProfileFrame {
  /** Empty for a function without a name; `(root)`, `(program)`, `(idle)` and `(garbage collector)` are no functions. */
  functionName: string
  scriptId: string
  /** `file:` URL or path of the script; empty for native functions. */
  url: string
  /** Counted from 0. */
  lineNumber: number
  columnNumber: number
}

export interface CpuProfileNode {
  id: number
  callFrame: CpuProfileFrame
  /** Samples in which this frame was the innermost. */
  hitCount: number
  /** The ids of the frames that it called. */
  children?: number[]
  deoptReason?: string
  /** `hitCount` by line, counted from 1. */
  positionTicks?: { line: number; ticks: number }[]
}

export interface CpuProfile {
  /** The first is the root. */
  nodes: CpuProfileNode[]
  /** µs on the monotonic clock of the machine. */
  startTime: number
  endTime: number
  /** The innermost node of each sample, by its id. */
  samples: number[]
  /** µs from each sample to the one before it; the first counts from `startTime`. */
  timeDeltas: number[]
}

/** The longest profile, in ms. */
export const MAX_PROFILE_MS = 60_000

/** Without `ms`. */
export const DEFAULT_PROFILE_MS = 5_000

/** ms for which the main thread may be in native code, beside those of the profile. */
export const NATIVE_CODE_MS = 5_000

const isFrame = (value: Partial<CpuProfileFrame> | undefined): boolean =>
  typeof value?.functionName === 'string' && typeof value.url === 'string' && [value.lineNumber, value.columnNumber].every(Number.isFinite)

const isNode = (value: Partial<CpuProfileNode> | null): boolean =>
  Number.isFinite(value?.id) &&
  Number.isFinite(value?.hitCount) &&
  isFrame(value?.callFrame) &&
  (value?.children === undefined || Array.isArray(value.children))

export const isCpuProfile = (value: unknown): value is CpuProfile => {
  const { nodes, samples, timeDeltas, startTime, endTime } = (value ?? {}) as Partial<CpuProfile>
  return Array.isArray(nodes) && nodes.every(isNode) && [samples, timeDeltas].every(Array.isArray) && [startTime, endTime].every(Number.isFinite)
}

/** Undefined: it is no profile. */
export const readCpuProfile = (text: string): CpuProfile | undefined => {
  try {
    const profile = JSON.parse(text) as unknown
    return isCpuProfile(profile) ? profile : undefined
  } catch {
    return undefined
  }
}
