import stringWidth from 'string-width'
import { escapeControl } from '../../util/shown-text.js'

/** The text in exactly `width` columns: cut with an ellipsis, or padded. One line, control characters escaped. */
export const cell = (text: string, width: number, side: 'left' | 'right' = 'left'): string => {
  const cut = shortened(escapeControl(text.replaceAll(/\s*\n\s*/g, ' ').replaceAll('\t', ' ')), width)
  const blanks = ' '.repeat(Math.max(0, width - stringWidth(cut)))
  return side === 'left' ? cut + blanks : blanks + cut
}

const shortened = (text: string, width: number): string => {
  if (stringWidth(text) <= width) return text
  const [cut] = linesOf(text, width - 1)
  return `${cut}${width > 0 ? '…' : ''}`
}

/** The text in lines of at most `width` columns. */
export const folded = (text: string, width: number): string[] =>
  escapeControl(text.replaceAll('\t', '  '))
    .split('\n')
    .flatMap((line) => (stringWidth(line) <= width ? [line] : [...linesOf(line, width)]))

function* linesOf(text: string, width: number): Generator<string> {
  let line = ''
  let used = 0
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    const wide = stringWidth(segment)
    if (used + wide > width) {
      yield line
      line = ''
      used = 0
    }
    line += segment
    used += wide
  }
  yield line
}
