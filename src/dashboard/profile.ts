import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { summarizeProfile } from '../runtime/report/profile-summary.js'
import { type CpuProfile, isCpuProfile } from '../wire/cpu-profile.js'
import { shownShare, shownTime } from './format/values.js'

/** Calls that are shown. */
const MAX_CALLS = 40
/** Levels of the tree that are indented. */
const MAX_INDENT = 20

const percent = (share: number): string => shownShare(share).padStart(7)

/** The file of a place, with the folder that it is in. */
const shortPlace = (place: string): string => place.split(/[/\\]/).slice(-2).join('/')

/** The heaviest calls of a profile as a tree, for people. */
const profileLines = (profile: CpuProfile): string[] => {
  const { duration, samples, idle, calls } = summarizeProfile(profile, { limit: MAX_CALLS })
  return [
    `${shownTime(duration)}, ${samples} samples, idle ${shownShare(idle)}`,
    '',
    '  total     self  call',
    ...calls.map(({ total, self, depth, name, place }) => {
      const indent = '  '.repeat(Math.min(depth, MAX_INDENT))
      return `${percent(total.share)}  ${percent(self.share)}  ${indent}${name}${place === '' ? '' : `  ${shortPlace(place)}`}`
    }),
  ]
}

export const PROFILE_EXTENSION = '.cpuprofile'

/** The name of a node as a part of a file's name. A node of another version may have any name. */
export const fileSafe = (node: string): string => node.replace(/[^\w.-]/g, '_')

/** A name for the file of a profile of now, without its extension. */
const profileName = (node: string, worker: number): string => {
  const time = new Date()
    .toISOString()
    .replace(/[-:]|\..*/g, '')
    .replace('T', '-')
  return `${fileSafe(node)}-worker-${worker}-${time}`
}

/** Writes a profile to a new file of a folder. Resolves with its path. */
export const saveProfile = async (folder: string, node: string, worker: number, profile: CpuProfile): Promise<string> => {
  const name = profileName(node, worker)
  for (let i = 1; ; i++) {
    const path = resolve(folder, `${name}${i === 1 ? '' : `-${i}`}${PROFILE_EXTENSION}`)
    try {
      await writeFile(path, JSON.stringify(profile), { flag: 'wx' })
      return path
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

/** What a node has answered to `profile`, as a page. The profile is in a file then, if it can be written. */
export const readProfile = async (answer: unknown, folder: string, node: string, worker: number): Promise<string> => {
  const { profile } = (answer ?? {}) as { profile?: unknown }
  if (!isCpuProfile(profile)) throw new Error('the answer is not what this version reads')
  const where = await saveProfile(folder, node, worker, profile).then(
    (path) => [path, 'Chrome DevTools opens it.'],
    (error: unknown) => [`It could not be written: ${error instanceof Error ? error.message : String(error)}`],
  )
  return [...where, '', ...profileLines(profile)].join('\n')
}
