/** The recorded conversation with a real server 1.10.0, line by line. */
import { readFileSync } from 'node:fs'

const FILE = new URL('../../fixtures/faktory-server/transcript.txt', import.meta.url)

export interface TranscriptEvent {
  /** The connection; empty for what is none's. */
  readonly name: string
  readonly kind: 'write' | 'read' | 'closed' | 'destroy' | 'other'
  /** What was written or read, or the whole line. Line ends are written out: `\r\n`. */
  readonly text: string
  /** s that the answer took at least; 0: not noted. */
  readonly after: number
  /** For a message. */
  readonly line: number
}

export interface TranscriptStep {
  readonly title: string
  readonly events: TranscriptEvent[]
}

export interface TranscriptSection {
  readonly title: string
  /** The first has no title where the section does not begin with one. */
  readonly steps: TranscriptStep[]
}

const eventOf = (text: string, line: number): TranscriptEvent => {
  const [, name = '', side, said = ''] = /^(\w) ([CS]): (.*)$/s.exec(text) ?? []
  if (side === 'C') return { name, kind: 'write', text: said, after: 0, line }
  if (side === 'S') {
    const after = Number(/ {3}\[after (\d+\.\d) s\]$/.exec(said)?.[1] ?? 0)
    const answer = said.replace(/ {3}\[after .*\]$/, '')
    return { name, kind: answer.startsWith('<connection closed') ? 'closed' : 'read', text: answer, after, line }
  }
  const destroyed = /^(\w) {3}<socket destroyed>$/.exec(text)
  return destroyed === null
    ? { name: '', kind: 'other', text: text.trim(), after: 0, line }
    : { name: destroyed[1]!, kind: 'destroy', text: '', after: 0, line }
}

/** The sections of the conversation. Its lines are read whole: each is an event of a step, or a title. */
export const readTranscript = (): TranscriptSection[] => {
  const sections: TranscriptSection[] = []
  readFileSync(FILE, 'utf8')
    .split('\n')
    .forEach((text, index) => {
      // The first line explains the notation.
      if (text === '' || index === 0) return
      const section = /^=+ (.*) =+$/.exec(text)
      const step = /^### (.*)$/.exec(text)
      if (section !== null) sections.push({ title: section[1]!, steps: [{ title: '', events: [] }] })
      else if (step !== null) sections.at(-1)!.steps.push({ title: step[1]!, events: [] })
      else
        sections
          .at(-1)!
          .steps.at(-1)!
          .events.push(eventOf(text, index + 1))
    })
  for (const { steps } of sections) if (steps[0]!.events.length === 0) steps.shift()
  return sections
}
