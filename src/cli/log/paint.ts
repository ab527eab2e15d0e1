import { styleText } from 'node:util'

/** Colours a text, or leaves it as it is. */
export type Paint = (colour: 'dim' | 'bold' | 'green' | 'yellow' | 'red' | 'cyan', text: string) => string

const plain: Paint = (_, text) => text
// `paintFor` decides whether to colour: `styleText` of Node 20 does not.
const coloured: Paint = (colour, text) => styleText(colour, text)

/** Colours on a terminal, unless NO_COLOR is set (https://no-color.org). */
export const paintFor = (stream: { isTTY?: boolean }, env: Readonly<Record<string, string | undefined>>): Paint =>
  stream.isTTY === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb' ? coloured : plain
