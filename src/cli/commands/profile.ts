import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { shownTime } from '../../dashboard/format/values.js'
import { profileName } from '../../dashboard/profile.js'
import type { Answer, Command } from '../../runtime/report/commands.js'
import { type ProfileSummary, summarizeProfile, type Weight } from '../../runtime/report/profile-summary.js'
import { escapeLine } from '../../util/shown-text.js'
import { type CpuProfile, isCpuProfile } from '../../wire/cpu-profile.js'
import type { CliContext } from '../cli-context.js'
import { CommandError, EXIT, type ExitCode } from '../exit.js'
import { toJsonLine } from '../output/output-stream.js'
import type { Flags } from '../settings/setting.js'
import { control } from './control.js'

const EXTENSION = '.cpuprofile'

interface NodeProfile {
  readonly node: string
  readonly profile: CpuProfile
}

const profileOf = (answer: Answer): NodeProfile | undefined => {
  const profile = answer.ok ? (answer.value as { profile?: unknown } | null)?.profile : undefined
  return isCpuProfile(profile) ? { node: answer.node, profile } : undefined
}

/** Has a worker profiled. Each node that has a worker of this id writes a file of its own. */
export const profile = async (command: Command & { command: 'profile' }, flags: Flags, context: CliContext): Promise<ExitCode> => {
  const profiles: NodeProfile[] = []
  const receive = (answer: Answer): void => {
    const received = profileOf(answer)
    if (received === undefined) context.stdout.write(`${toJsonLine(answer)}\n`)
    else profiles.push(received)
  }
  try {
    return await control(command, flags, context, receive)
  } finally {
    for (const each of profiles) {
      const path = await save(each, filePath(each.node, command.worker, flags, context, profiles.length > 1))
      context.stdout.write(shownProfile(each.node, command.worker, path, summarizeProfile(each.profile)))
    }
  }
}

/** `isOneOfSeveral`: a file that was named is one for each node. */
const filePath = (node: string, worker: number, { output }: Flags, { folder }: CliContext, isOneOfSeveral: boolean): string => {
  if (output === undefined) return resolve(folder, `${profileName(node, worker)}${EXTENSION}`)
  const path = resolve(folder, String(output))
  if (!isOneOfSeveral) return path
  // A node of another version may have any name.
  const safe = node.replace(/[^\w.-]/g, '_')
  return path.endsWith(EXTENSION) ? `${path.slice(0, -EXTENSION.length)}.${safe}${EXTENSION}` : `${path}.${safe}`
}

const save = async ({ profile }: NodeProfile, path: string): Promise<string> => {
  try {
    await writeFile(path, JSON.stringify(profile))
    return path
  } catch (cause) {
    throw new CommandError(`The profile cannot be written: ${(cause as Error).message}`, EXIT.failed, { cause })
  }
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`

const weightText = ({ ms, share }: Weight): string => `${shownTime(ms).padStart(7)} ${percent(share).padStart(7)}`

const shownProfile = (node: string, worker: number, path: string, { duration, samples, idle, calls }: ProfileSummary): string => {
  const lines = [
    `${escapeLine(node)}, worker ${worker}: ${shownTime(duration)}, ${samples} samples, idle ${percent(idle)}`,
    escapeLine(path),
    '',
    '           self            total  call',
    ...calls.map(({ self, total, depth, name, place }) => {
      const indent = '  '.repeat(Math.min(depth, 20))
      return `${weightText(self)}  ${weightText(total)}  ${indent}${escapeLine(name)}${place === '' ? '' : `  ${escapeLine(place)}`}`
    }),
  ]
  return `${lines.join('\n')}\n`
}
