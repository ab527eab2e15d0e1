/** What a terminal would take for an order is shown, not obeyed: the output of tasks and the names in messages are anybody's. */
export const escapeControl = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, (each) => `\\x${each.charCodeAt(0).toString(16).padStart(2, '0')}`)
