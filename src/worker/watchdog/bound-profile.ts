import type { CpuProfile, CpuProfileFrame, CpuProfileNode } from '../../wire/cpu-profile.js'

/** Names and addresses of generated code may be as long as the code. */
const MAX_NAME = 200
const MAX_URL = 500

const shortened = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max - 1)}…` : text)

const shortenedFrame = ({ functionName, scriptId, url, lineNumber, columnNumber }: CpuProfileFrame): CpuProfileFrame => ({
  functionName: shortened(functionName, MAX_NAME),
  scriptId,
  url: shortened(url, MAX_URL),
  lineNumber,
  columnNumber,
})

/** The samples of each node with all that it called. `nodes`: each comes after its caller. */
const totalsOf = (nodes: readonly CpuProfileNode[], callers: ReadonlyMap<number, number>): Map<number, number> => {
  const totals = new Map(nodes.map(({ id, hitCount }) => [id, hitCount]))
  for (const { id } of nodes.toReversed()) {
    const caller = callers.get(id)
    if (caller !== undefined) totals.set(caller, (totals.get(caller) ?? 0) + totals.get(id)!)
  }
  return totals
}

/** A profile of at most `maxNodes` nodes, with texts of a bounded length: without the calls that have the fewest samples, which count for their callers. */
export const boundProfile = (profile: CpuProfile, maxNodes: number): CpuProfile => {
  const { nodes, samples } = profile
  const callers = new Map<number, number>()
  for (const { id, children = [] } of nodes) for (const child of children) callers.set(child, id)
  const totals = totalsOf(nodes, callers)
  const least = [...totals.values()].sort((a, b) => b - a)[maxNodes] ?? -1
  /** Where the samples of each node count. */
  const into = new Map<number, number>()
  const kept = new Map<number, CpuProfileNode>()
  for (const { id, callFrame, hitCount, children = [], deoptReason, positionTicks } of nodes) {
    const caller = callers.get(id)
    if (caller !== undefined && totals.get(id)! <= least) {
      const target = into.get(caller)!
      into.set(id, target)
      kept.get(target)!.hitCount += hitCount
      continue
    }
    into.set(id, id)
    const called = children.filter((child) => totals.get(child)! > least)
    kept.set(id, {
      id,
      callFrame: shortenedFrame(callFrame),
      hitCount,
      ...(called.length === 0 ? {} : { children: called }),
      ...(deoptReason === undefined ? {} : { deoptReason: shortened(deoptReason, MAX_NAME) }),
      ...(positionTicks === undefined ? {} : { positionTicks }),
    })
  }
  return { ...profile, nodes: [...kept.values()], samples: samples.map((id) => into.get(id) ?? nodes[0]!.id) }
}
