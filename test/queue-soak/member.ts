/** A process of its own with a queue or a node of the built package, which the proofs kill, stop and continue. */
import { fileURLToPath } from 'node:url'
import { execa, type Subprocess } from 'execa'
import { until } from '../fixtures/until.js'
import type { ProofFolder } from './proof-folder.js'

// The soak is a bundle two folders below the root, as this file is.
const SCRIPT = fileURLToPath(new URL('../../test/queue-soak/processes/member.js', import.meta.url))

export interface MemberSettings {
  /** What it is called in the journal, where pids are of another namespace. */
  readonly name?: string
  /** ms; default the store's. */
  readonly lease?: number
  /** Its transactions are measured. */
  readonly measure?: boolean
  /** It runs in a PID namespace of its own. */
  readonly namespace?: boolean
}

interface Answer {
  readonly id?: number
  readonly value?: unknown
  readonly error?: { readonly message: string; readonly code?: string }
  readonly up?: true
  readonly ended?: string
}

/** The error of a call that the process has rejected. */
export class MemberError extends Error {
  readonly code: string | undefined

  constructor({ message, code }: NonNullable<Answer['error']>) {
    super(message)
    this.code = code
  }
}

export class Member {
  readonly #child: Subprocess
  readonly #exited: Promise<void>
  readonly #waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>()
  #lastId = 0
  #isUp = false
  #hasExited = false
  /** How the runtime of `run` ended: the code of its error. */
  ended: string | undefined

  static async start(folder: ProofFolder, settings: MemberSettings = {}): Promise<Member> {
    const member = new Member(folder, settings)
    folder.members.add(member)
    await until('a process of the proof is up', () => member.#isUp || member.#hasExited)
    if (!member.#isUp) throw new Error('A process of the proof has ended at its start.')
    return member
  }

  private constructor(folder: ProofFolder, { name, lease, measure, namespace }: MemberSettings) {
    const command = namespace ? ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child'] : []
    const [file, ...args] = [...command, process.execPath, SCRIPT]
    const child = execa(file!, args, {
      env: {
        PREFORK_PROOF_ADDRESS: folder.address,
        PREFORK_PROOF_JOURNAL: folder.journal,
        PREFORK_PROOF_STORE: JSON.stringify({ lease, measure }),
        ...(name === undefined ? undefined : { PREFORK_PROOF_MEMBER: name }),
      },
      stdin: 'pipe',
      stderr: 'inherit',
      reject: false,
      buffer: false,
      killSignal: 'SIGKILL',
    })
    this.#child = child
    // A death in the middle of a call breaks the pipe.
    child.stdin!.on('error', () => {})
    const read = async (): Promise<void> => {
      for await (const line of child) this.#receive(JSON.parse(line as string) as Answer)
      await child
      this.#hasExited = true
      for (const { reject } of this.#waiting.values()) reject(new Error('The process has ended.'))
      this.#waiting.clear()
    }
    this.#exited = read()
  }

  /** Of the process, or of the one that has made its namespace: it dies with that. */
  get pid(): number {
    return this.#child.pid!
  }

  get hasExited(): boolean {
    return this.#hasExited
  }

  call<T>(method: string, ...args: readonly unknown[]): Promise<T> {
    if (this.#hasExited) return Promise.reject(new Error('The process has ended.'))
    return new Promise<T>((resolve, reject) => {
      const id = ++this.#lastId
      this.#waiting.set(id, { resolve, reject })
      this.#child.stdin!.write(`${JSON.stringify({ id, method, args })}\n`)
    })
  }

  /** Calls a method of a queue. */
  queue<T>(name: string, method: string, ...args: readonly unknown[]): Promise<T> {
    return this.call('queue', name, method, ...args)
  }

  signal(signal: NodeJS.Signals): void {
    process.kill(this.pid, signal)
  }

  /** By SIGKILL. */
  async kill(): Promise<void> {
    if (!this.#hasExited) {
      try {
        this.signal('SIGKILL')
      } catch {
        // It has ended by itself.
      }
    }
    await this.#exited
  }

  #receive({ id, value, error, up, ended }: Answer): void {
    if (up) this.#isUp = true
    if (ended !== undefined) this.ended = ended
    if (id === undefined) return
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (error === undefined) waiting?.resolve(value as never)
    else waiting?.reject(new MemberError(error))
  }
}
