/** Plays one section of the conversation against a server, and compares each answer. */
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { passwordHash, RawClient } from '../../fixtures/faktory-server/raw-client.js'
import { normalise, withoutRetry } from './normalise.js'
import type { TranscriptEvent, TranscriptSection, TranscriptStep } from './transcript.js'

export interface ReplayServer {
  readonly url: string
  /** Of the form that makes workers quiet or ends them. */
  readonly webUrl?: string
  readonly password?: string
  /** ms between two BEATs of a worker that stays: a fifth of the silence that a worker is dropped for. */
  readonly beatInterval?: number
  /** The clocks are not shortened. */
  readonly realClock?: boolean
  stop?(): Promise<void>
}

/** The recorder cut this command: it names over-long values, of which the server keeps a part. */
const LONG_FAIL = `FAIL ${JSON.stringify({
  jid: 'fail-0001',
  errtype: 'E'.repeat(150),
  message: 'm'.repeat(1_500),
  backtrace: Array.from({ length: 60 }, (_, line) => `line${line}`),
})}`

/** The recorder names these commands instead of writing them. */
const PIPELINE = ['PUSH {"jid":"pipe-0001","jobtype":"T","args":[],"retry":25,"queue":"pp"}', 'FETCH pp', 'ACK {"jid":"pipe-0001"}'].join('\r\n')

const NEVER_BEATS = 'a worker that never beats'
const CUT = /\.\.\.\((\d+) chars\)$/
/** ms in which the server notices what a client did that has no answer. */
const NOTICED = 300
/** ms. A timer of the other process may be early by a little. */
const EARLY = 50

export class Replay {
  readonly #server: ReplayServer
  readonly #clients = new Map<string, RawClient>()
  readonly #greetings = new Map<string, string>()
  /** When each connection last wrote, or opened. */
  readonly #since = new Map<string, number>()
  #stopped: Promise<void> | undefined

  constructor(server: ReplayServer) {
    this.#server = server
  }

  async play({ steps }: TranscriptSection): Promise<void> {
    try {
      for (const step of steps) await this.#playStep(step)
      await this.#stopped
    } finally {
      for (const client of this.#clients.values()) client.close()
    }
  }

  async #playStep(step: TranscriptStep): Promise<void> {
    // Its connection has no END in the conversation.
    if (step.title.startsWith('all connections of a wid closed')) await this.#destroy('c')
    for (const event of step.events) await this.#playEvent(event, step)
  }

  async #playEvent(event: TranscriptEvent, step: TranscriptStep): Promise<void> {
    const { name, kind } = event
    if (kind === 'write') await this.#write(event, step)
    else if (kind === 'read') await this.#read(event, step)
    else if (kind === 'closed') await this.#readEnd(event, step)
    else if (kind === 'destroy') await this.#destroy(name)
    else await this.#other(event)
  }

  #open(name: string, secure?: boolean): RawClient {
    this.#clients.get(name)?.close()
    const client = RawClient.open(this.#server.url, secure)
    this.#clients.set(name, client)
    this.#since.set(name, performance.now())
    return client
  }

  async #write({ name, text }: TranscriptEvent, step: TranscriptStep): Promise<void> {
    // Speaks before the server does.
    const client = this.#clients.get(name) ?? this.#open(name, false)
    if (step.title.startsWith(NEVER_BEATS) && text.startsWith('BEAT')) await delay(this.#server.beatInterval)
    this.#since.set(name, performance.now())
    if (text.startsWith('PUSH..., ')) return client.write(PIPELINE)
    if (CUT.test(text)) {
      expect(`${LONG_FAIL}\\r\\n`.length).toBe(Number(CUT.exec(text)![1]))
      expect(LONG_FAIL).toContain(text.replace(CUT, ''))
      return client.write(LONG_FAIL)
    }
    const line = text.replace(/(\\r)?\\n$/, '')
    return client.write(this.#withHash(name, line, step), text.endsWith('\\r\\n') ? '\r\n' : '\n')
  }

  /** The hash of a password belongs to the salt of its connection. */
  #withHash(name: string, line: string, step: TranscriptStep): string {
    if (!line.includes('"pwdhash"')) return line
    const { s, i } = JSON.parse(this.#greetings.get(name)!.slice('+HI '.length)) as { s: string; i: number }
    const hash = passwordHash(step.title === 'wrong password' ? 'another' : this.#server.password!, s, line.includes('"v":1') ? 1 : i)
    return line.replace(/"pwdhash":"[^"]*"/, `"pwdhash":"${hash}"`)
  }

  async #read({ name, text, after, line }: TranscriptEvent, step: TranscriptStep): Promise<void> {
    const isGreeting = text.startsWith('+HI ')
    const client = isGreeting ? this.#open(name) : this.#clients.get(name)!
    const answer = (await client.read()).replaceAll('\r\n', '\\r\\n')
    if (isGreeting) this.#greetings.set(name, answer.slice(0, -4))
    // The times in the answer may have fewer digits, so that it is longer than what was recorded.
    const loose = this.#server.realClock === true && step.title.startsWith(NEVER_BEATS) ? withoutRetry : (each: string) => each
    const whole = loose(normalise(answer))
    const wanted = loose(normalise(text.replace(CUT, '')))
    expect(CUT.test(text) ? whole.slice(0, wanted.length) : whole, `line ${line}`).toBe(wanted)
    this.#expectTime(name, after, line)
  }

  async #readEnd({ name, text, after, line }: TranscriptEvent, step: TranscriptStep): Promise<void> {
    const client = this.#clients.get(name) ?? this.#open(name, step.title.startsWith('TLS client'))
    expect(await client.read(), `line ${line}`).toBe('closed')
    const [, code] = /closed (\w+)>/.exec(text) ?? []
    if (code !== undefined) expect(client.error).toBe(code)
    this.#expectTime(name, after, line)
  }

  #expectTime(name: string, after: number, line: number): void {
    if (after === 0) return
    expect(performance.now() - this.#since.get(name)!, `line ${line}: the time that it took, ms`).toBeGreaterThan(Math.floor(after) * 1_000 - EARLY)
  }

  async #destroy(name: string): Promise<void> {
    await delay(NOTICED)
    this.#clients.get(name)!.close()
    await delay(NOTICED)
  }

  async #other({ text, line }: TranscriptEvent): Promise<void> {
    const [, form] = /^web POST \/busy (\S+) -> 302$/.exec(text) ?? []
    if (form !== undefined) {
      const answer = await fetch(`${this.#server.webUrl}/busy`, { method: 'POST', body: new URLSearchParams(form), redirect: 'manual' })
      expect(answer.status).toBe(302)
    } else if (text === '<SIGTERM to the server>') {
      await delay(NOTICED)
      this.#stopped = this.#server.stop!()
    } else if (text.startsWith('=> w closed: true')) {
      expect(await this.#clients.get('w')!.read()).toBe('closed')
    } else if (!text.startsWith('=> ')) {
      throw new Error(`line ${line} is not understood: ${text}`)
    }
  }
}
