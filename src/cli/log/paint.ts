import { styleText } from 'node:util'

/** Colours a text, or leaves it. */
export type Paint = (colour: 'dim' | 'bold' | 'green' | 'yellow' | 'red' | 'cyan', text: string) => string

const plain: Paint = (_, text) => text
// Whether to colour is decided here: Node 20 has no say in it.
const coloured: Paint = (colour, text) => styleText(colour, text)

/** For a stream that people read, unless they asked for none (NO_COLOR). */
export const paintFor = (stream: { isTTY?: boolean }, env: Readonly<Record<string, string | undefined>>): Paint =>
  stream.isTTY === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb' ? coloured : plain
