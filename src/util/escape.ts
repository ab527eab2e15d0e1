/** Shows control characters as `\x1b` and the like. Output of tasks and names in messages come from anywhere: a terminal must not obey them. */
export const escapeControl = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, (each) => `\\x${each.charCodeAt(0).toString(16).padStart(2, '0')}`)
