import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { shownShare, shownTime } from '../../dashboard/format/values.js'
import { fileSafe, PROFILE_EXTENSION, saveProfile } from '../../dashboard/profile.js'
import type { Answer, Command } from '../../runtime/report/commands.js'
import { type ProfileSummary, summarizeProfile, type Weight } from '../../runtime/report/profile-summary.js'
import { escapeLine } from '../../util/shown-text.js'
import { type CpuProfile, isCpuProfile } from '../../wire/cpu-profile.js'
import type { CliContext } from '../cli-context.js'
import { CommandError, EXIT, type ExitCode } from '../exit.js'
import { toJsonLine } from '../output/output-stream.js'
import type { Flags } from '../settings/setting.js'
import { control } from './control.js'

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
      const path = await save(each, command.worker, flags, context, profiles.length > 1)
      context.stdout.write(shownProfile(each.node, command.worker, path, summarizeProfile(each.profile)))
    }
  }
}

/** Resolves with the path of the file. `isOneOfSeveral`: a file that was named is one for each node. */
const save = async ({ node, profile }: NodeProfile, worker: number, { output }: Flags, { folder }: CliContext, isOneOfSeveral: boolean): Promise<string> => {
  try {
    if (output === undefined) return await saveProfile(folder, node, worker, profile)
    const named = resolve(folder, String(output))
    const path = isOneOfSeveral ? withNode(named, node) : named
    await writeFile(path, JSON.stringify(profile))
    return path
  } catch (cause) {
    throw new CommandError(`The profile cannot be written: ${(cause as Error).message}`, EXIT.failed, { cause })
  }
}

const withNode = (path: string, node: string): string =>
  path.endsWith(PROFILE_EXTENSION) ? `${path.slice(0, -PROFILE_EXTENSION.length)}.${fileSafe(node)}${PROFILE_EXTENSION}` : `${path}.${fileSafe(node)}`

const weightText = ({ ms, share }: Weight): string => `${shownTime(ms).padStart(7)} ${shownShare(share).padStart(7)}`

const shownProfile = (node: string, worker: number, path: string, { duration, samples, idle, calls }: ProfileSummary): string => {
  const lines = [
    `${escapeLine(node)}, worker ${worker}: ${shownTime(duration)}, ${samples} samples, idle ${shownShare(idle)}`,
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
