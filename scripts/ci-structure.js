// Holds the limits of the source tree: names, entries of a folder, lines of a file.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

const MAX_ENTRIES = 16
const MAX_LINES = 350
const SMALL_LINES = 30
const MAX_SMALL_FILES = 20

/** Words that no name contains, in the plural neither: the code has a standard term for each. */
const WORDS = [
  ['abandon', 'markUnresponsive'],
  ['burial', 'exitDrain'],
  ['buried', 'deadLettered'],
  ['bury', 'deadLetter'],
  ['condemn', 'killFor'],
  ['condemned', 'killReason'],
  ['desk', 'events, handler or context'],
  ['errand', 'adminChannel'],
  ['harmless', 'escapeControl'],
  ['hearing', 'extension'],
  ['inbox', 'decoder'],
  ['keeper', 'healthMonitor'],
  ['ladder', 'delaySteps'],
  ['leftover', 'orphanedJobs'],
  ['outlet', 'outputStream'],
  ['patience', 'phaseDeadline'],
  ['pursuit', 'interruption'],
  ['roster', 'workerSet'],
  ['shun', 'quarantine'],
  ['shunned', 'quarantined'],
  ['standstill', 'stallDetector'],
  ['surrounding', 'cliContext'],
  ['suspect', 'isolatedRetries'],
  ['voice', 'messageHandler or eventPublisher'],
]

/** Names that are refused as a whole only: as a part of another name, or in another form, they are ordinary English. */
const NAMES = [
  ['Ending', 'PoolShutdown'],
  ['Endings', 'Completion'],
  ['Gate', 'Admission'],
  ['Held', 'ActiveJob'],
  ['HeldLife', 'the class itself'],
  ['JobLife', 'JobLifecycle'],
  ['Leaving', 'Retirement'],
  ['MOST', 'LIMITS'],
  ['Met', 'Visited'],
  ['Places', 'SlotMap'],
  ['Question', 'Request'],
  ['QueueRoom', 'QueueCapacity'],
  ['SignalBoard', 'AbortRegistry'],
  ['Turns', 'RateLimitQueue'],
  ['Watch', 'WatchdogContext'],
  ['Wish', 'CallKind'],
  ['WorkerBooks', 'InFlightJobs'],
  ['WorkerNotes', 'WorkerState'],
  ['books', 'the jobs, or what is stored'],
  ['figure', 'slotTarget'],
  ['judge', 'deadlineAfterRead, check or verify'],
  ['reach', 'connectOrProbe'],
  ['seal', 'sign'],
  ['tell', 'notify'],
  ['visit', 'withConnection'],
  ['words', 'opcodes'],
]

const words = new Map(WORDS.flatMap(([word, term]) => [word, `${word}s`].map((form) => [form, term])))
const names = new Map(NAMES)

/** The words of a name: `isolatedRetry`, `ci-structure`, `MAX_LINES`. */
const wordsOf = (name) =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .split(/[^A-Za-z]+/)
    .map((word) => word.toLowerCase())

/** The standard term for a name that is refused. */
const termFor = (name) =>
  names.get(name) ??
  wordsOf(name)
    .map((word) => words.get(word))
    .find((term) => term !== undefined)

/** Comments and strings are prose: a reader judges them. What a template literal inserts is code. */
const PROSE = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g
const blank = (text) => text.replace(/[^\n]/g, ' ')
const withoutProse = (code) =>
  code.replaceAll(PROSE, (prose) =>
    prose.startsWith('`') ? prose.replace(/(\$\{[^}]*\})|[^$]|\$/g, (text, inserted) => inserted ?? blank(text)) : blank(prose),
  )

const problems = []
const report = (path, problem) => problems.push(`${relative(root, path)}: ${problem}`)

const filesBelow = (folder) =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.name !== 'node_modules')
    .flatMap((entry) => (entry.isDirectory() ? filesBelow(join(folder, entry.name)) : [join(folder, entry.name)]))
const foldersBelow = (folder) => [
  folder,
  ...readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap((entry) => foldersBelow(join(folder, entry.name))),
]
const linesOf = (path) => readFileSync(path, 'utf8').split('\n').length - 1

const checkNames = (path) => {
  const file = basename(path).split('.')[0]
  const term = termFor(file)
  if (term !== undefined) report(path, `the file is named '${file}'; the standard term is ${term}`)
  if (!/\.(tsx?|[cm]?js)$/.test(path)) return
  const code = withoutProse(readFileSync(path, 'utf8'))
  const found = new Map()
  code.split('\n').forEach((line, index) => {
    for (const [name] of line.matchAll(/[A-Za-z_$][\w$]*/g)) if (!found.has(name)) found.set(name, index + 1)
  })
  for (const [name, line] of found) {
    const standard = termFor(name)
    if (standard !== undefined) report(`${path}:${line}`, `'${name}'; the standard term is ${standard}`)
  }
}

/** What test runners replace, and the one file that takes it before they do. The linter refuses the globals. */
const REPLACED = /\bprocess\.(?:nextTick|hrtime)\b|from 'node:timers'|\{[^}]*\b(?:nextTick|hrtime)\b[^}]*\} from 'node:process'/
const TIME = join('src', 'util', 'node-time.ts')

const checkTime = (path) => {
  if (relative(root, path) === TIME) return
  const code = readFileSync(path, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, blank)
  code.split('\n').forEach((line, index) => {
    if (REPLACED.test(line)) report(`${path}:${index + 1}`, `test runners replace it; import it from ${TIME}`)
  })
}

const src = join(root, 'src')
const sources = filesBelow(src)
for (const path of [...sources, ...filesBelow(join(root, 'test'))]) checkNames(path)
for (const path of sources) checkTime(path)

for (const folder of foldersBelow(src)) {
  const entries = readdirSync(folder).length
  if (entries > MAX_ENTRIES) report(folder, `${entries} entries; at most ${MAX_ENTRIES}`)
}
let total = 0
const small = []
for (const path of sources.filter((file) => statSync(file).isFile())) {
  const lines = linesOf(path)
  total += lines
  if (lines > MAX_LINES) report(path, `${lines} lines; at most ${MAX_LINES}`)
  if (lines < SMALL_LINES) small.push(path)
}
if (small.length > MAX_SMALL_FILES)
  problems.push(
    `src: ${small.length} files under ${SMALL_LINES} lines; at most ${MAX_SMALL_FILES}:\n  ${small.map((path) => relative(root, path)).join('\n  ')}`,
  )

for (const problem of problems) console.error(problem)
console.log(`structure: ${sources.length} files and ${total} lines of src, ${small.length} files under ${SMALL_LINES} lines, ${problems.length} problems`)
process.exit(problems.length === 0 ? 0 : 1)
