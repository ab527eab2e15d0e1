/** Bytes that somebody once thought nasty. A word is hex; `*n` repeats it. */
import corpus from './corpus.json' with { type: 'json' }

export const bytesOf = (text: string): Buffer => {
  const words = text
    .split(' ')
    .filter(Boolean)
    .map((word) => {
      const [hex, times = '1'] = word.split('*') as [string, string?]
      return Buffer.from(hex.repeat(Number(times)), 'hex')
    })
  return Buffer.concat(words)
}

export type Target = keyof typeof corpus

export const entries = (target: Target): [name: string, bytes: Buffer][] => Object.entries(corpus[target]).map(([name, text]) => [name, bytesOf(text)])

export const targets = Object.keys(corpus) as Target[]
