import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './document.js'
import { playPage } from './play.js'

for (const name of readdirSync(join(root, 'docs'))) {
  if (name.endsWith('.md')) playPage(`docs/${name}`)
}
