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
