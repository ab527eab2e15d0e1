import { readFileSync } from 'node:fs'

let version: string | undefined

/** The version of this package, as its package.json says. */
export const packageVersion = (): string => {
  version ??= find(new URL('.', import.meta.url))
  return version
}

/** The bundle may lie one or more folders below it. */
const find = (folder: URL): string => {
  try {
    const { name, version: found } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8')) as { name?: string; version?: string }
    if (name === 'prefork' && found !== undefined) return found
  } catch {
    // Further up.
  }
  const above = new URL('..', folder)
  return above.href === folder.href ? 'unknown' : find(above)
}
