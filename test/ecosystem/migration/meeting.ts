/** Jobs that show which of them run at once, and in which processes: each returns the pid of its own. */
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JobRequest } from './ended.js'

/** Each run writes a line; it ends when so many have begun, or, with a file, when that is there. The one that is to crash kills its process once. */
export const MEETING = `import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

export const meet = async ({ journal, id, count, go, crash }) => {
  appendFileSync(journal, \`\${id}\\n\`)
  const begun = () => new Set(readFileSync(journal, 'utf8').split('\\n')).size - 1
  while (begun() < count) await sleep(20)
  if (crash !== undefined && !existsSync(crash)) {
    writeFileSync(crash, '')
    process.kill(process.pid, 'SIGKILL')
  }
  while (go !== undefined && !existsSync(go)) await sleep(20)
  return process.pid
}

export default ({ data }) => meet(data)
`

/** `count` jobs that wait for each other. `more`: what else they are given; `crash` is for the first. */
export const meeting = (folder: string, count: number, more: Readonly<Record<string, string>> = {}): { jobs: JobRequest[]; begun: () => number[] } => {
  const journal = join(folder, 'journal')
  appendFileSync(journal, '')
  const ids = Array.from({ length: count }, (_, id) => id)
  const runs = (): number[] => readFileSync(journal, 'utf8').split('\n').slice(0, -1).map(Number)
  return {
    jobs: ids.map((id) => ({ name: 'meet', data: { journal, id, count, ...(id === 0 ? more : { ...more, crash: undefined }) }, attempts: 2 })),
    begun: () => ids.map((id) => runs().filter((each) => each === id).length),
  }
}
