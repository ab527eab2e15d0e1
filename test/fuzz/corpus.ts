/** Handwritten hostile bytes. An entry is a list of hex tokens; `*n` repeats a token. */
import corpus from './corpus.json' with { type: 'json' }

export const bytesOf = (text: string): Buffer => {
  const tokens = text
    .split(' ')
    .filter(Boolean)
    .map((token) => {
      const [hex, times = '1'] = token.split('*') as [string, string?]
      return Buffer.from(hex.repeat(Number(times)), 'hex')
    })
  return Buffer.concat(tokens)
}

export type Target = keyof typeof corpus

export const entries = (target: Target): [name: string, bytes: Buffer][] => Object.entries(corpus[target]).map(([name, text]) => [name, bytesOf(text)])

export const targets = Object.keys(corpus) as Target[]

/** Entries that take seconds of CPU. */
const SLOW = new Set(['plain: a million empty objects', 'v8: a sparse array of 30 million'])

/** The entries of each target that are slow, or those that are not. */
export const corpusOf = (slow: boolean): [target: Target, name: string, bytes: Buffer][] =>
  targets.flatMap((target) =>
    entries(target)
      .filter(([name]) => SLOW.has(name) === slow)
      .map(([name, bytes]): [Target, string, Buffer] => [target, name, bytes]),
  )
