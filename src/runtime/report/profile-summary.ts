import { fileURLToPath } from 'node:url'
import type { CpuProfile, CpuProfileFrame, CpuProfileNode } from '../../wire/cpu-profile.js'

/** How long something ran, in ms and as a share of the profile (0 to 1). */
export interface Weight {
  readonly ms: number
  readonly share: number
}

/** A function in a profile. */
export interface ProfiledFunction {
  /** `(anonymous)` without a name. `(idle)`, `(garbage collector)`, `(program)` (native code) and `(Node and prefork)` are no functions. */
  readonly name: string
  /** `path:line`; empty for native functions. */
  readonly place: string
  /** The function alone. */
  readonly self: Weight
  /** With all that it called. */
  readonly total: Weight
}

/** One line of the tree of calls: its caller is the last one before it of a smaller depth. */
export interface ProfiledCall extends ProfiledFunction {
  readonly depth: number
}

export interface ProfileSummary {
  /** ms */
  readonly duration: number
  readonly samples: number
  /** The share in which the thread waited, 0 to 1. */
  readonly idle: number
  /** The heaviest calls, each before those that it makes, and of those the heaviest first. */
  readonly calls: readonly ProfiledCall[]
  /** The functions with the most time of their own, wherever they were called. */
  readonly functions: readonly ProfiledFunction[]
}

interface Call {
  readonly key: string
  readonly name: string
  readonly place: string
  readonly children: Map<string, Call>
  self: number
  total: number
}

const OUTER = '(Node and prefork)'

const callOf = (key: string, name: string, place: string): Call => ({ key, name, place, children: new Map(), self: 0, total: 0 })

const placeOf = ({ url, lineNumber }: CpuProfileFrame): string => {
  if (url === '') return ''
  let path = url
  try {
    if (url.startsWith('file:')) path = fileURLToPath(url)
  } catch {
    // A name from a `sourceURL` comment, or the URL of another system.
  }
  return `${path}:${lineNumber + 1}`
}

/** Node and the worker of this package call the tasks: such frames are left out where they are the callers. */
const isOuter = ({ url }: CpuProfileFrame): boolean => url.startsWith('node:') || /\/worker\/(main|entry)\.cjs$/.test(url)

/** `(root)`, `(idle)` and their like. */
const isNoFunction = ({ url, functionName }: CpuProfileFrame): boolean => url === '' && functionName.startsWith('(') && functionName.endsWith(')')

const childOf = (parent: Call, frame: CpuProfileFrame): Call => {
  const place = placeOf(frame)
  const key = `${frame.functionName} ${place}:${frame.columnNumber}`
  // A function that calls itself is one line.
  if (parent.key === key) return parent
  let child = parent.children.get(key)
  if (child === undefined) {
    child = callOf(key, frame.functionName === '' ? '(anonymous)' : frame.functionName, place)
    parent.children.set(key, child)
  }
  return child
}

/** The calls of the tasks, as a tree below a root that is no call. */
const callTree = ({ nodes }: CpuProfile): Call => {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const root = callOf('', '', '')
  const outer = callOf(OUTER, OUTER, '')
  const added = new Set<number>()
  const add = (node: CpuProfileNode, caller: Call): void => {
    const { id, callFrame: frame, hitCount, children = [] } = node
    added.add(id)
    const hidden = caller === root && (isOuter(frame) || (frame.url === '' && !isNoFunction(frame) && children.length > 0))
    const call = node === nodes[0] || hidden ? root : childOf(caller, frame)
    if (call !== root) call.self += hitCount
    else outer.self += hitCount
    for (const each of children) {
      const child = byId.get(each)
      // What another node sends need be no tree.
      if (child !== undefined && !added.has(each)) add(child, call)
    }
  }
  if (nodes[0] !== undefined) add(nodes[0], root)
  if (outer.self > 0) root.children.set(OUTER, outer)
  return root
}

const setTotals = (call: Call): number => {
  call.total = call.self
  for (const child of call.children.values()) call.total += setTotals(child)
  return call.total
}

/** The sums of each function over the tree. What a function that is called within itself calls counts once. */
const sumFunctions = (root: Call): Call[] => {
  const sums = new Map<string, Call>()
  const active = new Set<string>()
  const add = (call: Call): void => {
    const { key, name, place, self, total } = call
    let sum = sums.get(key)
    if (sum === undefined) {
      sum = callOf(key, name, place)
      sums.set(key, sum)
    }
    sum.self += self
    const isOutermost = !active.has(key)
    if (isOutermost) sum.total += total
    active.add(key)
    for (const child of call.children.values()) add(child)
    if (isOutermost) active.delete(key)
  }
  for (const child of root.children.values()) add(child)
  return [...sums.values()]
}

const heaviestFirst = (a: Call, b: Call): number => b.total - a.total || b.self - a.self

/**
 * What a profile shows, for people: the heaviest calls as a tree, and the heaviest functions. Times are the shares of the samples in the duration.
 *
 * @param limit calls, and functions, at most
 */
export const summarizeProfile = (profile: CpuProfile, { limit = 30 }: { limit?: number } = {}): ProfileSummary => {
  const root = callTree(profile)
  const samples = setTotals(root)
  const duration = (profile.endTime - profile.startTime) / 1_000
  const weight = (hits: number): Weight => {
    const share = samples === 0 ? 0 : hits / samples
    return { ms: share * duration, share }
  }
  const shown = ({ name, place, self, total }: Call): ProfiledFunction => ({ name, place, self: weight(self), total: weight(total) })

  const all: Call[] = []
  const collect = (call: Call): void => {
    for (const child of call.children.values()) {
      if (child.total === 0) continue
      all.push(child)
      collect(child)
    }
  }
  collect(root)
  // The sort is stable, so a call comes after its caller, which weighs as much or more.
  const chosen = new Set([...all].sort((a, b) => b.total - a.total).slice(0, limit))
  const calls: ProfiledCall[] = []
  const list = (call: Call, depth: number): void => {
    for (const child of [...call.children.values()].sort(heaviestFirst)) {
      if (!chosen.has(child)) continue
      calls.push({ depth, ...shown(child) })
      list(child, depth + 1)
    }
  }
  list(root, 0)

  const functions = sumFunctions(root)
    .filter(({ self }) => self > 0)
    .sort((a, b) => b.self - a.self)
    .slice(0, limit)
  const idle = [...root.children.values()].find(({ name, place }) => name === '(idle)' && place === '')
  return { duration, samples, idle: weight(idle?.self ?? 0).share, calls, functions: functions.map(shown) }
}
