import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './document.js'
import { testPage } from './run-page.js'

for (const name of readdirSync(join(root, 'docs'))) {
  if (name.endsWith('.md')) testPage(`docs/${name}`)
}
