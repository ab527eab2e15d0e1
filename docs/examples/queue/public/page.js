const element = (id) => document.getElementById(id)
const cards = new Map()

const HEADERS = { 'x-demo': '1' }

async function post(path, body) {
  try {
    const response = await fetch(path, { method: 'POST', headers: HEADERS, body })
    const answer = await response.json()
    element('answer').textContent = response.ok ? `stored as job ${answer.id}` : answer.error.message
  } catch {
    element('answer').textContent = path === '/kill' ? 'killed: start it again with npm run demo:queue' : 'the server does not answer'
  }
}

function made(tag, parent, className) {
  const child = parent.appendChild(document.createElement(tag))
  if (className) child.className = className
  return child
}

function cardOf(id) {
  const item = document.createElement('li')
  element('pictures').prepend(item)
  const card = { item, picture: made('div', item, 'blank'), state: made('b', item), note: made('p', item, 'note'), bar: made('progress', item) }
  cards.set(id, card)
  return card
}

function show({ id, state, progress, createdAt, endedAt, losses, error }) {
  const card = cards.get(id) ?? cardOf(id)
  card.state.textContent = state
  card.state.className = state
  const notes = [
    endedAt === undefined ? '' : `${((endedAt - createdAt) / 1_000).toFixed(1)} s`,
    losses > 0 ? `lost its process ${losses} times` : '',
    error ?? '',
  ]
  card.note.textContent = notes.filter((note) => note !== '').join(', ')
  card.bar.hidden = endedAt !== undefined
  // Without a value the bar shows that the job waits.
  if (progress === undefined) card.bar.removeAttribute('value')
  else [card.bar.value, card.bar.max] = [progress.done, progress.of]
  if (state === 'completed' && card.picture.tagName !== 'IMG') {
    const image = document.createElement('img')
    Object.assign(image, { src: `pictures/${id}/320`, alt: 'The thumbnail of the upload' })
    card.picture.replaceWith(image)
    card.picture = image
  }
}

const live = new EventSource('live')
const setLink = (state, text) => Object.assign(element('link'), { className: `link ${state}`, textContent: text })
live.onopen = () => setLink('on', 'connected')
live.onerror = () => setLink('off', 'the server is gone; the page asks again')
live.addEventListener('all', ({ data }) => {
  for (const picture of JSON.parse(data)) show(picture)
})
live.addEventListener('picture', ({ data }) => show(JSON.parse(data)))

element('files').addEventListener('change', async ({ target }) => {
  for (const file of target.files) await post('/pictures', file)
  target.value = ''
})
element('paint').addEventListener('click', () => {
  for (let n = 0; n < 10; n++) post('/paint')
})
element('kill').addEventListener('click', () => post('/kill'))
