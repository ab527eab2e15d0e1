import type { SerializedError } from '../../../../runtime/delivery.js'
import { dependencyFailed, EXPIRED } from '../../ended-jobs.js'
import type { Claim, ClaimedJob } from '../../store.js'
import { RESULT, resultCode } from '../database/node-sqlite.js'
import { RateBucket } from '../database/queues.js'
import type { StoreContext } from './context.js'
import { type End, end } from './end.js'
import { claimedJob, isIntact, type JobRow, jobRow, jobRows, STATE, type WaitingRow } from './rows.js'
import { nextPromotion } from './sweep.js'

const damaged = (what: string): End & { readonly error: SerializedError } => ({
  reason: 'undecodable',
  error: {
    name: 'DamagedError',
    message: `${what} is damaged in the file of the store: its checksum does not match.`,
    stack: undefined,
    code: 'ERR_PREFORK_STORE_CORRUPT',
  },
})

export const DAMAGED_BODY = damaged('The body of the job')
export const DAMAGED_ANSWER = damaged('The answer of the job')

/**
 * Thrown by a claim that meets a job which cannot be read. SQLite writes nothing more in a transaction that has met a damaged page: it is to be rolled
 * back, and the job to be ended in another one, before the claim is tried again.
 */
export class DamagedJob extends Error {
  readonly seq: number
  readonly how: End

  constructor(seq: number, how: End) {
    super(how.error.message)
    this.seq = seq
    this.how = how
  }
}

/** Ends a job that cannot be read. */
export const endDamaged = (context: StoreContext, { seq, how }: DamagedJob): void => {
  const row = jobRow(context.sql.jobBySeq.get(seq))
  if (row?.state === STATE.waiting) end(context, row, STATE.failed, how)
}

interface Source {
  readonly queue: number
  readonly name: string
  /** Undefined: the queue has no rate limit. */
  readonly bucket: RateBucket | undefined
}

/** Claims for a session. What has expired ends instead. A session that is dead claims nothing. Throws DamagedJob. */
export const claim = (context: StoreContext, session: number, names: readonly string[], max: number, promotes: boolean): Claim => {
  const monotonic = context.clock.monotonic
  // In this transaction nobody else ends it: one look is as good as one with each job.
  const own = context.sql.session.get(session)
  if (own === undefined || own.dead === 1) return { jobs: [], nextAt: undefined }
  const node = String(own.name)
  const sources = [...new Set(names)].flatMap((name) => sourceOf(context, name, monotonic))
  const jobs: ClaimedJob[] = []
  for (;;) {
    const wanted = max - jobs.length
    const candidates = wanted > 0 ? nextCandidates(context, sources, wanted, monotonic) : []
    if (candidates.length === 0) break
    for (const [row, source] of candidates) {
      const job = claimOne(context, row, source.name, session, node)
      if (job === undefined) continue
      jobs.push(job)
      if (source.bucket !== undefined) context.sql.setFullAt.run(source.queue, source.bucket.take(1, monotonic))
    }
  }
  const waits = sources.flatMap(({ bucket }) => bucket?.wait(monotonic) ?? []).filter((wait) => wait > 0)
  const times = [...waits.map((wait) => context.clock.now + Math.ceil(wait)), nextPromotion(context, promotes) ?? Number.POSITIVE_INFINITY]
  const nextAt = Math.min(...times)
  return { jobs, nextAt: nextAt === Number.POSITIVE_INFINITY ? undefined : nextAt }
}

const sourceOf = ({ sql }: StoreContext, name: string, monotonic: number): Source[] => {
  const row = sql.queueByName.get(name)
  if (row === undefined || row.paused === 1) return []
  return [{ queue: row.id as number, name, bucket: row.rate === null ? undefined : new RateBucket(row, monotonic) }]
}

/** The most urgent of all queues, as many as their rates allow. */
const nextCandidates = ({ sql }: StoreContext, sources: readonly Source[], wanted: number, monotonic: number): [WaitingRow, Source][] => {
  const found = sources.flatMap((source) => {
    const most = source.bucket === undefined ? wanted : Math.min(wanted, source.bucket.available(monotonic))
    return most <= 0 ? [] : (sql.waiting.all(source.queue, most) as unknown as WaitingRow[]).map((row): [WaitingRow, Source] => [row, source])
  })
  if (sources.length > 1) found.sort(([a], [b]) => b.priority - a.priority || a.seq - b.seq)
  return found.slice(0, wanted)
}

const claimOne = (context: StoreContext, row: WaitingRow, queue: string, session: number, node: string): ClaimedJob | undefined => {
  const { sql, clock, counters } = context
  if (row.expires_at !== null && row.expires_at <= clock.now) {
    end(context, row, STATE.expired, EXPIRED)
    return undefined
  }
  const body = readBody(context, row.seq)
  if (body === undefined) throw new DamagedJob(row.seq, DAMAGED_BODY)
  const results = row.pending === null ? undefined : readResults(context, row.seq)
  sql.claim.run(row.seq, session, node)
  context.claimed.add(row, row.token + 1, session)
  counters.moved(row.queue, STATE.waiting, STATE.active)
  context.emit('active', row.queue, row.id, row.seq)
  return claimedJob(row, queue, body, results)
}

/** Runs `read`. Undefined: the pages of this value alone are damaged, as `head` can be read. Any other damage is the file's, and is thrown. */
const orDamaged = <T>(read: () => T, head: () => unknown): T | undefined => {
  try {
    return read()
  } catch (error) {
    if (resultCode(error) !== RESULT.CORRUPT) throw error
    head()
    return undefined
  }
}

/** Undefined: it is damaged. */
export const readBody = ({ sql }: StoreContext, seq: number): Uint8Array | undefined => {
  const row = orDamaged(
    () => sql.body.get(seq),
    () => sql.bodyHead.get(seq),
  )
  return row !== undefined && isIntact(row.body as Uint8Array, row.checksum) ? (row.body as Uint8Array) : undefined
}

/** Undefined: there is none. */
export const readAnswer = ({ sql }: StoreContext, { seq, answer, answer_checksum: checksum }: JobRow): Uint8Array | undefined | 'damaged' => {
  const stored = answer === null ? undefined : { answer, checksum }
  const row =
    stored ??
    orDamaged(
      () => sql.answer.get(seq) ?? { answer: null },
      () => sql.outcomeHead.get(seq),
    )
  if (row === undefined) return 'damaged'
  if (row.answer === null) return undefined
  return isIntact(row.answer as Uint8Array, row.checksum) ? (row.answer as Uint8Array) : 'damaged'
}

/** Throws DamagedJob for an answer that is damaged. */
const readResults = (context: StoreContext, seq: number): Readonly<Record<string, Uint8Array>> => {
  const results: [string, Uint8Array][] = []
  for (const dependency of jobRows(context.sql.dependencies.all(seq))) {
    const { id, state } = dependency
    const answer = state === STATE.completed ? readAnswer(context, dependency) : undefined
    if (answer === 'damaged') throw new DamagedJob(seq, dependencyFailed(id))
    if (answer !== undefined) results.push([id, answer])
  }
  return Object.fromEntries(results)
}
