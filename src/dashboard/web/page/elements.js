// Elements of the page. What comes from the farm becomes text, never markup.

export const $ = (id) => document.getElementById(id)

export const element = (name, className = '', text = '') => {
  const made = document.createElement(name)
  if (className !== '') made.className = className
  if (text !== '') made.textContent = text
  return made
}

/** `key`: what presses the button in a dialog. */
export const button = (text, onClick, className = '', key = undefined) => {
  const made = element('button', className, text)
  made.type = 'button'
  if (key !== undefined) {
    made.dataset.key = key
    made.append(' ', element('kbd', '', key))
  }
  made.addEventListener('click', onClick)
  return made
}

/** Leaves an element alone that has the text already. */
export const setText = (target, text) => {
  const wanted = String(text)
  if (target.textContent !== wanted) target.textContent = wanted
}

export const setClass = (target, className) => {
  if (target.className !== className) target.className = className
}

const rowsOf = new WeakMap()

/**
 * Shows one row for each item: `create` makes it, `fill` brings it up to date. A row keeps its elements, and the focus, wherever it moves. When the
 * row with the focus goes, the one in its place gets it.
 */
export const showRows = (container, items, { key, create, fill }) => {
  const before = rowsOf.get(container) ?? new Map()
  const focused = container.contains(document.activeElement) ? document.activeElement : undefined
  const focusedAt = focused === undefined ? -1 : [...container.children].findIndex((row) => row.contains(focused))
  const now = new Map()
  for (const item of items) now.set(key(item), before.get(key(item)) ?? create(item))
  for (const [id, row] of before) if (!now.has(id)) row.element.remove()
  let place = container.firstElementChild
  for (const item of items) {
    const row = now.get(key(item))
    fill(row, item)
    if (row.element === place) place = place.nextElementSibling
    else container.insertBefore(row.element, place)
  }
  rowsOf.set(container, now)
  if (focused === undefined || document.activeElement === focused) return
  const next = container.contains(focused) ? focused : container.children[Math.min(focusedAt, container.children.length - 1)]?.querySelector('button')
  next?.focus({ preventScroll: true })
}

const STEPS = {
  ArrowDown: 1,
  j: 1,
  ArrowRight: 1,
  ArrowUp: -1,
  k: -1,
  ArrowLeft: -1,
  PageDown: 10,
  PageUp: -10,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
}

/** The buttons of a list are one stop of Tab; arrows, Home and End choose among them. */
export const withArrows = (container, selector) => {
  const all = () => [...container.querySelectorAll(selector)]
  const choose = (chosen) => {
    for (const each of all()) each.tabIndex = each === chosen ? 0 : -1
  }
  container.addEventListener('focusin', ({ target }) => {
    if (target.matches(selector)) choose(target)
  })
  container.addEventListener('keydown', (event) => {
    const step = STEPS[event.key]
    const items = all()
    const at = items.indexOf(document.activeElement)
    if (step === undefined || at === -1 || event.altKey || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    // Elsewhere on the page `j` has another meaning.
    event.stopPropagation()
    items[Math.max(0, Math.min(items.length - 1, at + step))].focus()
  })
  /** After the list has changed: one of its buttons is a stop of Tab. */
  return () => {
    const items = all()
    if (!items.some((each) => each.tabIndex === 0)) choose(items[0])
  }
}
