/** A URL that may be shown: its password is replaced by `***`. What is no URL with a host is not shown at all. */
export const withoutPassword = (url: string): string => {
  try {
    const shown = new URL(url)
    // Without `//`, `user:secret@host` is a URL of the scheme `user:`.
    if (shown.host === '') return 'the URL given'
    if (shown.password !== '') shown.password = '***'
    return shown.href
  } catch {
    return 'the URL given'
  }
}

/** Whether a text may be a URL with a password: true also for what cannot be read as a URL. */
export const hasPassword = (url: string): boolean => !URL.canParse(url) || new URL(url).host === '' || new URL(url).password !== ''

/** The arguments of a command as one text, with the passwords in URLs of brokers replaced. Undefined: they have none. */
export const argumentsWithoutPasswords = (args: readonly string[]): string | undefined => {
  const shown = args.map((each) => each.replace(/(?:amqps?|tcp(?:\+tls)?):\/\/.*$/i, (url) => (hasPassword(url) ? withoutPassword(url) : url)))
  return shown.some((each, index) => each !== args[index]) ? shown.join(' ') : undefined
}

/** A text with the passwords in its URLs replaced by `***`. */
export const textWithoutPasswords = (text: string): string =>
  text.includes('://') ? text.replace(/(\w:\/\/[^\s/?#@:"'<>]*):[^\s/?#"'<>]+@/g, '$1:***@') : text
