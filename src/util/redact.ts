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
