// Ten minutes as curves: SVG, so that the style sheet colours them. Arrow keys and the pointer read a value.

import { element, setText } from './elements.js'
import { clock } from './text.js'

const WIDTH = 600
const HEIGHT = 100

const svg = (name, attributes = {}) => {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  return made
}

/** The curves of a series: one for each run of slots that have a value. */
const pieces = (values) => {
  const found = []
  let piece = []
  for (const [i, value] of values.entries()) {
    if (value === null || value === undefined) {
      if (piece.length > 0) found.push(piece)
      piece = []
    } else piece.push([i, value])
  }
  if (piece.length > 0) found.push(piece)
  return found
}

/**
 * A chart in `container`. `series`: `{ className, kind: 'area' | 'line' | 'bars', of(slot) }` each. `scale(highest, lowest)` returns `{ y, ticks }`: `y` turns a value
 * into 0 to 1, `ticks` are pairs of a value and its text. `read(slot)`: the text of one slot. `readout` shows it.
 */
export class Chart {
  #svg = svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' })
  #ticks = element('div', 'ticks')
  #cursor = svg('line', { class: 'cursor', y1: 0, y2: HEIGHT, visibility: 'hidden' })
  #options
  #container
  #slots = []
  #chosen

  constructor(container, options) {
    this.#options = options
    this.#container = container
    container.tabIndex = 0
    container.setAttribute('role', 'img')
    container.append(this.#svg, this.#ticks)
    container.addEventListener('pointermove', ({ offsetX }) => this.#choose(Math.floor((offsetX / container.clientWidth) * this.#slots.length)))
    for (const type of ['pointerleave', 'blur']) container.addEventListener(type, () => this.#choose(undefined))
    container.addEventListener('keydown', (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
      if (step === undefined) return
      event.preventDefault()
      this.#choose((this.#chosen ?? this.#slots.length) + step)
    })
  }

  /** `label`: what the chart says, for those who cannot see it. */
  draw(slots, label) {
    this.#slots = slots
    this.#container.setAttribute('aria-label', label)
    const { series, scale } = this.#options
    const values = series.flatMap(({ of }) => slots.map(of).filter((value) => typeof value === 'number'))
    const { y, ticks } = scale(Math.max(0, ...values), Math.min(Number.POSITIVE_INFINITY, ...values))
    const step = WIDTH / slots.length
    const point = ([i, value]) => `${((i + 0.5) * step).toFixed(1)},${(HEIGHT * (1 - y(value))).toFixed(1)}`
    const shapes = series.flatMap(({ className, kind, of }) => {
      if (kind === 'bars') {
        return slots.flatMap((slot, i) => {
          const value = of(slot)
          if (!value) return []
          const height = Math.max(3, HEIGHT * y(value))
          return [svg('rect', { class: className, x: i * step, width: Math.max(1, step - 1), y: HEIGHT - height, height })]
        })
      }
      return pieces(slots.map(of)).flatMap((piece) => {
        const line = svg('polyline', { class: className, points: piece.map(point).join(' ') })
        if (kind === 'line') return [line]
        const [first, last] = [piece[0][0], piece.at(-1)[0]].map((i) => ((i + 0.5) * step).toFixed(1))
        return [svg('polygon', { class: `${className} area`, points: `${first},${HEIGHT} ${piece.map(point).join(' ')} ${last},${HEIGHT}` }), line]
      })
    })
    const grid = ticks.map(([value]) => svg('line', { class: 'grid', x1: 0, x2: WIDTH, y1: HEIGHT * (1 - y(value)), y2: HEIGHT * (1 - y(value)) }))
    this.#svg.replaceChildren(...grid, ...shapes, this.#cursor)
    this.#ticks.replaceChildren(
      // The lowest would stand on the axis.
      ...ticks
        .filter(([value]) => y(value) > 0.05)
        .map(([value, text]) => {
          const tick = element('span', '', text)
          tick.style.bottom = `${(y(value) * 100).toFixed(1)}%`
          return tick
        }),
    )
    this.#choose(this.#chosen)
  }

  #choose(at) {
    const { readout, read } = this.#options
    this.#chosen = at === undefined || this.#slots.length === 0 ? undefined : Math.max(0, Math.min(this.#slots.length - 1, at))
    this.#cursor.setAttribute('visibility', this.#chosen === undefined ? 'hidden' : 'visible')
    if (this.#chosen === undefined) {
      setText(readout, this.#options.rest())
      return
    }
    const x = (this.#chosen + 0.5) * (WIDTH / this.#slots.length)
    this.#cursor.setAttribute('x1', x)
    this.#cursor.setAttribute('x2', x)
    const slot = this.#slots[this.#chosen]
    setText(readout, `${clock(slot.at)}: ${read(slot)}`)
  }
}

/** From 0 to a round number above the highest value. */
export const linear = (text) => (highest) => {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, highest)))
  const top = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= highest)
  return { y: (value) => value / (top * 1.05), ticks: [[top, text(top)]] }
}

/** By powers of ten: a median of 5 ms and a p99 of 20 s are both seen. */
export const logarithmic = (text) => (highest, lowest) => {
  const from = Math.floor(Math.log10(Math.max(1, lowest === Number.POSITIVE_INFINITY ? 1 : lowest)))
  const to = Math.max(from + 1, Math.ceil(Math.log10(Math.max(1, highest))))
  const powers = Array.from({ length: to - from + 1 }, (_, i) => 10 ** (from + i))
  const shown = powers.length > 4 ? powers.filter((_, i) => i % 2 === 0) : powers
  return {
    y: (value) => Math.max(0, (Math.log10(Math.max(1, value)) - from) / (to - from)) / 1.05,
    ticks: shown.map((power) => [power, text(power)]),
  }
}
