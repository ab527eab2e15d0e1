/**
 * Plausible bugs of the queue's stores and of its broker. The simulation of the stores alone must catch each of them. `find` must occur exactly once in `file`;
 * `put` replaces it.
 */
export const mutations = [
  // ---- transactions and batches
  {
    breaks: 'answers are sent before COMMIT',
    file: 'src/queue/store/sqlite/thread/transactions.ts',
    find: '      this.#commit.run()\n',
    put: '      setTimeout(() => {\n        try {\n          this.#commit.run()\n        } catch {}\n      }, 0)\n',
  },
  {
    breaks: 'a COMMIT that fails is answered as if it had succeeded',
    file: 'src/queue/store/sqlite/thread/transactions.ts',
    find: '      this.#commit.run()\n',
    put: '      try {\n        this.#commit.run()\n      } catch {}\n',
  },
  {
    breaks: 'what a transaction counted stays when it is rolled back',
    file: 'src/queue/store/sqlite/engine/context.ts',
    find: '    this.counters.forget()\n',
    put: '',
  },
  {
    breaks: 'one add that cannot be done rejects its batch',
    file: 'src/queue/store/sqlite/thread/transactions.ts',
    find: '    if (operations.length === 1 || isOfFile(together.error)) return',
    put: '    if (!isOfFile(together.error) || operations.length > 0) return',
  },
  {
    breaks: 'claims come before what is added and settled in their batch',
    file: 'src/queue/store/sqlite/thread/operations.ts',
    find: '  claim: 5,\n',
    put: '  claim: 0,\n',
  },
  // ---- claims and settlements
  {
    breaks: 'a job that was cancelled since its claim completes by what the claim has read',
    file: 'src/queue/store/sqlite/database/statements.ts',
    find: ' AND cancel = 0 AND awaited = 0`,',
    put: ' AND awaited = 0`,',
  },
  {
    breaks: 'a job that is awaited since its claim completes by what the claim has read, and releases nothing',
    file: 'src/queue/store/sqlite/database/statements.ts',
    find: ' AND cancel = 0 AND awaited = 0`,',
    put: ' AND cancel = 0`,',
  },
  {
    breaks: 'a session that is gone claims',
    file: 'src/queue/store/sqlite/engine/claim.ts',
    find: '  if (own === undefined || own.dead === 1) return { jobs: [], nextAt: undefined }\n  const node = String(own.name)\n',
    put: '  const node = String(own?.name)\n',
  },
  {
    breaks: 'the token is not compared at a settlement',
    file: 'src/queue/store/sqlite/database/statements.ts',
    find: 'cancel, timing, run_at FROM job WHERE seq = ?1 AND token = ?2 AND state = 2`',
    put: 'cancel, timing, run_at FROM job WHERE seq = ?1 AND ?2 > 0 AND state = 2`',
  },
  {
    breaks: 'the token does not grow with a claim',
    file: 'src/queue/store/sqlite/database/statements.ts',
    find: 'token = token + 1, begun = 0',
    put: 'token = max(token, 1), begun = 0',
  },
  {
    breaks: 'losses are counted by claims',
    file: 'src/queue/store/sqlite/engine/settle.ts',
    find: 'losses: losses + row.begun, requeues: requeues + (row.begun > 0 ? 0 : 1)',
    put: 'losses: losses + 1, requeues',
  },
  {
    breaks: 'several beginnings under one claim count one loss',
    file: 'src/queue/store/sqlite/engine/settle.ts',
    find: 'losses: losses + row.begun, requeues: requeues',
    put: 'losses: losses + Math.min(row.begun, 1), requeues: requeues',
  },
  {
    breaks: 'a queue that is paused is claimed from',
    file: 'src/queue/store/sqlite/engine/claim.ts',
    find: 'row === undefined || row.paused === 1',
    put: 'row === undefined',
  },
  {
    breaks: 'a rate limit forgets what has started',
    file: 'src/queue/store/sqlite/engine/claim.ts',
    find: '      if (source.bucket !== undefined) context.sql.setFullAt.run(source.queue, source.bucket.take(1, monotonic))\n',
    put: '      source.bucket?.take(1, monotonic)\n',
  },
  {
    breaks: 'a job that is to be cancelled waits again when it is released or its session dies',
    file: 'src/queue/store/sqlite/engine/settle.ts',
    find: '  if (row.cancel === 1) {\n    end(context, row, STATE.cancelled, { ...CANCELLED, counts })\n    return\n  }\n',
    put: '',
  },
  {
    breaks: 'a job that is to be cancelled is retried',
    file: 'src/queue/store/sqlite/engine/settle.ts',
    find: '  if (row.cancel === 1) {\n    end(context, row, STATE.cancelled, { ...CANCELLED, counts, history })\n    return\n  }\n',
    put: '',
  },
  // ---- counters
  {
    breaks: 'a retry is not counted',
    file: 'src/queue/store/sqlite/engine/settle.ts',
    find: '  context.counters.moved(row.queue, STATE.active, state)\n',
    put: '',
  },
  {
    breaks: 'a job that is removed is still counted',
    file: 'src/queue/store/sqlite/engine/end.ts',
    find: '  counters.change(queue, state, -1)\n',
    put: '',
  },
  // ---- sessions and sweeps
  {
    breaks: 'a session counts as still while nobody could write',
    file: 'src/queue/store/sqlite/engine/sessions.ts',
    find: '    if (monotonic - this.#lastLook > Math.min(MAX_GAP, this.#lease)) this.#seen.clear()\n',
    put: '',
  },
  {
    breaks: 'any error of its socket says that a process is dead',
    file: 'src/queue/store/sqlite/thread/peers.ts',
    find: "      isDead = error.code === 'ECONNREFUSED'\n",
    put: '      isDead = error.code !== undefined\n',
  },
  {
    breaks: 'a session is removed before what it holds is given back',
    file: 'src/queue/store/sqlite/engine/sessions.ts',
    find: '  for (const row of rows) change(context, row)\n',
    put: '  for (const row of rows.slice(1)) change(context, row)\n',
  },
  {
    breaks: 'a session that stands still is looked for by the wall clock',
    file: 'src/queue/store/sqlite/thread/members.ts',
    find: 'this.#context.clock.monotonic)) this.#sweep(row)',
    put: 'this.#context.clock.now)) this.#sweep(row)',
  },
  {
    breaks: 'a session is swept although it has beaten since',
    file: 'src/queue/store/sqlite/database/statements.ts',
    find: 'WHERE id = ?1 AND (dead = 1 OR beat = ?2)',
    put: 'WHERE id = ?1 AND (dead = 1 OR beat >= ?2)',
  },
  {
    breaks: 'no process looks for sessions that stand still',
    file: 'src/queue/store/sqlite/thread/members.ts',
    find: '    for (const row of this.#state.deadOf(rows, this.#context.clock.monotonic)) this.#sweep(row)\n',
    put: '',
  },
  {
    breaks: 'a socket on which nobody listens says nothing',
    file: 'src/queue/store/sqlite/thread/peers.ts',
    find: '      if (isDead) this.#events.onDead(name)\n',
    put: '      if (isDead) return\n',
  },
  // ---- dependencies, schedules, time
  {
    breaks: 'a parent is released outside of the transaction that ends its child',
    file: 'src/queue/store/sqlite/engine/end.ts',
    find: '  return row.awaited === 0 ? [] : release(context, row, state === STATE.completed)\n',
    put: '  if (row.awaited !== 0) setImmediate(() => release(context, row, state === STATE.completed))\n  return []\n',
  },
  {
    breaks: 'a parent waits for one child only',
    file: 'src/queue/store/sqlite/engine/end.ts',
    find: '  if (pending > 0) return\n',
    put: '',
  },
  {
    breaks: 'a tick adds its job, and the schedule does not go on',
    file: 'src/queue/store/sqlite/engine/schedules.ts',
    find: '    if (sql.advance.run(row.queue!, row.key!, row.next_at!, nextAt ?? null).changes === 0) continue\n',
    put: '    if (nextAt === undefined) sql.advance.run(row.queue!, row.key!, row.next_at!, null)\n',
  },
  {
    breaks: 'the next tick is counted from now on',
    file: 'src/queue/schedules/ticks.ts',
    find: '  return { ticks: missed ? [] : [last], nextAt: nextTick(schedule, last) }\n',
    put: '  return { ticks: missed ? [] : [last, last], nextAt: nextTick(schedule, last) }\n',
  },
  {
    breaks: 'a delay does not move with the wall clock',
    file: 'src/queue/store/sqlite/database/clock.ts',
    find: 'Math.round(offset - this.#stored.offset) : 0',
    put: '0 : 0',
  },
  {
    breaks: 'an ended job goes while its answer is needed',
    file: 'src/queue/store/sqlite/engine/end.ts',
    find: '    if (!force && sql.edgeFrom.get(seq) !== undefined) return false\n',
    put: '',
  },
  {
    breaks: 'a job that is retried is not waited for again',
    file: 'src/queue/store/sqlite/engine/alter.ts',
    find: '    if (dependent.state === STATE.blocked) sql.setPending.run(dependent.seq, (dependent.pending ?? 0) + 1)\n',
    put: '    if (dependent.state === STATE.blocked) sql.setPending.run(dependent.seq, dependent.pending ?? 0)\n',
  },
  {
    breaks: 'in memory, a tick whose id another job has adds none',
    file: 'src/queue/store/memory/memory-database.ts',
    find: 'this.jobs.table.byId(queue, id) === undefined',
    put: "id !== ''",
  },
  // ---- the broker
  {
    breaks: 'a job is taken although the room for it is gone since its claim began',
    file: 'src/queue/broker/claims.ts',
    find: '    else if (this.#room <= 0) {\n',
    put: '    else if (this.#stopped) {\n',
  },
  {
    breaks: 'a new capacity is not used',
    file: 'src/queue/broker/claims.ts',
    find: '    this.#capacity = capacity\n    this.#claimSoon()\n',
    put: '    this.#claimSoon()\n',
  },
  {
    breaks: 'a job that is held is not ended when somebody cancels it',
    file: 'src/queue/broker/claims.ts',
    find: '    if (this.#held.has(leaseKey(lease))) this.#actions.cancel(String(lease.seq))\n    else if',
    put: '    if',
  },
  {
    breaks: 'a claim that got less than it asked for is not followed by one when the next job is due',
    file: 'src/queue/broker/claims.ts',
    find: '      else if (nextAt !== undefined) this.#wakeIn(nextAt - Date.now())\n',
    put: '',
  },
  {
    breaks: 'room that is free again is not claimed for',
    file: 'src/queue/broker/claims.ts',
    find: '    if (this.#held.delete(key)) this.#claimSoon()\n',
    put: '    this.#held.delete(key)\n',
  },
  {
    breaks: 'a job whose session is lost takes up its room for ever',
    file: 'src/queue/broker/delivery.ts',
    find: '    this.#claim.over()\n',
    put: '',
  },
  {
    breaks: 'a job that may have ended its nodes begins before that is stored',
    file: 'src/queue/broker/delivery.ts',
    find: '    return this.#session.beginning(this.#job)\n',
    put: '    this.#session.began(this.#job, 1)\n    return Promise.resolve()\n',
  },
  {
    breaks: 'a job that was with sessions that died, and had not begun, is not suspicious',
    file: 'src/queue/broker/delivery.ts',
    find: 'Math.min(losses + requeues, UNCOUNTED_RETURNS)',
    put: 'Math.min(losses, UNCOUNTED_RETURNS)',
  },
  {
    breaks: 'an answer is not stored',
    file: 'src/queue/broker/outcome.ts',
    find: 'answer ?? { ok: true, value: undefined }, limits',
    put: '{ ok: true, value: answer === undefined ? answer : undefined }, limits',
  },
  {
    breaks: 'what was claimed from a queue that is paused is not given back',
    file: 'src/queue/broker/queue-broker.ts',
    find: '        this.#giveBack(queue)\n',
    put: '',
  },
  {
    breaks: 'a queue that is paused a second time gets nothing back',
    file: 'src/queue/broker/queue-broker.ts',
    find: '      if (!paused) this.#paused.delete(queue)\n      else if',
    put: '      if (paused) if',
  },
  {
    breaks: 'a session that is lost is not followed by another',
    file: 'src/queue/broker/queue-broker.ts',
    find: '    for (let failures = 1; !this.#closed.signal.aborted; failures++) {\n',
    put: '    for (let failures = 1; this.#closed.signal.aborted; failures++) {\n',
  },
  // ---- the store in memory
  {
    breaks: 'in memory, a job ends twice with two that it waits for',
    file: 'src/queue/store/memory/transitions.ts',
    find: '      if (isEnded(each.state)) continue\n',
    put: '',
  },
  {
    breaks: 'in memory, a settlement does not compare the token',
    file: 'src/queue/store/memory/transitions.ts',
    find: "row.state === 'active' && row.token === token && row.session === session",
    put: "row.state === 'active' && token > 0 && session !== undefined",
  },
  {
    breaks: 'in memory, a job that is retried is not waited for again',
    file: 'src/queue/store/memory/transitions.ts',
    find: "    for (const dependent of row.dependents) if (dependent.state === 'blocked') dependent.waitsOn.add(row)\n",
    put: '',
  },
  {
    breaks: 'in memory, a job that has failed is forgotten by those that depend on it',
    file: 'src/queue/store/memory/transitions.ts',
    find: "    if (state === 'completed') {\n      row.dependents.clear()\n",
    put: "    row.dependents.clear()\n    if (state === 'completed') {\n",
  },
  {
    breaks: 'in memory, a job that is to be cancelled waits again',
    file: 'src/queue/store/memory/transitions.ts',
    find: "    if (row.cancelRequested) this.#end(row, 'cancelled', CANCELLED, now)\n    else {\n",
    put: '    {\n',
  },
  {
    breaks: 'in memory, a job that is to be cancelled is retried',
    file: 'src/queue/store/memory/transitions.ts',
    find: "    if (row.cancelRequested) {\n      this.#end(row, 'cancelled', CANCELLED, now)\n      return\n    }\n",
    put: '',
  },
  {
    breaks: 'in memory, a job does not get the answers of what it depended on',
    file: 'src/queue/store/memory/transitions.ts',
    find: "    if (answer !== undefined && row.state !== 'completed') row.results.set(dependency.id, answer)\n",
    put: '',
  },
]
