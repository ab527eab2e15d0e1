// The protocol by hand, as little of it as a loop of FETCH and ACK needs. It is the floor that workers are compared with.
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** Jobs of one PUSHB. */
const BULK = 1_000

/** The first whole answer of the text, without its framing, and what follows it. @param {string} text */
const answerIn = (text) => {
  const end = text.indexOf('\r\n')
  if (end === -1) return undefined
  const line = text.slice(0, end)
  if (line.startsWith('-')) throw new Error(`the server refused: ${line.slice(1)}`)
  if (!line.startsWith('$') || line === '$-1') return { answer: line === '$-1' ? undefined : line.slice(1), rest: text.slice(end + 2) }
  // The jobs of the benchmark are ASCII: a character is a byte.
  const from = end + 2
  const until = from + Number(line.slice(1))
  return text.length < until + 2 ? undefined : { answer: text.slice(from, until), rest: text.slice(until + 2) }
}

export class BareClient {
  /** @param {import('node:net').Socket} socket */
  constructor(socket) {
    this.socket = socket
    this.text = ''
    /** @type {((answer: string | undefined) => void)[]} */
    this.waiting = []
    socket.setEncoding('latin1')
    socket.on('error', () => {})
    socket.on('data', (/** @type {string} */ chunk) => {
      this.text += chunk
      for (let found = answerIn(this.text); found !== undefined; found = answerIn(this.text)) {
        this.text = found.rest
        this.waiting.shift()?.(found.answer)
      }
    })
  }

  /** @param {string} url without a password */
  static async connect(url) {
    const { hostname, port } = new URL(url)
    const socket = connect({ host: hostname, port: Number(port || 7419), noDelay: true })
    const client = new BareClient(socket)
    const greeted = client.next()
    await Promise.race([greeted, once(socket, 'close').then(() => Promise.reject(new Error(`there is no Faktory server at ${url}`)))])
    await client.ask('HELLO {"v":2}')
    return client
  }

  next() {
    return new Promise((/** @type {(answer: string | undefined) => void} */ resolve) => this.waiting.push(resolve))
  }

  /** @param {string} line */
  ask(line) {
    const answer = this.next()
    this.socket.write(`${line}\r\n`)
    return answer
  }

  /** Jobs that wait in a queue. @param {string} queue */
  async waitingIn(queue) {
    const { faktory } = JSON.parse((await this.ask('INFO')) ?? '{}')
    return Number(faktory.queues[queue] ?? 0)
  }

  /** @param {string} queue @param {number} jobs */
  async fill(queue, jobs) {
    for (let from = 0; from < jobs; from += BULK) {
      const batch = Array.from({ length: Math.min(BULK, jobs - from) }, (_, index) => ({
        jid: `${queue}-${from + index}`,
        jobtype: 'noop',
        queue,
        args: [from + index],
        retry: 25,
      }))
      await this.ask(`PUSHB ${JSON.stringify(batch)}`)
    }
  }

  close() {
    this.socket.destroy()
  }
}

/** Waits until no more than so many jobs are left, at most so long. @param {BareClient} client @param {string} queue @param {number} wanted @param {number} longest ms */
export const downTo = async (client, queue, wanted, longest) => {
  const end = performance.now() + longest
  for (;;) {
    const left = await client.waitingIn(queue)
    const at = performance.now()
    if (left <= wanted || at > end) return { left, at }
    await sleep(20)
  }
}
