/** Broken variants of the queue and its store in a file. The proof `proof` of `npm run soak:queue`, with real processes, must fail with each. */

// A disk that takes some milliseconds: what is answered before it is written is seen to be so.
const AFTER = '      context.counters.store()\n      this.#commit.run()\n'
const BEFORE =
  '      context.counters.store()\n      setImmediate(() => {\n        let waits = 0\n        tryRepeatedly(() => ++waits > 8)\n        this.#commit.run()\n      })\n'
const TRANSACTIONS = 'src/queue/store/sqlite/thread/transactions.ts'

export const mutations = [
  { breaks: 'a node is answered before COMMIT', file: TRANSACTIONS, find: AFTER, put: BEFORE, proof: ['nodes', '12'] },
  { breaks: 'a producer is answered before COMMIT', file: TRANSACTIONS, find: AFTER, put: BEFORE, proof: ['producers', '60'] },
  {
    breaks: 'the jobs of a flow are added one by one',
    file: 'src/queue/face/queue.ts',
    find: '    const added = await this.#open.add(jobs)\n',
    put: '    const added = []\n    for (const job of jobs) added.push(...(await this.#open.add([job])))\n',
    proof: ['producers', '60'],
  },
  {
    breaks: 'a settlement is taken though the claim is over',
    file: 'src/queue/store/sqlite/database/statements.ts',
    find: 'cancel, timing, run_at FROM job WHERE seq = ?1 AND token = ?2 AND state = 2`',
    put: 'cancel, timing, run_at FROM job WHERE seq = ?1 AND ?2 > 0`',
    proof: ['stopped'],
  },
  {
    breaks: 'beginnings are not stored',
    file: 'src/queue/store/sqlite/engine/settle.ts',
    find: '  if (history === undefined) sql.began.run(seq, token, beginnings)\n',
    put: '  if (history === undefined) sql.jobBySeq.get(seq)\n',
    proof: ['poison-node'],
  },
  {
    breaks: 'a job that was lost twice runs beside others',
    file: 'src/queue/broker/delivery.ts',
    find: '    this.returned = returnsOf(job)\n',
    put: '',
    proof: ['poison-node'],
  },
  {
    breaks: 'a delay does not move with the wall clock',
    file: 'src/queue/store/sqlite/database/clock.ts',
    find: '    const jump = this.#stored?.boot === boot ? Math.round(offset - this.#stored.offset) : 0\n',
    put: '    const jump = this.#stored?.boot === boot ? 0 : 0\n',
    proof: ['clock'],
  },
  {
    breaks: 'a body is not compared with its checksum',
    file: 'src/queue/store/sqlite/engine/claim.ts',
    find: '  return row !== undefined && isIntact(row.body as Uint8Array, row.checksum) ? (row.body as Uint8Array) : undefined\n',
    put: '  return row === undefined ? undefined : (row.body as Uint8Array)\n',
    proof: ['damaged-body'],
  },
]
